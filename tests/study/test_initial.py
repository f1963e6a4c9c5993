"""Initial designs, and asking for one context."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from study.conftest import SHAPE, answer, problem, where

from argbest import EveryPair, ExtremeContexts, InputError, Problem, RandomContexts, Study, registry

ALL = [(k, c) for k in range(3) for c in range(4)]


def designed(initial: Any, seed: int = 0) -> list[tuple[int, int]]:
    """The pairs of the whole initial design."""
    study = Study(problem(None), initial=initial, seed=seed)
    return where(study.ask(study.n_queued))


@pytest.mark.parametrize("initial", [3, np.int64(3), EveryPair(3)])
def test_every_pair_is_replicated_as_often_as_asked(initial: Any) -> None:
    assert designed(initial) == ALL * 3


def test_two_replications_of_every_pair_are_the_default() -> None:
    study = Study(problem())
    assert where(study.ask(24)) == ALL * 2


@pytest.mark.parametrize("number", [1, 3, 4])
def test_random_contexts_without_replacement_are_distinct(number: int) -> None:
    drawn = designed(RandomContexts(number))
    assert Counter(k for k, _ in drawn) == dict.fromkeys(range(3), number)
    assert len(set(drawn)) == len(drawn) == 3 * number


def test_random_contexts_with_replacement_may_exceed_the_contexts() -> None:
    drawn = designed(RandomContexts(9, replace=True))
    assert Counter(k for k, _ in drawn) == dict.fromkeys(range(3), 9)
    assert len(set(drawn)) < len(drawn)
    assert {c for _, c in drawn} == {0, 1, 2, 3}


@pytest.mark.parametrize("replace", [False, True])
def test_random_contexts_are_a_function_of_the_seed(replace: bool) -> None:
    initial = RandomContexts(3, replace=replace)
    assert designed(initial, seed=1) == designed(initial, seed=1)
    assert len({tuple(designed(initial, seed=seed)) for seed in range(8)}) > 5


def test_alternatives_draw_contexts_of_their_own() -> None:
    drawn = designed(RandomContexts(2))
    rows = {tuple(c for k, c in drawn if k == alternative) for alternative in range(3)}
    assert len(rows) > 1


def test_a_numpy_integer_is_a_whole_number_of_contexts_or_replications() -> None:
    assert len(designed(RandomContexts(np.int64(2)))) == 6  # type: ignore[arg-type]
    assert len(designed(EveryPair(np.int64(2)))) == 24  # type: ignore[arg-type]


def test_more_random_contexts_than_there_are_need_replacement() -> None:
    with pytest.raises(InputError, match=r"5 of 4 contexts, none twice; .*with replacement"):
        Study(problem(), initial=RandomContexts(5))


@pytest.mark.parametrize("entries", [[("c", 1), ("a", 3), ("c", 1)], [["c", 1], ["a", 3], ["c", 1]]])
def test_an_own_list_is_followed_in_its_order(entries: Any) -> None:
    assert designed(entries) == [(2, 1), (0, 3), (2, 1)]
    assert designed(iter(entries)) == [(2, 1), (0, 3), (2, 1)]


def test_an_own_list_may_name_rows_as_dicts() -> None:
    rows = Problem([{"s": 1}, {"s": 2}], [{"x": 0.5, "y": "u"}, {"x": 1.5, "y": "v"}])
    study = Study(rows, initial=[({"s": 2}, {"x": 0.5, "y": "u"}), ({"s": 1}, {"y": "v", "x": 1.5})])
    trials = study.ask(2)
    assert where(trials) == [(1, 0), (0, 1)]
    assert trials[1].context == {"x": 1.5, "y": "v"}


@pytest.mark.parametrize("initial", [0, [], EveryPair(0)])
@pytest.mark.parametrize("policy", ["gp-c-ocba", "equal", "random"])
@pytest.mark.fast_cases("gp-c-ocba-0", "equal-initial1", "random-initial2")
def test_without_an_initial_design_the_policy_starts_from_the_prior(initial: Any, policy: str) -> None:
    study = Study(problem(), policy=policy, initial=initial)
    trials = study.ask(3)
    assert set(where(trials)) <= set(ALL)
    answer(study, trials)
    assert study.run(40).n_replications == 40
    assert np.isfinite(study.selection()["mean"]).all()


def test_the_first_decision_from_the_prior_is_a_fair_draw() -> None:
    # Each of 12 pairs has probability 1/12; fewer than 8 of them in 60 draws has probability below 1e-6.
    asked = {Study(problem(None), initial=0, policy="equal", seed=seed).ask()[0].pair for seed in range(60)}
    assert len(asked) >= 8


def test_asking_for_more_than_the_design_goes_on_with_the_policy() -> None:
    study = Study(problem(), initial=1, policy="equal")
    trials = study.ask(30)
    assert where(trials)[:12] == ALL
    assert sorted(where(trials)[12:24]) == ALL
    assert Counter(where(trials)).most_common()[-1][1] == 2


def test_pairs_of_the_design_in_the_same_ask_count_as_under_way() -> None:
    study = Study(problem(), initial=[("a", 0)] * 5, policy="equal")
    assert sorted(where(study.ask(16))[5:]) == ALL[1:]


@pytest.mark.parametrize("policy", ["gp-c-ocba", "equal", "random"])
def test_asking_for_a_context_keeps_to_it(policy: str) -> None:
    study = Study(problem(), initial=1, policy=policy)
    first = where(study.ask(5, context=2))
    assert first[:3] == [(0, 2), (1, 2), (2, 2)]
    assert {c for _, c in first} == {2}
    rest = study.ask(9)
    assert where(rest) == [pair for pair in ALL if pair[1] != 2]
    answer(study, rest)
    for context in (3, 0, 3, 1):
        trials = study.ask(4, context=context)
        assert {trial.pair[1] for trial in trials} == {context}
        answer(study, trials)


def test_asking_for_a_context_takes_one_replication_of_the_design_at_a_time() -> None:
    study = Study(problem(), initial=2)
    assert where(study.ask(context=1)) == [(0, 1)]
    assert where(study.ask(2, context=1)) == [(1, 1), (2, 1)]
    remaining = where(study.ask(21))
    assert Counter(remaining) == Counter(
        [pair for pair in ALL if pair[1] != 1] * 2 + [(k, 1) for k in range(3)]
    )


def test_a_context_may_be_named_by_its_row() -> None:
    rows = Problem(["a", "b"], [{"x": 0.5}, {"x": 1.5}])
    study = Study(rows, initial=0)
    assert {trial.pair[1] for trial in study.ask(4, context={"x": 1.5})} == {1}
    assert {trial.pair[1] for trial in study.ask(4, context=0.5)} == {0}


def test_the_design_is_spent_before_the_policy_is_asked() -> None:
    study = Study(problem(), initial=2).run(24)
    assert (study.allocation()["n"] == 2).all()


def test_a_run_with_random_contexts_leaves_no_pair_of_them_out() -> None:
    study = Study(problem(), initial=RandomContexts(2), seed=3).run(6)
    assert study.tally.count.sum(axis=1).tolist() == [2, 2, 2]
    assert study.tally.count.shape == SHAPE


@pytest.mark.parametrize(
    ("initial", "message"),
    [
        (None, 'initial=None is not an initial design; give "auto", a number of replications'),
        (True, "initial=True is not an initial design"),
        (2.0, "initial=2.0 is not an initial design"),
        ("all", "initial='all' is not an initial design"),
        ({"a": 1}, "is not an initial design; .* or a list of \\(alternative, context\\)"),
        ([("a", 1, 2)], "is not an initial design"),
        (["a1"], "is not an initial design"),
        (-1, "replications must be a whole number ≥ 0, got -1"),
        ([("z", 0)], "unknown alternative 'z'. Did you mean"),
        ([("a", 9)], "unknown context 9. Did you mean"),
        ([("a", None)], "context is None"),
        (RandomContexts, "is not an initial design"),
    ],
    ids=str,
)
def test_what_is_no_initial_design_is_refused(initial: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Study(problem(), initial=initial)


@pytest.mark.parametrize("number", [0, -2, 1.5, True, "3", None])
def test_the_number_of_random_contexts_is_a_positive_whole_number(number: Any) -> None:
    with pytest.raises(InputError, match="number must be a whole number ≥ 1, got "):
        RandomContexts(number)


def test_stage_one_of_two_stage_policies_visits_the_extreme_contexts() -> None:
    study = Study(registry.problem("branin"), policy="ts-plus", initial=ExtremeContexts(3)).run(100)
    counts = study.tally.count
    x = np.array(study.problem.contexts.columns["x2"], float)
    ends = {int(x.argmin()), int(x.argmax())}
    assert set(np.flatnonzero(counts.any(axis=0)).tolist()) == ends
    assert counts[:, sorted(ends)].min() >= 3
    assert len(study.selection()) == 10
    with pytest.raises(InputError, match="replications must be a whole number ≥ 2"):
        ExtremeContexts(1)


GRID = Problem(
    [{"x": x, "y": y} for x in range(9) for y in range(9)], [1, 2, 3], lambda k, c, _: c - abs(k["x"] - 3.0)
)


def additive(**options: Any) -> Study:
    return Study(GRID, policy="dvr", model="additive-gp", **options)


def test_the_design_is_open_until_the_first_trials_are_asked_for() -> None:
    study = additive()
    assert study.initial_design == ""
    assert study.n_queued == 486
    study.ask(3)
    assert study.initial_design.startswith("every pair twice (486 replications), at most half of a budget")
    assert study.n_queued == 483


def test_the_budget_of_the_first_run_decides_and_later_ones_change_nothing() -> None:
    study = additive().run(120)
    words = study.initial_design
    assert words.startswith("30 of 243 pairs, spread evenly, twice each (60 replications)")
    assert study.run(130).initial_design == words
    assert (study.allocation()["n"] == 0).any()
    assert len(study.selection()) == 3


def test_the_planned_budget_decides_where_trials_are_asked_for_by_hand() -> None:
    study = additive(plan={"budget": 120})
    study.ask()
    assert study.n_queued == 59


def test_a_stored_study_remembers_its_design_and_why(tmp_path: Path) -> None:
    whole = additive(seed=3).run(100)
    first = additive(seed=3, storage=tmp_path / "study.db").run(40)
    again = Study.load(tmp_path / "study.db", simulate=GRID.simulate)
    assert again.initial_design == first.initial_design
    assert again.n_queued == first.n_queued == 0
    Study.load(tmp_path / "study.db", simulate=GRID.simulate).run(100)
    assert again.refresh().n_replications == whole.n_replications


def test_two_processes_that_begin_at_once_agree_on_one_design(tmp_path: Path) -> None:
    one = additive(storage=tmp_path / "study.db")
    other = Study.load(tmp_path / "study.db", simulate=GRID.simulate)
    one._journal.begin(100)
    other._journal.begin(10_000)
    assert other.initial_design == one.initial_design
    assert len(other._journal.ledger.queue) == 50


def test_a_design_that_was_given_is_said_to_be() -> None:
    assert Study(problem(), initial=3).initial_design == "36 replications, as given"


def test_a_run_says_in_a_line_how_it_begins_and_why(capfd: pytest.CaptureFixture[str]) -> None:
    study = additive()
    study.run(60, progress=True)
    assert "initial design: 15 of 243 pairs, spread evenly, twice each" in capfd.readouterr().err.replace(
        "\n", " "
    )
    study.run(70, progress=True)
    assert "initial design" not in capfd.readouterr().err


def test_a_budget_below_two_replications_of_every_pair_is_refused_where_the_model_needs_them() -> None:
    with pytest.raises(InputError, match="below the 486 replications of the initial design"):
        Study(GRID, policy="gp-c-ocba").run(100)
