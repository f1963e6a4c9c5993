"""Experiments are checked when they are made, before anything is simulated."""

from typing import Any

import numpy as np
import pytest
import small_problems

from argbest import GP, EveryPair, Problem, registry
from argbest.errors import InputError
from argbest.experiment import Contender, Experiment
from argbest.policies.equal import Equal


def test_names_are_policies_with_the_usual_model_or_their_own() -> None:
    experiment = Experiment("branin", ["gp-c-ocba", "equal:independent", "c-ocba"], replications=5)
    shown = [(each.label, each.policy, each.model_name) for each in experiment.contenders]
    assert shown == [
        ("gp-c-ocba", "gp-c-ocba", "gp"),
        ("equal:independent", "equal", "independent"),
        ("c-ocba", "c-ocba", "independent"),
    ]
    assert Contender.named("equal", model="linear").model_name == "linear"
    assert Contender.named("equal:gp", model="linear").model_name == "gp"


def test_objects_are_contenders_by_the_name_of_their_class() -> None:
    contender = Contender(Equal(), GP(kernel="rbf"))
    assert (contender.label, contender.model_name) == ("Equal", "GP")
    assert "kernel='rbf'" in contender.plain()["model"]


@pytest.mark.parametrize(
    ("replications", "every", "expected"),
    [(20, 10, [0, 10, 20]), (25, 10, [0, 10, 20, 25]), (3, 10, [0, 3]), (0, 10, [0]), (2, 1, [0, 1, 2])],
)
def test_checkpoints_include_the_first_and_the_last(
    replications: int, every: int, expected: list[int]
) -> None:
    experiment = Experiment("branin", "equal", replications=replications, checkpoint_every=every)
    assert experiment.checkpoints.tolist() == expected


def test_uniform_weights_replace_those_of_the_problem() -> None:
    experiment = Experiment(small_problems.table(goal="min"), "equal", replications=1, weights="uniform")
    [problem] = experiment.problems([0])
    np.testing.assert_allclose(problem.weights, 0.2)
    np.testing.assert_allclose(problem.setting.weights, 0.2)
    plain = small_problems.table(goal="min")
    other = {"weights": problem.weights.tolist(), "pcs_ceiling": problem.pcs_ceiling}
    assert problem.summary() == plain.summary() | other
    assert problem.bounds == plain.bounds


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"problem": "brannin"}, "unknown problem 'brannin'.*Did you mean 'branin'"),
        ({"problem": 3}, "problem=3 is neither a registered name, nor an argbest.Problem, nor a family"),
        ({"problem": Problem(["A", "B"], [1])}, "has no simulate and no truth"),
        ({"contenders": ["gp-c-ocb"]}, "unknown policy 'gp-c-ocb'.*Did you mean 'gp-c-ocba'"),
        ({"contenders": ["equal:gpp"]}, "unknown model 'gpp'.*Did you mean 'gp'"),
        ({"contenders": []}, "got no contenders"),
        ({"contenders": None}, "contenders=None is not a list of contenders"),
        ({"contenders": [3]}, "3 is not a contender: expected POLICY, POLICY:MODEL or a Contender"),
        ({"contenders": ["ikg:"]}, "'ikg:' names no model after the colon"),
        ({"weights": np.array([0.5, 0.5])}, "unknown weights array"),
        ({"contenders": ["equal", "equal"]}, "2 contenders are labelled 'equal'"),
        ({"replications": -1}, "replications must be a whole number ≥ 0, got -1"),
        ({"replications": 1.5}, "replications must be a whole number ≥ 0, got 1.5"),
        ({"macroreps": 0}, "macroreps must be a whole number ≥ 1"),
        ({"refit_every": 0}, "refit_every must be a whole number ≥ 1"),
        ({"checkpoint_every": 0}, "checkpoint_every must be a whole number ≥ 1"),
        ({"seed": -1}, "seed must be a whole number ≥ 0"),
        ({"weights": "equal"}, "unknown weights 'equal'"),
        ({"delta": -0.1}, "the indifference zone delta must be a finite number"),
        ({"initial": "two"}, "initial='two' is not an initial design"),
    ],
)
def test_a_mistake_is_named_at_once(options: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"problem": "branin", "contenders": ["equal"], "replications": 10} | options
    with pytest.raises(InputError, match=message):
        Experiment(given.pop("problem"), given.pop("contenders"), **given)


@pytest.mark.parametrize("label", ["a b", "../up", ":x", "é"])
def test_a_label_that_is_no_name_of_a_file_is_refused(label: str) -> None:
    with pytest.raises(InputError, match="is not a label"):
        Contender("equal", label=label)


def test_a_contender_with_a_bad_design_is_refused() -> None:
    with pytest.raises(InputError, match="initial='two' is not an initial design"):
        Contender("equal", initial="two")


def test_the_description_is_the_same_for_equal_experiments_and_differs_with_the_problem() -> None:
    one, same = (
        Experiment(small_problems.table(), "equal", replications=5, initial=EveryPair(3)) for _ in range(2)
    )
    assert one.plain() == same.plain()
    other = Experiment(small_problems.table(1), "equal", replications=5, initial=EveryPair(3))
    assert one.plain() != other.plain()


class Drawn(small_problems.Family):
    """A family whose draws are what a test says."""

    def __init__(self, *draws: Any, name: Any = "drawn") -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "draws", draws)

    def draw(self, seed: int) -> Any:
        return self.draws[seed]  # type: ignore[attr-defined]


TABLE = small_problems.table()
UNKNOWN = Problem(TABLE.alternatives, TABLE.contexts, small_problems.Plain())


@pytest.mark.parametrize(
    ("family", "message"),
    [
        (small_problems.Family, "is a class of families. Give one of them, as Family\\(\\)"),
        (Drawn(TABLE, TABLE, name=None), "has the name None. Give it the attribute name"),
        (
            Drawn("table", TABLE),
            "draw\\(0\\) of the family 'drawn' returned str; expected an argbest.Problem",
        ),
        (Drawn(TABLE, UNKNOWN), "draw\\(1\\) of the family 'drawn' has no truth"),
        (
            Drawn(TABLE, registry.problem("branin")),
            "has the shape \\(4, 5\\) for seed 0 and \\(10, 10\\) for",
        ),
        (Drawn(TABLE, small_problems.table(goal="min")), "has the goal max for seed 0 and min for seed 1"),
        (Drawn(TABLE, small_problems.numbered()), "share their weights. Let the truth alone depend"),
    ],
)
def test_a_family_that_cannot_be_run_side_by_side_is_refused_at_once(family: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Experiment(family, "equal", replications=5)


@pytest.mark.parametrize(("name", "shared"), [("branin", True), ("call-rush", False)])
def test_alternatives_share_seeds_unless_there_are_limits(name: str, shared: bool) -> None:
    assert Experiment(name, "equal", replications=2).common_random_numbers is shared
    assert Experiment(name, "equal", replications=2, common_random_numbers=True).common_random_numbers
