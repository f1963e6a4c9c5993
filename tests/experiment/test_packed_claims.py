"""Claims of single contexts as texts: read back to half a ten-thousandth."""

import numpy as np
import pandas as pd

from argbest.experiment.measures import packed, unpacked


def test_claims_come_back_to_half_a_ten_thousandth_and_certainty_to_one() -> None:
    given = np.random.default_rng(0).random((50, 7))
    given[0] = [0.0, 1.0, 0.99996, 0.5, 0.00004, 0.95, 0.1]
    texts = packed(given)
    assert texts[0] == "0000999999995000000095001000"
    np.testing.assert_allclose(unpacked(pd.Series(texts)), given, atol=1e-4)


def test_where_nothing_is_claimed_the_text_is_empty() -> None:
    assert packed(np.array([[0.5, np.nan], [0.5, 0.25]])) == ["", "50002500"]
