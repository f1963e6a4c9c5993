import pytest

from argbest.core import schedule
from argbest.errors import InputError
from argbest.models.additive_gp import AdditiveGP
from argbest.models.gp import GP


def test_a_number_means_so_many_observations() -> None:
    assert not schedule.due(GP(), 25, n=124, fitted=100)
    assert schedule.due(GP(), 25, n=125, fitted=100)
    assert schedule.due(AdditiveGP(), 25, n=1025, fitted=1000)


def test_the_paper_s_model_keeps_the_paper_s_ten() -> None:
    assert schedule.due(GP(), "auto", n=100_010, fitted=100_000)
    assert not schedule.due(GP(), "auto", n=100_009, fitted=100_000)


def test_the_additive_model_waits_for_a_tenth_and_for_ten_at_least() -> None:
    assert schedule.due(AdditiveGP(), "auto", n=30, fitted=20)
    assert not schedule.due(AdditiveGP(), "auto", n=29, fitted=20)
    assert schedule.due(AdditiveGP(), "auto", n=1100, fitted=1000)
    assert not schedule.due(AdditiveGP(), "auto", n=1099, fitted=1000)


def test_fits_are_counted_as_they_fall_due() -> None:
    for model in (GP(), AdditiveGP()):
        for every in (7, "auto"):
            fitted, times = 40, 0
            for n in range(40, 2000):
                if schedule.due(model, every, n, fitted):
                    fitted, times = n, times + 1
                assert schedule.fits(model, every, 40, n) == times
    assert schedule.fits(GP(), 10, 40, 30) == 0


def test_schedules_are_told_in_words() -> None:
    assert schedule.words(GP(), "auto") == "every 10 replications"
    assert schedule.words(GP(), 3) == "every 3 replications"
    assert "grown by 10%" in schedule.words(AdditiveGP(), "auto")


@pytest.mark.parametrize("given", [0, -1, 1.5, True, None, "often", "10"])
def test_anything_else_is_refused(given: object) -> None:
    with pytest.raises(InputError, match=r'refit_every must be a whole number ≥ 1, got .*\. Or "auto"'):
        schedule.checked("refit_every", given)
