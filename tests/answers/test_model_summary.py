"""What the model found, in words and numbers: against tables whose parts are known."""

import json
from typing import Any

import numpy as np
import pytest
import small_problems
from study.conftest import Spy, problem

from argbest import AdditiveGP, InputError, Problem, Study
from argbest.answers.model_summary import ModelSummary, summary
from argbest.core.additive_belief import AdditiveBelief
from argbest.core.arrays import Array
from argbest.core.findings import Findings, Lengthscales
from argbest.core.priors import matern52

SERVERS = [{"servers": n, "shift": s} for n in (2, 4, 6) for s in ("day", "night")]
RATES = [{"rate": r, "open": b, "fixed": 1.0} for r in (10.0, 20.0, 50.0) for b in (False, True)]
PROBLEM = Problem(SERVERS, RATES, goal="min")


def found(**options: Any) -> Findings:
    usual: dict[str, Any] = {
        "outline": "",
        "noise": np.array([[1.0, 4.0], [9.0, 2.0]]),
        "variation": {"trend": 7.0, "offset": 1.2, "joint": 1.8, "own": 0.0},
        "lengthscales": (
            Lengthscales(("trend",), "context", np.array([0.1, 1.0, 1.0])),
            Lengthscales(("offset", "joint"), "alternative", np.array([1.5, 0.5])),
            Lengthscales(("joint", "own"), "context", np.array([0.5, 2.0, 1.0])),
        ),
    }
    return Findings(**usual | options)


def parts_of(table: Array) -> dict[str, float]:
    shown = summary(problem(), table, None).effects
    return dict(zip(shown["effect"], shown["share"], strict=True))


@pytest.fixture(scope="module")
def said() -> ModelSummary:
    table = np.arange(6.0)[:, None] + np.zeros(6)
    return summary(PROBLEM, table, found())


def test_shares_are_those_of_the_variation_and_vanished_parts_are_absent(said: ModelSummary) -> None:
    shares = said.parts.set_index("part")["share"]
    assert shares[["trend", "offset", "joint", "own"]].tolist() == pytest.approx([0.7, 0.12, 0.18, 0.0])
    assert said.parts.set_index("part")["sd"]["trend"] == pytest.approx(np.sqrt(7.0))
    assert (
        "By part of the model: 70 % trend (common to all alternatives), 18 % joint (alike for alternatives "
        "near each other) and 12 % offset (a level of each alternative). Absent: own."
    ) in str(said)


def test_lengthscales_are_in_the_units_of_their_columns(said: ModelSummary) -> None:
    rows = {(row["column"], row["part"]): row for row in said.lengthscales.to_dict("records")}
    trend, joint, shift = rows["rate", "trend"], rows["rate", "joint"], rows["shift", "offset, joint"]
    servers = rows["servers", "offset, joint"]
    assert [trend["lengthscale"], trend["range"], trend["reach"]] == [4.0, 40.0, "short"]
    assert [joint["lengthscale"], joint["reach"]] == [20.0, "medium"]
    assert [servers["lengthscale"], servers["reach"]] == [6.0, "long"]
    assert trend["correlation"] == pytest.approx(float(matern52(100.0)))
    assert np.isnan(shift["range"])
    assert shift["correlation"] == pytest.approx(float(matern52(4.0)))
    assert "fixed" not in said.lengthscales["column"].tolist()
    assert (
        "Distance over which rewards change, of the range: rate 4 (trend; short) and 20 (joint) of 40; "
        "servers 6 (long) of 4."
    ) in str(said)
    assert "Correlation between different categories: open 0.52 (trend) and 0.83 (joint); shift 0.14." in str(
        said
    )


def test_the_noise_is_told_with_its_range_over_pairs(said: ModelSummary) -> None:
    noise = said.parts.to_dict("records")[-1]
    assert [noise["part"], noise["sd"], noise["low"], noise["high"]] == ["noise", 2.0, 1.0, 3.0]
    assert str(said).endswith("The noise of one replication has standard deviation 2, pairs from 1 to 3.")
    even = summary(PROBLEM, np.eye(6), found(noise=np.full((6, 6), 4.0)))
    assert str(even).endswith("The noise of one replication has standard deviation 2.")


def test_effects_divide_a_table_into_what_is_common_a_lead_and_the_rest() -> None:
    common, lead = np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 5.0, 1.0])
    assert parts_of(np.tile(common, (3, 1))) == pytest.approx({"common": 1.0, "lead": 0.0, "both": 0.0})
    assert parts_of(np.tile(lead[:, None], 4)) == pytest.approx({"common": 0.0, "lead": 1.0, "both": 0.0})
    table = np.random.default_rng(0).normal(size=(3, 4))
    within = table - table.mean(axis=0)
    shares = parts_of(table)
    assert 1 - shares["common"] == pytest.approx(np.mean(within**2) / table.var())
    assert shares["lead"] == pytest.approx(within.mean(axis=1).var() / table.var())
    assert sum(shares.values()) == pytest.approx(1.0)


def test_pairs_that_are_all_alike_have_no_effects() -> None:
    same = summary(PROBLEM, np.ones((6, 6)), found())
    assert same.effects["share"].isna().all()
    assert str(same).startswith("By part of the model")


def test_a_table_of_a_trend_and_leads_is_found_to_be_one() -> None:
    contexts = np.linspace(0.0, 10.0, 8)
    truth = 4.0 * np.sin(contexts / 3.0) + np.array([0.0, 1.5, -1.5, 3.0])[:, None]
    study = Study(Problem(list("abcd"), contexts.tolist()), policy="equal", initial=1, model="additive-gp")
    rng = np.random.default_rng(2)
    for trial in study.ask(truth.size):
        study.tell(trial, (truth[trial.pair] + 0.2 * rng.normal(size=3)).tolist())
    shown = study.model_summary()
    shares = shown.parts.set_index("part")["share"]
    assert shares["trend"] + shares["offset"] > 0.98
    assert 0.3 < shares["trend"] < 0.9
    assert shares["joint"] == 0.0
    assert "Absent: joint" in str(shown)
    effects = shown.effects.set_index("effect")["share"]
    exact = truth.mean(axis=0).var() / truth.var()
    assert effects["common"] == pytest.approx(exact, abs=0.03)
    noise = shown.parts.set_index("part")["sd"]["noise"]
    assert noise == pytest.approx(0.2, rel=0.25)


def test_parts_left_out_beforehand_are_absent() -> None:
    study = Study(problem(), policy="equal", model=AdditiveGP(parts=("trend", "own"))).run(36)
    shares = study.model_summary().parts.set_index("part")["share"]
    assert shares["offset"] == shares["joint"] == 0.0
    assert shares.dropna().sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("model", "parts", "outline"),
    [
        ("gp", ["curve", "noise"], "Each alternative has a curve of its own over the contexts"),
        ("independent", ["noise"], "Every pair is judged by its own replications alone"),
        ("linear", ["noise"], "Each alternative follows a straight line over the contexts"),
    ],
)
def test_other_models_say_what_they_can(model: str, parts: list[str], outline: str) -> None:
    study = Study(problem(), policy="equal", model=model).run(36)
    shown = study.model_summary()
    assert str(shown).startswith(outline)
    assert shown.parts["part"].tolist() == parts
    assert shown.effects["share"].sum() == pytest.approx(1.0)


def test_the_paper_s_model_tells_the_range_over_alternatives() -> None:
    study = Study(problem(), policy="equal", model="gp").run(60)
    params, shown = study._learned().params, study.model_summary()
    (row,) = shown.lengthscales.to_dict("records")
    lengths = 3.0 * params.lengthscale[:, 0]  # contexts from 0 to 3
    assert [row["low"], row["lengthscale"], row["high"]] == pytest.approx(np.quantile(lengths, [0, 0.5, 1]))
    x = np.arange(4.0)[:, None] - np.arange(4.0)
    curves = [
        scale * (1 - matern52((x / 3.0 / length) ** 2).mean())
        for scale, length in zip(params.scale, params.lengthscale[:, 0], strict=True)
    ]
    curve = shown.parts.set_index("part").loc["curve"]
    assert curve["sd"] == pytest.approx(np.sqrt(np.mean(curves)))
    assert [curve["low"], curve["high"]] == pytest.approx(np.sqrt([min(curves), max(curves)]).tolist())


def test_a_model_of_one_s_own_need_not_say_anything() -> None:
    study = Study(problem(), policy="equal", model=Spy()).run(36)
    shown = study.model_summary()
    assert shown.parts.empty
    assert shown.lengthscales.empty
    assert str(shown).startswith("The mean rewards of the pairs have standard deviation")


def test_before_the_first_value_there_is_nothing_to_say() -> None:
    with pytest.raises(InputError, match="nothing is known yet: tell the value of at least one trial first"):
        Study(problem()).model_summary()


def test_one_value_is_enough_for_a_look() -> None:
    study = Study(problem(), model="additive-gp")
    study.tell(study.ask()[0], 1.0)
    shown = study.model_summary()
    assert json.loads(json.dumps(shown.plain()))["parts"]["rows"][-1][0] == "noise"


def test_what_failed_takes_no_part_in_the_effects() -> None:
    """Alternative c fails everywhere, and all of them in the last context."""
    failing = {("c", c) for c in range(4)} | {(k, 3) for k in "abc"}
    pairs = [(k, c) for k in "abc" for c in range(4) for _ in range(6 if (k, c) in failing else 2)]
    study = Study(problem(), policy="equal", model="independent", initial=pairs)
    for trial in study.ask(len(pairs)):
        if (trial.alternative, trial.context) in failing:
            study.fail(trial, "no licence")
        else:
            study.tell(trial, {"a": 1.0, "b": 3.0}[str(trial.alternative)] + 0.1 * (trial.id % 2))
    assert len(study.set_aside) == len(failing)
    shown = study.model_summary().effects.set_index("effect")
    assert shown["share"].tolist() == pytest.approx([0.0, 1.0, 0.0])
    assert shown["sd"]["lead"] == pytest.approx(1.0)


def test_plain_values_are_json_with_none_for_what_is_not_a_number(said: ModelSummary) -> None:
    plain = json.loads(json.dumps(said.plain(), allow_nan=False))
    assert plain["sentences"] == list(said.sentences)
    assert plain["parts"]["columns"] == ["part", "share", "sd", "low", "high"]
    assert plain["parts"]["rows"][-1][:3] == ["noise", None, 2.0]


@pytest.mark.parametrize(("share", "told"), [(0.0213, "2.1 % of what alternatives"), (0.0, "")])
def test_what_a_simplified_model_leaves_out_is_told(
    share: float, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AdditiveBelief, "left_out_share", share)
    words = str(Study(small_problems.numbered(), seed=1).run(60).model_summary())
    assert ("model was simplified" in words) == bool(told)
    assert told in words
