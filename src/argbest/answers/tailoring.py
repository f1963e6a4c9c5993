"""What it is worth to choose per context instead of once for all, and how many alternatives that takes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from argbest.answers.intervals import Estimate
from argbest.core.arrays import Array
from argbest.texts import Sentences, number, with_unit

if TYPE_CHECKING:
    from argbest.study.view import View

_DRAWS = 512  # joint draws behind it: more would not change two digits
_LONGEST_CURVE = 5  # alternatives of the curve
_WORDS = {2: "two alternatives keep", 3: "three", 4: "four", 5: "five"}
_NEARLY_ALL = 0.95  # of the value: so many alternatives are enough


@dataclass(frozen=True, eq=False, repr=False)
class Tailoring(Sentences):
    """The value of tailoring: Σ_c w_c max_k f_k(c) − max_k Σ_c w_c f_k(c), in the unit of the rewards.

    With limits f counts a broken limit at its price (`argbest.core.questions.within_limits`).
    ``curve`` has one row per number of alternatives, from 1: which ones (the best set that begins with the
    one before), what tailoring gains with these alone, and which share of the whole that is.
    """

    value: Estimate
    single: object  # the best alternative for all contexts
    curve: pd.DataFrame

    @property
    def enough(self) -> int | None:
        """The smallest number of alternatives that keeps 95 % of the value, None if the curve ends before."""
        found = self.curve.loc[self.curve["share"] >= _NEARLY_ALL, "n_alternatives"]
        return None if found.empty else int(found.iloc[0])

    def __str__(self) -> str:
        return self.said()

    def said(self, unit: str = "") -> str:
        """Return the value in words, with the unit of the rewards."""
        said = f"choosing per context gains {self.value.said(unit)} over {self.single} everywhere"
        shares = [
            f"{_WORDS[n]} {100 * share:.0f} %{' of it' if n == 2 else ''}"
            for n, share in zip(self.curve["n_alternatives"], self.curve["share"], strict=True)
            if n > 1
        ]
        if not shares or self.value.mean <= 0:
            gain = with_unit(number(max(self.value.mean, 0.0)), unit)
            return f"choosing per context gains {gain} over {self.single} everywhere"
        until = 1 + next(
            (i for i, s in enumerate(self.curve["share"][1:]) if s >= _NEARLY_ALL), len(shares) - 1
        )
        return f"{said}; {', '.join(shares[:until])}"


def of_study(view: "View") -> Tailoring:
    """Return the value of tailoring in a study, by joint draws; broken limits count at their price."""
    return view.inference.once("tailoring", lambda: _tailoring(view))


def value_of_draws(rewards: Array, weights: Array) -> Array:
    """Return Σ_c w_c max_k f_k(c) − max_k Σ_c w_c f_k(c) of tables [..., alternative, context], [...]."""
    return np.asarray(rewards.max(axis=-2) @ weights - (rewards @ weights).max(axis=-1))


def _tailoring(view: "View") -> Tailoring:
    """Return what `of_study` does, from the draws of a certificate."""
    overall = view.problem.put("overall", view.inference.answered)
    weights = overall.contexts.shares  # type: ignore[attr-defined]
    certificate = view.inference.certificate_of(view.problem.limiting(overall), 0.0)
    draws = certificate.of_draws(lambda some: some)[:_DRAWS]
    return of_draws(draws, weights, int(certificate.choice), view.problem.alternatives.labels)


def of_draws(draws: Array, weights: Array, single: int, labels: tuple[object, ...]) -> Tailoring:
    """Return the value of tailoring from joint draws [draw, alternative, context]."""
    whole = value_of_draws(draws, weights)
    below = (draws @ weights).max(axis=-1)  # the best single alternative of each draw
    chosen, reached = [single], draws[:, single]
    rows = [(1, labels[single], *Estimate.of(reached @ weights - below))]
    while len(chosen) < min(_LONGEST_CURVE, draws.shape[1]):
        gains = np.array(
            [np.maximum(reached, draws[:, k]).mean(axis=0) @ weights for k in range(draws.shape[1])]
        )
        gains[chosen] = -np.inf
        chosen.append(int(gains.argmax()))
        reached = np.maximum(reached, draws[:, chosen[-1]])
        rows.append((len(chosen), labels[chosen[-1]], *Estimate.of(reached @ weights - below)))
    frame = pd.DataFrame(rows, columns=["n_alternatives", "added", "gain", "low", "high"])
    mean = float(whole.mean())
    share = frame["gain"] / mean if mean > 0 else np.ones(len(frame))
    frame["share"] = np.clip(share, 0.0, 1.0)
    return Tailoring(Estimate.of(whole), labels[single], frame)
