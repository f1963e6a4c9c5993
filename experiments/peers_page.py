"""The tables and the picture of docs/peers.md, from the tables of `experiments.peers_tables`."""

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from argbest import files
from argbest.report import style
from experiments.page import markdown
from experiments.peers import BUDGETS, LIVE, OURS, PROBLEMS
from experiments.peers_tables import ANSWERS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

IMAGES = Path("images") / "peers"
ENDS = {"light": "", "dark": "_dark"}  # of the names of pictures
TITLES = {
    OURS: "argbest",
    "equal": "equal allocation, shared seeds",
    "equal, own seeds": "equal allocation, own seeds",
    "OCBA": "OCBA per context",
    "halving": "sequential halving per context",
    "KN": "KN per context, at .95",
    "Optuna": "Optuna per context, best trial",
    "Optuna, average": "Optuna per context, best average",
    "BoTorch": "BoTorch, noisy EI, context a feature",
    "SMAC3": "SMAC3, contexts as instances",
}


def rewrite(tables: dict[str, pd.DataFrame], docs: Path) -> Path:
    """Return the path of peers.md, its tables replaced and its pictures drawn again.

    A table stands between the lines `<!-- peers: NAME -->` and `<!-- end -->`.
    """
    page = docs / "peers.md"
    text = page.read_text(encoding="utf-8")
    for name, shown in on_page(tables).items():
        begin, end = f"<!-- peers: {name} -->\n", "<!-- end -->"
        before, found, rest = text.partition(begin)
        if found:
            text = f"{before}{begin}\n{shown}\n\n{end}{rest.partition(end)[2]}"
    (docs / IMAGES).mkdir(parents=True, exist_ok=True)
    for theme, end in ENDS.items():
        style.save(draw(tables["bars"], theme), docs / IMAGES / f"samples{end}.png")
    return files.write(page, text)


def on_page(tables: dict[str, pd.DataFrame]) -> dict[str, str]:
    """Return what stands on the page, by name."""
    return {
        "needed": _needed(tables["needed"]),
        "runs": _runs(tables["needed"]),
        "aims": _aims(tables["standing"]),
        "losses": _losses(tables["losses"]),
        "claims": _claims(tables["claims"]),
        "times": _times(tables["times"]),
    }


def draw(bars: pd.DataFrame, theme: str) -> "Figure":
    """Return the bar chart: samples needed by each method for the same loss, in multiples of argbest's.

    A hatched bar is a bound from below.
    """
    made = style.sheet(None, theme, 7.6, 0.38 * len(bars) + 1.0)
    ax, colours = made.ax, made.theme
    order, most = bars.sort_values("ratio", ascending=False, ignore_index=True), bars["problems"].max()
    for i, row in enumerate(order.to_dict("records")):
        colour = colours.colours[0] if row["method"] == OURS else colours.faint
        hatch = "///" if row["short"] else None
        ax.barh(i, row["ratio"], height=0.64, color=colour, hatch=hatch, edgecolor=colours.paper)
        remarks = [f"{row['problems']} problems"] if row["problems"] < most else []
        remarks += [f"not there on {row['short']} of them"] if row["short"] else []
        text = f" {'at least ' if row['short'] else ''}{row['ratio']:.1f}"
        text += f" ({', '.join(remarks)})" if remarks else ""
        ax.text(row["ratio"], i, text, va="center", fontsize=style.TICK, color=colours.ink)
    ax.set_yticks(range(len(order)), [TITLES[name] for name in order["method"]])
    ax.set_xlim(0, 1.7 * order["ratio"].max())
    style.bare(ax)
    style.headline(ax, "Samples needed by each method for the same loss")
    style.name_axes(ax, x=f"in multiples of argbest's, geometric mean over {most} problems")
    figure: Figure = style.finish(made).figure  # type: ignore[assignment]
    return figure


def _needed(found: pd.DataFrame) -> str:
    rows = []
    for problem in _problems(found):
        own = found[found["problem"] == problem].set_index("method")
        least = own["per_pair"].min()
        cells = {method: _needs(row, least) for method, row in own.iterrows()}
        rows.append(
            {"problem": f"`{problem}`", **{method: cells.get(method, "") for method in _methods(found)}}
        )
    return markdown(pd.DataFrame(rows))


def _needs(row: "pd.Series[Any]", least: float) -> str:
    if not np.isfinite(row["per_pair"]):
        return "not" if pd.isna(row["until"]) else f"> {row['until']:.3g}"
    low, high = (f"{each:.3g}" if np.isfinite(each) else "more" for each in (row["low"], row["high"]))
    text = f"{row['per_pair']:.3g}"
    return f"{f'**{text}**' if row['per_pair'] <= least else text} ({low} to {high})"


def _runs(found: pd.DataFrame) -> str:
    wide = found.pivot(index="problem", columns="method", values="runs").reindex(_problems(found))
    wide = wide[_methods(found)].astype(object).where(wide[_methods(found)].notna(), "")
    shown = wide.map(lambda n: str(int(n)) if n != "" else "")
    return markdown(shown.rename(index=lambda name: f"`{name}`").reset_index())


def _aims(standing: pd.DataFrame) -> str:
    n, fewest, fifth = len(standing), int(standing["fewest"].sum()), int(standing["fifth"].sum())
    there = np.isfinite(standing["argbest"])
    own = int((there & (standing["argbest"] <= standing["equal_own"] / 5)).sum())
    ahead = {str(row["problem"]): _ahead(row) for row in standing.to_dict("records")}
    rest = ", ".join(f"`{name}` ({ahead[name]})" for name in standing["problem"][~standing["fewest"]])
    return (
        f"- The fewest samples on at least nine of ten problems: on **{fewest} of {n}**, so "
        f"{'reached' if fewest >= 0.9 * n else 'not reached'}"
        f"{f'. Not on {rest}' if rest else ''}.\n"
        "- At most a fifth of equal allocation's samples on at least half of the problems: on "
        f"**{fifth} of {n}**, so {'reached' if fifth >= n / 2 else 'not reached'}; on {own} of {n} where "
        "equal allocation does not let alternatives share seeds."
    )


def _ahead(row: Mapping[Hashable, Any]) -> str:
    """Return who needs fewer samples than argbest, or why that is not known."""
    if pd.isna(row["best_other"]):
        return "nobody got there"
    if np.isfinite(row["argbest"]) or row["best_other"] < row["until"]:
        return str(row["who"])
    return f"not known: run to {row['until']:g} per pair, and {row['who']} needs {row['best_other']:.3g}"


def _losses(found: pd.DataFrame) -> str:
    rows = []
    for problem in _problems(found):
        for budget in BUDGETS:
            last = found["budget"].isna() & (budget == BUDGETS[-1])
            own = found[(found["problem"] == problem) & ((found["budget"] == budget) | last)].set_index(
                "method"
            )
            cells = {
                method: f"{100 * row['loss']:.1f} / {100 * row['right']:.0f}"
                for method, row in own.iterrows()
            }
            name = f"`{problem}`" if budget == BUDGETS[0] else ""
            shown = {method: cells.get(method, "") for method in _methods(found)}
            rows.append({"problem": name, "per pair": f"{budget:g}", **shown})
    return markdown(pd.DataFrame(rows))


def _claims(found: pd.DataFrame) -> str:
    shown = {
        "method": found["method"].replace(LIVE, OURS),
        "per pair": ["where it stops" if each < 0 else f"{each:g}" for each in found["budget"]],
        "problems": found["problems"],
        "claimed": [f"{each:.2f}" for each in found["claimed"]],
        "right": [f"{each:.2f}" for each in found["right"]],
        "right less claimed on the worst problem": [f"{each:+.2f}" for each in found["worst"]],
    }
    return markdown(pd.DataFrame(shown))


def _times(found: pd.DataFrame) -> str:
    numbers = {
        title: [f"{each:.2g}" for each in found[name]]
        for title, name in (("median problem", "median"), ("least", "min"), ("most", "max"))
    }
    return markdown(
        pd.DataFrame({"method": found["method"].replace(LIVE, OURS), **numbers, "problems": found["size"]})
    )


def _problems(found: pd.DataFrame) -> list[str]:
    return [name for name in PROBLEMS if (found["problem"] == name).any()]


def _methods(found: pd.DataFrame) -> list[str]:
    return [name for name in ANSWERS if (found["method"] == name).any()]
