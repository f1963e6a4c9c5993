"""NoisyTable and the uniform numbers of a seed."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from argbest.errors import InputError
from argbest.problems.axis import Axis
from argbest.problems.noisy_table import NoisyTable, table_problem, uniform
from argbest.simulators.calling import for_shared_seeds
from argbest.streams import Purpose, philox, standard_normal


def table() -> NoisyTable:
    alternatives, contexts = Axis.of("alternative", ["a", "b"]), Axis.of("context", [1, 2, 3])
    mean, noise_sd = (
        np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
        np.array([[0.0, 0.1, 0.2], [1.0, 2.0, 3.0]]),
    )
    return NoisyTable(alternatives, contexts, mean, noise_sd)


def test_a_value_is_the_mean_plus_the_noise_of_its_own_cell() -> None:
    assert table()("a", 1, 9) == 1.0
    assert table()("b", 3, 9) == 6.0 + 3.0 * float(standard_normal(9))


@pytest.mark.parametrize("rho", [-0.3, 0.0, 0.8])
def test_alternatives_that_share_seeds_have_the_correlation_stated(rho: float) -> None:
    alternatives, contexts = Axis.of("alternative", list("abcd")), Axis.of("context", [1])
    made = table_problem(
        alternatives, contexts, truth=np.zeros((4, 1)), noise_sd=np.full((4, 1), 2.0), correlation=rho
    )
    simulate: Any = for_shared_seeds(made.simulate)
    seeds = np.arange(20_000)
    values = simulate.many(np.arange(4)[:, None], np.zeros((4, 1), np.int64), seeds)
    expected = 4.0 * np.where(np.eye(4) == 1, 1.0, rho)
    np.testing.assert_allclose(np.cov(values), expected, atol=5 * 4.0 * np.sqrt(2 / len(seeds)))
    assert simulate("c", 1, 7) == values[2, 7]


def test_with_seeds_of_their_own_the_noise_is_what_it_always_was() -> None:
    assert table()("b", 3, 9) == 6.0 + 3.0 * float(standard_normal(9))
    assert table().with_shared_seeds()("b", 3, 9) != table()("b", 3, 9)


def test_a_correlation_that_no_noise_can_have_is_refused() -> None:
    alternatives, contexts = Axis.of("alternative", list("abcd")), Axis.of("context", [1])
    for rho in (-0.5, 1.0, "a"):
        with pytest.raises(InputError, match="correlation must be a number between -0.333333 and 1"):
            table_problem(
                alternatives,
                contexts,
                truth=np.zeros((4, 1)),
                noise_sd=np.ones((4, 1)),
                correlation=rho,  # type: ignore[arg-type]
            )


def test_many_broadcasts_positions_and_seeds() -> None:
    k, c, seeds = np.array([[0], [1]]), np.array([0, 1, 2]), np.arange(24).reshape(4, 2, 3)
    values = table().many(k, c, seeds)
    assert values.shape == (4, 2, 3)
    expected = [
        [[table()("ab"[i], j + 1, int(seeds[r, i, j])) for j in range(3)] for i in range(2)] for r in range(4)
    ]
    np.testing.assert_allclose(values, expected, rtol=1e-14)


def test_uniform_numbers_are_the_midpoints_of_the_words_of_a_seed() -> None:
    seed = 2**33 + 5
    words = np.concatenate([philox((block, 2, 0, Purpose.NOISE), (5, 2)) for block in (0, 1)])
    expected = [(int(word) + 0.5) / 2**32 for word in words[:6]]
    assert uniform(np.array(seed), 6, step=2).tolist() == expected


def test_uniform_numbers_do_not_depend_on_how_many_are_drawn_or_on_other_seeds() -> None:
    seeds = np.array([[3, 1], [4, 1]])
    numbers = uniform(seeds, 9)
    assert numbers.shape == (2, 2, 9)
    np.testing.assert_array_equal(uniform(np.array(4), 5), numbers[1, 0, :5])
    np.testing.assert_array_equal(numbers[0, 1], numbers[1, 1])
    assert uniform(seeds, 0).shape == (2, 2, 0)
    assert len(np.unique([uniform(np.array(7), 3, step=step) for step in range(3)])) == 9


def test_uniform_numbers_are_uniform_over_seeds_and_over_lanes() -> None:
    # Kolmogorov-Smirnov, two tests at 1e-4 each: false-alarm rate 2e-4 had the seeds not been fixed.
    for sample in (uniform(np.arange(20_000), 1)[:, 0], uniform(np.array(1), 20_000)):
        assert stats.kstest(sample, "uniform").pvalue > 1e-4
