"""`python -m tgraph`: the command line."""

from tgraph.cli import main

if __name__ == "__main__":
    main()
