"""`argbest submit` and `argbest task`: a study on a cluster whose machines share only a folder."""

from pathlib import Path

import click

from argbest.cli.stored import load
from argbest.cli.terminal import echo, note, say
from argbest.errors import InputError, StorageError


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--slurm",
    "system",
    flag_value="slurm",
    default="slurm",
    show_default=False,
    help="A job array for SLURM.",
)
@click.option("--pbs", "system", flag_value="pbs", help="A job array for PBS.")
@click.option(
    "--plain", "system", flag_value="plain", help="A script that you start yourself, for example over SSH."
)
@click.option(
    "--tasks", type=click.IntRange(1, 10_000), required=True, help="Number of tasks that simulate at once."
)
@click.option("--storage", help="File of the study.  [default: the study file's, else FILE.db]")
def submit(file: Path, system: str, tasks: int, storage: str | None) -> None:
    """Write a script that runs the study in FILE as a job array on a cluster.

    The tasks share only the folder FILE.array. A study that already exists is continued.
    """
    from argbest import studyfile
    from argbest.array.tasks import Script
    from argbest.study.study import Study

    described = studyfile.read(file)
    for remark in described.remarks:
        note(remark)
    where = storage or described.storage or str(file.with_suffix(".db"))
    if "://" in where:
        raise InputError(
            "a study on a database server needs no shared folder; run `argbest worker` in every task."
        )
    if described.problem.simulate is None or not {"budget", "seconds"} & {*described.run}:
        raise InputError(f"{file.name} needs a [simulator] and, under [run], a budget or seconds.")
    if Path(where).exists():
        study = load(where, described.name, None, file)
    else:
        plan = described.plain()
        study = Study(described.problem, **described.options, storage=where, name=described.name, plan=plan)
        study.close()
    script = Script(system, tasks, file, where, described.name)
    script.write()
    say(f"{study.problem.name}: {study.n_observations} replications so far, kept in {where}")
    echo(f"written: {script.path}")
    echo(f"next: {script.start}")


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--patience",
    type=click.FloatRange(0, min_open=True),
    default=600.0,
    help="Seconds to wait for a coordinator that gives no sign of life.",
)
def task(folder: Path, patience: float) -> None:
    """Simulate the trials that the coordinator of a job array writes into FOLDER, until it has finished."""
    from argbest.array.folder import Folder
    from argbest.array.tasks import serve

    done = serve(folder, patience=patience)
    if not done and Folder(folder).coordinator() is None:
        raise StorageError(
            f"no coordinator came to {str(folder)!r} within {patience:g} s. Is it the folder that "
            "`argbest submit` made?"
        )
    say(f"finished: {done} jobs done")
