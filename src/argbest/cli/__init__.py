"""The command line: parse, one library call, print; answers on standard output, notices on standard error."""

from argbest.cli.analyze import analyze
from argbest.cli.compare import compare
from argbest.cli.demo import demo, init
from argbest.cli.exchange import ask, tell
from argbest.cli.group import main
from argbest.cli.lists import models, policies, problems
from argbest.cli.report import export, report, serve
from argbest.cli.running import resume, run, worker
from argbest.cli.status import check, status
from argbest.cli.submit import submit, task

for command in (
    analyze, ask, check, compare, demo, export, init, models, policies, problems, report, resume, run,
    serve, status, submit, task, tell, worker,
):  # fmt: skip
    main.add_command(command)

__all__ = ["main"]
