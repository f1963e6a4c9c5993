"""What is asked of the paper's study, and what each part of it hands back."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from argbest.checks import whole
from argbest.errors import ArgbestError
from argbest.experiment import Experiment, Results, run
from argbest.report import style
from argbest.study.run_options import Progress
from argbest.table_files import write_csv

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MACROREPS, REPLICATIONS = 100, 2_000  # the paper's


@dataclass(frozen=True)
class Plan:
    """How much to run, and where to put it; what is left out is the paper's.

    ``published`` is the file of published curves. ``progress`` shows bars, or is called with (done, all).
    """

    out: Path
    _: KW_ONLY
    macroreps: int | None = None
    replications: int | None = None
    jobs: int = 1
    seed: int = 0
    published: Path | None = None
    progress: bool | Progress = False

    def __post_init__(self) -> None:
        whole("macroreps", self.runs, at_least=1)
        whole("replications", self.length(), at_least=1)
        whole("jobs", self.jobs, at_least=1)
        whole("seed", self.seed, at_least=0, below=2**64)

    @property
    def runs(self) -> int:
        """Macro-replications."""
        return MACROREPS if self.macroreps is None else self.macroreps

    def length(self, usual: int = REPLICATIONS) -> int:
        """Return the replications after the initial design: as asked, or the usual number."""
        return usual if self.replications is None else self.replications

    def run(self, name: str, experiment: Experiment, *, jobs: int | None = None) -> Results:
        """Return the results of an experiment, kept in a folder of that name so that it can go on later."""
        folder = self.out / "runs" / name
        return run(experiment, jobs=jobs or self.jobs, out=folder, progress=self.progress, apart=True)


class Outcome(NamedTuple):
    """What a part of the study has found: a table to show, remarks, and the files behind it."""

    title: str
    table: pd.DataFrame  # of short texts
    notes: tuple[str, ...]
    written: tuple[Path, ...]


Part = Callable[[Plan], Outcome]


def write(plan: Plan, frames: dict[str, pd.DataFrame]) -> tuple[Path, ...]:
    """Return the paths of the frames, written as CSV files of these names."""
    plan.out.mkdir(parents=True, exist_ok=True)
    return tuple(write_csv(plan.out / f"{name}.csv", frame) for name, frame in frames.items())


def picture(plan: Plan, name: str, draw: Callable[[], "Figure"]) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """Return the paths of a drawing as PNG and SVG; without matplotlib none, and a remark that says so."""
    try:
        figure = draw()
    except ArgbestError as missing:
        return (), (str(missing),)
    return tuple(style.save(figure, plan.out / f"{name}.{kind}") for kind in ("png", "svg")), ()


def texts(frame: pd.DataFrame, forms: dict[str, str]) -> pd.DataFrame:
    """Return the columns named in ``forms`` as texts in that form; what is not known is a dash."""
    shown = {}
    for name, form in forms.items():
        shown[name] = ["-" if pd.isna(value) else f"{value:{form}}" for value in frame[name]]
    return pd.DataFrame(shown)
