"""The classical case, by hand."""

import numpy as np
import pytest

from argbest.problems.noisy_table import classical


def test_the_classical_case_has_one_context_and_the_smallest_mean_is_best() -> None:
    problem = classical()
    assert problem.shape == (5, 1)
    assert problem.goal == "min"
    assert problem.best.tolist() == [0]
    assert problem.truth is not None
    assert problem.noise_sd is not None
    np.testing.assert_allclose(problem.truth[:, 0], [1.2, 2.1, 3.4, 4.87, 6.05])
    np.testing.assert_allclose(problem.noise_sd[:, 0] ** 2, [3.3, 2.0, 4.5, 5.3, 6.9])
    assert problem.gap_over_noise[0] == pytest.approx(0.9 / np.sqrt((3.3 + 2.0) / 2))
