"""The answer of a study in sentences, at the head of its page."""

import json
from typing import Any

import numpy as np
import pytest
from report.page_studies import line, told

from argbest import Problem, Study
from argbest.report.page import answers, payload


def plain_study(truth: list[list[float]], contexts: list[Any], **options: Any) -> Study:
    alternatives = [f"option {k}" for k in range(len(truth))]
    return told(Problem(alternatives, contexts, name="plain"), np.array(truth), model="gp", **options)


def test_the_answer_names_the_one_alternative_that_is_best_everywhere() -> None:
    study = plain_study([[9.0, 9.0, 9.0], [0.0, 0.0, 0.0]], [1.0, 2.0, 3.0])
    assert payload(study)["answer"] == [
        "Choose option 0 in every one of the 3 contexts.",
        "After 18 replications these choices are best with probability above 0.999 on average over "
        "contexts and above 0.999 in the worst.",
        "All contexts are sure: the probability is 0.95 or more.",
    ]


def test_the_answer_of_a_single_context_is_a_single_choice() -> None:
    answer = payload(plain_study([[9.0], [0.0]], ["now"]))["answer"]
    assert answer[0] == "Choose option 0."
    assert answer[1:] == ["After 6 replications this is best with probability above 0.999."]


def test_a_single_context_that_is_open_is_said_so() -> None:
    data = payload(plain_study([[0.0], [0.0]], ["now"], spread=5.0))
    assert data["answer"][2:] == ["It is open: the probability is below 0.95."]
    assert dict(data["how"])["size"] == "2 alternatives, 1 context"


def test_the_answer_counts_contexts_and_names_those_that_are_open() -> None:
    study = plain_study([[9.0, 9.0, 0.0], [0.0, 0.0, 0.1]], ["Mon", "Tue", "Wed"])
    first, _, last = payload(study)["answer"]
    chosen = study.selection()["selected"].tolist()
    assert chosen[:2] == ["option 0", "option 0"]
    assert first == "Of 3 contexts choose option 0 in 2 and option 1 in 1."
    assert last == "Of 3 contexts 2 are sure (probability 0.95 or more); 1 open: Wed."


def test_many_choices_are_summed_up() -> None:
    truth = np.where(np.eye(5, dtype=bool), 9.0, 0.0)
    truth[:, 4] = truth[:, 3]
    study = plain_study(truth.tolist(), list("abcde"), spread=0.01)
    assert payload(study)["answer"][0] == (
        "The best choice depends on the context: 4 of 5 alternatives are chosen somewhere, option 3 most "
        "often, in 2 of 5 contexts."
    )


def test_of_choices_that_all_differ_none_is_called_the_most_frequent() -> None:
    study = plain_study(np.where(np.eye(5, dtype=bool), 9.0, 0.0).tolist(), list("abcde"), spread=0.01)
    assert payload(study)["answer"][0] == (
        "The best choice depends on the context: 5 of 5 alternatives are chosen somewhere."
    )


@pytest.mark.parametrize(
    ("alternatives", "contexts", "said"),
    [
        (
            [2, 3, 4],
            [{"rate": 20}, {"rate": 10}, {"rate": 30}],
            "alternative 3 at rate 10, 2 at 20 and 4 at 30",
        ),
        (["few", "more", "most"], [2.5, 1.0, 4.0], "more at context 1, few at 2.5 and most at 4"),
        (
            [{"servers": k, "fast": k > 1} for k in (1, 2, 3)],
            [20, 10, 30],
            "alternative (servers 2, fast true) at context 10, (servers 1, fast false) at 20 and "
            "(servers 3, fast true) at 30",
        ),
    ],
)
def test_choices_along_few_ordered_contexts_are_said_outright(
    alternatives: list[Any], contexts: list[Any], said: str
) -> None:
    truth = np.where(np.eye(3, dtype=bool), 9.0, 0.0)
    study = told(Problem(alternatives, contexts), truth, model="gp", spread=0.01)
    assert payload(study)["answer"][0] == f"Choose {said}."


def test_neighbours_with_the_same_choice_are_told_together() -> None:
    truth = [[9.0, 9.0, 0.0, 0.0, 9.0], [0.0, 0.0, 9.0, 9.0, 0.0]]
    study = plain_study(truth, [1.0, 2.0, 3.0, 4.0, 5.0], spread=0.01)
    assert payload(study)["answer"][0] == (
        "Choose option 0 at context 1 to 2, option 1 at 3 to 4 and option 0 at 5."
    )


def test_choices_along_many_ordered_contexts_are_counted() -> None:
    truth = np.array([[9.0] * 5 + [0.0] * 4, [0.0] * 5 + [9.0] * 4])
    answer = payload(plain_study(truth.tolist(), [float(c) for c in range(9)], spread=0.01))["answer"]
    assert answer[0] == "Of 9 contexts choose option 0 in 5 and option 1 in 4."


def test_open_contexts_of_several_coordinates_are_told_apart_and_booleans_are_small() -> None:
    rows = [{"rate": r, "night": n} for r in (1, 2) for n in (False, True)]
    study = Study(Problem(["a", "b"], rows), initial=1, model="independent", policy="equal")
    for trial in study.ask(8):  # the alternatives differ by day only
        far = 99.0 if trial.pair[0] and not trial.pair[1] % 2 else 0.0
        study.tell(trial, [far - 1.0, far, far + 1.0])
    data = payload(study)
    assert data["answer"][2] == (
        "Of 4 contexts 2 are sure (probability 0.95 or more); 2 open: (rate 1, night true); "
        "(rate 2, night true)."
    )
    assert data["contexts"]["short"] == ["1, false", "1, true", "2, false", "2, true"]
    assert data["contexts"]["names"][1] == "context (rate 1, night true)"


def test_labels_that_are_booleans_are_small_too() -> None:
    data = payload(plain_study([[9.0, 0.0], [0.0, 9.0]], [False, True]))
    assert data["contexts"]["short"] == ["false", "true"]


def test_an_initial_design_that_is_not_finished_is_mentioned() -> None:
    study = Study(Problem(["a", "b"], [1.0, 2.0, 3.0]), initial=2, model="gp", policy="equal")
    for i, trial in enumerate(study.ask(9)):
        study.tell(trial, float(i))
    assert payload(study)["answer"][-1] == "The initial design is not finished: 3 simulations of it to come."


def broken(*, told_once: bool = False) -> Study:
    """A study in which alternative 3 fails in contexts 3 and 4, perhaps after a first value."""
    study = Study(Problem([1, 2, 3], [1, 2, 3, 4]), initial=2, model="gp", policy="equal")
    seen = set()
    while study.n_waiting:
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
        "Alternative 3 could not be simulated in contexts 3, 4 and is not selected there."
    )
    assert data["failures"]["set_aside"] == (
        "2 pairs are set aside after failing again and again: alternative 3 in contexts 3, 4."
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
    assert data["answer"][:3] == [
        "Choose c at context 1 to 3 and b at 4.",
        "1 of 4 contexts has no answer, for every alternative failed there: 2.",
        "After 24 replications these choices are best with probability above 0.999 on average over contexts "
        "and above 0.999 in the worst.",
    ]
    assert data["answer"][3] == "All other contexts are sure: the probability is 0.95 or more."
    assert data["answer"][4] == (
        "a could not be simulated in context 2 and is not selected there; b could not be simulated in "
        "context 2 and is not selected there; c could not be simulated in contexts 2, 4 and is not selected "
        "there."
    )
    columns, rows = data["decisions"]["columns"], data["decisions"]["rows"]
    assert rows[1][columns.index("selected")] is None
    assert rows[1][columns.index("note")] == "no answer: every alternative failed here"
    assert rows[3][columns.index("note")] == "failed without a value, so not selected: c"
    assert [row[1] for row in data["certainty"]["probability"]] == [None, None, None]
    json.dumps(data, allow_nan=False)


def test_one_choice_for_all_contexts_that_have_an_answer_is_said_so() -> None:
    found = payload(lost((0, 1), (1, 1), (2, 1)))["answer"]
    assert found[0] == "Choose c in every one of the 3 contexts that have an answer."


def test_of_many_pairs_that_are_set_aside_some_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "MOST_SET_ASIDE", 1)
    assert payload(broken())["failures"]["set_aside"].endswith(
        "again: alternative 3 in context 3; and 1 more."
    )


def test_a_pair_with_values_that_is_set_aside_kept_failing() -> None:
    assert payload(broken(told_once=True))["answer"][-1] == "Alternative 3 kept failing in contexts 3, 4."


def test_a_study_in_which_nothing_is_set_aside_says_nothing_of_it() -> None:
    assert payload(line())["failures"]["set_aside"] == ""


def test_alternatives_that_are_numbers_are_called_alternatives() -> None:
    problem = Problem([{"servers": 2}, {"servers": 3}], ["Mon", "Tue"])
    study = told(problem, np.array([[9.0, 0.0], [0.0, 9.0]]), model="gp")
    assert payload(study)["answer"][0] == "Of 2 contexts choose alternative 2 in 1 and alternative 3 in 1."


def test_nothing_sure_is_said_so() -> None:
    answer = payload(plain_study([[0.0, 0.0], [0.0, 0.0]], [1.0, 2.0], spread=5.0))["answer"]
    assert answer[2] == "Of 2 contexts 0 are sure (probability 0.95 or more); 2 open: 1, 2."


def test_contexts_whose_best_are_alike_are_called_equal_with_the_difference_that_counts_as_none() -> None:
    study = Study(Problem(["a", "b", "c"], ["x", "y"]), initial=1, model="independent", policy="equal")
    means = np.array([[9.0, 5.0], [5.0, 5.0], [0.0, -20.0]])
    for trial in study.ask(6):
        study.tell(trial, mean=float(means[trial.pair]), variance=0.01, n=50)
    zone = f"{study.indifference():.3g}"
    assert payload(study)["answer"][2] == (
        f"Of 2 contexts 1 is sure (probability 0.95 or more); 1 equal (within {zone} of the best with that "
        "probability): y."
    )
