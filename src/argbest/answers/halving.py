"""How many more replications, chosen for a question, would halve the expected loss of its answer.

The rest of the study is simulated many times over, as for a forecast (`argbest.answers.forecasting`): each
path takes a joint draw for the truth, decides for this question, and looks at the expected loss on its way.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from argbest import registry, streams
from argbest.answers import forecasting
from argbest.core import tally as tallies
from argbest.core.abilities import offers
from argbest.core.arrays import Array
from argbest.core.belief import Belief
from argbest.core.decision import Decision, at
from argbest.core.question import HasLimits, Question
from argbest.core.questions import joint_draws
from argbest.core.questions.within_limits import known_by_draws, seen_by
from argbest.core.setting import among_the_rest
from argbest.engine.step import shown_to_policies
from argbest.options import POLICY
from argbest.policies.base import takes_question
from argbest.texts import Sentences

if TYPE_CHECKING:
    from argbest.study.view import View

_GROWTH_BETWEEN_LOOKS = 1.12  # numbers of replications at which the loss is looked at grow by this factor
_PATHS = 60  # with a third of them the number was off by a factor of two in half of the cases looked at
_DRAWS = 64  # per path and look


@dataclass(frozen=True, repr=False)
class Halving(Sentences):
    """How many more replications halve the expected loss; infinite: more than the ``horizon``."""

    replications: float
    horizon: int

    @property
    def plain(self) -> int | None:
        """The number, None beyond the horizon."""
        return None if np.isinf(self.replications) else round(self.replications)

    def __str__(self) -> str:
        if np.isinf(self.replications):
            return f"more than {self.horizon:,} more replications would be needed to halve the expected loss"
        said = forecasting.rounded(self.replications)
        return f"about {said} more replications, chosen for this question, would halve the expected loss"


def of_study(view: "View", question: Question) -> Halving | None:
    """Return how many more replications halve the expected loss; None where it is 0, or that takes long."""
    draws = joint_draws.FOR_CHOICES if view.problem.limits else _DRAWS
    quick = forecasting.is_quick(view, question, paths=_PATHS, draws=draws)
    return _halving(view, view.problem.limiting(question)) if quick else None


def _halving(view: "View", question: Question) -> Halving | None:
    """Return what `of_study` does, by simulating on until the loss is halved or the horizon reached."""
    horizon, n = forecasting.horizon(view), forecasting.n_paths(view, _PATHS)
    setting, ruled_out = replace(view.setting, question=question), view.ruled_out
    shown = shown_to_policies(setting)
    able = takes_question(view.policy, shown.question)
    policy = view.policy if able else registry.configured_policy(POLICY)
    roots = streams.roots(view.seed, np.arange(n))
    generator = streams.generator(int(roots[0]), streams.Purpose.CERTIFICATE)
    certificate = view.certificate()
    begin = forecasting.Beginning.of(view, certificate, n)
    truth, tally, belief = begin.truth, begin.tally, begin.belief
    losses = _losses(view, question)
    first = float(losses(belief).mean())
    if first <= 0:
        return None
    further, step, due = np.zeros(n, np.int64), 0, 1.0
    seen, nothing = [(0.0, first)], np.zeros(tally.shape, np.int64)
    while further.min() < horizon:
        draws, step = streams.StepDraws(roots, streams.Purpose.POLICY, step), step + 1
        batch = policy.propose(among_the_rest(belief, ruled_out), tally, nothing, shown, draws)
        decision = Decision(batch.alternative[..., 0], batch.context[..., 0])
        belief, value, m = forecasting.next_replications(
            belief, decision, truth, further, begin.normals(generator)
        )
        tally = tallies.add(tally, decision, value[..., 0], n=m, m2=(m - 1) * at(belief.noise, decision))
        further = further + m
        if further.mean() >= due:
            due = max(due + 1.0, _GROWTH_BETWEEN_LOOKS * due)
            seen.append((float(further.mean()), float(losses(belief).mean())))
            if seen[-1][1] <= 0.5 * first:
                return Halving(_crossing(*seen[-2], *seen[-1], 0.5 * first), horizon)
    return Halving(float("inf"), horizon)


def _losses(view: "View", question: Question) -> Callable[[Belief], Array]:
    """Return what works out the expected loss of the choice of every path, weighted over the parts, [path].

    With limits a broken one costs what it costs today, and draws of different responses are independent.
    """
    weights, ruled_out = question.parts(view.problem.weights), view.ruled_out
    if offers(question, HasLimits):
        settled = question.settled(view.belief)

        def of_options(belief: Belief) -> Array:
            draws = joint_draws.of_belief(among_the_rest(belief, ruled_out), joint_draws.FOR_CHOICES)
            _, _, lost = np.moveaxis(settled.option_sums(draws).sum(axis=0), -3, 0)  # [path, option, context]
            return np.asarray(lost.min(axis=-2) @ weights / len(draws))

        return of_options

    asked, seen = seen_by(question, view.belief, ruled_out)

    def of_choice(belief: Belief) -> Array:
        known = among_the_rest(belief, ruled_out)
        if seen is None:
            draws = joint_draws.of_belief(known, _DRAWS)
        else:
            draws = seen(joint_draws.of_belief(known, joint_draws.FOR_CHOICES))
            known = known_by_draws(draws)
        return np.asarray(asked.loss(draws, asked.choice(known)).mean(axis=0) @ weights)

    return of_choice


def _crossing(before: float, loss: float, after: float, lower: float, target: float) -> float:
    """Return where the straight line between two looks meets the target."""
    return after if lower >= loss else before + (after - before) * (loss - target) / (loss - lower)
