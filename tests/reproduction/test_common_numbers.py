"""The tables of what common random numbers are worth, from hand-sized runs."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from argbest.simulators.calling import for_shared_seeds
from experiments import common_numbers


def runs(replications: list[int], right: list[str], claims: list[str]) -> pd.DataFrame:
    """Two macro-replications of two contexts at every checkpoint."""
    share = [sum(map(int, text)) / len(text) for text in right]
    n = len(replications) // 2
    return pd.DataFrame(
        {
            "macroreplication": np.repeat([0, 1], n),
            "replications": replications,
            "n_initial": 10,
            "share_correct": share,
            "claim": 0.9,
            "correct": right,
            "claims": claims,
            "correlation": 0.8,
            "common": True,
        }
    )


FRAME = runs([0, 20, 0, 20], ["10", "11", "01", "11"], ["95008500", "99509950", "95000500", "99509950"])


def test_levels_are_means_over_macro_replications() -> None:
    found = common_numbers.levels(FRAME)
    assert found["replications"].tolist() == [0, 20]
    assert found["claim"].tolist() == [0.9, 0.9]
    assert found["right"].tolist() == [0.5, 1.0]


def test_bins_hold_claims_of_single_contexts_against_what_came_true() -> None:
    found = common_numbers.bins(FRAME)
    assert found["from"].tolist() == [0.8, 0.95, 0.99]
    assert found["n"].tolist() == [1, 2, 4]
    assert found["right"].tolist() == [0.0, 0.5, 1.0]
    assert found["claim"].to_numpy() == pytest.approx([0.85, 0.95, 0.995])


def test_worth_counts_the_initial_design_until_the_target_is_reached() -> None:
    assert common_numbers.worth(FRAME)["replications"].tolist() == [30.0]
    assert np.isnan(common_numbers.worth(FRAME[FRAME["replications"] == 0])["replications"].iloc[0])


@pytest.mark.parametrize("rho", common_numbers.CORRELATIONS)
def test_problems_are_draws_with_the_correlation_that_is_said(rho: float) -> None:
    drawn = common_numbers.family(rho).draw(3)
    assert drawn.shape == (4 if rho < 0 else 6, 6)
    assert for_shared_seeds(drawn.simulate).correlation == rho


def stored(name: str) -> pd.DataFrame:
    return pd.read_csv(Path(common_numbers.__file__).parent / "stored" / f"common_numbers_{name}.csv")


def test_the_stored_claims_keep_the_rule() -> None:
    levels, bins = stored("levels"), stored("bins")
    assert set(levels["correlation"]) == set(bins["correlation"]) == set(common_numbers.CORRELATIONS)
    assert np.all(np.abs(levels["claim"] - levels["right"]) <= 0.03)
    assert np.all(bins["right"] >= bins["claim"] - 0.02 - 2 * bins["right_se"])


def test_the_stored_worth_keeps_the_rule() -> None:
    taken = stored("worth").set_index("common")["replications"]
    assert taken[True] <= 0.4 * taken[False]
