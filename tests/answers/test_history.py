"""The certificate along the records, against studies that were told only so much."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
import small_problems
from study.conftest import problem, started

from argbest import InputError, Problem, Study
from argbest.answers import overview
from argbest.core.belief import best
from argbest.engine import step
from argbest.study.learning import integrated_by_seed

pytestmark = pytest.mark.usefixtures("few_draws")


def looks(shape: tuple[int, int], told: Sequence[tuple[int, ...]], points: int) -> list[int]:
    """Checkpoints of records (alternative, context) of one replication, or with a number of them."""
    n = [entry[2] if len(entry) > 2 else 1 for entry in told]
    found: list[int] = overview.checkpoints(shape, [(k, c) for k, c, *_ in told], n, points).tolist()
    return found


def test_the_last_point_is_todays_certificate() -> None:
    study = started(initial=2).run(47)
    frame, today = overview.history(study.view()), study.certificate()
    last = frame.iloc[-1]
    assert last["replications"] == 47
    for name in ("pcs_e", "pcs_m", "eoc"):
        assert last[name] == float(getattr(today, name))
    assert frame["replications"].is_monotonic_increasing
    assert frame["replications"].iloc[0] == 24  # two replications of every pair


def test_earlier_points_are_those_of_a_model_fitted_then() -> None:
    study = started(initial=2, seed=3, common_random_numbers=False).run(60)
    frame = overview.history(study.view(), points=4)
    assert frame["replications"].tolist() == [24, 36, 48, 60]
    params, setting = None, study.problem.setting
    for n, row in zip((24, 36, 48), frame.to_dict("records"), strict=False):
        tally = study.problem.tally(study.observations().iloc[:n])
        params = study.model.fit(tally, setting, params)
        selected = best(study.model.posterior(tally, setting, params))
        known = step.condition(study.model, setting, [tally], [params])
        unsure = integrated_by_seed(study.model, [tally], setting, known, 3)
        assert unsure is not None
        sure = unsure[0].at_own_contexts()
        assert row["pcs_e"] == pytest.approx(sure.good_probability(selected).mean(), rel=1e-9)
        assert row["pcs_m"] == pytest.approx(sure.good_probability(selected).min(), rel=1e-9)
        assert row["eoc"] == pytest.approx(sure.expected_loss(selected).mean(), rel=1e-9)


@pytest.mark.slow
def test_intervals_hold_nine_draws_of_ten() -> None:
    study = Study(small_problems.table(), initial=2).run(50)
    last = overview.history(study.view()).iloc[-1]
    certificate = study.certificate()
    shares, costs = [], []
    for draw in certificate.certainty.draw(certificate.normals):
        chosen = [draw[k, c] for c, k in enumerate(certificate.selected)]
        loss = [max(draw[:, c]) - value for c, value in enumerate(chosen)]
        shares.append(sum(w for w, lost in zip(study.problem.weights, loss, strict=True) if lost <= 0))
        costs.append(sum(w * lost for w, lost in zip(study.problem.weights, loss, strict=True)))
    n = len(shares)
    low, high = int(np.ceil(0.05 * n)) - 1, int(np.ceil(0.95 * n)) - 1
    for name, values in (("pcs_e", sorted(shares)), ("eoc", sorted(costs))):
        assert last[f"{name}_low"] == pytest.approx(values[low])
        assert last[f"{name}_high"] == pytest.approx(values[high])
    for values, exact in ((shares, last["pcs_e"]), (costs, last["eoc"])):  # five standard errors
        assert np.mean(values) == pytest.approx(exact, abs=5 * np.std(values) / np.sqrt(n))


@pytest.mark.slow
def test_smaller_is_better_gives_the_same_course() -> None:
    one = Study(small_problems.table(), initial=2).run(50)
    other = Study(small_problems.table(goal="min"), initial=2)
    for row in one.view().records:
        [trial] = other.ask()
        if trial.pair != one._journal.ledger.trials.pair(row.trial):
            break
        other.tell(trial, -row.mean)
    else:
        same = overview.history(one.view(), points=4)[["pcs_e", "eoc"]]
        np.testing.assert_allclose(
            overview.history(other.view(), points=4)[["pcs_e", "eoc"]], same, rtol=1e-9
        )
        return
    pytest.fail("the mirrored study took another way")


def test_checkpoints_begin_when_every_pair_has_two_and_end_with_all_records() -> None:
    pairs = list(itertools.product(range(2), range(2)))
    records = [*pairs * 2, *[(0, 0)] * 8]
    assert looks((2, 2), records, 3) == [8, 12, 16]
    assert looks((2, 2), records, 1) == [8, 16]
    assert looks((2, 2), records, 99) == list(range(8, 17))


def test_checkpoints_are_even_in_observations_not_in_records() -> None:
    records = [(0, 0, 2), (1, 0, 2), (0, 0, 96), *[(1, 0)] * 100]
    # 4 to 200 observations: the middle one, 102, is the fifth record.
    assert looks((2, 1), records, 3) == [2, 5, 103]


def test_pairs_never_simulated_are_not_waited_for() -> None:
    records = [(0, 0), (1, 1), (0, 0), (1, 1), (0, 0)]
    assert looks((2, 2), records, 2) == [4, 5]
    assert looks((2, 2), records[:1], 5) == [1]


def test_points_with_too_few_data_for_the_model_are_left_out() -> None:
    study = Study(problem(), policy="c-ocba", initial=2, refit_every=1).run(40)
    assert overview.history(study.view(), points=3)["replications"].tolist() == [24, 32, 40]
    # One context does not determine a line: the first six observations are not enough.
    pairs = [(label, context) for context in (0, 0, 3, 3) for label in "abc"]
    some = Study(problem(), model="linear", initial=pairs).run(12)
    told = [(*each.pair, 1) for each in some._journal.ledger.trials]
    assert looks(some.problem.shape, told, 7) == [
        6,
        7,
        8,
        9,
        10,
        11,
        12,
    ]
    assert overview.history(some.view(), points=7)["replications"].tolist() == [9, 10, 11, 12]


def test_nothing_has_a_history_before_anything_is_told() -> None:
    with pytest.raises(InputError, match="nothing is known yet"):
        overview.history(Study(problem()).view())
    with pytest.raises(InputError, match="points must be a whole number"):
        overview.history(started().view(), points=0)


@pytest.mark.parametrize("shared", [False, True])
def test_the_tally_of_all_records_is_that_of_the_study(shared: bool) -> None:
    """With single values of skewed rewards, of several at once and of a summary."""
    study = Study(small_problems.turned("skewed"), initial=2, common_random_numbers=shared).run(50)
    study.tell(study.ask()[0], [1.0, 2.5, -3.0])
    study.tell(study.ask()[0], mean=1.5, variance=0.5, n=4)
    assert_same_tally(study)


def assert_same_tally(study: Study) -> None:
    ledger, live = study._journal.ledger, study._tally
    found = study.view().tallies_after(len(ledger.records))[0]
    np.testing.assert_array_equal(found.count, live.count)
    np.testing.assert_allclose(found.m2, live.m2, rtol=1e-9)
    for ours, theirs in ((found.common, live.common), (found.single, live.single)):
        assert (ours is None) == (theirs is None)
        if ours is not None and theirs is not None:
            assert [part.tolist() for part in ours.parts] == [part.tolist() for part in theirs.parts]


def test_values_told_after_seeds_were_parted_share_nothing_in_its_past_either() -> None:
    def opposed(alternative: str, context: float, seed: int) -> float:  # what helps one harms the other
        noise = float(np.random.default_rng(seed).normal())
        return context + (noise if alternative == "a" else -noise)

    study = Study(Problem(["a", "b"], [0.0, 1.0], opposed), initial=12, common_random_numbers=True).run(90)
    assert study._journal.ledger.parted is not None
    assert_same_tally(study)
