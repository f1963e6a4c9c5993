"""Shared seeds and limits: the rule on made-up rows, and what is stored."""

import numpy as np
import pandas as pd
import pytest

from experiments import limits_seeds

NAMES = "a", "b"


def made_up(own: dict[str, float], claim: float = 0.85, right: float = 1.0) -> pd.DataFrame:
    """Return rows of eight studies of two problems; with own seeds they lose this much more."""
    noise = 0.01 * np.random.default_rng(1).standard_normal((2, 2, 8))
    rows = [
        {"problem": name, "seed": seed, "arm": arm, "loss": loss + noise[i, j, seed], "replications": 5}
        for i, name in enumerate(NAMES)
        for j, (arm, loss) in enumerate((("shared", 1.0), ("own", 1.0 + own[name])))
        for seed in range(8)
    ]
    frame = pd.DataFrame(rows).assign(claim=claim, right=1.0, claim_feasible=np.nan, feasible=np.nan)
    frame.loc[frame["arm"] == "own", "right"] = right
    return frame.assign(sure=False, context=0)


def test_own_seeds_become_the_default_where_they_lose_less_and_are_nowhere_far_behind() -> None:
    assert limits_seeds.objections(made_up({"a": -0.5, "b": 0.0})) == []
    assert limits_seeds.objections(made_up({"a": 0.0, "b": 0.0})) == ["not better on the whole"]
    assert limits_seeds.objections(made_up({"a": -0.5, "b": 0.2})) == ["worse on b"]
    bold = limits_seeds.objections(made_up({"a": -0.5, "b": 0.0}, claim=0.92, right=0.2))
    assert bold == ["bold: right from 0.9 after 5"]


def test_the_stored_run_has_nothing_against_own_seeds() -> None:
    stored = pd.read_csv(limits_seeds.STORED / "limits_seeds_differences.csv").set_index("problem")
    pooled, each = stored.loc["all"], stored.drop(index="all")
    assert set(each.index) == set(limits_seeds.PROBLEMS)
    assert pooled["mean"] == pytest.approx(each["mean"].mean(), abs=1e-5)
    assert pooled["mean"] < -limits_seeds.BETTER * pooled["sem"]
    assert (each["mean"] < limits_seeds.WORSE * each["sem"]).all()


@pytest.mark.parametrize("name", sorted(limits_seeds.MADE))
def test_the_problems_that_were_written_have_a_feasible_alternative_and_much_shared_noise(name: str) -> None:
    problem = limits_seeds.MADE[name]()
    assert problem.feasible.any(axis=0).all()
    every = np.arange(problem.n_alternatives)[:, None]
    values = problem.simulate.many(every, np.zeros_like(every), np.arange(400))  # type: ignore[union-attr]
    noise = np.corrcoef(values[problem.goal.split()[1]])
    assert noise[np.triu_indices(len(noise), 1)].min() > 0.85
