"""The comparison with version 0.1, on made-up frames."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_rel

from experiments import comparison

KEYS = ["problem", "macroreplication", "replications", "cost"]


def losses(costs: list[float], *, problem: str = "p", replications: int = 100) -> pd.DataFrame:
    """A loss per macro-replication."""
    return pd.DataFrame([(problem, i, replications, cost) for i, cost in enumerate(costs)], columns=KEYS)


def curve(contender: str, costs: list[float]) -> pd.DataFrame:
    """The mean loss after every ten replications."""
    row = {"problem": "p", "contender": contender}
    return pd.DataFrame([row | {"replications": 10 * i, "cost": cost} for i, cost in enumerate(costs)])


def test_holm_steps_down_from_the_smallest_and_never_falls() -> None:
    corrected = comparison.holm(np.array([0.01, 0.04, 0.03, 0.005]))
    # Sorted: 4 x 0.005, 3 x 0.01, 2 x 0.03, and 1 x 0.04, which may not be below the one before it.
    np.testing.assert_allclose(corrected, [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(comparison.holm(np.array([0.6, 0.9])), [1.0, 1.0])


def test_differences_are_paired_by_macroreplication_whatever_the_order() -> None:
    own, theirs = [1.0, 2.0, 3.0, 5.0], [1.5, 2.25, 4.0, 5.5]
    shuffled = losses(own).iloc[[2, 0, 3, 1]]
    [row] = comparison.differences(shuffled, losses(theirs).assign(contender="before")).itertuples()
    assert (row.contender, row.cost_ours, row.cost_theirs) == ("before", 2.75, 3.3125)
    assert row.difference == pytest.approx(-0.5625)
    assert row.se == pytest.approx(np.std(np.subtract(own, theirs), ddof=1) / 2)
    expected = pytest.approx(ttest_rel(own, theirs).pvalue)
    assert row.p == expected
    assert row.p_holm == expected


def test_all_comparisons_share_one_correction() -> None:
    ours = pd.concat([losses([1.0, 2.0, 4.0]), losses([1.0, 1.5, 1.0], problem="q")])
    theirs = pd.concat(
        [
            losses([3.0, 4.5, 6.0]).assign(contender="a"),
            losses([1.0, 2.5, 4.5]).assign(contender="b"),
            losses([2.0, 1.0, 4.0], problem="q").assign(contender="a"),
        ]
    )
    found = comparison.differences(ours, theirs)
    assert len(found) == 3
    p, corrected = found["p"].to_numpy(), found["p_holm"].to_numpy()
    smallest = int(np.argmin(p))
    assert found[["problem", "contender"]].to_numpy()[smallest].tolist() == ["p", "a"]
    assert corrected[smallest] == pytest.approx(3 * p[smallest])


def test_equal_losses_are_no_difference() -> None:
    [row] = comparison.differences(losses([0.0, 1.0]), losses([0.0, 1.0]).assign(contender="a")).itertuples()
    assert (row.difference, row.se, row.p) == (0.0, 0.0, 1.0)


def test_behind_the_best_is_a_share_of_its_loss_at_each_landmark() -> None:
    found = pd.DataFrame(
        [
            ("p", "a", 100, 3.0, 2.0),
            ("p", "b", 100, 3.0, 4.0),
            ("p", "a", 500, 1.0, 2.5),
            ("p", "b", 500, 1.0, 2.0),
        ],
        columns=["problem", "contender", "replications", "cost_ours", "cost_theirs"],
    ).assign(se=0.1, p_holm=1.0)
    best = comparison.behind_best(found).set_index("replications")
    assert best["contender"].to_dict() == {100: "a", 500: "b"}
    assert best["behind"].to_dict() == pytest.approx({100: 0.5, 500: -0.5})


def test_the_best_of_many_alike_is_ahead_by_chance_and_one_chosen_beforehand_is_not() -> None:
    """Twenty contenders and ours, all of the same law, on thirty problems."""
    random, keys = np.random.default_rng(7), ["problem", "macroreplication", "replications"]
    names = [*(f"c{i}" for i in range(20)), "ours"]
    frame = pd.DataFrame(random.exponential(size=(1800, 21)), columns=names)
    frame = frame.assign(
        problem=np.repeat(np.arange(30), 60), macroreplication=list(range(60)) * 30, replications=0
    )
    theirs = frame.drop(columns="ours").melt(keys, var_name="contender", value_name="cost")
    ours = frame[[*keys, "ours"]].rename(columns={"ours": "cost"})
    of_best = comparison.behind_best(comparison.differences(ours, theirs))["behind"]
    assert of_best.mean() > 0.2
    assert abs(comparison.behind_chosen(ours, theirs)["behind"].mean()) < 0.07


def test_what_is_behind_a_contender_that_is_always_best_is_so_in_both_ways() -> None:
    random = np.random.default_rng(8)
    cost = random.uniform(1.0, 2.0, 40)
    frame = pd.DataFrame({"problem": "p", "macroreplication": range(40), "replications": 0})
    theirs = pd.concat([frame.assign(contender="a", cost=cost), frame.assign(contender="b", cost=9.0)])
    ours = frame.assign(cost=1.5 * cost)
    assert comparison.behind_chosen(ours, theirs)["behind"].item() == pytest.approx(0.5)
    found = comparison.behind_best(comparison.differences(ours, theirs))
    assert found["behind"].item() == pytest.approx(0.5)


def test_needed_replications_reach_what_equal_allocation_had_at_its_end() -> None:
    curves = pd.concat([curve("equal", [9.0, 6.0, 4.0]), curve(comparison.BEFORE, [9.0, 8.0, 5.0])])
    ours = pd.concat(
        [
            losses([8.0, 10.0], replications=0),
            losses([2.0, 4.0], replications=10),
            losses([1.0, 1.0], replications=20),
        ]
    )
    [row] = comparison.needed(ours, curves).itertuples()
    assert (row.problem, row.loss_of_equal) == ("p", 4.0)
    assert row.default == pytest.approx(10 * 5 / 6)  # from a mean of 9 at 0 to a mean of 3 at 10
    assert row.version_0_1 == np.inf
