"""Scrambled Sobol points are those of SciPy, bit for bit."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import qmc

from argbest.core import sobol

SHIPPED = 64  # coordinates whose direction numbers are in the file


@pytest.mark.parametrize("dimension", [1, 2, 3, 7, SHIPPED, SHIPPED + 1])
@pytest.mark.parametrize("n_bits", [0, 1, 2, 5, 12])
def test_points_are_those_of_scipy(n_bits: int, dimension: int) -> None:
    for seed in (0, 1, 2**31 - 1):
        expected = qmc.Sobol(dimension, scramble=True, seed=seed).random_base2(n_bits)
        np.testing.assert_array_equal(sobol.points(n_bits, dimension, seed=seed), expected)


def test_scipy_is_asked_for_more_coordinates_than_are_shipped() -> None:
    assert len(sobol._directions()) == SHIPPED


def test_every_coordinate_meets_every_interval_once() -> None:
    """Of 2¹² points one lies in each of as many intervals: a property of the sequence, without SciPy."""
    found = np.sort(np.floor(sobol.points(12, SHIPPED, seed=3) * 2**12), axis=0)
    assert (found == np.arange(2**12)[:, None]).all()


def test_a_study_does_not_import_scipy_s_statistics() -> None:
    program = """
import sys
import argbest
study = argbest.Study(argbest.registry.problem("branin"), seed=1).run(12)
assert study.certificate().pcs.size
sys.exit("scipy.stats" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", program], timeout=120, check=False).returncode == 0
