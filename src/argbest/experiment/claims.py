"""Claims of single contexts as a compact text: four digits each, ten-thousandths."""

import numpy as np
import pandas as pd

from argbest.core.arrays import Array

DIGITS = 4
_UNIT = 10**DIGITS
PATTERN = rf"(\d{{{DIGITS}}})*"


def packed(claims: Array) -> list[str]:
    """Return a text per row of claims [row, context]: 0.95 is 9500, the most is 9999; none where unknown."""
    known = np.asarray(np.isfinite(claims).all(axis=-1))
    whole = np.clip(np.rint(np.where(known[:, None], claims, 0.0) * _UNIT), 0, _UNIT - 1).astype(np.int64)
    return [
        "".join(f"{each:0{DIGITS}d}" for each in row) if told else ""
        for row, told in zip(whole.tolist(), known.tolist(), strict=True)
    ]


def unpacked(texts: "pd.Series[str]") -> Array:
    """Return the claims [row, context] of such texts, all of which have some."""
    digits = np.array([list(text) for text in texts], np.int64).reshape(len(texts), -1, DIGITS)
    return np.asarray(digits @ 10 ** np.arange(DIGITS - 1, -1, -1) / _UNIT)
