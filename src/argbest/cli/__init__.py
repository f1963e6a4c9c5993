"""The command line: parse, one library call, print; answers on standard output, notices on standard error."""

from argbest.cli.compare import compare
from argbest.cli.demo import demo
from argbest.cli.group import main
from argbest.cli.lists import models, policies, problems
from argbest.cli.paper import paper

for command in (compare, demo, models, paper, policies, problems):
    main.add_command(command)

__all__ = ["main"]
