"""Runs that cannot be used are refused, by row and column."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from elsewhere import NAMES, runs

from argbest import InputError, Study
from argbest.posthoc.observed import observe


def test_missing_values_are_refused_by_row_or_left_out_if_asked() -> None:
    frame = runs()
    frame.loc[[3, 7], "cost"] = np.nan
    with pytest.raises(InputError, match=r"data row 4 has no cost. 2 of 36 rows are incomplete.*dropna=True"):
        Study.from_observations(frame, **NAMES)
    found = observe(frame, **NAMES, dropna=True)
    assert found.notes == ("2 of 36 rows were left out, because they have missing values.",)
    expected = observe(frame.drop([3, 7]), **NAMES)
    np.testing.assert_array_equal(found.told.values, expected.told.values)
    assert found.problem.alternatives == expected.problem.alternatives
    frame.loc[5, "rate"] = np.nan
    frame.loc[9, "cost"] = np.inf
    with pytest.raises(
        InputError, match=r"data row 10 has cost inf"
    ):  # rows count as they stand in the frame
        Study.from_observations(frame, **NAMES, dropna=True)
    with pytest.raises(InputError, match=r"every row lacks one of \['plan', 'rate', 'cost'\]"):
        Study.from_observations(frame.assign(cost=np.nan), **NAMES, dropna=True)


def broken(**columns: Any) -> pd.DataFrame:
    """Return six runs with other values in some columns, whatever these are."""
    objects = {name: np.array(given, object) for name, given in columns.items()}
    return runs()[:6].astype(dict.fromkeys(columns, object)).assign(**objects)


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        (runs()[:0], {}, "got a table without rows"),
        ("runs.csv", {}, "got str; expected a pandas DataFrame"),
        (runs(), {"alternative": "plam"}, "unknown alternative column 'plam'.*Did you mean 'plan'"),
        (runs(), {"context": ["rate", "plan"]}, "'plan' is named for two purposes"),
        (runs(), {"context": ["rate", "rate"]}, r"context columns \['rate', 'rate'\] are named twice"),
        (
            runs(),
            {"context": []},
            r"\[\] names no context column; name one or more of \['plan', 'rate', 'cost'\]",
        ),
        (runs(), {"context": 3}, "3 names no context column"),
        (runs(), {"dropna": "yes"}, "dropna must be True or False"),
        (runs(), {"value": "costs"}, "unknown value column 'costs'.*Did you mean 'cost'"),
        (runs(), {"value": "rate"}, "'rate' is named for two purposes"),
        (runs(), {"goal": "most"}, "goal 'most' begins with 'most'; expected max or min"),
        (runs(), {"weights": "w"}, "unknown weights column 'w'"),
        (runs(), {"weights": [1, 2]}, r"got weights of shape \(2,\)"),
        (runs().assign(plan="a"), {}, "all rows have the same alternative: plan 'a'"),
        (pd.concat([runs(), runs()[["cost"]]], axis=1), {}, "the column 'cost' comes 2 times"),
        (pd.concat([runs(), runs()[["plan"]]], axis=1), {}, "the column 'plan' comes 2 times"),
        (
            broken(cost=["1", "2", "3", "4", "5", "6"]),
            {},
            r"data row 1 has cost '1' \(str\).*Convert the column",
        ),
        (broken(cost=[1, 2, "oops", 4, 5, 6]), {}, r"data row 3 has cost 'oops' \(str\); expected a finite"),
        (
            broken(cost=["1", "2", "inf", "4", "5", "6"]),
            {},
            r"data row 3 has cost 'inf' \(str\); expected a finite number. Correct or remove the row",
        ),
        (
            broken(cost=["1", "2", "oops", "4", "5", "6"]),
            {},
            r"data row 3 has cost 'oops' \(str\); expected a finite number. Correct or remove the row",
        ),
        (
            runs(),
            {"rate": True},
            "data row 1 has an impossible cost: .* is neither 0 nor 1, but rate=True. Corr",
        ),
        (
            runs(),
            {"reward_range": (1e6, 2e6)},
            r"data row 1 has an impossible cost: .* is outside the reward_range 1e\+06 to 2e\+06",
        ),
        (broken(cost=[1, 2, "3,5", 4, 5, 6]), {}, "data row 3 has cost '3,5'.*decimal comma.*--decimal ,"),
        (broken(cost=[1, True, 3, 4, 5, 6]), {}, r"data row 2 has cost True \(bool\)"),
        (broken(cost=[1, 10**400, 3, 4, 5, 6]), {}, "data row 2 has cost 10+ .*finite"),
        (broken(cost=[1, 1e200, 3, 4, 5, 6]), {}, r"data row 2 has cost 1e\+200; expected at most 1e\+130"),
        (broken(cost=[1, np.ma.masked, 3, 4, 5, 6]), {}, "data row 2 has cost masked .*finite number"),
        (runs().assign(cost=np.ma.array([1.0] * 36, mask=[False, True] * 18)), {}, "data row 2 has no cost"),
        (broken(cost=[1, pd.NaT, 3, 4, 5, 6]), {}, "data row 2 has no cost"),
        (broken(rate=[1, np.ma.masked, 3, 4, 5, 6]), {}, "data row 2 has context rate masked"),
        (runs().assign(cost=1j), {}, r"data row 1 has cost 1j \(complex\)"),
        (
            broken(rate=[5, 10, "20", 5, 5, 5]),
            {},
            r"holds 5 \(number\) in data row 1 and '20' \(text\) in data row 3",
        ),
        (broken(rate=[1, True, 3, 4, 5, 6]), {}, r"holds 1 \(number\) in data row 1 and True \(boolean\)"),
        (broken(rate=["0,5", "1", "1,5", "2", "3", "4"]), {}, "'rate' holds '0,5'.*decimal comma"),
        (broken(rate=[1.0, np.inf, 3, 4, 5, 6]), {}, "data row 2 has context rate inf"),
        (broken(rate=[[1], [2], 3, 4, 5, 6]), {}, r"data row 1 has context rate \[1\] \(list\)"),
        (
            runs().assign(rate=pd.Timestamp(2026, 1, 1)),
            {},
            "data row 1 has context rate Timestamp.*date to text",
        ),
        (runs().assign(rate=[2**53 + i % 2 for i in range(36)]), {}, "integer up to 2.53"),
        (runs().assign(n=0), {}, "data row 1 has n 0; the column 'n' counts"),
        (runs().assign(n=1.5), {}, "data row 1 has n 1.5"),
        (runs().assign(n=2), {}, "data row 1 is the mean of n = 2 replications; add their sample variance"),
        (runs().assign(n=2, variance=-1.0), {}, "data row 1 has variance -1; expected 0 or more"),
        (runs().assign(n=2, variance=np.nan), {}, "data row 1 has variance .*nan"),
    ],
)
def test_what_cannot_be_used_is_refused(frame: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Study.from_observations(frame, **(NAMES | options))


def test_nothing_is_stored_when_runs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has variance"):
        Study.from_observations(runs().assign(n=2, variance=-1.0), **NAMES, storage=tmp_path / "s.db")
    assert not list(tmp_path.iterdir())
