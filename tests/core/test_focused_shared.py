"""Very large tables whose alternatives share noise: exact for those followed, as the whole table would be."""

import functools

import numpy as np
import pytest
from additive_cases import crowd

from argbest.core import focused_belief, seen_cells
from argbest.core import tally as tallies
from argbest.core.additive_belief import AdditiveBelief
from argbest.core.additive_conditioning import conditioned, expected
from argbest.core.additive_prior import AdditivePrior
from argbest.core.arrays import Array
from argbest.core.belief import best
from argbest.core.conditioning import dense
from argbest.core.decision import Decision
from argbest.core.focused_belief import FocusedBelief
from argbest.core.seen_cells import Data

SHAPE = 1500, 2


def at(k: int, c: int) -> Decision:
    return Decision(np.array(k), np.array(c))


def close(one: Array, other: Array) -> None:
    np.testing.assert_allclose(one, other, atol=1e-9)


@functools.cache
def both() -> tuple[Data, AdditivePrior, FocusedBelief, AdditiveBelief]:
    """The same study with the foremost followed and with all; a few values have no number."""
    rng = np.random.default_rng(3)
    _, _, plain = crowd(*SHAPE, 80, spread=4.0)
    noise, rho = np.exp(rng.normal(-1.0, 0.3, SHAPE)), np.array([0.8, 0.5])
    given = plain.foundation.prior  # type: ignore[attr-defined]
    like = np.sqrt(0.7 * rho * noise)
    prior = AdditivePrior(**{**vars(given), "noise_like": like})
    tally, level = tallies.empty(SHAPE, common=True), 4.0 * np.sin(np.arange(SHAPE[0]) / 200.0)
    shocks = rng.standard_normal((6, 2))
    for k in rng.choice(SHAPE[0], 60, replace=False):
        for r in range(int(rng.integers(1, 6))):
            c = int(rng.integers(2))
            own = np.sqrt(rho[c]) * shocks[r, c] + np.sqrt(1 - rho[c]) * rng.standard_normal()
            value = level[k] + np.sqrt(noise[k, c]) * own
            where, shown = Decision(k, np.asarray(c)), tally.replications
            if k % 7 and shown is not None:
                shown = shown.add(where, np.asarray(r), value)
            tally = tallies.add(tally, where, value, replications=shown)
    data = Data(tally, noise, np.array(0.3), rho)
    focused, whole = conditioned(prior, data), dense(prior, data)
    assert isinstance(focused, FocusedBelief)
    return data, prior, focused, whole


def test_means_are_exact_and_variances_are_not_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, focused, whole = both()
    monkeypatch.setattr(seen_cells, "_WORK", 30.0**2 * 3000)  # a part of the observed cells tells of the rest
    assert focused.seen is not None
    rough = focused_belief.focused(focused.prior, focused.seen, focused.noise)
    for belief in (focused, rough):
        close(belief.mean, whole.mean)
        close(belief.var[belief.foremost], whole.var[belief.foremost])
        assert np.all(belief.var > whole.var - 1e-10)
    assert np.max(rough.var - whole.var) > 0.1


def test_noise_that_counts_as_independent_gives_another_belief() -> None:
    data, prior, focused, _ = both()
    apart = conditioned(prior, data._replace(correlation=None))
    assert np.max(np.abs(apart.mean - focused.mean)) > 0.05


def test_who_has_shown_replications_is_followed_and_covaries_as_in_the_whole() -> None:
    data, _, focused, whole = both()
    shown = np.flatnonzero((data.tally.count > 0).any(axis=1))
    assert set(shown.tolist()) <= set(focused.foremost.tolist())
    leaders, front = best(whole), focused.foremost
    close(focused.difference_var(leaders)[front], whole.difference_var(leaders)[front])


def test_the_next_replications_are_taken_in_exactly() -> None:
    data, _, focused, whole = both()
    others = np.flatnonzero(focused.summary.others)
    inside, outside = int(best(whole)[1]), int(others[0])
    assert focused.shocks is not None
    for k, value in ((inside, 0.7), (outside, -2.0), (inside, None)):
        number = np.asarray(focused.shocks.following[k, 1])
        told = None if value is None else np.array(value)
        focused = focused.update_common(at(k, 1), number, told)
        whole = whole.update_common(at(k, 1), number, told)
        close(focused.mean[focused.foremost], whole.mean[focused.foremost])
        close(focused.inner.var, whole.var[focused.foremost])
        assert focused.shocks is not None
        assert focused.shocks.following[k, 1] == number + 1
    assert focused.update_common(at(inside, 0), number, None, told=False) is focused
    assert focused.seen is not None
    assert focused.seen.data is not None
    assert focused.seen.data.tally.count.sum() == data.tally.count.sum() + 3


def test_what_the_foremost_will_observe_next_is_what_they_would_in_the_whole() -> None:
    _, _, focused, whole = both()
    ahead = focused.inner.next_replications
    assert ahead is not None
    assert whole.shocks is not None
    for place in (0, 40, 300):
        k = int(focused.foremost[place])
        seen = whole.shocks.contrast(at(k, 0), whole.shocks.following[k, 0])
        rows = whole.cov_rows(seen.alternative, np.zeros(len(seen.alternative), np.int64))
        among = rows[:, seen.alternative, 0]
        expected_var = seen.weight @ among @ seen.weight + seen.noise
        np.testing.assert_allclose(ahead.var[place, 0], expected_var)


def test_a_table_too_large_for_that_follows_the_foremost_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    data, prior, focused, whole = both()
    monkeypatch.setattr(focused_belief, "_MEMORY", 2 * 512 * (32 + len(np.nonzero(data.tally.count)[0])))
    few = conditioned(prior, data)
    assert isinstance(few, FocusedBelief)
    assert len(few.foremost) == 512 < len(focused.foremost)
    close(few.mean, whole.mean)
    k = int(best(few)[0])
    later = few.update_common(at(k, 0), np.asarray(few.shocks.following[k, 0]), np.array(1.0))  # type: ignore[union-attr]
    assert later.var[k, 0] < few.var[k, 0]


def test_what_is_expected_of_observed_pairs_is_that_of_the_whole() -> None:
    data, prior, _, whole = both()
    found, there = expected(prior, data), data.tally.count > 0
    close(found.mean[there], whole.mean[there])
    close(found.var[there], whole.var[there])
