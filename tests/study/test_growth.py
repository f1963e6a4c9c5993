"""Studies to which alternatives and contexts are added, or from which some are retired."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from argbest import Problem, Study, registry
from argbest.errors import InputError


def part(whole: Problem, alternatives: list[int], contexts: list[int], **options: Any) -> Problem:
    """Return some rows of a problem, as a problem of its own."""
    said = {
        "goal": whole.goal,
        "limits": whole.limits or None,
        "responses": whole.responses or None,
        **options,
    }
    rows, columns = (
        [axis.item(i) for i in places]
        for axis, places in ((whole.alternatives, alternatives), (whole.contexts, contexts))
    )
    return Problem(rows, columns, whole.simulate, rate=whole.rate or False, **said)


def simulated(study: Study, trial: Any) -> Any:
    simulate = study.problem.simulate
    assert simulate is not None
    return simulate(trial.alternative, trial.context, trial.seed)


def twin_of(grown: Study, problem: Problem, **options: Any) -> Study:
    """Return a study that had all rows from the start, and was told the same of the same trials."""
    twin = Study(problem, initial=[], **options)
    values = dict(told(grown))
    for trial in grown.asked:
        twin.enqueue(trial.alternative, trial.context)
        same = twin.ask_one()
        assert (same.pair, same.seed, same.replication) == (trial.pair, trial.seed, trial.replication)
        twin.tell(same, values[trial.id])
    return twin


def told(study: Study) -> list[tuple[int, Any]]:
    names = study.problem.responses
    frame = study.observations()
    values = frame[list(names)].to_dict("records") if names else frame["value"].tolist()
    return list(zip(frame["trial"].tolist(), values, strict=True))


def go_on_alike(one: Study, other: Study, steps: int) -> None:
    for _ in range(steps):
        first, second = one.ask_one(), other.ask_one()
        assert (first.pair, first.seed, first.replication) == (second.pair, second.seed, second.replication)
        value = simulated(one, first)
        one.tell(first, value)
        other.tell(second, value)


MODELS = ("additive-gp", "gp", "independent")
PLACES = {  # rows at first, and all of them
    "newsvendor": ([0, 2, 4, 6], [1, 3, 5, 7], [0, 2, 4, 6, 1, 7], [1, 3, 5, 7, 0]),
    "queue-staffing": ([1, 3, 4], [0, 4, 9], [1, 3, 4, 0, 7], [0, 4, 9, 2, 6]),
    "most-probable-best": ([0, 1, 2, 3], [0, 1, 2], [0, 1, 2, 3, 7], [0, 1, 2, 30]),
    "call-rush": ([0, 1, 2], [1, 4, 8], [0, 1, 2, 3], [1, 4, 8, 0]),
}


@pytest.mark.parametrize("common", [True, False])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", PLACES)
@pytest.mark.fast_cases(
    "newsvendor-additive*", "queue-staffing-gp*", "most-probable-best-independent*", "call-rush-gp-True"
)
def test_a_study_that_grew_decides_as_one_that_had_all_rows(name: str, model: str, common: bool) -> None:
    whole = registry.problem(name)
    rows, columns, all_rows, all_columns = PLACES[name]
    policy = "dvr-loss" if whole.limits else {"additive-gp": "dvr", "gp": "gp-c-ocba"}.get(model, "c-ocba")
    options: dict[str, Any] = {
        "model": model, "policy": policy, "seed": 3, "common_random_numbers": common, "refit_every": 5,
    }  # fmt: skip
    small, large = part(whole, rows, columns), part(whole, all_rows, all_columns)
    grown = Study(small, initial=2, **options)
    grown.run(2 * len(rows) * len(columns) + 6)
    grown.add_alternatives([whole.alternatives.item(i) for i in all_rows[len(rows) :]])
    grown.add_contexts([whole.contexts.item(i) for i in all_columns[len(columns) :]])
    while grown.n_queued:
        trial = grown.ask_one()
        grown.tell(trial, simulated(grown, trial))
    assert grown.problem.shape == large.shape
    if grown.view().parted is not None:
        pytest.skip("its alternatives have seeds of their own from a trial on that the twin cannot know")
    twin = twin_of(grown, large, **options)
    np.testing.assert_array_equal(twin.problem.weights, grown.problem.weights)
    assert twin.problem.bounds == grown.problem.bounds
    go_on_alike(grown, twin, 8)
    pd.testing.assert_frame_equal(grown.selection(), twin.selection())


def peak(servers: dict[str, Any], demand: dict[str, Any], seed: int) -> float:
    noise = np.random.default_rng(seed).normal()
    return float(-((servers["servers"] - demand["rate"]) ** 2) + noise)


def small_study(**options: Any) -> Study:
    """Return a study of three numbers of servers in three contexts, with its first 24 values."""
    problem = Problem([{"servers": n} for n in (1, 2, 3)], [{"rate": r} for r in (1.0, 2.0, 3.0)], peak)
    return Study(problem, **{"seed": 2, **options}).run(24)


def test_a_stored_study_keeps_what_was_added_and_retired(tmp_path: Path) -> None:
    study = small_study(storage=tmp_path / "s.db")
    study.add_alternatives([{"servers": 4}])
    study.add_contexts([{"rate": 4.0}], weights=0.4)
    study.retire(alternative={"servers": 1})
    study.run(40)
    again = Study.load(tmp_path / "s.db", simulate=peak)
    assert again.problem.shape == (4, 4)
    assert again.retired == {"alternatives": [{"servers": 1}], "contexts": []}
    np.testing.assert_array_equal(again.problem.weights, study.problem.weights)
    assert again.problem.weights.tolist() == pytest.approx([0.2, 0.2, 0.2, 0.4])
    twin = copied(tmp_path)
    go_on_alike(study, twin, 6)


def copied(folder: Path) -> Study:
    """Return a study of its own with all that was stored of another one."""
    with sqlite3.connect(folder / "s.db") as one, sqlite3.connect(folder / "copy.db") as other:
        one.backup(other)
    return Study.load(folder / "copy.db", simulate=peak)


def test_another_worker_sees_a_new_row_when_it_asks_next(tmp_path: Path) -> None:
    study = small_study(storage=tmp_path / "s.db", model="independent", policy="c-ocba")
    other = Study.load(tmp_path / "s.db", simulate=peak)
    study.add_alternatives([{"servers": 9}])
    assert other.ask_one().alternative == {"servers": 9}  # the initial design covers what is new
    assert other.n_queued == 5
    assert study.refresh().pending()[0].alternative == {"servers": 9}


def test_a_snapshot_holds_a_table_that_grew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from argbest.storage.opening import opened
    from argbest.study import checking

    monkeypatch.setattr(checking, "EVERY", 20)
    study = small_study(storage=tmp_path / "s.db", model="independent", policy="c-ocba")
    study.add_alternatives([{"servers": 4}])
    study.ask(3)
    study.retire(alternative={"servers": 4}, context={"rate": 1.0})
    study.run(60)
    with opened(tmp_path / "s.db", name="study") as storage:
        assert storage.paged()[0] > 0  # type: ignore[attr-defined]
        found = checking.check(storage, study.definition)
        assert found.sound, found
    again = Study.load(tmp_path / "s.db", simulate=peak)
    assert again.n_queued == study.n_queued
    assert again.view().separations.generations == study.view().separations.generations
    study.readmit(alternative={"servers": 4}, context={"rate": 1.0})
    assert again.refresh().n_queued == study.n_queued > 0
    third = Study.load(tmp_path / "s.db", simulate=peak)
    assert third.n_queued == study.n_queued
    for trial in third.pending():
        third.tell(trial, simulated(third, trial))
    third.run(90)
    pd.testing.assert_frame_equal(third.selection(), again.refresh().selection())


def names_study(**options: Any) -> Study:
    def simulate(plan: str, day: str, seed: int) -> float:
        return float(len(plan) * (day == "week") + np.random.default_rng(seed).normal())

    problem = Problem(["a", "bb", "ccc"], ["week", "end"], simulate, weights=[5, 2])
    return Study(problem, **{"seed": 2, **options})


REFUSED: list[tuple[Callable[[Study], None], str]] = [
    (lambda s: s.add_alternatives([{"servers": 2}]), r"alternative \{'servers': 2\} is in the study already"),
    (lambda s: s.add_alternatives([{"servers": 7}, {"servers": 7}]), "identical new alternatives: 7"),
    (lambda s: s.add_alternatives([{"clerks": 7}]), r"got alternatives \['clerks'\]. Give rows with the col"),
    (lambda s: s.add_alternatives([{"servers": "many"}]), r"got 'many' \(text\) for 'servers'"),
    (lambda s: s.add_alternatives([]), "got no alternatives; at least one needed"),
    (lambda s: s.add_alternatives([{"servers": 7}], cost=2.0), "has no table of costs"),
    (lambda s: s.add_contexts([{"rate": 9.0}], weights=1.0), "expected none negative and a sum below 1"),
    (lambda s: s.add_contexts([{"rate": 9.0}], weights=[0.1, 0.2]), "Give a weight for every new context"),
    (lambda s: s.retire(), "Name an alternative or a context"),
    (lambda s: s.retire(alternative={"servers": 8}), "unknown alternative"),
    (lambda s: s.retire(alternative=[1, 2]), "1 alternative would be left, and a study needs 2 or more"),
    (lambda s: s.retire(context=[1.0, 2.0, 3.0]), "0 contexts would be left, and a study needs 1 or more"),
    (lambda s: s.readmit(alternative={"servers": 1}), r"alternative \{'servers': 1\} is not retired"),
    (lambda s: s.set_weights([1, 2]), "Give one weight for every context that is not retired"),
    (lambda s: s.set_weights([0, 0, 0]), "expected none negative and a positive, finite sum"),
    (lambda s: s.set_weights({1.0: 1, 2.0: 3}), r"the weights are wrong at 3.0"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_cannot_be_is_refused_and_changes_nothing(change: Callable[[Study], None], message: str) -> None:
    problem = Problem([{"servers": n} for n in (1, 2, 3)], [{"rate": r} for r in (1.0, 2.0, 3.0)], peak)
    study = Study(problem, seed=1)
    with pytest.raises(InputError, match=message):
        change(study)
    assert study.problem.shape == (3, 3)
    assert study.retired == {"alternatives": [], "contexts": []}


def test_a_retired_row_is_neither_enqueued_nor_asked_for() -> None:
    study = names_study().run(12)
    study.enqueue("bb", "end", 3)
    study.enqueue("a", "week", 1)
    study.retire(alternative="bb", context="end")
    assert study.enqueued == [("a", "week")]
    with pytest.raises(InputError, match="alternative 'bb' is retired, so it is not simulated"):
        study.enqueue("bb", "week")
    with pytest.raises(InputError, match="context 'end' is retired"):
        study.ask(1, context="end")
    with pytest.raises(InputError, match="is retired already"):
        study.retire(alternative="bb")
    with pytest.raises(InputError, match="in the study already. It was retired: readmit it"):
        study.add_alternatives(["bb"])
    assert {trial.pair for trial in study.ask(8)} <= {(0, 0), (2, 0)}


def test_trials_of_a_retired_row_are_told_and_go_on_informing() -> None:
    study = small_study()
    (trial,) = study.ask(1, context={"rate": 2.0})
    study.retire(alternative=trial.alternative)
    before = study.n_replications
    study.tell(trial, simulated(study, trial))
    assert study.n_replications == before + 1
    counted = study.allocation()
    assert counted["n"].sum() == before + 1
    left = trial.alternative["servers"] if isinstance(trial.alternative, dict) else 0
    assert left not in study.selection()["selected"].tolist()
    assert left not in study.posterior()["alternative.servers"].tolist()
    # What is believed of the others rests on all data: it is what the study believed before it was retired.
    whole = study.view().knowledge.belief
    study.readmit(alternative=trial.alternative)
    again = study.view().knowledge.belief
    np.testing.assert_allclose(whole.mean, again.mean, rtol=1e-9)


def test_a_trial_given_back_waits_until_its_row_is_readmitted() -> None:
    study = small_study()
    (trial,) = study.ask(1)
    study.give_back(trial)
    study.retire(alternative=trial.alternative)
    assert trial.id not in [each.id for each in study.ask(3)]
    study.readmit(alternative=trial.alternative)
    assert study.ask_one().id == trial.id


def test_retiring_and_readmitting_leads_back() -> None:
    study, same = small_study(), small_study()
    study.retire(alternative={"servers": 2}, context={"rate": 1.0})
    study.readmit(alternative={"servers": 2}, context={"rate": 1.0})
    np.testing.assert_array_equal(study.problem.weights, same.problem.weights)
    same.set_weights([1, 1, 1])  # which makes it learn anew, too
    go_on_alike(study, same, 6)


def test_what_is_retired_is_left_out_of_every_answer() -> None:
    study = small_study()
    study.add_contexts([{"rate": 4.0}], weights=0.25)
    study.run(40)
    study.retire(alternative={"servers": 2}, context={"rate": 1.0})
    selection = study.selection()
    assert selection["context.rate"].tolist() == [2.0, 3.0, 4.0]
    assert 2 not in {*selection["selected"], *selection["runner_up"]}
    certificate = study.certificate()
    weights = study.problem.weights
    assert weights.tolist() == pytest.approx([0.0, 1 / 3, 1 / 3, 1 / 3])
    assert float(certificate.pcs_e) == pytest.approx(selection["p_best"].mean())
    assert float(certificate.pcs_m) == pytest.approx(selection["p_best"].min())
    assert "no answer" not in str(certificate)
    np.testing.assert_allclose(certificate.best_probability[:, 1:].sum(axis=0), 1.0)
    np.testing.assert_array_equal(certificate.best_probability[1, 1:], 0.0)
    for question in ("best", "overall", "worst-case", "regret", "most-probable-best", "top:m=2"):
        table = study.answer(question).table
        assert 1.0 not in table.get("context.rate", pd.Series(dtype=float)).tolist()
        assert 2 not in table.get("alternative.servers", pd.Series(dtype=float)).tolist()
        assert table.get("worst_context", pd.Series(dtype=float)).isin([2.0, 3.0, 4.0]).all()
    assert study.guarantee().frame["context.rate"].tolist() == [2.0, 3.0, 4.0]
    assert list(study.predict_proba([{"rate": 1.0}])) == [1, 3]
    assert study.predict([{"rate": 1.0}])["selected"].tolist() == [1]  # a prediction may be about any context
    assert repr(study) == "<Study of 'peak': 2 alternatives x 3 contexts, 40 replications>"
    assert "retired" not in study.selection().columns


def test_the_worst_of_the_contexts_is_not_a_retired_one() -> None:
    def simulate(plan: str, day: str, seed: int) -> float:
        worth = {("a", "x"): 0.0, ("a", "y"): 9.0, ("b", "x"): 5.0, ("b", "y"): 6.0}[plan, day]
        return float(worth + np.random.default_rng(seed).normal(scale=0.3))

    study = Study(Problem(["a", "b"], ["x", "y"], simulate, question="worst-case"), seed=0).run(24)
    assert study.answer().choice == "b"  # at least 5
    study.retire(context="x")
    assert study.answer().choice == "a"
    study.run(40)
    assert set(study.observations()["context"].tail(16)) == {"y"}


def test_new_names_are_simulated_first_and_new_numbers_inferred() -> None:
    study = names_study().run(16)
    study.add_alternatives(["dddd"])
    assert study.n_queued == 4  # twice in both contexts: of a new name nothing is known
    assert {(t.alternative, t.context) for t in study.ask(4)} == {("dddd", "week"), ("dddd", "end")}
    numbers = small_study()
    numbers.add_alternatives([{"servers": 4}])
    assert numbers.n_queued == 0
    row = numbers.posterior().query("`alternative.servers` == 4")
    assert np.all(row["mean"].diff().dropna() > 0)  # the more customers, the better are four servers


@pytest.mark.parametrize(("model", "queued"), [("gp", 0), ("independent", 6)])
def test_a_new_context_is_inferred_by_models_that_know_distances(model: str, queued: int) -> None:
    study = small_study(model=model, policy="dsco" if model == "independent" else "gp-c-ocba")
    study.add_contexts([{"rate": 2.5}])
    assert study.n_queued == queued


def test_a_study_without_trials_designs_for_the_whole_table() -> None:
    problem = Problem([{"servers": n} for n in (1, 2)], [{"rate": 1.0}], peak)
    study = Study(problem, initial="auto", seed=1)
    study.add_alternatives(pd.DataFrame({"servers": [3, 4]}))
    assert study.n_queued == 8
    study.run(12)
    assert set(study.observations()["alternative.servers"]) == {1, 2, 3, 4}


def test_an_alternative_joins_a_frame_with_names() -> None:
    frame = pd.DataFrame({"servers": [1, 2]}, index=["small", "large"])
    study = Study(Problem(frame, [{"rate": 1.0}], peak), seed=1).run(8)
    with pytest.raises(InputError, match="have names of their own beside their columns"):
        study.add_alternatives([{"servers": 3}])
    study.add_alternatives(pd.DataFrame({"servers": [3]}, index=["huge"]))
    assert study.alternative("huge") == {"servers": 3}
    with pytest.raises(InputError, match="is in the study already"):
        study.add_alternatives(pd.DataFrame({"servers": [4]}, index=["huge"]))


def test_costs_of_new_pairs_are_asked_for() -> None:
    study = small_study(cost=np.ones((3, 3)))
    with pytest.raises(InputError, match="has a table of costs. Give cost="):
        study.add_alternatives([{"servers": 4}])
    study.add_alternatives([{"servers": 4}], cost=[[2.0, 2.0, 3.0]])
    study.add_contexts([{"rate": 4.0}], cost=5.0)
    found = study._journal.costs()
    assert found is not None
    assert found.tolist() == [[1, 1, 1, 5], [1, 1, 1, 5], [1, 1, 1, 5], [2, 2, 3, 5]]
    study.run(30)


def test_weights_follow_what_users_say() -> None:
    study = names_study()
    study.add_contexts(["holiday"], weights={"holiday": 0.3})
    assert study.problem.weights.tolist() == pytest.approx([0.5, 0.2, 0.3])
    study.retire(context="end")
    assert study.problem.weights.tolist() == pytest.approx([0.625, 0.0, 0.375])
    study.set_weights({"week": 1, "holiday": 3})
    assert study.problem.weights.tolist() == pytest.approx([0.25, 0.0, 0.75])
    study.readmit(context="end")  # as it was beside the others: a quarter of both
    assert study.problem.weights.tolist() == pytest.approx([0.2, 0.2, 0.6])
    study.add_contexts(["strike"])  # as the others on average
    assert study.problem.weights.tolist() == pytest.approx([0.15, 0.15, 0.45, 0.25])


def test_a_study_takes_over_the_rows_of_a_longer_list() -> None:
    study = small_study()
    more = Problem([{"servers": n} for n in (4, 1, 2, 3)], [{"rate": r} for r in (1.0, 2.0, 3.0)], peak)
    assert study.take_over(more) == ["1 alternative added: 4."]
    assert study.take_over(more) == []
    fewer = Problem([{"servers": n} for n in (4, 1)], [{"rate": r} for r in (1.0, 2.0, 3.0)], peak)
    with pytest.raises(
        InputError, match=r'the alternative \{"servers": 2\} and 1 more of the stored study is'
    ):
        study.take_over(fewer)
    study.retire(alternative=[2, 3])
    heavy = Problem([{"servers": n} for n in (4, 1)], [1.0, 2.0, 3.0], weights=[1, 1, 2])
    with pytest.raises(InputError, match="columns of contexts: stored is rate, given is none"):
        study.take_over(heavy)
    weighed = Problem(
        [{"servers": n} for n in (4, 1)], [{"rate": r} for r in (1.0, 2.0, 3.0)], weights=[1, 1, 2]
    )
    assert study.take_over(weighed) == ["The weights of the contexts were changed."]


def test_an_existing_study_is_continued_with_the_rows_it_has_now(tmp_path: Path) -> None:
    def opened(*servers: int) -> Study:
        problem = Problem([{"servers": n} for n in servers], [{"rate": r} for r in (1.0, 2.0)], peak)
        return Study(problem, storage=tmp_path / "s.db", load_if_exists=True, initial=2)

    study = opened(1, 2).run(10)
    with pytest.raises(InputError, match=r"number of alternatives: stored is 2, given is 3.*take_over"):
        opened(1, 2, 3)
    study.add_alternatives([{"servers": 3}])
    assert opened(1, 2, 3).problem.shape == (3, 2)
    assert opened(1, 2).problem.shape == (3, 2)  # as it began


def test_a_population_keeps_its_people_and_takes_alternatives() -> None:
    from argbest import Population

    def simulate(dose: dict[str, Any], person: dict[str, Any], seed: int) -> float:
        return float(-((dose["dose"] - person["age"] / 30) ** 2) + np.random.default_rng(seed).normal())

    people = pd.DataFrame({"age": np.linspace(20, 90, 30)})
    doses = [{"dose": d} for d in (1, 2)]
    study = Study(Problem(doses, Population(people, n=20), simulate), seed=0).run(60)
    study.add_alternatives([{"dose": 3}])
    study.run(80)
    assert 3 in study.selection()["selected"].tolist()
    changes: list[Callable[[], None]] = [
        lambda: study.add_contexts([{"age": 10.0}]),
        lambda: study.set_weights(np.ones(20)),
        lambda: study.retire(context=[0]),
    ]
    for change in changes:
        with pytest.raises(InputError, match="contexts of this study are a population"):
            change()


def test_runs_made_elsewhere_may_be_of_new_rows() -> None:
    rng = np.random.default_rng(0)
    rows = [(k, c, k * c + rng.normal()) for k in (1, 2) for c in (1.0, 2.0, 3.0) for _ in range(4)]
    frame = pd.DataFrame(rows, columns=["alternative", "context", "value"])
    study = Study.from_observations(frame)
    study.add_alternatives([3])
    more = pd.DataFrame([(3, c, 3 * c + rng.normal()) for c in (1.0, 2.0, 3.0)] * 3, columns=frame.columns)
    study.tell_frame(more)
    assert study.selection()["selected"].tolist() == [3, 3, 3]


def test_seeds_of_old_studies_do_not_let_them_grow() -> None:
    study = small_study()
    older = Study.__new__(Study)
    from argbest.storage.memory import MemoryStorage

    kept = MemoryStorage()
    definition = {**study.definition, "seeds": "position"}
    kept.create(definition)
    older._open(kept, definition, study.problem, study.policy, study.model)
    with pytest.raises(InputError, match="made by version 0.2 or an older one"):
        older.add_alternatives([{"servers": 4}])
    older.retire(alternative={"servers": 1})
