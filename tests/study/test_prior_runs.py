"""Studies that begin with runs of earlier sources: what they learn from them, and what stays their own."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import argbest
from argbest import Problem, Study
from argbest.core.arrays import Array
from argbest.core.binomial import is_rate
from argbest.core.earlier import widened
from argbest.errors import DataNotice, InputError

DOSES, AGES = [1, 2, 3, 4], [20, 35, 50, 65]


def reward(dose: int, age: int) -> float:
    return float(np.sin(dose / 2 + age / 30) + 0.2 * dose)


def simulate(dose: int, age: int, seed: int) -> float:
    return reward(dose, age) + 0.4 * float(np.random.default_rng([seed, dose]).normal())


def problem(**options: object) -> Problem:
    return Problem(DOSES, AGES, simulate, name="doses", **options)  # type: ignore[arg-type]


def old_runs(n: int = 3, *, sign: float = 1.0, ages: list[int] | None = None, seed: int = 5) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = [
        {"alternative": dose, "context": age, "value": sign * reward(dose, age) + 0.4 * rng.normal()}
        for dose in DOSES
        for age in (AGES if ages is None else ages)
        for _ in range(n)
    ]
    return pd.DataFrame(rows)


def correlations(study: Study) -> Array:
    """How alike levels and deviations of alternatives are in this study and in each source, by the fit."""
    params, r2 = study.view().knowledge.params, None
    n = len(study.problem.prior_runs.sources)  # type: ignore[union-attr]
    r2 = params.lengthscale[-n:] ** -2.0
    a = np.sqrt(5.0 * r2)
    return np.asarray((1 + a + a * a / 3) * np.exp(-a))


def test_runs_are_kept_as_count_mean_and_squares_of_their_pairs() -> None:
    frame = old_runs(ages=[20, 35, 90])
    study = Study(problem(), prior_runs=frame)
    earlier = study.view().tally.earlier
    assert earlier is not None
    assert earlier.context.tolist() == [0, 1, -1]  # nobody is 90 in this study
    means = frame.groupby(["alternative", "context"])["value"]
    np.testing.assert_allclose(earlier.mean, means.mean().unstack())
    np.testing.assert_allclose(earlier.m2, means.var().unstack() * 2)
    assert (earlier.count == 3).all()
    assert earlier.separation[0, 0, 4 + 2] == pytest.approx(((90 - 20) / 45) ** 2)
    flipped = Study(problem(goal="min"), prior_runs=frame).view().tally.earlier
    np.testing.assert_array_equal(flipped.mean, -earlier.mean)  # type: ignore[union-attr]


def test_everything_that_is_counted_is_of_the_study_alone() -> None:
    study = Study(problem(), prior_runs=old_runs(), seed=1).run(50)
    assert study.n_replications == 50
    assert len(study.observations()) == 50
    assert study.allocation()["n"].sum() == 50
    assert len(study.selection()) == len(AGES)
    assert study.certificate().pcs.shape == (len(AGES),)
    assert study.view().belief.mean.shape == (len(DOSES), len(AGES))
    assert "prior runs" in study.initial_design


def test_seeds_are_those_of_a_study_without_prior_runs() -> None:
    warm, cold = (Study(problem(), prior_runs=runs, initial=2, seed=3) for runs in (old_runs(), None))
    assert [trial.seed for trial in warm.ask(32)] == [trial.seed for trial in cold.ask(32)]
    warm.run(40)
    params = warm.view().knowledge.params
    assert not params.correlation[len(AGES) :].any()  # old runs share seeds with nobody


def test_runs_of_the_same_simulator_make_the_answer_surer_and_reversed_ones_are_put_away() -> None:
    """The first differ from a fresh start by a fixed amount; both ends of what a source can be."""
    same, reversed_, cold = (
        Study(problem(), prior_runs=runs, initial=2, seed=2).run(32)
        for runs in (old_runs(30), old_runs(30, sign=-1.0), None)
    )
    assert correlations(same)[0] > 0.95
    assert correlations(reversed_)[0] < 0.6
    assert same.certificate().eoc < 0.8 * cold.certificate().eoc
    truth = np.array([[reward(dose, age) for age in AGES] for dose in DOSES])
    off = [np.abs(one.view().belief.mean - truth).mean() for one in (same, reversed_, cold)]
    assert off[0] < 0.7 * off[2]
    assert off[1] < 1.2 * off[2]


def test_each_source_has_a_distance_of_its_own() -> None:
    both = pd.concat([old_runs(20).assign(source="new"), old_runs(20, sign=-1.0).assign(source="wrong")])
    study = Study(problem(), prior_runs=both, initial=2, seed=2).run(32)
    runs = study.problem.prior_runs
    assert runs is not None
    assert runs.sources == ("new", "wrong")
    near, far = correlations(study)
    assert near > 0.9 > 0.6 > far


def test_a_level_that_is_far_off_does_no_harm() -> None:
    frame = old_runs(20)
    plain, moved = (
        Study(problem(), prior_runs=frame.assign(value=frame["value"] + shift), initial=2, seed=2).run(32)
        for shift in (0.0, 1e4)
    )
    np.testing.assert_allclose(moved.view().belief.mean, plain.view().belief.mean, atol=0.25)
    assert correlations(moved)[0] > 0.9


def test_a_stored_study_keeps_its_prior_runs_and_takes_the_decisions_of_one_that_was_not_interrupted(
    tmp_path: Path,
) -> None:
    file, frame = tmp_path / "study.db", old_runs()
    options = {"prior_runs": frame, "initial": 2, "seed": 4}
    whole = Study(problem(), **options).run(60)  # type: ignore[arg-type]
    Study(problem(), **options, storage=file).run(45).close()  # type: ignore[arg-type]
    loaded = Study.load(file, simulate=simulate).run(60)
    columns = ["alternative", "context", "seed", "value"]
    pd.testing.assert_frame_equal(loaded.observations()[columns], whole.observations()[columns])
    np.testing.assert_array_equal(loaded.certificate().pcs, whole.certificate().pcs)
    loaded.close()
    again = Study(problem(), **options, storage=file, load_if_exists=True)  # type: ignore[arg-type]
    assert again.n_replications == 60
    again.close()
    with pytest.raises(InputError, match="the prior runs: stored is 48 runs, given is none"):
        Study(problem(), initial=2, seed=4, storage=file, load_if_exists=True)
    other = options | {"prior_runs": old_runs(seed=6)}
    with pytest.raises(InputError, match="the prior runs: stored is 48 runs, given is other ones"):
        Study(problem(), **other, storage=file, load_if_exists=True)  # type: ignore[arg-type]


def test_all_answers_know_of_prior_runs() -> None:
    study = Study(problem(), prior_runs=old_runs(ages=[20, 30, 65]), seed=1).run(60)
    assert study.predict([42])["selected"][0] in DOSES
    assert study.model_check().pairs["z"].notna().all()
    assert len(study.history(points=3)) == 3
    assert study.forecast(0.999).target == 0.999
    assert "It also learned from 36 prior runs. Correlation of what alternatives differ by, there and" in str(
        study.model_summary()
    )
    assert study.answer("overall").choice in DOSES
    assert len(study.doubts().some) == len(AGES)


def test_predictions_at_a_context_of_old_runs_lean_on_them() -> None:
    """At 90 nobody was simulated here: old runs there make the belief surer by far."""
    frame = old_runs(20, ages=[*AGES, 90])
    without = frame[frame["context"] != 90]
    sure, unsure = (
        Study(problem(), prior_runs=runs, initial=2, seed=2).run(32).posterior([90])["sd"].mean()
        for runs in (frame, without)
    )
    assert sure < 0.6 * unsure


def test_zeros_and_ones_are_taken_as_rates() -> None:
    def success(dose: int, age: int, seed: int) -> float:
        p = 1 / (1 + np.exp(-reward(dose, age)))
        return float(np.random.default_rng(seed).random() < p)

    rates = Problem(DOSES, AGES, success, rate=True)
    frame = old_runs(40).assign(value=lambda runs: (runs["value"] > 0.3).astype(float))
    study = Study(rates, prior_runs=frame, initial=2, seed=1).run(64)
    wide, _ = widened(study.view().tally, study.view().setting)
    assert is_rate(wide)
    grouped = frame.groupby(["alternative", "context"], as_index=False).agg(
        value=("value", "mean"), n=("value", "size")
    )
    summed = Study(rates, prior_runs=grouped, initial=2, seed=1).run(64)
    np.testing.assert_allclose(summed.view().belief.mean, study.view().belief.mean, atol=1e-6)
    with pytest.raises(InputError, match="data row 1 has n"):
        Study(rates, prior_runs=grouped.assign(n=0.5))


def test_rows_may_be_summaries() -> None:
    frame = old_runs(5)
    by_pair = frame.groupby(["alternative", "context"], as_index=False)["value"]
    summary = by_pair.mean().assign(n=5, variance=by_pair.var()["value"])
    one, other = (Study(problem(), prior_runs=runs).view().tally.earlier for runs in (frame, summary))
    np.testing.assert_allclose(one.m2, other.m2)  # type: ignore[union-attr]
    np.testing.assert_allclose(one.mean, other.mean)  # type: ignore[union-attr]


def costs(dose: int, age: int, seed: int) -> dict[str, float]:
    late = float(np.random.default_rng(seed).normal(0.1 * dose, 0.1))
    return {"cost": -simulate(dose, age, seed), "late": late}


def test_any_sum_of_responses_is_learned_from_those_that_old_runs_have() -> None:
    rng = np.random.default_rng(1)
    frame = old_runs(6).rename(columns={"value": "cost"}).assign(late=lambda runs: rng.normal(size=len(runs)))
    made = Problem(DOSES, AGES, costs, goal="min cost", limits=["late <= 0.3"])
    study = Study(made, prior_runs=frame, seed=1).run(40)
    goal, slack = (tally.earlier for tally in study.view().tallies)
    means = frame.groupby(["alternative", "context"])[["cost", "late"]].mean()
    np.testing.assert_allclose(goal.mean, -means["cost"].unstack())  # type: ignore[union-attr]
    np.testing.assert_allclose(np.abs(slack.mean), np.abs(means["late"].unstack()))  # type: ignore[union-attr]
    total = study.view().asking(goal="min cost + 2 * late", limits=()).tally.earlier
    expected = frame.assign(sum=frame["cost"] + 2 * frame["late"]).groupby(["alternative", "context"])["sum"]
    np.testing.assert_allclose(total.m2, expected.var().unstack() * 5)  # type: ignore[union-attr]
    assert study.answer(goal="max late", limits=[]).choice is not None
    lacking = Study(made, prior_runs=frame.drop(columns="late"), seed=1).run(40)
    assert [tally.earlier is None for tally in lacking.view().tallies] == [False, True]
    assert len(lacking.selection()) == len(AGES)
    assert "The 96 prior runs do not have this response." in str(lacking.model_summary())
    assert len(lacking.predict([42])) == 1


def test_old_runs_of_other_alternatives_are_left_out_with_a_notice() -> None:
    frame = pd.concat([old_runs(2), old_runs(2).assign(alternative=9)])
    with pytest.warns(DataNotice, match="32 of 64 prior runs are left out: their alternatives are none of"):
        study = Study(problem(), prior_runs=frame)
    runs = study.problem.prior_runs
    assert runs is not None
    assert runs.n == 32
    with pytest.raises(InputError, match="none of the 32 prior runs is of an alternative and a context"):
        Study(problem(), prior_runs=old_runs(2).assign(alternative=9))


def test_old_runs_of_contexts_without_coordinates_are_left_out_with_a_notice() -> None:
    wards = pd.DataFrame({"beds": [10, 20], "ward": ["A", "B"]}).set_index("ward")
    made = Problem(DOSES, wards, simulate)
    frame = old_runs(2, ages=[20, 35]).assign(context=["A", "C"] * 8)
    with pytest.warns(DataNotice, match="8 of 16 prior runs are left out: their contexts do not have the"):
        Study(made, prior_runs=frame)


def test_models_that_cannot_learn_from_other_sources_say_so() -> None:
    with pytest.raises(InputError, match='GP cannot learn from other sources. Choose model="additive-gp"'):
        Study(problem(), prior_runs=old_runs(), model="gp")
    names = [str(i) for i in range(9)]
    many = pd.concat([old_runs(1).assign(source=name) for name in names])
    with pytest.raises(InputError, match="name 9 sources"):
        Study(problem(), prior_runs=many)
    with pytest.raises(InputError, match="expected a pandas DataFrame"):
        Study(problem(), prior_runs=[1, 2])  # type: ignore[arg-type]


def test_very_many_old_contexts_stand_for_each_other() -> None:
    rng = np.random.default_rng(3)
    age = rng.uniform(20, 65, 4_000)
    dose = rng.integers(1, 5, 4_000)
    frame = pd.DataFrame({"alternative": dose, "context": age, "value": rng.normal(size=4_000)})
    with pytest.warns(DataNotice, match="different contexts are represented by"):
        study = Study(problem(), prior_runs=frame)
    earlier = study.view().tally.earlier
    assert earlier is not None
    assert earlier.count.sum() == 4_000
    assert earlier.count.shape[1] <= 400


def test_select_and_runs_of_several_sources_take_prior_runs() -> None:
    study = argbest.select(simulate, DOSES, AGES, budget=50, prior_runs=old_runs(), seed=1)
    assert study.problem.prior_runs is not None
    now = old_runs(4, seed=8).assign(version="2.0")
    frame = pd.concat([old_runs(10).assign(version="1.9"), now]).rename(columns={"alternative": "dose"})
    named = {"alternative": "dose", "source": "version", "target": "2.0"}
    found = Study.from_observations(frame, **named)  # type: ignore[arg-type]
    assert found.n_replications == 64
    assert found.problem.prior_runs is not None
    assert found.problem.prior_runs.sources == ("1.9",)
    assert found.problem.prior_runs.n == 160
    alone = Study.from_observations(now.rename(columns={"alternative": "dose"}), alternative="dose")
    assert found.certificate().eoc < alone.certificate().eoc
    with pytest.raises(InputError, match="expected both"):
        Study.from_observations(frame, alternative="dose", source="version")
    with pytest.raises(InputError, match="unknown version of the target '3'"):
        Study.from_observations(frame, alternative="dose", source="version", target="3")


def test_a_study_that_grows_knows_its_prior_runs_as_one_that_had_all_rows_from_the_start() -> None:
    frame = old_runs(6, ages=[20, 30, 90])
    grown = Study(problem(), prior_runs=frame, initial=2, seed=2).run(32)
    grown.add_contexts([90])
    whole = Study(Problem(DOSES, [*AGES, 90], simulate, name="doses"), prior_runs=frame)
    one, other = (each.view().tally.earlier for each in (grown, whole))
    assert one is not None
    assert other is not None
    assert one.context.tolist() == other.context.tolist() == [0, -1, 4]
    np.testing.assert_array_equal(one.separation, other.separation)  # bounds are wider now
    np.testing.assert_array_equal(one.mean, other.mean)
    grown.add_alternatives([5])
    assert grown.view().tally.earlier.count.tolist()[-1] == [0, 0, 0]  # type: ignore[union-attr]
    grown.run(50)
    assert grown.selection()["context"].tolist() == [*AGES, 90]
    grown.retire(context=20)
    assert grown.run(52).selection()["context"].tolist() == [35, 50, 65, 90]
    assert grown.predict([25])["selected"][0] in (*DOSES, 5)
