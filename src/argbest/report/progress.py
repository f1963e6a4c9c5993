"""Progress: how sure a study was of its selections as the observations came in."""

from typing import TYPE_CHECKING

from argbest.answers import history
from argbest.checks import one_of
from argbest.report import comparison, style
from argbest.report.comparison import NAMES, Band
from argbest.report.style import LABEL
from argbest.study.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_OF_STUDY = ("pcs_e", "pcs_m", "eoc")


def progress(study: Study, measure: str = "pcs_e", *, points: int = 12) -> Band:
    """Return a measure as certified at some numbers of observations, with its interval of probability 0.9.

    The interval of PCS_E is that of the weighted share of contexts selected right, the interval of EOC that
    of the opportunity cost, both given the data of that time; PCS_M has none. The last point is today's
    certificate.
    """
    style.require_study(study)
    one_of("measure of a study", measure, _OF_STUDY)
    frame = history.of_study(study, points=points)
    columns = [
        measure if f"{measure}{end}" not in frame else f"{measure}{end}" for end in ("", "_low", "_high")
    ]
    value, low, high = (frame[name].to_numpy(float) for name in columns)
    return Band(study.problem.name, frame["observations"].to_numpy(float), value, low, high)


def plot_progress(
    source: object, *, measure: str = "pcs_e", ax: "Axes | None" = None, theme: str | None = None
) -> "Axes":
    """Return axes with a measure such as "pcs_e" or "eoc" over samples, and its intervals.

    Of a study these are its own certificates along its observations (see `progress`); of the results of an
    experiment the curves of `plot_comparison`. ``theme`` is "light" or "dark".
    """
    if not isinstance(source, Study):
        return comparison.plot_comparison(source, measure=measure, ax=ax, theme=theme)
    band = progress(source, measure)
    sheet = style.sheet(ax, theme, 5.2, 3.4)
    colour = sheet.theme.colours[0]
    sheet.ax.plot(band.samples, band.value, color=colour, marker="o", markersize=4.5, linewidth=1.5)
    sheet.ax.fill_between(band.samples, band.low, band.high, color=colour, alpha=0.18, linewidth=0)
    if measure == "eoc":
        sheet.ax.set_ylim(bottom=0.0)
    else:
        sheet.ax.set_ylim(float(band.low.min()) - 0.05, 1.02)
        sheet.ax.axhline(1.0, color=sheet.theme.faint, linewidth=0.8, zorder=0)
    sheet.ax.set_xlabel("replications", fontsize=LABEL)
    sheet.ax.set_ylabel(NAMES[measure], fontsize=LABEL)
    style.bare(sheet.ax)
    interval = "" if measure == "pcs_m" else f", {history.LEVEL:.0%} interval"
    style.headline(sheet.ax, style.titled(band.label, f"{NAMES[measure]} as certified{interval}"))
    return style.finish(sheet)
