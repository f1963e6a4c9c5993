from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from argbest.experiment import Experiment, run
from experiments import covid_models as part
from experiments.plan import Plan


def made_up(cost: dict[str, list[float]]) -> pd.DataFrame:
    """Runs in which a model's selections always cost the same, by macro-replication; at first, 99."""
    rows = [
        {"problem": problem, "policy": policy, "model": model, "macroreplication": r, "replications": n}
        | {"cost": value if n else 99.0, "share_correct": 0.5, "excess": 0.1, "seconds": 1.0}
        for problem in part.PROBLEMS
        for policy in part.POLICIES
        for model, values in cost.items()
        for r, value in enumerate(values)
        for n in (0, 50, 100)
    ]
    return pd.DataFrame(rows)


EQUAL = {model: [10.0, 12.0, 14.0, 12.0] for model in part.MODELS}


def test_the_cost_of_a_run_leaves_out_the_initial_design() -> None:
    cost = part.costs(made_up(EQUAL | {"gp": [1.0, 2.0, 3.0, 4.0]}), "covid")
    assert cost["gp"].tolist() == [1.0, 2.0, 3.0, 4.0]


def test_models_are_compared_on_the_same_macro_replications() -> None:
    first, second = np.array([5.0, 9.0, 20.0]), np.array([4.0, 7.0, 17.0])
    found = part.compare(first, second)
    assert found.value == pytest.approx(2.0)
    assert found.se == pytest.approx(np.std([1.0, 2.0, 3.0], ddof=1) / np.sqrt(3))
    assert found.sure
    assert not part.compare(np.array([1.0]), np.array([2.0])).sure  # one alone says nothing


def test_one_model_is_advised_only_if_all_others_are_surely_dearer() -> None:
    best = EQUAL | {"additive-gp": [1.0, 2.0, 4.0, 1.0]}
    assert "least with additive-gp, 2.0; choose it. The next" in part.advice(made_up(best), "covid")
    near = best | {"gp": [1.0, 3.0, 3.0, 2.0]}
    said = part.advice(made_up(near), "covid")
    assert said == (
        "covid: mean EOC over the run is least with additive-gp, 2.0, but gp cannot be told from it "
        "(two standard errors)."
    )


def test_the_verdicts_answer_every_question() -> None:
    runs = made_up(EQUAL | {"additive-gp": [9.0, 11.5, 13.0, 11.0]})
    answers = part.differences(runs)
    assert len(answers) == len(part.PROBLEMS) * len(part.QUESTIONS)
    said = part.verdicts(answers)
    assert said[0].startswith("covid: additive-gp costs 0.88 ± 0.12 infections less than gp")
    [same, _] = part.verdicts(part.differences(made_up(EQUAL)))
    assert same.startswith("covid: additive-gp cannot be told from gp (difference +0.00")


def test_calibration_names_the_worst_case_of_each_model() -> None:
    runs = made_up(EQUAL)
    runs.loc[(runs["model"] == "gp") & (runs["policy"] == "dvr"), "excess"] = -0.25
    said = part.calibration(part.at_landmarks(part.summary(runs)))
    assert "after 100 replications" in said
    assert "gp -0.250 ± 0.000" in said
    assert "additive-gp +0.100" in said


@pytest.mark.slow
def test_the_part_writes_the_numbers_of_its_experiments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part, "MODELS", ("gp", "independent"))
    monkeypatch.setattr(part, "QUESTIONS", (("independent", "gp"),))
    outcome = part.covid_models(Plan(tmp_path, macroreps=2, replications=20, seed=4))
    assert len(outcome.table) == 2 * 2 * 2
    numbers = pd.read_csv(tmp_path / "covid_models.csv")
    expected = run(
        Experiment(
            "covid",
            "dvr:independent",
            replications=20,
            macroreps=2,
            seed=4,
            certify=True,
            common_random_numbers=False,
        )
    ).summary()
    own = numbers.query("problem == 'covid' and policy == 'dvr' and model == 'independent'")
    for name, theirs in (("share_correct", "pcs_e"), ("cost", "eoc"), ("cost_se", "eoc_se")):
        at_ends = [expected[theirs].iloc[0], expected[theirs].iloc[-1]]
        assert own[name].tolist() == pytest.approx(at_ends, rel=1e-12)
    excess = expected["certificate"].iloc[-1] - expected["pcs_e"].iloc[-1]
    assert own["excess"].iloc[-1] == pytest.approx(excess, rel=1e-9)
    assert (tmp_path / "covid_models.png").read_bytes().startswith(b"\x89PNG\r\n")
