"""The answer of a study in plain words, at the head of its page."""

import json
from typing import Any

import numpy as np
import pytest
from report.page_studies import line, told

from argbest import Problem, Study
from argbest.report import wording
from argbest.report.page import payload


def plain_study(truth: list[list[float]], contexts: list[Any], **options: Any) -> Study:
    alternatives = [f"option {k}" for k in range(len(truth))]
    return told(Problem(alternatives, contexts, name="plain"), np.array(truth), model="gp", **options)


def said(study: Study) -> list[str]:
    return [str(line) for line in wording.choices(study)]


def test_the_one_alternative_that_is_best_everywhere_is_said_once() -> None:
    study = plain_study([[9.0, 9.0, 9.0], [0.0, 0.0, 0.0]], [1.0, 2.0, 3.0])
    assert said(study) == ["every context: option 0 (over 99 % sure)"]
    assert payload(study)["answer"] == [
        "After 18 replications the choice is sure in all 3 contexts: 95 % or more each.",
        "A choice is the best with probability >0.999 on average over contexts, and >0.999 in the worst.",
    ]


def test_the_answer_of_a_single_context_is_a_single_choice() -> None:
    study = plain_study([[9.0], [0.0]], ["now"])
    assert said(study) == ["option 0 (over 99 % sure)"]
    assert payload(study)["answer"] == ["After 6 replications the choice is sure."]


def test_a_single_context_that_is_open_is_said_so() -> None:
    data = payload(plain_study([[0.0], [0.0]], ["now"], spread=5.0))
    assert data["answer"] == ["After 6 replications the choice is open: below 95 % sure."]
    assert dict(data["how"])["size"] == "2 alternatives, 1 context"


def test_names_are_the_user_s_own_and_open_contexts_name_their_rivals() -> None:
    study = plain_study([[9.0, 9.0, 0.0], [0.0, 0.0, 0.1]], ["Mon", "Tue", "Wed"])
    p = int(100 * study.selection()["p_best"][2])
    chosen, other = study.selection().loc[2, ["selected", "runner_up"]]
    assert said(study) == [
        "Mon and Tue: option 0 (over 99 % sure)",
        f"Wed: {chosen}, open ({p} % sure; or {other})",
    ]
    assert (
        payload(study)["answer"][0] == "After 18 replications: 2 of 3 contexts sure (95 % or more), 1 open."
    )


@pytest.mark.parametrize(
    ("alternatives", "contexts", "expected"),
    [
        (
            [2, 3, 4],
            [{"rate": 20}, {"rate": 10}, {"rate": 30}],
            ["rate 10: alternative 3", "rate 20: alternative 2", "rate 30: alternative 4"],
        ),
        (
            ["few", "more", "most"],
            [2.5, 1.0, 4.0],
            ["context 1: more", "context 2.5: few", "context 4: most"],
        ),
        (
            [{"servers": k, "fast": k > 1} for k in (1, 2, 3)],
            [20, 10, 30],
            [
                "context 10: servers 2, fast true",
                "context 20: servers 1, fast false",
                "context 30: servers 3, fast true",
            ],
        ),
    ],
)
def test_choices_along_ordered_contexts_come_in_their_order(
    alternatives: list[Any], contexts: list[Any], expected: list[str]
) -> None:
    truth = np.where(np.eye(3, dtype=bool), 9.0, 0.0)
    study = told(Problem(alternatives, contexts), truth, model="gp", spread=0.01)
    assert said(study) == [f"{each} (over 99 % sure)" for each in expected]


def test_the_words_of_a_simulator_are_used_where_there_are_no_columns() -> None:
    def profit(order: int, demand: float, seed: int) -> float:
        raise AssertionError

    truth = np.where(np.eye(2, dtype=bool), 9.0, 0.0)
    study = told(Problem([40, 60], [45.0, 60.0], profit), truth, model="gp", spread=0.01)
    assert said(study) == ["demand 45: order 40 (over 99 % sure)", "demand 60: order 60 (over 99 % sure)"]
    data = payload(study)
    assert (data["contexts"]["title"], data["alternatives"]["word"]) == ("demand", "order")
    assert data["prediction"]["coordinates"][0]["name"] == "demand"
    assert list(study.selection().columns[:2]) == ["context", "selected"]  # frames stay as they are


def test_neighbours_with_the_same_choice_are_told_together() -> None:
    truth = [[9.0, 9.0, 0.0, 0.0, 9.0], [0.0, 0.0, 9.0, 9.0, 0.0]]
    study = plain_study(truth, [1.0, 2.0, 3.0, 4.0, 5.0], spread=0.01)
    assert [line.where for line in wording.choices(study)] == [
        "context 1 to 2",
        "context 3 to 4",
        "context 5",
    ]


def test_of_very_many_lines_the_first_are_said() -> None:
    truth = np.where(np.arange(15) % 2 == np.array([[0], [1]]), 9.0, 0.0)
    study = plain_study(truth.tolist(), [float(c) for c in range(15)], spread=0.01)
    lines = said(study)
    assert (len(lines), lines[-1]) == (13, "3 more contexts: see the table")


def test_contexts_of_several_coordinates_are_told_apart_and_booleans_are_small() -> None:
    rows = [{"rate": r, "night": n} for r in (1, 2) for n in (False, True)]
    study = Study(Problem(["a", "b"], rows), initial=1, model="independent", policy="equal")
    for trial in study.ask(8):  # the alternatives differ by day only
        far = 99.0 if trial.pair[0] and not trial.pair[1] % 2 else 0.0
        study.tell(trial, [far - 1.0, far, far + 1.0])
    data = payload(study)
    assert [line[0] for line in data["choices"]] == [
        "night false",
        "night true",
    ]
    assert data["contexts"]["short"] == ["1, false", "1, true", "2, false", "2, true"]
    assert data["contexts"]["names"][1] == "rate 1, night true"


def test_labels_that_are_booleans_are_small_too() -> None:
    data = payload(plain_study([[9.0, 0.0], [0.0, 9.0]], [False, True]))
    assert data["contexts"]["short"] == ["false", "true"]


def test_an_initial_design_that_is_not_finished_is_mentioned() -> None:
    study = Study(Problem(["a", "b"], [1.0, 2.0, 3.0]), initial=2, model="gp", policy="equal")
    for i, trial in enumerate(study.ask(9)):
        study.tell(trial, float(i))
    sentence, command = payload(study)["next"]
    assert sentence == "The initial design is not finished: 3 simulations still to come."
    assert command == "study.ask(20)"  # nothing simulates here


def broken(*, told_once: bool = False) -> Study:
    """A study in which alternative 3 fails in contexts 3 and 4, perhaps after a first value."""
    study = Study(Problem([1, 2, 3], [1, 2, 3, 4]), initial=2, model="gp", policy="equal")
    seen = set()
    while study.n_queued:
        trial = study.ask(1)[0]
        k, c = trial.pair
        if k == 2 and c >= 2 and (trial.pair in seen or not told_once):
            study.fail(trial, "no licence")
        else:
            study.tell(trial, float(k + 0.1 * c))
        seen.add(trial.pair)
    while len(study.set_aside) < 2:
        contexts = [c for c in (3, 4) if (3, c) not in study.set_aside]
        trial = study.ask(1, context=contexts[0])[0]
        study.fail(trial, "no licence") if trial.pair[0] == 2 else study.tell(trial, float(trial.pair[0]))
    return study


def test_pairs_that_are_set_aside_are_named() -> None:
    data = payload(broken())
    assert data["answer"][-1] == (
        "alternative 3 could not be simulated in context 3, context 4 and is not selected there."
    )
    assert data["failures"]["set_aside"] == (
        "2 pairs are set aside after repeated failures: alternative 3 in context 3, context 4."
    )


def lost(*failing: tuple[int, int]) -> Study:
    """A study of three alternatives in four contexts in which pairs fail from the first time on."""
    problem = Problem(["a", "b", "c"], [1, 2, 3, 4])
    pairs = [(k, c) for k in range(3) for c in range(4)]
    named = [("abc"[k], c + 1) for k, c in pairs for _ in range(6 if (k, c) in failing else 3)]
    study = Study(problem, initial=named, model="gp", policy="equal")
    for i, trial in enumerate(study.ask(len(named))):
        if trial.pair in failing:
            study.fail(trial, "no licence")
        else:
            study.tell(trial, 10.0 * trial.pair[0] + 0.01 * (i % 7))
    return study


def test_contexts_without_an_answer_are_named() -> None:
    data = payload(lost((0, 1), (1, 1), (2, 1), (2, 3)))
    assert [line[:2] for line in data["choices"]] == [["context 1 to 3", "c"], ["context 4", "b"]]
    assert data["answer"][0] == (
        "After 24 replications the choice is sure in all 3 contexts that have an answer: 95 % or more each."
    )
    assert data["answer"][2:] == [
        "1 of 4 contexts has no answer, because every alternative failed there: context 2.",
        "a could not be simulated in context 2 and is not selected there; b could not be simulated in "
        "context 2 and is not selected there; c could not be simulated in context 2, context 4 and is not "
        "selected there.",
    ]
    columns, rows = data["decisions"]["columns"], data["decisions"]["rows"]
    assert rows[1][columns.index("selected")] is None
    assert rows[1][columns.index("note")] == "no answer: every alternative failed here"
    assert rows[3][columns.index("note")] == "failed without a value, so not selected: c"
    assert [row[1] for row in data["certainty"]["probability"]] == [None, None, None]
    json.dumps(data, allow_nan=False)


def test_an_alternative_that_never_runs_is_set_aside_everywhere_and_the_usual_reason_is_said() -> None:
    study = Study(Problem([1, 2], [1, 2]), initial=2, model="gp", policy="equal")
    reasons = iter(["no\nlicence", "no licence", "no memory"])
    while study.n_queued or len(study.set_aside) < 2:
        trial = study.ask(1)[0]
        if trial.pair[0] == 1:
            study.fail(trial, next(reasons, "no licence"))
        else:
            study.tell(trial, float(trial.replication))
    data = payload(study)
    assert "alternative 2 could not be simulated anywhere and is not selected" in data["answer"][-1]
    assert data["failures"]["set_aside"].endswith("alternative 2 in every context.")
    total = data["failures"]["total"]
    trials = study.trials()
    usual = (trials.loc[trials["status"] == "failed", "reason"] != "no memory").sum()
    assert 0 < usual < total
    assert data["failures"]["reason"].startswith("Most frequent reason (")
    assert data["failures"]["reason"].endswith(f" of {total}): no licence")


def test_of_many_pairs_that_are_set_aside_some_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wording, "MOST_SET_ASIDE", 1)
    assert payload(broken())["failures"]["set_aside"].endswith(
        "failures: alternative 3 in context 3; and 1 more."
    )


def test_a_pair_with_values_that_is_set_aside_kept_failing() -> None:
    assert payload(broken(told_once=True))["answer"][-1] == (
        "alternative 3 kept failing in context 3, context 4."
    )


def test_a_study_in_which_nothing_is_set_aside_says_nothing_of_it() -> None:
    assert payload(line())["failures"]["set_aside"] == ""


def test_contexts_whose_best_are_alike_are_ties_with_the_difference_that_counts_as_none() -> None:
    study = Study(Problem(["a", "b", "c"], ["x", "y"]), initial=1, model="independent", policy="equal")
    means = np.array([[9.0, 5.0], [5.0, 5.0], [0.0, -20.0]])
    for trial in study.ask(6):
        study.tell(trial, mean=float(means[trial.pair]), variance=0.002, n=50)
    zone = f"{study.indifference():.2g}"
    assert said(study) == ["x: a (over 99 % sure)", f"y: a or b, equal within {zone}"]
    assert payload(study)["answer"][0] == (
        f"After 300 replications: 1 of 2 contexts sure (95 % or more), 1 equal (within {zone} of the best)."
    )


def test_what_it_would_take_is_said_where_something_is_open() -> None:
    study = plain_study([[0.0, 0.5], [0.4, 0.0]], [1.0, 2.0], spread=2.0)
    assert (study.selection()["state"] == "open").any()
    assert "more replications" not in payload(study)["next"][0]
    extra, command = payload(study, ahead=True)["next"]
    assert command == "study.ask(20)"
    found = study.forecast(0.95, contexts="worst", delta=study.indifference())
    n = (
        f"more than {found.horizon:,}"
        if np.isinf(found.replications)
        else f"{float(f'{found.replications:.2g}'):,.0f}"
    )
    assert f"{n} more replications" in extra
