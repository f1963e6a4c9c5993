"""Very large tables: exact for the foremost alternatives, which speak for the rest."""

import functools
import tracemalloc

import numpy as np
import pytest
from additive_cases import crowd as study

from argbest.core import focused_belief, seen_cells
from argbest.core.additive_belief import AdditiveBelief
from argbest.core.additive_conditioning import conditioned, expected, squared_misses
from argbest.core.arrays import Array
from argbest.core.belief import best
from argbest.core.decision import Decision
from argbest.core.focused_belief import FocusedBelief
from argbest.core.seen_cells import Data
from argbest.core.setting import among_the_rest
from argbest.core.tally import Tally

SHAPE = 1500, 2


@functools.cache
def both() -> tuple[Tally, FocusedBelief, AdditiveBelief]:
    """The same study with the foremost followed and with all."""
    _, tally, whole = study(*SHAPE, 80, spread=4.0)
    prior = whole.foundation.prior  # type: ignore[attr-defined]
    focused = conditioned(prior, Data(tally, np.full(SHAPE, 0.5), np.array(0.0)))
    assert isinstance(focused, FocusedBelief)
    return tally, focused, whole


def at(k: int, c: int) -> Decision:
    return Decision(np.array(k), np.array(c))


def close(one: Array, other: Array) -> None:
    np.testing.assert_allclose(one, other, atol=1e-10)


def test_means_are_exact_and_variances_are_not_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    _, focused, whole = both()
    monkeypatch.setattr(seen_cells, "_WORK", 40.0**2 * 3000)  # a part of the observed cells tells of the rest
    assert focused.seen is not None
    rough = focused_belief.focused(focused.prior, focused.seen, focused.noise)
    for belief in (focused, rough):
        close(belief.mean, whole.mean)
        close(belief.var[belief.foremost], whole.var[belief.foremost])
        assert np.all(belief.var > whole.var - 1e-10)
    assert np.max(rough.var - whole.var) > 0.1


def test_the_leaders_are_followed_and_covary_as_they_do_in_the_whole() -> None:
    _, focused, whole = both()
    leaders = best(whole)
    assert set(leaders.tolist()) <= set(focused.foremost.tolist())
    front = focused.foremost
    close(focused.difference_var(leaders)[front], whole.difference_var(leaders)[front])
    cell = at(int(leaders[0]), 0)
    close(focused.cov_with(cell)[front], whole.cov_with(cell)[front])
    assert not focused.cov_with(cell)[focused.summary.others].any()


def test_values_of_the_foremost_and_of_the_rest_are_taken_in_exactly() -> None:
    _, focused, whole = both()
    inside, outside = int(best(whole)[1]), int(np.flatnonzero(focused.summary.others)[0])
    for k in (inside, outside, inside):
        cell, value = at(k, 1), np.array(0.7)
        focused, whole = focused.update(cell, value, 2), whole.update(cell, value, 2)
        close(focused.mean[focused.foremost], whole.mean[focused.foremost])
        close(focused.inner.var, whole.var[focused.foremost])
    assert focused.update(cell, value, 0) is focused


def test_who_comes_to_lead_is_followed() -> None:
    _, focused, whole = both()
    low = focused
    for k in best(whole).tolist():
        low = low.update(at(k, 0), np.array(-60.0), 50).update(at(k, 1), np.array(-60.0), 50)
    assert set(best(low).tolist()) <= set(low.foremost.tolist())


def test_probabilities_and_losses_are_those_of_the_whole_and_bounds_count_the_rest() -> None:
    _, focused, whole = both()
    leaders = best(whole)
    for delta in (0.0, 1.0):
        good = focused.good_probability(leaders, delta), whole.good_probability(leaders, delta)
        np.testing.assert_allclose(*good, atol=0.02)
    np.testing.assert_allclose(focused.expected_loss(leaders), whole.expected_loss(leaders), rtol=0.03)
    assert np.all(focused.lower_bound(leaders, 3.0) <= whole.lower_bound(leaders, 3.0) + 1e-10)
    assert np.all(focused.best_probability()[focused.summary.others] == 0.0)
    close(focused.best_probability().sum(axis=0), np.ones(2))


def test_an_alternative_of_the_rest_can_be_asked_about() -> None:
    _, focused, whole = both()
    k = np.flatnonzero(focused.summary.others)[:1].repeat(2)
    wider = focused.including(k)
    close(focused.difference_var(k)[wider.foremost], whole.difference_var(k)[wider.foremost])


def test_pairs_ruled_out_make_room_for_others() -> None:
    _, focused, _ = both()
    out = np.zeros(SHAPE, bool)
    out[focused.foremost] = True
    left = among_the_rest(focused, out)
    assert not np.isin(best(left), focused.foremost).any()
    assert np.isfinite(left.good_probability(best(left))).all()


def test_draws_move_the_foremost_alone() -> None:
    _, focused, _ = both()
    draws = focused.draw(np.random.default_rng(1).standard_normal((20, *SHAPE)))
    assert np.all(draws[:, focused.summary.others] == focused.mean[focused.summary.others])
    assert draws[:, focused.foremost].std(axis=0).max() > 0.05


def test_what_observed_pairs_miss_is_that_of_the_whole() -> None:
    tally, focused, whole = both()
    noise, seen = np.full(SHAPE, 0.5), tally.count > 0
    belief = expected(focused.prior, Data(tally, noise, np.array(0.0)))
    close(belief.mean[seen], whole.mean[seen])
    close(belief.var[seen], whole.var[seen])
    np.testing.assert_array_equal(belief.noise, noise)
    by_hand = np.where(seen, (tally.mean - whole.mean) ** 2 + whole.var, 0.0)
    close(squared_misses(focused.prior, tally, belief), by_hand)


def test_memory_does_not_grow_with_rows_for_all_cells() -> None:
    _, tally, whole = study(6000, 2, 60)
    prior = whole.foundation.prior  # type: ignore[attr-defined]
    tracemalloc.start()
    try:
        focused = conditioned(prior, Data(tally, np.full((6000, 2), 0.5), np.array(0.0)))
        focused.good_probability(best(focused))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 120e6  # 60 rows of 12,000 cells are 6 MB, a table of all pairs of cells is 1.1 GB
