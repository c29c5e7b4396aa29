"""The published experiments, each a module and a file of settings; and the claims that they decide."""
