import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from argbest.core.tally import from_observations, standardisation, standardise


def build(rows: list[tuple[int, int, float]], shape: tuple[int, int] = (3, 2)):  # type: ignore[no-untyped-def]
    k, c, y = (np.array(v) for v in zip(*rows, strict=True))
    return from_observations((k, c), y, shape)


def test_each_alternative_is_scaled_by_all_its_observations() -> None:
    values = [1.0, 4.0, 2.5, 7.0]
    tally = build([(0, i % 2, y) for i, y in enumerate(values)] + [(1, 0, 10.0), (1, 1, 14.0)])
    scaling = standardisation(tally)
    assert scaling.shift[:2] == pytest.approx([np.mean(values), 12.0])
    assert scaling.spread[:2] == pytest.approx([np.std(values, ddof=1), np.std([10, 14], ddof=1)])


def test_few_observations_borrow_from_the_whole_study() -> None:
    rows = [(0, 0, 1.0), (0, 1, 3.0), (1, 0, 8.0)]
    everything = [y for *_, y in rows]
    scaling = standardisation(build(rows))
    assert scaling.shift.tolist() == pytest.approx([2.0, 8.0, np.mean(everything)])
    assert scaling.spread[1:] == pytest.approx([np.std(everything, ddof=1)] * 2)


def test_equal_observations_borrow_the_spread_of_the_study() -> None:
    rows = [(0, 0, 1e-9), (0, 1, 3e-9), (1, 0, 2e-9), (1, 1, 2e-9)]
    scaling = standardisation(build(rows))
    assert scaling.spread[1] == pytest.approx(np.std([y for *_, y in rows], ddof=1))


@pytest.mark.parametrize("value", [0.0, 1e-9, 1e9])
def test_no_spread_anywhere_leaves_the_scale_alone(value: float) -> None:
    scaling = standardisation(build([(k, c, value) for k in range(3) for c in range(2)] * 2))
    assert scaling.spread.tolist() == [1.0, 1.0, 1.0]
    assert scaling.shift == pytest.approx([value] * 3)


@given(st.floats(-3, 3).map(lambda e: 10.0 ** (3 * e)), st.floats(-1e3, 1e3))
def test_standardised_outcomes_do_not_depend_on_unit_or_origin(unit: float, origin: float) -> None:
    rng = np.random.default_rng(28)
    rows = [
        (int(k), int(c), float(y))
        for k, c, y in zip(*rng.integers(0, 2, (2, 20)), rng.normal(size=20), strict=True)
    ]
    plain = build(rows, (2, 2))
    moved = build([(k, c, unit * (y + origin)) for k, c, y in rows], (2, 2))
    a, b = standardise(plain, standardisation(plain)), standardise(moved, standardisation(moved))
    np.testing.assert_allclose(a.mean, b.mean, atol=1e-9)
    np.testing.assert_allclose(a.m2, b.m2, rtol=1e-9, atol=1e-9)
    total = (a.m2 + a.count * a.mean**2).sum(axis=-1)
    np.testing.assert_allclose(total, a.count.sum(axis=-1) - 1)


def test_leading_axes_broadcast() -> None:
    rng = np.random.default_rng(29)
    rows = [
        (int(k), int(c), float(y))
        for k, c, y in zip(*rng.integers(0, 2, (2, 12)), rng.normal(size=12), strict=True)
    ]
    one = build(rows)
    two = type(one)(
        np.stack([one.count] * 2), np.stack([one.mean, 3 * one.mean]), np.stack([one.m2, 9 * one.m2])
    )
    many = standardisation(two)
    np.testing.assert_allclose(many.shift[0], standardisation(one).shift)
    np.testing.assert_allclose(many.spread[1], 3 * standardisation(one).spread)
