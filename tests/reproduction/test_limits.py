"""The contest with limits: contenders against their formulas, a tiny run, and how it is judged."""

from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.stats import norm

from argbest.core.arrays import Array, IntArray
from argbest.core.belief import BlockBelief
from argbest.core.decision import Decision
from argbest.core.limits import BestWithinLimits, Standing
from argbest.core.outcomes import Outcomes
from argbest.core.setting import Setting
from argbest.policies.base import Moment
from argbest.policies.dvr import DVRLoss
from argbest.problems.call_centres import call_lines
from experiments import limits

K, C, LIMITS = 3, 2, 2  # alternatives, contexts, limits
PAGE = Path(limits.__file__).parents[1] / "docs" / "limits.md"
PAIRS = list(product(range(K), range(C)))
WEIGHTS = np.array([0.3, 0.7])


class Case(NamedTuple):
    """A belief about a goal and two slacks, and the numbers in it by outcome."""

    belief: Outcomes
    mean: Array  # [outcome, alternative, context]
    cov: Array  # [outcome, alternative, context, context]
    noise: Array  # [outcome, alternative, context]

    def covariance(self, i: int, one: tuple[int, int], other: tuple[int, int]) -> float:
        """Return the covariance of two pairs in an outcome: alternatives are independent."""
        return float(self.cov[i, one[0], one[1], other[1]]) if one[0] == other[0] else 0.0

    def zeta(self, i: int, k: int, c: int) -> float:
        """Return mean over standard deviation of a slack."""
        return float(self.mean[i, k, c] / np.sqrt(self.cov[i, k, c, c]))

    def kept(self, k: int, c: int) -> float:
        """Return P(all limits are kept)."""
        return float(np.prod([norm.cdf(self.zeta(i, k, c)) for i in range(1, 1 + LIMITS)]))

    def told(self, i: int, pair: tuple[int, int]) -> float:
        """Return the variance of the next replication of a pair."""
        return self.covariance(i, pair, pair) + float(self.noise[i][pair])


def case(seed: int, lift: float = 0.5) -> Case:
    draw = np.random.default_rng(seed)
    mean, noise = draw.standard_normal((1 + LIMITS, K, C)), draw.uniform(0.5, 2.0, (1 + LIMITS, K, C))
    mean[1:] += lift
    root = draw.standard_normal((1 + LIMITS, K, C, C))
    cov = root @ np.swapaxes(root, -1, -2)
    goal, *slacks = (BlockBelief(*each) for each in zip(mean, cov, noise, strict=True))
    return Case(Outcomes.of(goal, slacks), mean, cov, noise)


class First:
    """Draws that take the first of all ties."""

    def uniform(self, lane: int | IntArray = 0) -> Array:
        return np.zeros(())


def setting(price: float | None = None) -> Setting:
    return Setting(WEIGHTS, np.zeros((0, C, C)), np.ones(C, bool), question=BestWithinLimits(price))


def moment(own: Case, count: IntArray, price: float | None = None) -> Moment:
    return Moment(own.belief, count, setting(price), First(), 0)


def pair(decision: Decision) -> tuple[int, int]:
    return int(decision.alternative), int(decision.context)


@pytest.mark.parametrize("seed", range(5))
def test_the_limits_in_doubt_are_weighed_by_their_density_at_zero(seed: int) -> None:
    own = case(seed)
    expected = np.zeros((K, C))
    for place in PAIRS:
        for i, (k, c) in product(range(1, 1 + LIMITS), PAIRS):
            weight = WEIGHTS[c] * norm.pdf(own.zeta(i, k, c)) / own.cov[i, k, c, c]
            expected[place] += weight * own.covariance(i, (k, c), place) ** 2 / own.told(i, place)
    found = np.exp(limits.doubt_score(own.belief, setting())) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_the_goal_is_weighed_by_the_chance_that_both_keep_the_limits(seed: int) -> None:
    own = case(seed)
    leader = Standing.of(own.belief).leader
    expected = np.zeros((K, C))
    for place, c in product(PAIRS, range(C)):
        b = int(leader[c])
        for k in set(range(K)) - {b}:
            tau = np.sqrt(own.cov[0, b, c, c] + own.cov[0, k, c, c])
            tie = norm.pdf((own.mean[0, b, c] - own.mean[0, k, c]) / tau) / tau
            both = own.covariance(0, (b, c), place) - own.covariance(0, (k, c), place)
            expected[place] += (
                WEIGHTS[c] * own.kept(b, c) * own.kept(k, c) * tie * both**2 / own.told(0, place)
            )
    found = np.exp(limits.goal_score(own.belief, setting())) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_alternating_takes_turns_and_objective_only_looks_at_the_goal_alone() -> None:
    own, even, odd = case(3), np.full((K, C), 2), np.full((K, C), 2)
    odd[0, 0] = 3
    for count, score in ((even, limits.goal_score), (odd, limits.doubt_score)):
        best = PAIRS[int(score(own.belief, setting()).argmax())]
        assert pair(limits.Alternating().decide(moment(own, count))) == best
    alone = Moment(own.belief.goal, even, Setting(WEIGHTS, np.zeros((0, C, C)), np.ones(C, bool)), First(), 0)
    for lift in (-9.0, 0.5, 9.0):  # whatever the slacks are
        chosen = limits.ObjectiveOnly().decide(moment(case(3, lift), even))
        assert pair(chosen) == pair(DVRLoss().decide(alone))


def rate_by_hand(own: Case, k: int, c: int) -> tuple[float, float, float, int | None]:
    """Return the rate of a pair, its two parts, and the leader of the context."""
    feasible = [j for j in range(K) if own.kept(j, c) >= 0.5]
    zetas = [own.zeta(i, k, c) for i in range(1, 1 + LIMITS)]
    broken = sum(0.5 * zeta**2 for zeta in zetas if zeta < 0)
    if not feasible:
        return broken, 0.0, broken, None
    b = max(feasible, key=lambda j: own.mean[0, j, c])
    if k == b:
        return min(0.5 * max(zeta, 0.0) ** 2 for zeta in zetas), 0.0, broken, b
    ahead = (own.mean[0, b, c] - own.mean[0, k, c]) / np.sqrt(own.cov[0, b, c, c] + own.cov[0, k, c, c])
    beaten = 0.5 * max(ahead, 0.0) ** 2
    return beaten + broken, beaten, broken, b


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("lift", [-0.5, 1.5])
def test_ocba_with_constraints_takes_the_smallest_rate_or_its_leader(seed: int, lift: float) -> None:
    own, count = case(seed, lift), np.random.default_rng(seed).integers(2, 9, (K, C))
    by_hand = {(k, c): rate_by_hand(own, k, c) for k, c in PAIRS}
    *_, found = limits.rates(own.belief)
    np.testing.assert_allclose(
        found, np.array([by_hand[each][0] for each in PAIRS]).reshape(K, C), atol=1e-12
    )
    k, c = min(PAIRS, key=lambda each: by_hand[each][0])
    _, beaten, broken, b = by_hand[k, c]
    if b is not None and b != k and broken < beaten:
        information = count[:, c] ** 2 / own.noise[0, :, c]
        k = b if information[b] < information.sum() - information[b] else k
    assert pair(limits.OCBACO().decide(moment(own, count))) == (k, c)


def worth(mean: Array, own: Case, lift: float, k: int, c: int) -> float:
    """Return u_k = P_k (Λ − v + m_k) at other means, Λ − v being as it was."""
    zetas = mean[1:, k, c] / np.sqrt(own.cov[1:, k, c, c])
    return float(np.prod(norm.cdf(zetas)) * (lift + mean[0, k, c]))


@pytest.mark.parametrize("seed", range(6))
def test_the_constrained_knowledge_gradient_is_that_of_its_linearised_worth(seed: int) -> None:
    own, price, step = case(seed), 3.0, 1e-6
    now = Standing.of(own.belief, price)
    expected = np.zeros((K, C))
    for place, c in product(PAIRS, range(C)):
        order = sorted(range(K), key=lambda k: -own.mean[0, k, c])
        value, left = 0.0, 1.0
        for k in order:
            value, left = value + left * own.kept(k, c) * own.mean[0, k, c], left * (1 - own.kept(k, c))
        lift = price - value - left * own.mean[0, order[0], c]
        gradient = np.zeros((1 + LIMITS, K))
        for i, k in product(range(1 + LIMITS), range(K)):
            up, down = own.mean.copy(), own.mean.copy()
            up[i, k, c], down[i, k, c] = up[i, k, c] + step, down[i, k, c] - step
            gradient[i, k] = (worth(up, own, lift, k, c) - worth(down, own, lift, k, c)) / (2 * step)
        b, best = int(now.leader[c]), 0.0
        for k in [*range(K), None]:
            if k == b:
                continue
            moves = [
                gradient[i, b] * own.covariance(i, (b, c), place)
                - (0.0 if k is None else gradient[i, k] * own.covariance(i, (k, c), place))
                for i in range(1 + LIMITS)
            ]
            slope = np.sqrt(sum(move**2 / own.told(i, place) for i, move in enumerate(moves)))
            other = price * left if k is None else worth(own.mean, own, lift, k, c)
            gap = abs(worth(own.mean, own, lift, b, c) - other)
            if slope > 0:
                best = max(best, slope * (norm.pdf(gap / slope) - gap / slope * norm.cdf(-gap / slope)))
        expected[place] += WEIGHTS[c] * best
    np.testing.assert_allclose(np.exp(limits.kg_score(own.belief, setting(price))), expected, rtol=1e-5)


def test_runs_side_by_side_decide_as_each_alone() -> None:
    several = [case(seed) for seed in range(3)]
    sums = [
        BlockBelief(
            *(
                np.stack([getattr(one.belief.sums[i], name) for one in several])
                for name in ("mean", "cov", "noise")
            )
        )
        for i in range(1 + LIMITS)
    ]
    together = Outcomes.of(sums[0], sums[1:])
    for score in (limits.goal_score, limits.doubt_score, limits.kg_score):
        apart = np.stack([score(one.belief, setting()) for one in several])
        np.testing.assert_allclose(score(together, setting()), apart, rtol=1e-9)
    apart = np.stack([limits.rates(one.belief)[-1] for one in several])
    np.testing.assert_allclose(limits.rates(together)[-1], apart, rtol=1e-9)


def test_a_part_of_a_problem_is_simulated_as_the_whole() -> None:
    whole, own = call_lines(), limits.fewer_lines()
    assert own.shape == (18, 8)
    alternative, context = own.alternatives.item(7), own.contexts.item(3)
    assert own.simulate(alternative, context, 5) == whole.simulate(alternative, context, 5)  # type: ignore[misc]
    place = whole.alternatives.index(alternative), 3
    assert own.truths["late"][7, 3] == whole.truths["late"][place]
    assert own.limits == whole.limits


def contest_rows(ours: list[float], others: list[float]) -> pd.DataFrame:
    """Return rows of two problems with these losses of every macro-replication, at both later looks."""
    parts = [
        pd.DataFrame(
            {"problem": name, "contender": label, "macroreplication": range(len(own)), "replications": n}
            | {"loss": own, "bound_loss": own, "right": 0.5, "infeasible": 0.1, "seconds": 1.0}
        )
        for name, (label, own), n in product(
            ("p", "q"), {"dvr-loss": ours, "equal": others}.items(), (0, 100, 500)
        )
    ]
    return pd.concat(parts, ignore_index=True)


def claim_rows(claim: float, right: list[float]) -> pd.DataFrame:
    """Return rows of one context per study, all with the same claim."""
    columns = {"problem": "p", "replications": 100, "context": 0, "claim": claim, "sure": claim >= 0.95}
    unknown = {"claim_feasible": np.nan, "feasible": np.nan}
    return pd.DataFrame({"right": right, "seed": range(len(right))} | columns | unknown)


def verdict(contest: pd.DataFrame, claims: pd.DataFrame) -> pd.DataFrame:
    """Return what is said of these rows."""
    return limits.verdict(limits.differences(contest), limits.losses(contest), limits.bins(claims))


def test_the_aims_are_kept_and_broken_as_the_rule_says() -> None:
    good, bad = claim_rows(0.96, [1.0] * 20), claim_rows(0.96, [1.0, 0.0] * 20)
    kept = verdict(contest_rows([0.1, 0.2], [0.3, 0.5]), good)
    assert kept["holds"].tolist() == [True, True, True, True]
    not_half = verdict(contest_rows([0.1, 0.2], [0.19, 0.3]), good)
    assert not_half["holds"].tolist() == [True, True, False, True]
    behind = verdict(contest_rows([0.3, 0.5, 0.4], [0.1, 0.29, 0.2]), bad)
    assert behind["holds"].tolist() == [False, False, False, False]
    noisy = limits.differences(contest_rows([0.3, 0.1, 0.2], [0.2, 0.2, 0.15]))
    assert noisy["holds"].tolist() == [True, True, False]  # little behind, but behind when pooled
    assert noisy["difference_se"].iloc[0] == pytest.approx(np.std([-0.1, 0.1, -0.05], ddof=1) / np.sqrt(3))
    assert noisy["difference_se"].iloc[2] == pytest.approx(noisy["difference_se"].iloc[0] / np.sqrt(2))


@pytest.mark.slow
def test_a_tiny_run_is_kept_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PROBLEMS", {"call-rush": limits.PROBLEMS["call-rush"]})
    monkeypatch.setattr(limits, "IN_A_ROUND", {"call-rush": 2})
    monkeypatch.setattr(limits, "LOOKS", (0, 3))
    first = CliRunner().invoke(limits.main, ["--out", str(tmp_path), "--minutes", "0.0001"])
    assert first.exit_code == 0, first.output
    assert "aim" in first.output
    kept = {file: file.stat().st_mtime_ns for file in tmp_path.glob("*.csv")}
    assert len(kept) == len(limits.CONTENDERS) + 1
    again = CliRunner().invoke(limits.main, ["--out", str(tmp_path), "--minutes", "0"])
    assert again.output == first.stdout
    assert {file: file.stat().st_mtime_ns for file in tmp_path.glob("*.csv")} == kept
    rows = limits.whole_rounds(tmp_path, limits.contest)
    start = rows[rows["replications"] == 0].groupby("macroreplication")["loss"].nunique()
    assert (start == 1).all()  # the same initial design, seed and rule of naming


def test_the_page_shows_the_stored_run() -> None:
    names = ("losses", "differences", "bins", "sure", "verdict")
    stored = {name: pd.read_csv(limits.STORED / f"limits_{name}.csv") for name in names}
    page = PAGE.read_text(encoding="utf-8")
    assert "\n".join(limits.on_page(stored)) in page
