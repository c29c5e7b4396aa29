"""A model and labelled sentences of one language in; how well it then does in others out."""
