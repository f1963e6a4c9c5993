"""The page `reproduction.md`: our numbers beside the published ones, and what explains their differences."""

import shlex
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from argbest import files
from argbest.errors import InputError
from argbest.experiment.published import CORES
from argbest.experiment.results import ExperimentFolder
from experiments import published
from experiments.convergence import verdict
from experiments.corrections import Frames, corrections
from experiments.figure2 import PANELS
from experiments.plan import texts

_IMAGES = Path("images") / "reproduction"
_FRAMES = (
    *("fig1", "fig2", "fig2_comparison", "fig2_seconds", "table1"),
    *("convergence", "convergence_pfs", "models_landmarks", "models_savings", "models_skipped"),
)
_PICTURES = ("fig1", "fig2", "convergence", "models")
_LARGE = 3.0  # combined standard errors from which a difference is listed


def write_page(results: str | Path, docs: str | Path) -> Path:
    """Return the path of reproduction.md, written into ``docs`` from what the folder of results holds.

    Parts that were not run are left out. Pictures are copied to images/reproduction.
    """
    results, docs = Path(results), Path(docs)
    frames = {name: pd.read_csv(path) for name in _FRAMES if (path := results / f"{name}.csv").exists()}
    if not frames:
        make = f"python -m experiments all --out {shlex.quote(str(results))}"
        raise InputError(f"the folder {str(results)!r} holds no results. Make them first: {make}")
    (docs / _IMAGES).mkdir(parents=True, exist_ok=True)
    for name in _PICTURES:
        if (picture := results / f"{name}.png").exists():
            files.write(docs / _IMAGES / picture.name, picture.read_bytes())
    return files.write(docs / "reproduction.md", "\n\n".join(_blocks(frames, results)) + "\n")


def markdown(frame: pd.DataFrame) -> str:
    """Return a table of texts in Markdown."""
    head = [list(frame.columns), ["---"] * len(frame.columns)]
    rows = [*head, *(list(row) for row in frame.itertuples(index=False, name=None))]
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in rows)


def side_by_side(frames: Frames) -> pd.DataFrame:
    """Return a row per panel and policy: ours at landmarks, what was published, the largest difference."""
    curves, differences = frames["fig2"], {}
    if "fig2_comparison" in frames:
        differences = published.largest(frames["fig2_comparison"])
    rows = []
    for panel in PANELS:
        own = curves[(curves["problem"] == panel.problem) & (curves["measure"] == panel.measure)]
        quoted = published.quoted(panel.problem, panel.measure)
        for contender, curve in own.groupby("contender", sort=False):
            marks = sorted(
                {i for i in published.LANDMARKS if i in set(curve["replications"])}
                | {curve["replications"].max()}
            )
            at = curve.set_index("replications").loc[marks]
            found = differences.get((panel.problem, panel.measure, str(contender)))
            rows.append(
                {
                    "panel": panel.title,
                    "policy": contender,
                    "replications": "/".join(map(str, marks)),
                    "ours": "/".join(f"{value:.3f}" for value in at["value"]),
                    "± se": "-" if pd.isna(at["se"].iloc[-1]) else f"{at['se'].iloc[-1]:.3f}",
                    "published": quoted.get(str(contender), "-"),
                    "PCS_M": f"{at['pcs_m'].iloc[-1]:.2f}" if panel.measure == "p_all" else "-",
                    "largest difference": "-" if found is None else f"{found:+.1f} se",
                }
            )
    return pd.DataFrame(rows)


def _blocks(frames: Frames, results: Path) -> Iterator[str]:
    yield "# The paper's synthetic study, reproduced"
    yield (
        "These are the synthetic experiments of Cakmak, Gao and Zhou, *Contextual Ranking and Selection with "
        "Gaussian Processes*, run again with `argbest`. The commands below make this page, in a clone of the "
        "repository. The numbers behind every picture are in the folder that they write. Terms such as PCS, "
        "EOC and macro-replication are in the [glossary](glossary.md)."
    )
    yield from _origin(results)
    for name, section in (("fig1", _figure1), ("fig2", _figure2), ("table1", _table1)):
        if name in frames:
            yield from section(frames)
    if "convergence_pfs" in frames:
        yield from _convergence(frames)
    if "models_landmarks" in frames:
        yield from _models(frames)
    yield "## What differs from the text of the paper"
    yield from corrections(frames)


def _origin(results: Path) -> Iterator[str]:
    """Yield the command, the seed and the versions of the last session of every experiment, once each."""
    seen: dict[tuple[str, int, str], None] = {}
    for header in sorted((results / "runs").glob("*/header.json")):
        found = ExperimentFolder(header.parent).header()
        session = found["sessions"][-1]
        versions = ", ".join(f"{name} {version}" for name, version in session["versions"].items())
        seen[_command(session["command"]), found["experiment"]["seed"], versions] = None
    for command, seed, versions in seen:
        yield f"    {command}"
        yield f"Seed {seed}; {versions}."


def _command(given: str) -> str:
    """Return a command as it can be repeated elsewhere: of absolute paths, what lies in the working folder.

    The program and paths outside of that folder are shown by their last names.
    """
    program, *words = shlex.split(given)
    name = Path(program).name
    if name == "__main__.py":
        shown = ["python", "-m", Path(program).parent.name]
    elif [name, *words[:1]] == ["argbest", "paper"]:  # what version 0.1 called it
        shown, words = ["python", "-m", __package__], words[1:]
    else:
        shown = [name]
    for word in words:
        option, equals, value = word.partition("=") if word.startswith("-") else ("", "", word)
        shown.append(option + equals + _portable(value))
    return shlex.join(shown)


def _portable(value: str) -> str:
    path = Path(value)
    if not path.is_absolute():
        return value
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else path.name


def _figure1(_: Frames) -> Iterator[str]:
    yield "## Figure 1: how a Gaussian process uses the data"
    yield _image("fig1", "Truth, GP predictions and independent predictions of two alternatives")
    yield (
        "Two alternatives, 10 replications of every pair, bars of two standard deviations. The Gaussian "
        "process uses information from neighbouring contexts; sample means do not."
    )


def _figure2(frames: Frames) -> Iterator[str]:
    yield f"## Figure 2: {int(frames['fig2']['n'].max())} macro-replications"
    yield _image("fig2", "PCS over replications for all policies on the four problems")
    yield markdown(side_by_side(frames))
    yield (
        "Bands are ± 1.96 standard errors; published curves, where a file gave them, are dotted. Worst-case "
        "panels are P_all, as in the paper. All policies, including TS and TS+, are compared at equal "
        "replications after the initial design."
    )
    if "fig2_comparison" in frames:
        yield from _differences(frames["fig2_comparison"])


def _differences(comparison: pd.DataFrame) -> Iterator[str]:
    """Yield how many differences there are, and which are large."""
    fair = comparison[comparison["contender"] != "ikg"]
    size = fair["difference"].abs()
    yield (
        f"Of {len(fair)} comparisons with the published curves, {int((size > 2).sum())} differ by more than "
        f"two combined standard errors and {int((size > 4).sum())} by more than four. `ikg` is left out of "
        "this count, because the published IKG is a different rule. Points of one curve come from the same "
        "runs, so differences along a curve are correlated. The scale, fixed here and drawn in every run "
        "there, adds to them."
    )
    large = fair[size > _LARGE]
    if len(large):
        yield f"Differences of more than {_LARGE:g} combined standard errors:"
        forms = {"problem": "", "measure": "", "contender": "", "replications": "", "ours": ".3f"}
        yield markdown(texts(large, forms | {"published": ".3f", "difference": "+.1f"}))


def _table1(frames: Frames) -> Iterator[str]:
    table = frames["table1"]
    yield "## Table 1: seconds per 1,000 iterations"
    forms = {"problem": "", "policy": "", "study": ".3g", "in a batch": ".3g", "paper": ",.0f"}
    yield markdown(texts(table, forms | {"paper/study": ",.0f", "paper/batch": ",.0f"}))
    yield (
        f"CPU seconds of one core, from {int(table['iterations'].iloc[0])} iterations of a live study, "
        f"and per macro-replication of {int(table['macroreps'].iloc[0])} side by side; the paper's are wall "
        f"clock on {CORES} cores."
    )
    if "fig2_seconds" in frames:
        yield f"All runs of Figure 2 took {frames['fig2_seconds']['seconds'].sum():,.0f} CPU seconds."


def _convergence(frames: Frames) -> Iterator[str]:
    yield "## Convergence"
    yield _image("convergence", "Shares beside p*, residuals, and false selections beside their rate")
    forms = {"n": ".0f", "distance": ".3f", "balance": ".3f", "across": ".3f", "efficiency": ".3f"}
    yield markdown(texts(frames["convergence"].iloc[::3], forms))
    yield (
        "GP-C-OCBA with known noise and a diffuse independent prior on three alternatives in two contexts; "
        "medians over runs. `rate` is -2 d log PFS/dn over the last quarter, to be compared with η*. "
        f"{verdict(frames['convergence_pfs'])}"
    )
    end = frames["convergence_pfs"].groupby("allocation", sort=False).tail(1)
    yield markdown(texts(end, {"allocation": "", "n": ".0f", "pfs": ".2e", "pfs_se": ".1e", "rate": ".4f"}))


def _models(frames: Frames) -> Iterator[str]:
    landmarks, saved = frames["models_landmarks"], frames["models_savings"]
    at, runs = int(saved["at"].iloc[0]), int(landmarks["macroreps"].min())
    yield "## Models: how many replications does a better one save?"
    yield _image("models", "Opportunity cost over replications by model and problem")
    yield (
        f"{runs} macro-replications, so that single rows are rough; what they have in common is not. PCS_E "
        f"and expected opportunity cost (EOC) after {at} replications, and how many the paper's model `gp` "
        "needs for that cost under the same policy; inf is more than were run."
    )
    keys = ["problem", "policy", "model"]
    table = landmarks[landmarks["replications"] == at].merge(saved[[*keys, "needed"]], on=keys, how="left")
    forms = dict.fromkeys(keys, "") | {"pcs_e": ".3f", "pcs_e_se": ".3f", "eoc": ".3g", "eoc_se": ".2g"}
    yield markdown(texts(table, forms | {"needed": ".0f"}).replace("nan", "-"))
    if len(frames["models_skipped"]):
        yield "Left out:"
        yield markdown(texts(frames["models_skipped"], dict.fromkeys(frames["models_skipped"].columns, "")))


def _image(name: str, about: str) -> str:
    return f"![{about}]({_IMAGES.as_posix()}/{name}.png)"
