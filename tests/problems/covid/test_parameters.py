"""The parameters of an outbreak: the paper's defaults, and what is refused."""

from typing import Any

import numpy as np
import pytest

from argbest.errors import InputError
from argbest.problems.covid.parameters import Outbreak, Stay


def test_the_defaults_are_the_papers() -> None:
    outbreak = Outbreak()
    assert outbreak.sizes == (50_000, 75_000, 100_000)
    assert outbreak.cases == (125, 300, 500)
    assert (outbreak.tests, outbreak.days) == (10_000, 14)
    assert (outbreak.infection, outbreak.contacts, outbreak.tracing_delay) == (0.02, 10.0, 2)
    assert (outbreak.exposed, outbreak.preinfectious) == (Stay(1, 4), Stay(1, 4))
    assert (outbreak.infectious, outbreak.late) == (Stay(4, 8), Stay(10, 14))
    np.testing.assert_allclose(
        outbreak.rates, [0.8, 0.005, 0.04421932786621643, 0.8, 0.5, 5.0, 0.05, 0.3], rtol=1e-14
    )
    assert outbreak.hazards.shape == (5, 15)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sizes": (10, 20)}, "got 2 sizes and 3 cases"),
        ({"sizes": (), "cases": ()}, "got 0 sizes and 0 cases"),
        ({"sizes": 10}, "got sizes=10; expected one whole number per population"),
        ({"cases": (1, 2.5, 3)}, "cases must be a whole number"),
        ({"cases": (125, 300, 100_001)}, "population 3 has 100000 people but 100001 cases"),
        ({"days": 0}, "days must be a whole number ≥ 1"),
        ({"days": 14.0}, "days must be a whole number ≥ 1"),
        ({"tracing_delay": -1}, "tracing_delay must be a whole number ≥ 0"),
        ({"tests": -1}, "tests must be a finite number of 0 or more"),
        ({"contacts": float("inf")}, "contacts must be a finite number"),
        ({"contacts": 1e300}, "contacts must be a finite number from 0 to"),
        ({"tracing_window": 1e300}, "tracing_window must be a finite number from 0 to 3650"),
        ({"infection": 1.5}, "infection must be a finite number from 0 to 1"),
        ({"recall": float("nan")}, "recall must be a finite number from 0 to 1"),
        ({"self_report": "often"}, "self_report must be a finite number from 0 to 1, got 'often'"),
        ({"late": 10}, r"got late=10; expected Stay\(mean, longest\)"),
    ],
)
def test_values_without_a_meaning_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Outbreak(**options)


@pytest.mark.parametrize(("mean", "longest"), [(-1.0, 4), (701.0, 4), (1.0, -1), (1.0, 2.5)])
def test_a_stay_without_a_meaning_is_refused(mean: float, longest: Any) -> None:
    with pytest.raises(InputError, match="must be a"):
        Stay(mean, longest)


def test_numbers_of_any_real_type_become_plain_ones() -> None:
    outbreak = Outbreak(sizes=np.array([10, 20]), cases=[1, 2], tests=np.float32(5))  # type: ignore[arg-type]
    assert outbreak.sizes == (10, 20)
    assert outbreak.cases == (1, 2)
    assert type(outbreak.tests) is float
    assert hash(outbreak) == hash(Outbreak(sizes=(10, 20), cases=(1, 2), tests=5.0))
