import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from argbest.core.normal import log_loss, loss


@pytest.mark.parametrize("v", [-3.0, -0.5, 0.0, 0.7, 2.0, 5.0])
def test_the_loss_is_the_expected_excess(v: float) -> None:
    expected, _ = quad(lambda z: (z - v) * norm.pdf(z), v, v + 40, epsabs=0, epsrel=1e-12)
    assert float(loss(np.array(v))) == pytest.approx(expected, rel=1e-10)


def test_its_logarithm_agrees_and_goes_on_where_it_underflows() -> None:
    v = np.linspace(0.0, 30.0, 301)
    np.testing.assert_allclose(log_loss(v), np.log(loss(v)), rtol=1e-9)
    # Asymptotically h(v) = φ(v) v⁻² (1 − 3 v⁻² + 15 v⁻⁴ − …).
    for far in (1e2, 9.9e3, 1.01e4, 1e6, 1e12):
        series = (
            -0.5 * far**2 - 0.5 * np.log(2 * np.pi) - 2 * np.log(far) + np.log1p(-3 / far**2 + 15 / far**4)
        )
        assert float(log_loss(np.array(far))) == pytest.approx(series, rel=1e-12)
    values = log_loss(np.geomspace(1e-3, 1e8, 2000))
    assert np.all(np.diff(values) < 0)
