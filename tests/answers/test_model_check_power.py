"""How often the model check finds misfits of many kinds, and how often it doubts a model that holds."""

import misfits
import pytest
from misfits import HOLD, MISFITS, Family
from scipy import stats

DESIGNS = pytest.mark.parametrize("adaptive", [False, True], ids=["five each", "adaptive"])
NAMES = pytest.mark.parametrize("named", [False, True], ids=["numbers", "names"])


def doubts(family: Family, seeds: range, *, adaptive: bool, named: bool = False) -> int:
    return sum(not misfits.checked(family, seed, adaptive=adaptive, named=named).fits for seed in seeds)


@pytest.mark.parametrize("family", MISFITS)
@pytest.mark.fast_cases("zero_or_one", "rarely_a_loss")
def test_misfits_are_found(family: Family) -> None:
    """Of four studies two; two of them have common random numbers."""
    assert doubts(family, range(100, 104), adaptive=False) >= 2


@pytest.mark.slow
def test_a_default_model_that_holds_is_seldom_doubted() -> None:
    """Of 12 studies three; at the promised 5 % more than that have a probability of 0.002."""
    assert sum(doubts(family, range(100, 106), adaptive=True) for family in HOLD) <= 3


@pytest.mark.slow
@DESIGNS
@NAMES
@pytest.mark.parametrize("family", MISFITS)
def test_misfits_are_found_in_two_of_three_studies(family: Family, adaptive: bool, named: bool) -> None:
    assert doubts(family, range(30), adaptive=adaptive, named=named) >= 20


@pytest.mark.slow
@DESIGNS
@NAMES
@pytest.mark.parametrize("family", HOLD)
def test_models_that_hold_are_doubted_at_the_stated_level(
    family: Family, adaptive: bool, named: bool
) -> None:
    """100 studies each: more than 14 doubts have a probability below 1e-4 at 5 %."""
    found = doubts(family, range(100), adaptive=adaptive, named=named)
    assert found <= stats.binom.isf(1e-4, 100, 0.05)
