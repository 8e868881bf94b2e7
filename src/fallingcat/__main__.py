"""``python -m fallingcat``: the command line where the folder of scripts is not on the path."""

from .cli import main

if __name__ == "__main__":  # processes that are started afresh import this module too
    main()
