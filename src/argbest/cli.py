"""The command line: parse, one library call, print; answers on standard output, notices on standard error."""

import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from argbest import __version__
from argbest.errors import ArgbestError, CompilationNotice, InputError, unknown_name

if TYPE_CHECKING:
    from rich.console import JustifyMethod

    from argbest.core.arrays import Array
    from argbest.problems.base import Problem
    from argbest.study.study import Study

_INTERRUPTED = 130  # what a shell reports for a program ended by Ctrl-C
_NARROWEST = 80  # columns of text; numbers folded to fit less could not be read
_MOST_COLUMNS = 10  # alternatives whose truth fits beside each other in 80 columns


class _Misuse(click.ClickException):
    """An argument that the library refuses."""

    exit_code = 2


class _Group(click.Group):
    """Commands whose errors, notices and interruptions end in a line of text, never in a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Return what the command returns."""
        try:
            with _plain_notices():
                return super().invoke(ctx)
        except InputError as error:
            raise _Misuse(str(error)) from error
        except ArgbestError as error:
            raise click.ClickException(str(error)) from error
        except KeyboardInterrupt:
            click.echo("argbest: interrupted.", err=True)
            ctx.exit(_INTERRUPTED)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command meant by the first argument, or name the nearest one."""
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            ctx.fail(str(unknown_name("command", args[0], self.list_commands(ctx))))
        return super().resolve_command(ctx, args)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="argbest", message="%(prog)s %(version)s")
def main() -> None:
    """Find the best alternative for every context, from noisy simulations.

    Start with: argbest demo
    """


@main.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("argbest-demo"),
    show_default=True,
    help="Folder for the results; created if missing.",
)
@click.option(
    "--budget",
    type=click.IntRange(min=200),
    default=400,
    show_default=True,
    help="Simulations in all; the first 200 are the initial design.",
)
@click.option(
    "--seed", type=click.IntRange(0, 2**64 - 1), default=0, show_default=True, help="Seed of the study."
)
def demo(out: Path, budget: int, seed: int) -> None:
    """Run a small study from start to finish.

    Writes observations.csv, selection.csv, policy_map.png and allocation.png.
    """
    _prepare(out)
    from argbest import Study, registry

    problem = registry.problem("branin")
    n_alternatives, n_contexts = problem.shape
    click.echo(f"{problem.name}: {n_alternatives} alternatives x {n_contexts} contexts, {budget} simulations")
    study = Study(problem, seed=seed).run(budget, progress=True)
    _show_selection(study)
    _write(study, out)


@main.command()
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print the problem NAME as JSON.")
def problems(name: str | None, as_json: bool) -> None:
    """List the shipped problems, or show the problem NAME."""
    from argbest import registry

    if name is None and as_json:
        raise click.UsageError("--json needs the NAME of a problem.")
    if name is None:
        _show_problems(make() for make in registry.PROBLEMS.values())
    elif as_json:
        import json

        click.echo(json.dumps(registry.problem(name).summary(), indent=2, allow_nan=False))
    else:
        _show_problem(registry.problem(name))


@main.command()
def policies() -> None:
    """List the policies and the models they use by default."""
    import inspect

    from argbest import registry

    rows = [
        (name, entry.model, (inspect.getdoc(entry.make()) or "").partition("\n")[0])
        for name, entry in registry.POLICIES.items()
    ]
    _table(("policy", "model", "what it does"), rows)


def _show_selection(study: "Study") -> None:
    from argbest.report import curves

    problem, certificate = study.problem, study.certificate()
    contexts, labels = curves.side(problem.contexts), curves.row_labels(problem.alternatives)
    short = dict(zip(problem.alternatives.labels, labels, strict=True))
    columns = ("selected", "runner_up", "gap", "p_best")
    frame = study.selection().iloc[contexts.order]
    rows = [
        (label, short[selected], short[rival], curves.number(gap), f"{p_best:.3f}")
        for label, selected, rival, gap, p_best in zip(
            contexts.labels, *(frame[name].tolist() for name in columns), strict=True
        )
    ]
    _table((contexts.title, "selected", "runner-up", "gap", "P(best)"), rows, justify="right")
    right, undecided = problem.correct(certificate.selected), certificate.pcs < curves.DECIDED
    _say(
        f"certificate: {certificate}",
        f"undecided: {undecided.sum()} of {len(rows)} contexts have P(best) below {curves.DECIDED:g}",
        f"truth: {right.sum()} of {len(rows)} selections are right; the truth of this problem is known",
    )


def _write(study: "Study", out: Path) -> None:
    """Write the frames and, where matplotlib is there, the pictures; say where they are."""
    from argbest.report import figures

    study.observations().to_csv(out / "observations.csv", index=False)
    study.selection().to_csv(out / "selection.csv", index=False)
    written = [out / "observations.csv", out / "selection.csv"]
    try:
        written += figures.save(study, out)
    except ArgbestError as missing:
        click.echo(f"argbest: {missing}", err=True)
    click.echo("\nwritten:")
    for path in written:
        click.echo(f"  {path}")


def _show_problems(shipped: "Iterable[Problem]") -> None:
    rows = [(p.name, "{} x {}".format(*p.shape), p.goal, p.description) for p in shipped]
    _table(("problem", "K x C", "goal", "description"), rows)
    _say("K alternatives x C contexts; `argbest problems NAME` shows one.")


def _show_problem(problem: "Problem") -> None:
    from argbest.report import curves

    goal = "larger is better" if problem.goal == "max" else "smaller is better"
    size = "{} alternatives x {} contexts".format(*problem.shape)
    _say(f"{problem.name}: {size}, {goal}", problem.description)
    names, contexts = curves.row_labels(problem.alternatives), curves.side(problem.contexts)
    columns = {contexts.title: contexts.labels, "weight": _numbers(problem.weights[contexts.order])}
    facts = []
    if problem.truth is not None:
        columns["best"] = tuple(" = ".join(names[k] for k in problem.ties[c]) for c in contexts.order)
        columns["gap"] = _numbers(problem.gaps[contexts.order])
        tied = sum(len(ties) > 1 for ties in problem.ties)
        facts.append(f"ties: in {tied} contexts; PCS ceiling {problem.pcs_ceiling:.4g}")
    if problem.noise_sd is not None:
        low, high = _numbers((problem.noise_sd.min(), problem.noise_sd.max()))
        facts.append(f"noise: standard deviation {low if low == high else f'{low} to {high}'}")
    if problem.truth is not None and problem.noise_sd is not None:
        columns["gap/noise"] = _numbers(problem.gap_over_noise[contexts.order])
    _table(columns, zip(*columns.values(), strict=True), justify="right")
    _say(*facts)
    if problem.truth is not None:
        _show_truth(problem, problem.truth)


def _show_truth(problem: "Problem", truth: "Array") -> None:
    from argbest.report import curves

    if problem.n_alternatives > _MOST_COLUMNS:
        _say(f"truth: {problem.n_alternatives} alternatives are too many to show here; --json has them")
        return
    alternatives, contexts = curves.side(problem.alternatives), curves.side(problem.contexts)
    _say("", f"mean reward by {contexts.title} (rows) and {alternatives.title} (columns):")
    table = truth[alternatives.order][:, contexts.order].T
    rows = [(label, *_numbers(row)) for label, row in zip(contexts.labels, table, strict=True)]
    _table(("", *alternatives.labels), rows, justify="right")


def _numbers(values: "Iterable[float]") -> tuple[str, ...]:
    from argbest.report.curves import number

    return tuple(number(value) for value in values)


def _table(
    headers: Iterable[str], rows: Iterable[Iterable[str]], *, justify: "JustifyMethod" = "left"
) -> None:
    """Print a table; labels are the user's, so nothing in them is taken as markup."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
    for header in headers:
        table.add_column(header, justify=justify, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console = Console(markup=False, highlight=False, emoji=False)
    console.width = max(console.width, _NARROWEST)
    console.print(table)


def _say(*lines: str) -> None:
    """Print lines of text, wrapped to the width of the terminal."""
    from rich.console import Console

    console = Console(markup=False, highlight=False, emoji=False)
    for line in lines:
        console.print(line)


def _prepare(folder: Path) -> None:
    """Make the folder and try to write in it, so that a mistake costs no simulation."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = error.strerror or str(error)
        raise click.BadParameter(
            f"cannot write into {str(folder)!r} ({reason}); name another folder.", param_hint="'--out'"
        ) from error


@contextmanager
def _plain_notices() -> Iterator[None]:
    """Show notices of compilation as one line each; other warnings as usual."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", CompilationNotice)
        usual = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, CompilationNotice):
                print(f"argbest: {message}", file=sys.stderr)  # a progress bar under way lets it pass above
            else:
                usual(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        yield
