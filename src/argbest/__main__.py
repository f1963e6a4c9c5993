"""`python -m argbest`: the command, where the Python is known and the path is not."""

from argbest.cli import main

if __name__ == "__main__":
    main(prog_name="argbest")
