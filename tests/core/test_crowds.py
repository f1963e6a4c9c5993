"""Very many alternatives: the likeliest are drawn together and speak for all."""

import tracemalloc
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from additive_cases import crowd as study

from argbest.core import correlated, landmarks
from argbest.core.additive_belief import AdditiveBelief
from argbest.core.additive_conditioning import conditioned
from argbest.core.arrays import Array
from argbest.core.belief import best
from argbest.core.focused_belief import FocusedBelief
from argbest.core.seen_cells import Data
from argbest.policies.base import Policy
from argbest.policies.dvr import DVR
from argbest.policies.equal import Equal
from argbest.policies.ikg import IKG, LEVI
from argbest.policies.top_two import TopTwo
from argbest.streams import Purpose, StepDraws


def drawn_regrets(belief: AdditiveBelief, n: int = 20_000) -> tuple[Array, Array]:
    """The largest reward minus each one's, [draw, alternative], and P(best), by draws of all."""
    rng, every = np.random.default_rng(1), np.arange(len(belief.mean))
    cov = belief.among(every, np.zeros_like(every))
    root = np.linalg.cholesky(cov + 1e-9 * cov.diagonal().mean() * np.eye(len(cov)))
    draws = belief.mean[:, 0] + rng.standard_normal((n, len(cov))) @ root.T
    best_share = np.bincount(draws.argmax(axis=1), minlength=len(cov)) / n
    return draws.max(axis=1, keepdims=True) - draws, best_share


@pytest.mark.parametrize(("observed", "spread"), [(80, 2.0), (160, 3.0)])
@pytest.mark.fast_cases("80*")
def test_of_very_many_alternatives_the_likeliest_say_what_draws_of_all_say(
    observed: int, spread: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Followed one by one or in a crowd: losses to 4 %, probabilities to 0.02; both were off by half."""
    _, tally, belief = study(700, 1, observed, spread)
    chosen = best(belief)
    regret, share = drawn_regrets(belief)
    own = regret[:, chosen[0]]
    monkeypatch.setattr(correlated, "_CROWD", 300)
    monkeypatch.setattr(landmarks, "_MOST_FOLLOWED", 300)
    prior = belief.foundation.prior  # type: ignore[attr-defined]
    focused = conditioned(prior, Data(tally, np.full((700, 1), 0.5), np.array(0.0)))
    assert isinstance(focused, FocusedBelief)
    assert len(focused.foremost) == 300
    for each in (replace(belief, before=None), focused):
        assert each.expected_loss(chosen) == pytest.approx(own.mean(), rel=0.04)
        for delta in (0.0, 0.3):
            assert each.good_probability(chosen, delta) == pytest.approx(np.mean(own <= delta), abs=0.02)
        assert np.abs(each.best_probability()[:, 0] - share).sum() < 0.2
        assert np.sum(each.best_probability() > 0) <= 300


def test_no_probability_depends_on_what_was_asked_before() -> None:
    _, _, belief = study(60, 2, 120, spread=60.0)
    chosen = best(belief)
    fresh = replace(belief).best_probability()
    hopeless = np.argmin(belief.mean, axis=0)
    for other in (hopeless, chosen):
        asked = replace(belief)
        asked.expected_loss(other)
        asked.good_probability(other, 0.1)
        np.testing.assert_array_equal(asked.best_probability(), fresh)
        np.testing.assert_array_equal(
            asked.good_probability(chosen), replace(belief).good_probability(chosen)
        )


def test_nothing_changes_where_the_others_are_out_of_the_question(monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, belief = study(60, 2, 120, spread=60.0)
    chosen = best(belief)
    before = belief.good_probability(chosen), belief.expected_loss(chosen)
    monkeypatch.setattr(correlated, "_CROWD", 50)
    belief = replace(belief)
    np.testing.assert_allclose(belief.good_probability(chosen), before[0], rtol=1e-12)
    np.testing.assert_allclose(belief.expected_loss(chosen), before[1], rtol=1e-12)


def peak(act: Callable[[], object]) -> int:
    """Return the bytes that an action has in use at most."""
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("k", "c"), [(8000, 1), (400, 20)])
@pytest.mark.parametrize("policy", [DVR(), TopTwo(), Equal()])
def test_policies_need_no_table_of_all_pairs(policy: Policy, k: int, c: int) -> None:
    """That would be 512 MB."""
    where, tally, belief = study(k, c, 50)
    nothing, draws = np.zeros((k, c), np.int64), StepDraws(7, Purpose.POLICY, step=1)
    assert peak(lambda: policy.propose(belief, tally, nothing, where, draws, 2)) < 1.5e8


@pytest.mark.parametrize(("policy", "k", "c"), [
    (IKG(), 2400, 1), (LEVI(), 150, 16),
    pytest.param(IKG(), 150, 16, marks=pytest.mark.slow),
    pytest.param(LEVI(), 2400, 1, marks=pytest.mark.slow),
])  # fmt: skip
@pytest.mark.fast_cases("policy1*")
def test_policies_that_look_at_every_pair_do_so_some_at_a_time(policy: Policy, k: int, c: int) -> None:
    """All at once would be 46 MB."""
    where, tally, belief = study(k, c, 30)
    nothing, draws = np.zeros((k, c), np.int64), StepDraws(7, Purpose.POLICY, step=1)
    assert peak(lambda: policy.propose(belief, tally, nothing, where, draws)) < 2.5e7


@pytest.mark.parametrize(("k", "c"), [(8000, 1), (400, 20)])
def test_answers_need_no_table_of_all_pairs(k: int, c: int) -> None:
    """That would be 512 MB."""
    _, _, belief = study(k, c, 50)
    chosen = best(belief)
    normals = np.random.default_rng(1).standard_normal((10, k, c))
    for act in (
        belief.best_probability,
        lambda: belief.good_probability(chosen),
        lambda: belief.expected_loss(chosen),
        lambda: belief.draw(normals),
        lambda: belief.difference_var(chosen),
    ):
        assert peak(act) < 1.5e8
