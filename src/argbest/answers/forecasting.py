"""What more replications would give: the rest of the study is simulated, many times over.

Each path takes a draw of all rewards from the present belief for the truth and continues with the study's
policy on simulated replications. `of_study` says after how many of them the certificate reaches a target,
`after` what the certificate says after so many. The hyper-parameters stay the same on a path; in truth they
are learned on the way, which on known problems moved the end by up to a factor of two. So the range of
`of_study` is wider by that factor at both ends (`experiments/forecast.py` measures how often it is right).
Where alternatives share noise, so do the simulated replications. All of it is about the answer to the study's
own question, for which its policy decides.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from argbest import streams
from argbest.checks import finite, flag, indifference_zone
from argbest.core import tally as tallies
from argbest.core.abilities import offers
from argbest.core.arrays import Array, IntArray
from argbest.core.belief import Belief, shocks_of
from argbest.core.blocks import square_root
from argbest.core.certificate import Certificate
from argbest.core.decision import Decision, at, cell
from argbest.core.outcomes import known_exactly, of_each_sum, sums_of
from argbest.core.question import BEST, Question
from argbest.core.questions import joint_draws
from argbest.core.questions.contexts import NamesContrastsByDraws
from argbest.core.questions.one_for_all import DecidesAs
from argbest.core.questions.rule import NamesRules
from argbest.core.setting import among_the_rest
from argbest.core.states import INTERVAL
from argbest.engine.step import shown_to_policies
from argbest.errors import InputError, warn_of_old_name
from argbest.texts import Sentences, chance

if TYPE_CHECKING:
    from argbest.study.view import View

PATHS = 20
_QUICK_SIZE = 20_000  # pairs times observed pairs: a forecast then takes a second or two
_MOST_WORK = 3_000_000  # numbers per decision (`is_quick`)
_OF_DRAW, _OF_CONTRAST = 0.5, 5.0  # cost of a number of a draw, and of a draw that names contrasts
_OF_RULE = 5.0, 10.0  # the same where each draw is searched for a rule
_RANGE_FACTOR = 2.0  # by which the ends of ranges are moved apart
_FEWEST_PATHS = 12  # paths whose ends still say something
_MOST_NUMBERS = 1 << 24  # in what a belief of all paths holds, 128 MB
_DECISIONS_PER_GROWTH = 30  # a decision stands for a thirtieth of the further replications so far
_HORIZON_FACTOR = 10  # times the replications so far: nobody plans farther ahead
_LEAST_HORIZON = 500  # replications that are looked ahead at least
NORMALS = 256  # so many that beliefs that differ in their hyper-parameters have some each
_UNREACHABLE = 2.0  # a target that no probability reaches
_LOOK = 1.12  # numbers of replications at which draws are looked at grow by this factor
_TELLING = 5.0  # draws that a choice should lose if it is right with just the target probability
_MOST_DRAWS = 4096
_CLOSEST_TARGET = 0.999  # that is told from 1 by draws
_CLOSEST_TO_SURE = 1e-9  # no claim is nearer to 0 or 1 than this
_TAILS = (1 - INTERVAL) / 2, 0.5, (1 + INTERVAL) / 2


@dataclass(frozen=True, eq=False, repr=False)
class Forecast(Sentences):
    """How many more replications until a certificate reaches a target; `str` says it in words.

    Infinite numbers stand for more than the ``horizon``.
    """

    target: float
    worst: bool  # of the worst context, not of the weighted mean
    now: float  # what the certificate says today
    replications: float  # further replications, half of the paths taking fewer
    low: float  # with probability 0.9 between this
    high: float  # and this
    horizon: int  # replications looked ahead
    curve: pd.DataFrame  # replications, and low, median and high of the certificate after so many more
    question: str = BEST.name

    @property
    def samples(self) -> float:
        """Deprecated: the name of `replications` in version 0.2."""
        warn_of_old_name("samples", "replications")
        return self.replications

    @property
    def what(self) -> str:
        """The certificate's figure that is meant."""
        if self.question != BEST.name:
            return f"P(right) of the question {self.question!r}" + (" in the worst context" * self.worst)
        return "PCS of the worst context" if self.worst else "PCS_E"

    def plain(self) -> dict[str, Any]:
        """Return the numbers as JSON-ready values, None for what lies beyond the horizon."""
        ends = {name: getattr(self, name) for name in ("replications", "low", "high")}
        return {
            **{name: getattr(self, name) for name in ("target", "worst", "now")},
            **{name: None if np.isinf(value) else round(value) for name, value in ends.items()},
            "horizon": self.horizon,
            "sentence": str(self),
        }

    def __str__(self) -> str:
        goal = f"{self.what} {self.target:g}"
        if not self.replications:
            return f"{goal} is reached: it is {chance(self.now)}"
        if np.isinf(self.low):
            return f"{goal} takes more than {self.horizon:,} more replications (now {chance(self.now)})"
        middle = f"about {rounded(self.replications)}" if np.isfinite(self.replications) else "very many"
        high = rounded(self.high) if np.isfinite(self.high) else f"more than {self.horizon:,}"
        ends = f"{rounded(self.low)} to {high}"
        return f"{goal} takes {middle} more replications (now {chance(self.now)}; 90 %: {ends})"


def of_study(view: "View", target: float, *, worst: bool, delta: float) -> Forecast:
    """Return how many more replications of a study it takes until its certificate reaches the target."""
    finite("target", target, above=0, below=1)
    flag("worst", worst)
    certificate, asked = view.answer_certificate(indifference_zone(delta)), view.problem.question.name
    several = len(certificate.counted) > 1  # parts: the answer for all contexts together has no worst one
    now = float(certificate.pcs_m if worst else certificate.pcs_e)
    ahead = horizon(view)
    if now >= target:
        curve = pd.DataFrame({"replications": [0], "low": now, "median": now, "high": now})
        return Forecast(target, worst and several, now, 0.0, 0.0, 0.0, ahead, curve, asked)
    looks, claims = _paths(view, certificate, target, worst=worst, horizon=ahead)
    hit = claims >= target
    first = np.argmax(hit, axis=0)
    reached = np.where(hit.any(axis=0), looks[first, np.arange(len(first))], np.inf)
    low, middle, high = np.quantile(reached, _TAILS, method="inverted_cdf").tolist()
    grid = np.unique(np.quantile(looks, 0.5, axis=1, method="inverted_cdf"))
    on_grid = _claims_after(looks, claims, grid)
    curve = pd.DataFrame(np.quantile(on_grid, _TAILS, axis=1).T, columns=["low", "median", "high"])
    curve.insert(0, "replications", grid)
    ends = low / _RANGE_FACTOR, high * _RANGE_FACTOR
    return Forecast(target, worst and several, now, middle, *ends, ahead, curve, asked)


def horizon(view: "View") -> int:
    """Return how many further replications are looked ahead."""
    return max(_LEAST_HORIZON, _HORIZON_FACTOR * view.n_replications)


def after(view: "View", replications: Sequence[int], *, delta: float, paths: int = PATHS) -> pd.DataFrame:
    """Return one row per number of further replications: mean, p5 and p95 of PCS_E after so many.

    There are so many ``paths``, or as many as fit into memory and as the certificate has draws.
    """
    certificate, ahead = view.answer_certificate(delta), max(replications, default=0)
    looks, claims = _paths(view, certificate, _UNREACHABLE, worst=False, horizon=ahead, most=paths)
    certificates = _claims_after(looks, claims, np.array(replications, np.int64))
    low, _, high = np.quantile(certificates, _TAILS, axis=1)
    return pd.DataFrame(
        {"replications": replications, "mean": certificates.mean(axis=1), "p5": low, "p95": high}
    )


def gain(view: "View", n_next: int, *, delta: float) -> float | None:
    """Return what the next replications are expected to add to PCS_E; None where that would take long."""
    if not (n_next and _quick_for(view, _UNREACHABLE)):
        return None
    now, then = after(view, [0, n_next], delta=delta)["mean"].tolist()
    return float(then - now)


def _claims_after(looks: Array, claims: Array, replications: Array | IntArray) -> Array:
    """Return what the certificate of every path says after so many further replications, [number, path]."""
    last = [np.searchsorted(own, replications, "right") - 1 for own in looks.T]
    return np.stack([own[i] for own, i in zip(claims.T, last, strict=True)], axis=1)


def quick_forecast(
    view: "View", target: float, *, worst: bool = False, delta: float = 0.0
) -> Forecast | None:
    """Return the forecast if it is quick to make; None if it is not, or if no value was told yet."""
    return of_study(view, target, worst=worst, delta=delta) if _quick_for(view, target) else None


def _quick_for(view: "View", target: float) -> bool:
    """Return whether a forecast for a target is quick."""
    own = view.problem.put(view.problem.question)
    return is_quick(view, own, draws=_n_draws(target) if _by_draws(own) else 0)


def is_quick(view: "View", question: Question, *, paths: int = PATHS, draws: int) -> bool:
    """Return whether so many paths are quick, by their size alone, and at least one value was told.

    A clock would say so one day and not another. The numbers that a decision takes are counted, on every
    path for every sum that is learned and every pair: one per observed pair, of which the belief knows a
    covariance; those of the ``draws`` of a look; and those of the draws by which a question names contrasts.
    Where there were more than half a million, on tables of 64 to 144 pairs with and without limits, a whole
    forecast took 3 to 8 µs for each, on a busy machine: so at most some 10 to 25 seconds.

    Args:
        view: The study.
        question: What is asked, put to its contexts.
        paths: How many paths are wanted.
        draws: Draws of every path that a look takes; 0 where it needs none.
    """
    observed, size = int((view.tally.count > 0).sum()), view.tally.count.size
    n = n_paths(view, paths)
    of_draw, of_contrast = _OF_RULE if offers(question, NamesRules) else (_OF_DRAW, _OF_CONTRAST)
    named = joint_draws.FOR_CONTRASTS if offers(question, NamesContrastsByDraws) else 0
    numbers = n * len(view.tallies) * size * (observed + of_draw * draws + of_contrast * named)
    return n > 0 and 0 < observed * size <= _QUICK_SIZE and numbers <= _MOST_WORK


def n_paths(view: "View", most: int = PATHS) -> int:
    """Return how many paths, at most so many, fit into memory; 0 where these are too few to say anything."""
    n_alternatives, n_contexts = view.problem.shape
    rows = int((view.tally.count > 0).sum()) + _DECISIONS_PER_GROWTH * 5  # and one for every decision ahead
    fitting = _MOST_NUMBERS // (n_alternatives * n_contexts * max(n_contexts, rows))
    return 0 if fitting < _FEWEST_PATHS else min(most, NORMALS, fitting)


def _paths(
    view: "View",
    certificate: Certificate,
    target: float,
    *,
    worst: bool,
    horizon: int,
    most: int = PATHS,
) -> tuple[Array, Array]:
    """Return numbers of further replications, and the certificate after so many, both [look, path].

    A decision stands for one replication at first, then for several (`next_replications`). On the way
    P(right) is Π Φ(gap/τ) over the rivals, quick to work out, or a share of joint draws (`_probability`); by
    how much, in standard normal units, the certificate of now is below it shrinks with the root of the number
    of replications. A path that has arrived goes on as long as enough others have not.
    """
    n = n_paths(view, most)
    if not n:
        raise InputError(
            "a table of {} alternatives and {} contexts is too large for a forecast. Continue the "
            "run, and look at the certificate again.".format(*view.problem.shape)
        )
    setting, ruled_out, begun = shown_to_policies(view.setting), view.ruled_out, view.n_replications
    roots = streams.roots(view.seed, np.arange(n))
    generator = streams.generator(int(roots[0]), streams.Purpose.CERTIFICATE)
    begin = Beginning.of(view, certificate, n)
    truth, tally, belief = begin.truth, begin.tally, begin.belief
    right = _probability(certificate.question, ruled_out, certificate.delta, target)
    growth = _LOOK if _by_draws(certificate.question) else 1.0  # draws take longer: a look now and then
    behind = _normal_score(right(belief)) - _normal_score(certificate.pcs)
    spare = int((1 - INTERVAL) / 2 * n)  # paths that no end of the interval depends on
    counted, nothing = certificate.counted > 0, np.zeros(tally.shape, np.int64)

    def claimed_by(belief: Belief, further: IntArray) -> Array:
        share = np.sqrt(begun / (begun + further))[:, None]
        pcs = ndtr(_normal_score(right(belief)) - share * behind)
        pcs = np.where(counted, pcs, 1.0)
        return np.asarray(pcs.min(axis=-1) if worst else pcs @ certificate.counted)

    further, step, due = np.zeros(n, np.int64), 0, 0.0
    looks, claims = [further], [claimed_by(belief, further)]
    open_ = claims[0] < target
    while np.sum(open_ & (further < horizon)) > spare:
        draws, step = streams.StepDraws(roots, streams.Purpose.POLICY, step), step + 1
        batch = view.policy.propose(among_the_rest(belief, ruled_out), tally, nothing, setting, draws)
        decision = Decision(batch.alternative[..., 0], batch.context[..., 0])
        normals = begin.normals(generator)
        belief, value, m = next_replications(belief, decision, truth, further, normals)
        tally = tallies.add(tally, decision, value[..., 0], n=m, m2=(m - 1) * at(belief.noise, decision))
        further = further + m
        if further.mean() < due:
            continue
        due = growth * float(further.mean())
        looks.append(further)
        claims.append(claimed_by(belief, further))
        open_ &= claims[-1] < target
    return np.array(looks), np.array(claims)


@dataclass(frozen=True, eq=False)
class Beginning:
    """Where paths begin: what is taken for the truth, and what is known of it; path is the first axis."""

    truth: Array  # [path, sum, alternative, context]
    tally: tallies.Tally  # of the goal
    belief: Belief
    root: Array  # of the correlation of the noise of all sums, [sum, sum]

    @classmethod
    def of(cls, view: "View", certificate: Certificate, n: int) -> "Beginning":
        """Return the beginning of n paths: each has a joint draw for the truth."""
        drawn, basis = certificate.certainty.draw(certificate.normals[:NORMALS])[:n], view.setting.basis
        tallied = [tally[None][np.zeros(n, np.int64)] for tally in view.tallies]
        sums = [
            view.model.posterior(tally, view.setting, tiled(params, n))
            for tally, params in zip(tallied, view.knowledge.learned.params, strict=True)
        ]
        shared = view.inference.shared_noise
        root = np.eye(1) if shared is None else square_root(shared.correlation)
        belief = basis.belief(sums, known_exactly(view.tallies))
        return cls(basis.sums_of_outcomes(drawn), tallied[0], belief, root)

    def normals(self, generator: np.random.Generator) -> Array:
        """Return the noise of one replication of every path, [path, sum]."""
        return np.asarray(generator.standard_normal(self.truth.shape[:2]) @ self.root)


def next_replications(
    belief: Belief, decision: Decision, truth: Array, further: IntArray, normals: Array
) -> tuple[Belief, Array, IntArray]:
    """Return the belief after the next replications of a pair on every path, their means and their number.

    ``truth`` is [path, sum, alternative, context], ``normals`` and the means [path, sum]. There are a
    thirtieth of the further replications so far. Where alternatives share noise, as many as there are up to
    the next of fixed numbers, a fifth apart: all pairs then group their replications alike, and the mean of a
    group shares noise with that of another as single replications do.
    """
    sharing = next(filter(None, map(shocks_of, sums_of(belief))), None)
    if sharing is None:
        group, m = further, 1 + further // _DECISIONS_PER_GROWTH
    else:
        starts = _starts(int(sharing.following.max()) + 1)
        group = np.searchsorted(starts, at(sharing.following, decision), "right") - 1
        m = starts[group + 1] - at(sharing.following, decision)
    means = np.empty(normals.shape)

    def later(i: int, one: Any) -> Any:
        shocks, own = shocks_of(one), truth[:, i]
        if shocks is None:
            means[:, i] = at(own, decision) + np.sqrt(at(one.noise, decision) / m) * normals[:, i]
            return one.update(decision, means[:, i], m)
        number = starts[group]
        seen = shocks.contrast(decision, number)
        there = (np.arange(len(m))[:, None], seen.alternative, decision.context[:, None])
        told = np.sum(seen.weight * own[there], axis=-1)
        means[:, i] = seen.shown + told + np.sqrt(seen.noise / m) * normals[:, i]
        found = one.update_common(decision, number, means[:, i], m)
        following = found.shocks.following.copy()
        following[cell(decision, following.shape)] = starts[group + 1]
        return replace(found, shocks=replace(found.shocks, following=following))

    return of_each_sum(belief, later), means, m


def _starts(beyond: int) -> IntArray:
    """Return 0, 1, 2, ..., each at most a fifth and one more than the one before, past a number."""
    found = [0]
    while found[-1] <= beyond:
        found.append(found[-1] + 1 + found[-1] // 5)
    return np.array(found)


def _probability(
    question: Question, ruled_out: Any, delta: float, target: float
) -> Callable[[Belief], Array]:
    """Return the function that computes P(right), [path, part], of a belief.

    By Π Φ((gap + δ)/τ) over the contrasts of the choice; where joint draws name the contrasts, or policies
    are shown those of another question, by the share of draws in which the choice loses no more than δ. These
    are so many that the target can be told from 1; half a draw counts on either side.
    """
    n = _n_draws(target)

    def by_contrasts(belief: Belief) -> Array:
        known = among_the_rest(belief, ruled_out)
        return question.contrasts(known, question.choice(known)).bound(delta)

    def by_draws(belief: Belief) -> Array:
        known = among_the_rest(belief, ruled_out)
        hits = np.sum(question.loss(joint_draws.of_belief(known, n), question.choice(known)) <= delta, axis=0)
        return np.asarray((hits + 0.5) / (n + 1.0))

    return by_draws if _by_draws(question) else by_contrasts


def _n_draws(target: float) -> int:
    """Return how many draws tell a target from 1."""
    return int(np.clip(_TELLING / (1.0 - min(target, _CLOSEST_TARGET)), joint_draws.FOR_CHOICES, _MOST_DRAWS))


def _by_draws(question: Question) -> bool:
    """Return whether P(right) of a question does not follow from contrasts of its choice."""
    return offers(question, NamesContrastsByDraws) or offers(question, DecidesAs)


def _normal_score(chance: Array) -> Array:
    """Return the normal score of a probability, 0 for NaN and never infinite."""
    return np.asarray(ndtri(np.clip(np.nan_to_num(chance, nan=0.5), _CLOSEST_TO_SURE, 1 - _CLOSEST_TO_SURE)))


def tiled(thing: Any, n: int) -> Any:
    """Return a dataclass of arrays with every array n times over, along a new first axis."""
    if isinstance(thing, np.ndarray | np.generic | float | int):
        return np.repeat(np.asarray(thing)[None], n, axis=0)
    if is_dataclass(thing) and not isinstance(thing, type):
        return replace(thing, **{each.name: tiled(getattr(thing, each.name), n) for each in fields(thing)})
    return thing


def rounded(replications: float) -> str:
    """Return a number with two digits that count: no forecast is worth more."""
    return f"{float(f'{replications:.2g}'):,.0f}"
