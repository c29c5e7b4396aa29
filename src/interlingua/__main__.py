"""`python -m interlingua`."""

from interlingua.cli.main import main

main()
