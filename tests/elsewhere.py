"""Runs made elsewhere: a small table for tests."""

from typing import Any

import numpy as np
import pandas as pd

NAMES: dict[str, Any] = {"alternative": "plan", "context": "rate", "value": "cost"}


def runs(seed: int = 0, n: int = 3) -> pd.DataFrame:
    """Three plans at four rates, n runs of each pair, shuffled; plan c is best throughout."""
    r = np.random.default_rng(seed)
    rows = [(k, c, r.normal("abc".index(k), 1.0)) for k in "abc" for c in (5, 10, 20, 40) for _ in range(n)]
    frame = pd.DataFrame(rows, columns=["plan", "rate", "cost"])
    return frame.sample(frac=1.0, random_state=seed).reset_index(drop=True)
