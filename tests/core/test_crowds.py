"""Very many alternatives: the likeliest are looked at together, the others count on the side of caution."""

import tracemalloc
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from additive_cases import crowd as study

from argbest.core import correlated
from argbest.core.belief import best
from argbest.policies.base import Policy
from argbest.policies.dvr import DVR
from argbest.policies.equal import Equal
from argbest.policies.ikg import IKG, LEVI
from argbest.policies.top_two import TopTwo
from argbest.streams import Draws, Purpose


def test_thelargest_lead_of_independent_rivals_is_that_of_random_draws() -> None:
    rng = np.random.default_rng(4)
    gap, tau = rng.random((200, 3)) * 2.0, 0.1 + rng.random((200, 3))
    rivals = rng.random((200, 3)) < 0.7
    draws = np.where(rivals, tau * rng.standard_normal((20_000, 200, 3)) - gap, 0.0).max(axis=1)
    lead = np.maximum(draws, 0.0)
    found = correlated.largest_lead(gap, tau, rivals)
    assert np.all(np.abs(found - lead.mean(axis=0)) < 5 * lead.std(axis=0) / np.sqrt(len(lead)))
    assert np.all(correlated.largest_lead(gap, tau, np.zeros_like(rivals)) == 0.0)


def test_one_rival_leads_by_its_pairwise_loss() -> None:
    gap, tau = np.array([[0.3, -1.0, 4.0]]), np.array([[1.0, 0.5, 2.0]])
    found = correlated.largest_lead(gap, tau, np.ones((1, 3), bool))
    np.testing.assert_allclose(found, correlated._pairwise_loss(gap, tau)[0], rtol=1e-6)


def test_very_many_rivals_do_not_lose_more_than_the_largest_of_them_could(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, _, belief = study(400, 1, 40)
    chosen = best(belief)
    whole, pairs = (
        belief.expected_loss(chosen),
        correlated._pairwise_loss(belief._gaps(chosen), belief._difference_std(chosen)),
    )
    monkeypatch.setattr(correlated, "_CROWD", 100)
    found = replace(belief).expected_loss(chosen)
    assert 0.95 * whole <= found <= 2.0 * whole
    assert found < 0.1 * pairs.sum()


def test_those_left_out_count_by_pairs_on_the_side_of_caution(monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, belief = study(40, 3, 60)
    chosen = best(belief)
    everybody = belief.good_probability(chosen, 0.1), belief.expected_loss(chosen), belief.best_probability()
    monkeypatch.setattr(correlated, "_CROWD", 12)
    belief = replace(belief)
    few = belief.good_probability(chosen, 0.1), belief.expected_loss(chosen), belief.best_probability()
    noise = 5 * np.sqrt(0.25 / correlated.SOBOL_POINTS)
    assert np.all(few[0] <= everybody[0] + noise)
    assert np.all(few[0] >= belief.lower_bound(chosen, 0.1))
    assert np.all(few[1] >= everybody[1] * (1 - noise) - 1e-12)
    assert np.any(few[1] > everybody[1])
    np.testing.assert_allclose(few[2].sum(axis=0), 1.0, rtol=1e-12)
    assert np.all((few[2] > 0).sum(axis=0) <= 12)
    assert np.all(few[2].max(axis=0) >= everybody[2].max(axis=0) - noise)


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
    nothing, draws = np.zeros((k, c), np.int64), Draws(7, Purpose.POLICY, step=1)
    assert peak(lambda: policy.propose(belief, tally, nothing, where, draws, 2)) < 1.5e8


@pytest.mark.parametrize(("policy", "k", "c"), [
    (IKG(), 2400, 1), (LEVI(), 150, 16),
    pytest.param(IKG(), 150, 16, marks=pytest.mark.slow),
    pytest.param(LEVI(), 2400, 1, marks=pytest.mark.slow),
])  # fmt: skip
def test_policies_that_look_at_every_pair_do_so_some_at_a_time(policy: Policy, k: int, c: int) -> None:
    """All at once would be 46 MB."""
    where, tally, belief = study(k, c, 30)
    nothing, draws = np.zeros((k, c), np.int64), Draws(7, Purpose.POLICY, step=1)
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
