"""The baseline of the most probable best: as it was published, and the question it asks."""

import numpy as np
import pytest

import argbest
from argbest.core.arrays import Array
from argbest.core.questions.contexts import Contexts
from argbest.core.questions.one_for_all import WinnerOfMost
from argbest.errors import InputError
from argbest.problems.most_probable_best import (
    WINS,
    MostProbableBestProblem,
    most_probable_best,
    most_probable_best_noisy,
)


def truth(seed: int) -> Array:
    found = most_probable_best().draw(seed).truth
    assert found is not None
    return found


def test_every_context_holds_one_to_ten_and_its_best_is_the_same_in_all_draws() -> None:
    for seed in (0, 1, 2**60):
        table = truth(seed)
        assert table.shape == (10, 50)
        np.testing.assert_array_equal(np.sort(table, axis=0), np.tile(np.arange(1.0, 11.0)[:, None], 50))
        assert np.bincount(table.argmin(axis=0), minlength=10).tolist() == list(WINS)
    assert not np.array_equal(truth(0), truth(1))
    np.testing.assert_array_equal(truth(3), truth(3))


def test_the_others_stand_in_random_order() -> None:
    """The mean of an alternative over the contexts of 400 draws is 6 where it is not the best: 4 SE."""
    tables = np.stack([truth(seed) for seed in range(400)])
    for k in range(10):
        others = tables[:, k][:, most_probable_best().best != k].ravel()
        assert abs(others.mean() - 6.0) < 4 * others.std() / np.sqrt(len(others))


@pytest.mark.parametrize(
    ("family", "low", "high"), [(most_probable_best(), 4, 6), (most_probable_best_noisy(), 8, 12)]
)
def test_every_pair_has_a_standard_deviation_within_the_range(
    family: MostProbableBestProblem, low: float, high: float
) -> None:
    spread = family.draw(5).noise_sd
    assert spread is not None
    assert low < spread.min() < low + 0.1
    assert high - 0.1 < spread.max() < high


def test_it_asks_for_the_winner_of_most_contexts_and_the_first_alternative_is_it() -> None:
    problem = argbest.registry.problem("most-probable-best")
    assert problem.question.name == "most-probable-best"
    bound, table = WinnerOfMost(Contexts(problem.weights)), -truth(0)
    assert problem.asked.name == bound.name
    assert bound.right_choice(table) == 0
    np.testing.assert_allclose(bound.values(table), np.array(WINS) / 50)


def test_equal_allocation_is_wrong_as_often_as_published() -> None:
    """15 replications of every pair: 0.634 of 10,000 published runs; here 1,000, 4 standard errors.

    A tie counts as false there.
    """
    rng, false = np.random.default_rng(6), 0
    for seed in range(1_000):
        problem = most_probable_best().draw(seed)
        truth, spread = np.asarray(problem.truth), np.asarray(problem.noise_sd)
        means = truth + spread * rng.standard_normal(problem.shape) / np.sqrt(15)
        votes = np.bincount(means.argmin(axis=0), minlength=10)
        false += not (votes[0] == votes.max() and np.sum(votes == votes.max()) == 1)
    assert abs(false / 1_000 - 0.634) < 4 * np.sqrt(0.634 * 0.366 / 1_000)


def test_a_range_of_noise_is_two_numbers() -> None:
    with pytest.raises(InputError, match="noise must be two finite numbers, the smaller first"):
        MostProbableBestProblem((6.0, 4.0))


def test_policies_are_compared_on_it_for_its_question() -> None:
    spec = argbest.experiment.Experiment(
        "most-probable-best", ["c-ocba", "dvr-loss:independent"], replications=4, macroreps=2
    )
    summary = argbest.experiment.run(spec).summary()
    assert set(summary["contender"]) == {"c-ocba", "dvr-loss:independent"}
    assert summary["pcs_e"].between(0, 1).all()
