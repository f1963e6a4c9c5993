"""The judge of the sparser start: what it compares, and that it refuses what it should."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from experiments import start


def made(*, loss: dict[str, float], right: dict[str, float], spread: float = 0.01) -> pd.DataFrame:
    """Return rows of two problems, forty macro-replications and five contexts with these means by rule."""
    rng, rows = np.random.default_rng(0), []
    for problem in ("a", "b"):
        for r in range(40):
            shared = rng.normal(0.0, 0.05)
            for rule in ("today", "five"):
                lost = max(loss[rule] + shared + rng.normal(0.0, spread), 0.0)
                rows += [
                    (problem, 2.0, rule, r, c, 10, lost, rng.random() < right[rule], 0.97) for c in range(5)
                ]
    columns = [
        *("problem", "budget", "rule", "macroreplication", "context"),
        "begun",
        "loss",
        "right",
        "claimed",
    ]
    return pd.DataFrame(rows, columns=columns)


def judged(**means: dict[str, float]) -> Any:
    rows = made(**means)  # type: ignore[arg-type]
    return start.verdict(start.losses(rows), start.claims(rows)).iloc[0]


def test_a_rule_passes_that_loses_less_and_claims_no_more() -> None:
    found = judged(loss={"today": 0.3, "five": 0.2}, right={"today": 0.95, "five": 0.95})
    assert found["passes"]
    assert found["score"] == pytest.approx(2 * (0.2 - 0.3) / 0.5, abs=0.05)


def test_a_rule_fails_that_loses_more_though_pairs_alone_show_it() -> None:
    rows = made(loss={"today": 0.3, "five": 0.31}, right={"today": 0.95, "five": 0.95})
    own = start.losses(rows)
    worse = own[own["rule"] == "five"]
    assert (worse["more"] < 2 * worse["loss_se"]).all()
    found = start.verdict(own, start.claims(rows)).iloc[0]
    assert found["worse"] == "a@2 b@2"
    assert not found["passes"]


def test_a_rule_fails_whose_claims_are_bolder() -> None:
    found = judged(loss={"today": 0.3, "five": 0.2}, right={"today": 0.95, "five": 0.8})
    assert found["bolder"] == "0.95"
    assert not found["passes"]


def test_a_rule_fails_that_is_no_better() -> None:
    found = judged(loss={"today": 0.3, "five": 0.3}, right={"today": 0.95, "five": 0.95})
    assert found["worse"] == ""
    assert not found["passes"]


@pytest.mark.parametrize("name", list(start.FAMILIES))
def test_the_mean_of_the_rewards_is_the_truth(name: str) -> None:
    """Of one pair, 400 replications: beyond four standard errors once in 16,000."""
    problem = start.FAMILIES[name].draw(11)
    simulate: Any = problem.simulate
    k, c = 3, 2
    cell = problem.alternatives.item(k), problem.contexts.item(c)
    seen = np.array([simulate(*cell, seed) for seed in range(400)], float)
    error = max(float(seen.std(ddof=1)) / 20.0, 1e-3)
    assert abs(seen.mean() - np.asarray(problem.truth)[k, c]) < 4.0 * error


def test_today_s_rule_begins_with_every_pair_and_the_others_with_a_few_for_each_parameter() -> None:
    problem = start.FAMILIES["smooth"].draw(0)
    sizes = {
        rule: len(start.begins(rule, problem, 320).pairs(problem, np.random.default_rng(0)))
        for rule in start.RULES
    }
    assert sizes == {"today": 160, "five": 80, "three": 48}
    names = start.FAMILIES["names"].draw(0)
    assert len(start.begins("three", names, 320).pairs(names, np.random.default_rng(0))) == 60
    assert len(start.begins("five", problem, 40).pairs(problem, np.random.default_rng(0))) == 20
