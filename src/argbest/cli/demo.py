"""`argbest demo`: a small study from start to finish."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from argbest.cli.stored import standing
from argbest.cli.terminal import drawn, echo, list_written, prepare, say, table
from argbest.texts import number

if TYPE_CHECKING:
    from argbest.study.study import Study


@click.command()
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

    Writes observations.csv, selection.csv, report.html, policy_map.png and allocation.png.
    """
    prepare(out)
    from argbest import Study, registry

    problem = registry.problem("branin")
    n_alternatives, n_contexts = problem.shape
    echo(f"{problem.name}: {n_alternatives} alternatives x {n_contexts} contexts, {budget} simulations")
    study = Study(problem, seed=seed).run(budget, progress=True)
    _show_selection(study)
    _write(study, out)


def _show_selection(study: "Study") -> None:
    from argbest.report import curves

    problem, certificate = study.problem, study.certificate()
    contexts, labels = curves.side(problem.contexts), curves.row_labels(problem.alternatives)
    short = dict(zip(problem.alternatives.labels, labels, strict=True))
    columns = ("selected", "runner_up", "gap", "p_best", "state")
    frame = study.selection().iloc[contexts.order]
    rows = [
        (label, short[selected], short[rival], number(gap), f"{p_best:.3f}", state)
        for label, selected, rival, gap, p_best, state in zip(
            contexts.labels, *(frame[name].tolist() for name in columns), strict=True
        )
    ]
    table((contexts.title, "selected", "runner-up", "gap", "P(best)", "state"), rows, justify="right")
    right = problem.correct(certificate.selected)
    say(
        f"certificate: {certificate}",
        f"contexts: {standing(study)}",
        f"truth: {right.sum()} of {len(rows)} selections are right; the truth of this problem is known",
    )


def _write(study: "Study", out: Path) -> None:
    """Write the frames, the page and, where matplotlib is there, the pictures; say where they are."""
    from argbest.csv_files import write_csv
    from argbest.report import figures

    frames = {"observations": study.observations(), "selection": study.selection()}
    written = [write_csv(out / f"{name}.csv", frame) for name, frame in frames.items()]
    written.append(study.report(out / "report.html", command="argbest demo"))
    written += figures.write(drawn(lambda: figures.draw(study)) or {}, out)
    list_written(written)
