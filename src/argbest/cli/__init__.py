"""The command line: parse, one library call, print; answers on standard output, notices on standard error."""

from argbest.cli.analyze import analyze
from argbest.cli.compare import compare
from argbest.cli.group import main
from argbest.cli.results import check, export, report, serve, status
from argbest.cli.running import resume, run, submit, task, worker
from argbest.cli.shipped import demo, init, models, policies, problems
from argbest.cli.stored import ask, tell

for command in (
    analyze, ask, check, compare, demo, export, init, models, policies, problems, report, resume, run,
    serve, status, submit, task, tell, worker,
):  # fmt: skip
    main.add_command(command)

__all__ = ["main"]
