"""A pair set aside without a single value is not selected, and everything that is said says so."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from study.conftest import noise

from argbest import ExpectedPCS, Problem, Study, registry
from argbest.core.setting import among_the_rest
from argbest.policies.base import Policy
from argbest.streams import Purpose, StepDraws
from argbest.study.ledger import SET_ASIDE_AFTER
from argbest.theory import contention, forecast

# The last alternative would be by far the best, did it ever give a value.
TRUTH = np.array([[1.0, 2.0, 3.0, 4.0], [2.0, 2.5, 2.5, 3.0], [8.0, 9.0, 8.5, 9.5]])
LAST = frozenset((2, c) for c in range(4))
SOME = frozenset({(2, 0), (2, 1), (1, 1)})
COLUMN = frozenset((k, 2) for k in range(3))
INDEPENDENT = ("gp", "independent")
MODELS = sorted(registry.MODELS)


def problem(n: int = 3) -> Problem:
    alternatives = [{"size": float(k), "kind": "xyz"[k]} for k in range(n)]
    return Problem(alternatives, [{"rate": r} for r in (1.0, 2.0, 3.0, 4.0)], name="clinic")


def told(failing: frozenset[tuple[int, int]], *, n: int = 3, rounds: int = 3, **options: Any) -> Study:
    """A study in which pairs fail until they are set aside; the others get some values each."""
    given = problem(n)
    pairs = [(k, c) for k in range(n) for c in range(given.n_contexts)]
    cells = [(given.alternatives.item(k), given.contexts.item(c)) for k, c in pairs]
    design = [
        cell
        for pair, cell in zip(pairs, cells, strict=True)
        for _ in range(SET_ASIDE_AFTER if pair in failing else rounds)
    ]
    study = Study(given, initial=design, **options)
    for trial in study.ask(len(design)):
        k, c = trial.pair
        if trial.pair in failing:
            study.fail(trial, "no licence")
        else:
            study.tell(trial, float(TRUTH[k, c]) + noise(1 + 100 * k + 10 * c + trial.replication))
    return study


def usual(model: str) -> dict[str, Any]:
    return {"model": model, "policy": "equal", "refit_every": 1}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("failing", [LAST, SOME, COLUMN], ids=["an alternative", "some pairs", "a context"])
def test_no_model_has_a_pair_selected_that_never_gave_a_value(
    model: str, failing: frozenset[tuple[int, int]]
) -> None:
    study = told(failing, **usual(model))
    labels = study.problem.alternatives.labels
    frame, certificate, chance = study.selection(), study.certificate(), study.certificate().best_probability
    for c, label in enumerate(frame["selected"]):
        out = [k for k in range(3) if (k, c) in failing]
        if len(out) == 3:
            assert label is None
            assert frame["note"][c] == "no answer: every alternative failed here"
            assert np.isnan(chance[:, c]).all()
            assert frame.loc[c, ["mean", "gap", "gap_sd", "p_best", "expected_loss"]].isna().all()
            continue
        assert label in {labels[k] for k in range(3) if k not in out}
        assert chance[out, c].tolist() == [0.0] * len(out)
        assert chance[:, c].sum() == pytest.approx(1.0, abs=1e-9)
        named = ", ".join(str(labels[k]) for k in out)
        said = [f"failed without a value, so not selected: {named}"] if out else []
        assert [each for each in frame["note"][c].split("; ") if each and "likely" not in each] == said
    assert certificate.n_unanswered == (failing == COLUMN)
    assert 0 <= float(certificate.pcs_m) <= float(certificate.pcs_e) <= 1
    assert np.isfinite(float(certificate.eoc))


@pytest.mark.parametrize("model", INDEPENDENT)
def test_all_answers_are_those_of_the_problem_without_the_alternative(model: str) -> None:
    ours, theirs = told(LAST, **usual(model)), told(frozenset(), n=2, **usual(model))
    columns = ["selected", "selected.size", "selected.kind", "runner_up"]
    numbers, chances = ["mean", "gap", "gap_sd"], ["p_best", "expected_loss"]
    pd.testing.assert_frame_equal(ours.selection()[columns], theirs.selection()[columns])
    # Averages are over points drawn for a table of three or of two: alike, not the same.
    averages = numbers + chances
    np.testing.assert_allclose(ours.selection()[averages], theirs.selection()[averages], rtol=0, atol=0.05)
    for integrate, close in ((False, 1e-10), (True, 0.05)):
        mine, other = (each.certificate(0.1, integrate=integrate) for each in (ours, theirs))
        for name in ("pcs", "pcs_e", "pcs_m", "eoc", "lower_bound"):
            np.testing.assert_allclose(getattr(mine, name), getattr(other, name), rtol=0, atol=close)
    past, other_past = (each.history(4)[["replications", "pcs_e", "pcs_m", "eoc"]] for each in (ours, theirs))
    np.testing.assert_allclose(past, other_past, rtol=0, atol=0.1)
    contexts = [{"rate": r} for r in ((1.0, 2.0) if model == "independent" else (1.0, 1.3, 9.0))]
    for integrate, close in ((False, 1e-10), (True, 0.05)):
        tables = [each.predict(contexts, integrate=integrate)[numbers] for each in (ours, theirs)]
        np.testing.assert_allclose(tables[0], tables[1], rtol=0, atol=close)
    np.testing.assert_allclose(
        ours.predict_proba(contexts).iloc[:, :2], theirs.predict_proba(contexts), atol=0.05
    )
    assert (ours.predict_proba(contexts).iloc[:, 2] == 0).all()


@pytest.mark.parametrize("model", ["gp", "additive-gp", "linear"])
def test_at_unlisted_contexts_an_alternative_without_any_value_is_out(model: str) -> None:
    rows = [{"rate": 1.5}, {"rate": 2.0}, {"rate": 9.0}]
    lost = told(LAST, **usual(model)).predict(rows)
    assert not lost["selected.kind"].eq("z").any()
    assert lost["note"].str.startswith("failed without a value, so not selected: size=2.0, kind=z").all()
    some = told(SOME, **usual(model)).predict(rows)  # it has values elsewhere, but not where the rate is 2
    assert some["selected.kind"].tolist() == ["z", "x", "z"]
    assert some["note"].ne("").tolist() == [False, True, False]
    none = told(COLUMN, **usual(model)).predict([{"rate": 3.0}, {"rate": 3.1}])
    assert none["selected"][0] is None
    assert none["note"].tolist() == ["no answer: every alternative failed here", ""]
    assert np.isnan(told(COLUMN, **usual(model)).predict_proba([{"rate": 3.0}]).to_numpy()).all()


def test_where_one_alternative_is_left_it_is_best_and_has_no_rival() -> None:
    row = told(SOME, **usual("gp")).selection().iloc[1]
    assert row["selected.kind"] == "x"
    assert row["runner_up"] is None
    assert row[["gap", "gap_sd"]].isna().all()
    assert (row["p_best"], row["expected_loss"]) == (pytest.approx(1.0), pytest.approx(0.0, abs=1e-12))


def test_a_pair_with_a_value_stays_selectable_however_often_it_failed() -> None:
    study = Study(
        problem(), initial=[(problem().alternatives.item(k), {"rate": 1.0}) for k in (0, 1, 2)], model="gp"
    )
    for trial in study.ask(3):
        study.tell(trial, float(TRUTH[trial.pair]))
    while not study.set_aside:
        trial = study.ask(1, context={"rate": 1.0})[0]
        study.fail(trial, "no licence") if trial.pair[0] == 2 else study.tell(trial, float(TRUTH[trial.pair]))
    assert study.selection()["selected.kind"][0] == "z"
    assert "note" not in study.selection()


def test_a_cell_that_was_merely_never_simulated_may_be_selected() -> None:
    cells = [(k, c) for k in range(3) for c in range(4) if (k, c) != (2, 1)]
    given = problem()
    study = Study(given, initial=[(given.alternatives.item(k), given.contexts.item(c)) for k, c in cells])
    for trial in study.ask(len(cells)):
        study.tell(trial, float(TRUTH[trial.pair]))
    assert study.selection()["selected.kind"].tolist() == ["z"] * 4


def test_pairs_that_are_taken_back_are_in_the_running_again() -> None:
    study = told(SOME, **usual("gp"))
    assert study.selection()["selected.kind"][0] != "z"
    study.readmit()
    frame = study.selection()
    assert frame["selected.kind"][0] == "z"
    assert "note" not in frame


@pytest.mark.parametrize("policy", sorted(set(registry.POLICIES) - {"ocba", "top-two"}))
def test_a_policy_decides_as_if_the_alternative_were_not_there(policy: str) -> None:
    def proposed(study: Study, chosen: Policy) -> list[tuple[int, int]]:
        journal = study._journal
        belief = among_the_rest(study._learned().belief, study._ruled_out)
        draws, setting = StepDraws(3, Purpose.POLICY, step=0), journal.open_setting()
        found = chosen.propose(belief, study._tally, np.zeros(study.problem.shape, int), setting, draws, 12)
        return list(zip(found.alternative.tolist(), found.context.tolist(), strict=True))

    model = "linear" if policy.startswith("ts") else "gp"
    one, two = told(LAST, **usual(model)), told(frozenset(), n=2, **usual(model))
    chosen, _ = registry.choose(policy, None)
    assert proposed(one, chosen) == proposed(two, chosen)


@pytest.mark.parametrize("policy", sorted(set(registry.POLICIES) - {"ocba"}))
@pytest.mark.fast_cases("gp-c-ocba", "ikg", "dvr-loss", "ts", "equal", "c-ocba")
def test_a_run_goes_on_with_every_policy_whatever_failed(policy: str) -> None:
    def simulate(alternative: Any, context: Any, seed: int) -> float:
        pair = int(alternative["size"]), int(context["rate"]) - 1
        if pair in {(2, 0)} | COLUMN:
            raise RuntimeError("no licence")
        return float(TRUTH[pair]) + noise(seed)

    given = problem()
    study = Study(Problem(given.alternatives, given.contexts, simulate), policy=policy, initial=2)
    study.run(60, on_failure="record", confirm=0.2)
    kinds = study.selection()["selected.kind"].tolist()
    assert (kinds[0] in "xy", *kinds[1:]) == (True, "z", None, "z")


def test_the_last_stage_confirms_nothing_against_what_cannot_be_selected() -> None:
    study = told(LAST, **usual("gp"))
    confirm = registry.confirmation()
    belief = study._belief()
    draws = StepDraws(0, Purpose.POLICY, step=0)
    setting = study._journal.open_setting()
    found = confirm.propose(belief, study._tally, np.zeros((3, 4), int), setting, draws, 4)
    assert set(found.alternative.tolist()) <= {0, 1}
    undecided = int(np.argmin(study.certificate().pcs))
    assert undecided in found.context.tolist()


def test_stop_rules_are_about_the_contexts_that_have_an_answer() -> None:
    study = told(COLUMN, rounds=40, **usual("gp"))
    assert ExpectedPCS(0.99)(study)
    assert not ExpectedPCS(0.99)(told(LAST, rounds=1, **usual("gp")))


def test_contention_and_forecast_leave_out_what_is_ruled_out() -> None:
    frame = contention(told(LAST, **usual("gp")))
    assert not any("size=2.0, kind=z" in labels for labels in frame["contenders"])
    frame = contention(told(COLUMN, **usual("gp")))
    assert (frame["contenders"][2], frame["size"][2]) == ((), 0)
    assert np.isnan(frame["probability"][2])
    ahead = forecast(told(COLUMN, **usual("gp")), [0, 20], draws=50)
    assert ahead["mean"].between(0, 1).all()


def test_the_history_is_told_over_what_can_be_selected() -> None:
    for failing in (LAST, COLUMN, SOME):
        study = told(failing, **usual("gp"))
        past, now = study.history(4), study.certificate()
        assert past["pcs_e"].iloc[-1] == float(now.pcs_e)
        assert past.notna().all(axis=None)
        assert (past["pcs_e_low"] <= past["pcs_e_high"]).all()


def test_the_posterior_tells_what_the_model_believes_and_who_can_be_best() -> None:
    study = told(LAST, **usual("gp"))
    for frame in (study.posterior(), study.posterior([{"rate": 1.0}, {"rate": 1.7}])):
        last = frame[frame["alternative.kind"] == "z"]
        assert (last["p_best"] == 0).all()
        assert last["mean"].between(-50, 50).all()  # not the stand-in far below
    assert told(COLUMN, **usual("gp")).posterior().query("`context.rate` == 3")["p_best"].isna().all()


def test_a_stored_study_gives_the_same_answer_when_it_is_read_again(tmp_path: Any) -> None:
    study = told(COLUMN, storage=tmp_path / "study.db", **usual("gp"))
    again = Study.load(tmp_path / "study.db")
    pd.testing.assert_frame_equal(again.selection(), study.selection())


def test_frames_are_as_before_where_nothing_failed() -> None:
    frame = told(frozenset(), **usual("gp")).selection()
    assert list(frame) == [
        "context.rate",
        "selected",
        "selected.size",
        "selected.kind",
        "runner_up",
        "mean",
        "gap",
        "gap_sd",
        "p_best",
        "expected_loss",
        "state",
    ]
