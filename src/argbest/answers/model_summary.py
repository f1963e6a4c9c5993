"""What the fitted model found, in words and numbers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from argbest.answers import people
from argbest.core import common_noise, priors
from argbest.core.arrays import Array
from argbest.core.belief import Belief, left_out_share, shocks_of
from argbest.core.findings import Findings, Lengthscales
from argbest.jsonable import table
from argbest.models.base import findings, troubles, weighs_common_noise
from argbest.problems.base import Problem
from argbest.texts import Sentences, number

if TYPE_CHECKING:
    from argbest.study.view import View

ABSENT = 0.005  # of the variation: a part with less is not there
_WORTH_A_WORD = 1e-4  # share that is told, where a model was simplified
_SHORT_LENGTHSCALE, _LONG_LENGTHSCALE = 0.3, 1.0  # ranges of a column
_MEANING = {
    "trend": "common to all alternatives",
    "offset": "a level of each alternative",
    "joint": "alike for alternatives near each other",
    "own": "of each alternative alone",
    "noise-like": "moves the rewards of a context as the noise that they share does",
}
_EFFECTS = {
    "common": "is common to all alternatives",
    "lead": "is a constant lead of each alternative",
    "both": "depends on both alternative and context",
}
_OF_PARTS = ["part", "share", "sd", "low", "high"]
_OF_LENGTHS = ["axis", "column", "part", "lengthscale", "low", "high", "range", "reach", "correlation"]


@dataclass(frozen=True, eq=False, repr=False)
class ModelSummary(Sentences):
    """What a model found in the rewards, in their unit and in those of the columns; `str` says it in words.

    ``effects`` divides the posterior means of all pairs: what is ``common`` to all alternatives (the mean of
    each context), a constant ``lead`` of each alternative, and what depends on ``both``; ``share`` of their
    variance, and its root ``sd``.

    ``parts``: a row per part of the model and one for the noise. ``share`` is the part's share of the
    variation that the model expects between pairs (`argbest.core.findings`), NaN where nothing is divided;
    ``sd`` its root, of the noise the standard deviation of one replication; ``low`` and ``high`` their range
    over alternatives or pairs.

    ``lengthscales``: a row per column and part of the model that uses it: the distance over which rewards
    change, with its range over alternatives. ``reach`` is short (below 0.3 of the column's ``range``),
    medium, or long (above it); ``correlation`` that of the two ends of the range, or of two different
    categories, which have no range: their distance is 1.
    """

    effects: pd.DataFrame
    parts: pd.DataFrame
    lengthscales: pd.DataFrame
    sentences: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join(self.sentences)

    def plain(self) -> dict[str, Any]:
        """Return sentences and frames (columns and rows) as JSON-ready values, None in the place of NaN."""
        frames = {"effects": self.effects, "parts": self.parts, "lengthscales": self.lengthscales}
        return {"sentences": list(self.sentences), **{name: table(each) for name, each in frames.items()}}


def of_study(view: "View") -> ModelSummary:
    """Return what the model of a study found in all that the study was told.

    Of several sums of responses one after the other: rows of the frames say ``of`` which.
    """
    if len(view.sums) == 1:
        return _of_sum(view.sums[0])
    parts = {each.problem.subject: _of_sum(each) for each in view.sums}

    def joined(name: str) -> pd.DataFrame:
        frames = [getattr(part, name).assign(of=of) for of, part in parts.items()]
        whole: pd.DataFrame = pd.concat(
            [each for each in frames if len(each)] or frames[:1], ignore_index=True
        )
        whole.insert(0, "of", whole.pop("of"))
        return whole

    sentences = (
        f"Of {of}: {sentence[0].lower()}{sentence[1:]}" if not i else sentence
        for of, part in parts.items()
        for i, sentence in enumerate(part.sentences)
    )
    return ModelSummary(joined("effects"), joined("parts"), joined("lengthscales"), tuple(sentences))


def _of_sum(view: "View") -> ModelSummary:
    """Return what the model found in one sum of responses."""
    learned, out = view.knowledge, view.ruled_out
    mean = learned.belief.mean
    if out is not None:  # of these some models say nothing
        answered = ~out.all(axis=0)
        mean = mean[np.ix_(~out[:, answered].any(axis=1), answered)]
    found = findings(view.model, view.setting, learned.params)
    of_findings = summary(view.problem, mean, found)
    ended = troubles(view.model, view.setting, learned.params)
    more = (
        *_of_sources(view, found),
        *_of_what_is_left_out(left_out_share(learned.belief)),
        *people.left_within_groups(view),
        *ended,
        *_of_common_noise(view),
    )
    return replace(of_findings, sentences=(*of_findings.sentences, *more))


def summary(problem: Problem, mean: Array, found: Findings | None) -> ModelSummary:
    """Return the summary of posterior means [alternative, context] and of what a model says it found."""
    effects = _effects(mean)
    if found is None:
        parts, lengths = pd.DataFrame(columns=_OF_PARTS), pd.DataFrame(columns=_OF_LENGTHS)
        return ModelSummary(effects, parts, lengths, tuple(_of_effects(effects)))
    parts = _parts(found)
    present = parts["part"][~(parts["share"] < ABSENT)].tolist()
    rows = [row for each in found.lengthscales for row in _lengths(problem, found.kernel, each, present)]
    lengths = pd.DataFrame(rows, columns=_OF_LENGTHS)
    sentences = [
        found.outline,
        *_of_effects(effects),
        *_of_parts(parts),
        *_of_lengths(lengths),
        _of_noise(parts),
    ]
    return ModelSummary(effects, parts, lengths, tuple(sentence for sentence in sentences if sentence))


def _effects(mean: Array) -> pd.DataFrame:
    """Return the two-way decomposition of a table; without at least two rows there is none."""
    centred = mean - mean.mean() if len(mean) > 1 else np.zeros((1, 1))
    common, lead = centred.mean(axis=0), centred.mean(axis=1)
    both = centred - common - lead[:, None]
    variance = np.array([np.mean(each**2) for each in (common, lead, both)])
    total = variance.sum()
    share = variance / total if total > 0 else np.full(len(variance), np.nan)
    return pd.DataFrame({"effect": list(_EFFECTS), "share": share, "sd": np.sqrt(variance)})


def _parts(found: Findings) -> pd.DataFrame:
    """Return a row per part of the model, then the curves of alternatives, if any, and the noise."""
    variation = found.variation or {}
    total = sum(variation.values())
    rows: list[tuple[Any, ...]] = [
        (part, each / total if total > 0 else np.nan, *_spread(np.array(each)))
        for part, each in variation.items()
    ]
    if found.curves is not None:
        rows.append(("curve", np.nan, *_spread(found.curves)))
    return pd.DataFrame([*rows, ("noise", np.nan, *_spread(found.noise))], columns=_OF_PARTS)


def _spread(variance: Array) -> tuple[float, float, float]:
    """Return the root of the average, of the least and of the largest variance."""
    known = np.atleast_1d(variance)
    known = known[np.isfinite(known)]
    mean, low, high = np.sqrt(np.maximum([known.mean(), known.min(), known.max()], 0.0)).tolist()
    return mean, low, high


def _lengths(
    problem: Problem, kernel: str, given: Lengthscales, present: Sequence[str]
) -> Iterator[tuple[Any, ...]]:
    """Yield a row per column in which entries differ, if a part that uses it is there."""
    users = [part for part in given.parts if part in present]
    axis = problem.alternatives if given.axis == "alternative" else problem.contexts
    bounds = axis.bounds() if given.axis == "alternative" else problem.bounds
    correlation, _ = priors.KERNELS[kernel]
    for j, (name, values) in enumerate(axis.coordinates.items()):
        low, high = bounds.get(name, (0.0, 1.0))
        if not users or len(set(values)) < 2:
            continue
        width, scaled = high - low, given.values[..., j]
        middle, *ends = (float(fold(scaled)) for fold in (np.median, np.min, np.max))
        reach = "short" if middle < _SHORT_LENGTHSCALE else "long" if middle > _LONG_LENGTHSCALE else "medium"
        of_ends = float(correlation(middle**-2.0))
        span = np.nan if name not in bounds or isinstance(values[0], bool) else width
        distances = (width * each for each in (middle, *ends))
        yield axis.kind, name, ", ".join(users), *distances, span, reach, of_ends


def _of_effects(effects: pd.DataFrame) -> Iterator[str]:
    """Yield by how much the pairs differ, and what of it is common."""
    if effects["share"].isna().any():
        return
    total = number(np.sqrt((effects["sd"] ** 2).sum()))
    present = effects[effects["share"] >= ABSENT]
    shares = [
        f"{_percent(share)} {_EFFECTS[effect]}"
        for effect, share in zip(present["effect"], present["share"], strict=True)
    ]
    spread = f"The mean rewards of the pairs have standard deviation {total}"
    yield f"{spread}; of their variance {_listed(shares)}."


def _of_parts(parts: pd.DataFrame) -> Iterator[str]:
    """Yield of which parts the model takes rewards to consist, and which are absent."""
    for _, curve in parts[parts["part"] == "curve"].iterrows():
        yield f"A curve varies by {number(curve['sd'])} (standard deviation; from {_range(curve)})."
    rows = parts[parts["share"].notna()]
    if rows.empty:
        return
    present = rows[rows["share"] >= ABSENT].sort_values("share", ascending=False, kind="stable")
    shares = [
        f"{_percent(share)} {part} ({_MEANING[part]})"
        for part, share in zip(present["part"], present["share"], strict=True)
    ]
    yield f"By part of the model: {_listed(shares)}."
    absent = [part for part in rows["part"] if part not in set(present["part"])]
    if absent:
        yield f"Absent: {_listed(absent)}."


def _of_lengths(lengths: pd.DataFrame) -> Iterator[str]:
    """Yield over which distances rewards change, and how alike categories are."""
    near, alike = [], []
    for (_, column), rows in lengths.groupby(["axis", "column"], sort=False):
        span, many = rows["range"].iloc[0], len(rows) > 1
        if np.isnan(span):
            correlations = [f"{row['correlation']:.2f}{_remark(row, many)}" for _, row in rows.iterrows()]
            alike.append(f"{column} {_listed(correlations)}")
        else:
            distances = [f"{number(row['lengthscale'])}{_remark(row, many)}" for _, row in rows.iterrows()]
            near.append(f"{column} {_listed(distances)} of {number(span)}")
    if near:
        yield f"Distance over which rewards change, of the range: {'; '.join(near)}."
    if alike:
        yield f"Correlation between different categories: {'; '.join(alike)}."


def _remark(row: Any, many: bool) -> str:
    """Return in brackets which part is meant where there are several, and what is out of the ordinary."""
    remarks = [row["part"]] if many else []
    if not np.isnan(row["range"]):
        remarks += [f"{_range(row)} over alternatives"] if row["low"] < row["high"] else []
        remarks += [row["reach"]] if row["reach"] != "medium" else []
    return f" ({'; '.join(remarks)})" if remarks else ""


def _of_noise(parts: pd.DataFrame) -> str:
    """Return how large the noise of one replication is."""
    noise = parts[parts["part"] == "noise"].iloc[0]
    spread = f", pairs from {_range(noise)}" if noise["low"] < noise["high"] else ""
    return f"The noise of one replication has standard deviation {number(noise['sd'])}{spread}."


def _of_sources(view: "View", found: Findings | None) -> Iterator[str]:
    """Yield how far prior runs were relied on."""
    runs = view.problem.prior_runs
    if runs is None or found is None:
        return
    if not found.sources:
        yield f"The {runs.n:,} prior runs do not have this response."
        return
    correlations = [f"{each:.2f} ({name})" for name, each in zip(runs.sources, found.sources, strict=True)]
    yield (
        f"It also learned from {runs.n:,} prior runs. Correlation of what alternatives differ by, there and "
        f"here: {_listed(correlations)}."
    )


def _of_what_is_left_out(share: float) -> Iterator[str]:
    """Yield how much a simplification of large tables leaves out, if it is worth a word."""
    if share >= _WORTH_A_WORD:
        yield (
            f"The model was simplified, because very many pairs were simulated: {100 * share:.2g} % of what "
            "alternatives have in common counts as their own."
        )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _range(row: Any) -> str:
    return f"{number(row['low'])} to {number(row['high'])}"


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _of_common_noise(view: "View") -> Iterator[str]:
    """Yield how much of the noise is common to all alternatives, and what became of it."""
    tally, belief = view.tally, view.knowledge.belief
    if np.any(tally.count > 1) and not tally.m2.any():
        yield "All replications of a pair gave the same value: the rewards do not depend on the seed."
    elif view.parted is not None:
        yield (
            "Alternatives shared random numbers at first. That made their differences less certain, so each "
            "pair has had its own seeds since then."
        )
    elif tally.common is not None:
        yield _of_shared(view, belief)


def _of_shared(view: "View", belief: Belief) -> str:
    """Return how much noise is common to all alternatives; where it is treated as own, why."""
    shocks = shocks_of(belief)
    if shocks is not None:
        share = 100 * shocks.correlation
        extent = f", {share.min():.0f} to {share.max():.0f} % by context" if np.ptp(share) >= 1 else ""
        return (
            f"On average {share.mean():.0f} % of the noise of a replication is common to all alternatives "
            f"(common random numbers{extent})."
        )
    if not weighs_common_noise(view.model):
        return (
            "Alternatives share random numbers, but this model treats their noise as independent. Use "
            "additive-gp, gp or independent to benefit from them."
        )
    if common_noise.estimate(view.tally, belief.noise).any():
        return (
            "Alternatives share random numbers, but so many pairs were simulated that their noise counts as "
            "independent: differences are more certain than stated here."
        )
    return (
        "Alternatives share random numbers, but no common noise was found, so it counts as independent. Does "
        "the simulator use its seed?"
    )
