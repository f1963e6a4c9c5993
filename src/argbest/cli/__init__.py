"""The command line: parse, one library call, print; answers on standard output, notices on standard error."""

from argbest.cli.group import main

__all__ = ["main"]
