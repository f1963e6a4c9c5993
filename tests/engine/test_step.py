"""One step for one study and for many: an experiment decides as the live studies that it stands for."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import small_problems
from twins import alone

from argbest import Problem, Study, registry, streams
from argbest.core.arrays import BoolArray, IntArray
from argbest.core.certificate import Certificate
from argbest.core.focused_belief import FocusedBelief
from argbest.core.outcomes import Outcomes
from argbest.core.tally import Tally
from argbest.engine import step
from argbest.experiment import Experiment, Results, loop, runner
from argbest.problems.call_centres import call_centre, call_lines, call_rush

RUNS = np.array([0, 3])
LARGE = ("flow-line", "serial-inventory")


def compare(
    problem: Any,
    contender: Any,
    *,
    common: bool,
    replications: int,
    live: slice = slice(None),
    **options: Any,
) -> None:
    """Check that runs side by side and live studies of the same seeds take the same decisions.

    ``live`` picks the runs that are compared: a study takes most of the time.
    """
    experiment = Experiment(
        problem, contender, replications=replications, seed=11, common_random_numbers=common, **options
    )
    found = loop.trace(experiment, experiment.contenders[0], RUNS, lambda _: None)
    for run, number in list(enumerate(RUNS.tolist()))[live]:
        study = alone(experiment, experiment.contenders[0], number)
        study.run(found.n_initial + replications)
        chosen = [trial.pair for trial in study._journal.ledger.trials][found.n_initial :]
        decided = np.stack([found.alternative[:, run], found.context[:, run]], axis=-1)
        assert decided.tolist() == np.array(chosen).tolist()
        np.testing.assert_array_equal(found.selected[-1, run], named(study))


def named(study: Study) -> IntArray:
    """Return what a study names with its estimates for known; with limits by the first of its own draws."""
    if not study.problem.limits:
        view = study.view()
        return np.asarray(view.question.choice(view.inference.fitted))
    return by_draws(study).choice


def by_draws(study: Study) -> Certificate:
    """Return the certificate of a study with limits by as many of its draws as an experiment makes."""
    view = study.view()
    belief = view.inference.fitted
    assert isinstance(belief, Outcomes)
    shape = (loop._DRAWS, belief.layers, *study.problem.shape)
    normals = streams.generator(study.seed, streams.Purpose.CERTIFICATE).standard_normal(shape)
    return Certificate(belief, study.problem.weights, normals, question=view.question)


def every_problem() -> Iterator[Any]:
    """Every problem with shared seeds; with own seeds too, slowly where it only has other numbers."""
    for name in registry.PROBLEMS:
        twins = "covid-paper", "covid-regional", "cosine8", "call-rush"
        again = name.endswith(("-text", "-separated")) or name in twins
        marks = [pytest.mark.slow] if name in ("call-lines", "facility-sizing") else []
        yield pytest.param(name, True, id=f"{name}-shared seeds", marks=marks)
        marks = [pytest.mark.slow] if again or marks else []
        yield pytest.param(name, False, id=f"{name}-own seeds", marks=marks)


@pytest.mark.filterwarnings("ignore:rewards look far from normal")
@pytest.mark.parametrize(("problem", "common"), list(every_problem()))
@pytest.mark.fast_cases(
    "branin*",
    "classical*",
    "newsvendor*",
    "metric-draws*",
    "queue-staffing-own*",
    "serial-inventory-shared*",
    "flow-line-shared*",
)
def test_an_experiment_decides_as_live_studies_do(problem: str, common: bool) -> None:
    which = slice(int(common), int(common) + 1)  # the first of both, or the second
    compare(problem, "dvr-loss", common=common, replications=8 if problem in LARGE else 4, live=which)


def several_responses(n: int = 6) -> Problem:
    """A problem whose limit is on a 0/1 response near 5 %, and on the goal itself; called one by one."""

    def simulate(plan: int, load: int, seed: int) -> dict[str, float]:
        draw = np.random.default_rng(seed)
        return {"late": draw.random() < 0.1 * load / plan, "cost": plan * load + draw.standard_normal()}

    plans, loads = np.arange(1, n + 1), np.arange(1, 4)
    cost, late = np.outer(plans, loads), 0.1 * loads / plans[:, None]
    return Problem(
        plans.tolist(), loads.tolist(), simulate, goal="min cost + 2 * late",
        limits=["late <= 0.05", "cost + 2 * late >= 1"], truth={"late": late, "cost": cost},
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore:rewards look far from normal")
@pytest.mark.parametrize("common", [False, True], ids=["own seeds", "shared seeds"])
@pytest.mark.parametrize(
    ("make", "contender"),
    [
        (call_centre, "dvr-loss:additive-gp"),
        (call_rush, "dvr-loss:gp"),
        (call_lines, "equal:independent"),
        (several_responses, "dvr-loss:additive-gp"),
        (several_responses, "dvr-loss:independent"),
    ],
)
@pytest.mark.fast_cases("call_rush*own*", "several_responses*shared*")
def test_problems_with_limits_are_decided_alike(
    make: Callable[[], Problem], contender: str, common: bool
) -> None:
    compare(make(), contender, common=common, replications=24, refit_every=10)


def test_claims_within_limits_are_those_of_the_draws_of_each_study_alone() -> None:
    experiment = Experiment(
        several_responses(), "dvr-loss", replications=3, seed=11, certify=True, checkpoint_every=3
    )
    found = loop.trace(experiment, experiment.contenders[0], RUNS, lambda _: None)
    for run, number in enumerate(RUNS.tolist()):
        study = alone(experiment, experiment.contenders[0], number).run(found.n_initial + 3)
        said = by_draws(study)
        np.testing.assert_array_equal(found.selected[-1, run], said.choice)
        np.testing.assert_allclose(found.claim[-1, run], said.pcs, atol=1e-12)


@pytest.mark.filterwarnings("ignore:rewards look far from normal")
def test_what_an_experiment_names_within_limits_loses_no_more_than_what_a_study_names() -> None:
    """Both take what loses least on average over joint draws, the former over the first 512 of 4,096."""
    experiment = Experiment(call_rush(), "dvr-loss", replications=20, seed=11, checkpoint_every=20)
    found = loop.trace(experiment, experiment.contenders[0], RUNS, lambda _: None)
    for run, number in enumerate(RUNS.tolist()):
        study = alone(experiment, experiment.contenders[0], number).run(found.n_initial + 20)
        said = study.certificate(integrate=False)
        assert said.options is not None
        # A difference of two losses, each between 0 and the price, has an error of at most 0.044 of the price
        # in 512 draws; five of these are allowed.
        loss, every = said.options.loss, np.arange(study.problem.n_contexts)
        excess = loss[found.selected[-1, run], every] - loss[said.choice, every]
        most = study.view().question.settled(said.belief).prices  # type: ignore[attr-defined]
        assert np.all(excess <= 0.22 * most)
        assert np.mean(found.selected[-1, run] == said.choice) >= 0.8


def test_results_of_problems_with_limits_tell_the_share_of_infeasible_choices(tmp_path: Path) -> None:
    experiment = Experiment(
        several_responses(), ["dvr-loss", "equal"], replications=20, macroreps=4, checkpoint_every=20
    )
    results = runner.run(experiment, out=tmp_path / "runs")
    trace = loop.trace(experiment, experiment.contenders[0], np.arange(4), lambda _: None)
    problem = several_responses()
    expected = [
        float(problem.weights @ (~problem.feasible[k, np.arange(3)] & (k >= 0)))
        for k in np.moveaxis(trace.selected, 1, 0).reshape(-1, 3)
    ]
    own = results.runs[results.runs["contender"] == "dvr-loss"]
    np.testing.assert_allclose(own["infeasible"], expected)
    last = results.summary().groupby("contender", sort=False).tail(1)
    assert last["infeasible"].iloc[0] == pytest.approx(np.mean(expected[1::2]))
    assert results.plain()["policies"]["equal"]["infeasible"][-1] == pytest.approx(last["infeasible"].iloc[1])
    pd.testing.assert_frame_equal(Results.load(tmp_path / "runs").runs, results.runs)


@pytest.mark.parametrize(
    ("policy", "common"),
    [
        ("top-two", True),
        ("equal", False),
        pytest.param("top-two", False, marks=pytest.mark.slow),
        pytest.param("gp-c-ocba", True, marks=pytest.mark.slow),
    ],
)
@pytest.mark.fast_cases("equal*")
def test_large_tables_are_decided_alike_by_every_kind_of_policy(policy: str, common: bool) -> None:
    compare("serial-inventory", f"{policy}:additive-gp", common=common, replications=4)


@pytest.mark.parametrize(
    "integrate",
    [pytest.param(False, id="estimates"), pytest.param(True, id="averages", marks=pytest.mark.slow)],
)
def test_claims_about_large_tables_are_those_of_live_studies(integrate: bool) -> None:
    experiment = Experiment(
        "serial-inventory", "dvr-loss", replications=2, seed=11, certify=True, integrate=integrate
    )
    found = loop.trace(experiment, experiment.contenders[0], RUNS, lambda _: None)
    for run, number in enumerate(RUNS.tolist()):
        study = alone(experiment, experiment.contenders[0], number).run(found.n_initial + 2)
        np.testing.assert_allclose(
            found.claim[-1, run], study.certificate(integrate=integrate).pcs, rtol=1e-8
        )


@pytest.mark.slow  # a minute: refits, and all policies that follow the foremost
@pytest.mark.filterwarnings("ignore:rewards look far from normal")
@pytest.mark.parametrize("common", [False, True], ids=["own seeds", "shared seeds"])
@pytest.mark.parametrize("policy", ["dvr", "dvr-loss", "dvr-m", "top-two", "gp-c-ocba", "equal"])
@pytest.mark.parametrize("problem", LARGE)
def test_large_tables_are_decided_alike_over_refits(problem: str, policy: str, common: bool) -> None:
    compare(problem, f"{policy}:additive-gp", common=common, replications=40, refit_every=12)


@pytest.mark.parametrize("common", [False, True], ids=["own seeds", "shared seeds"])
@pytest.mark.parametrize("contender", ["dvr-loss:additive-gp", "c-ocba:independent"])
def test_more_names_than_are_followed_are_decided_alike(contender: str, common: bool) -> None:
    compare(small_problems.names(1100), contender, common=common, replications=4, initial="auto")


def after_the_initial_design(problem: Any, contender: str, *, common: bool) -> tuple[Any, list[Study]]:
    """Return runs side by side with their initial designs simulated, and the same as live studies."""
    experiment = Experiment(problem, contender, replications=1, seed=11, common_random_numbers=common)
    start = loop._start(experiment, experiment.contenders[0], RUNS, loop._Clock())
    studies = [alone(experiment, experiment.contenders[0], number) for number in RUNS.tolist()]
    return start, [study.run(start.n_initial) for study in studies]


def under_way() -> Iterator[Any]:
    """Every kind of policy and model, and slowly every problem; `True` for shared seeds."""
    shared, own = "shared seeds", "own seeds"
    for problem, contender, both in [
        ("branin", "dvr-loss:additive-gp", True),
        ("branin", "ikg:gp", True),
        ("classical", "c-ocba:independent", True),
        ("newsvendor", "ts:linear", True),
        ("flow-line", "dvr-loss:additive-gp", False),
        ("serial-inventory", "top-two:additive-gp", False),
    ]:
        marks = [] if both else [pytest.mark.slow]
        yield pytest.param(problem, contender, True, id=f"{problem}-{contender}-{shared}")
        yield pytest.param(problem, contender, False, id=f"{problem}-{contender}-{own}", marks=marks)
    for problem in registry.PROBLEMS:
        for common, seeds in ((True, shared), (False, own)):
            yield pytest.param(problem, "dvr-loss", common, id=f"{problem}-{seeds}", marks=pytest.mark.slow)


@pytest.mark.filterwarnings("ignore:rewards look far from normal")
@pytest.mark.parametrize(("problem", "contender", "common"), list(under_way()))
@pytest.mark.fast_cases("branin*", "classical*", "newsvendor*")
def test_trials_under_way_count_side_by_side_as_they_do_in_a_study(
    problem: str, contender: str, common: bool
) -> None:
    start, studies = after_the_initial_design(problem, contender, common=common)
    learned = step.learn(start.model, start.setting, start.tallies)
    pending = np.zeros(start.tallies[0].shape, np.int64)
    for run, study in enumerate(studies):
        for trial in study.ask(3):
            pending[run][trial.pair] += 1
    asked = [[trial.pair for trial in study.ask(2)] for study in studies]
    found = step.decide(
        start.policy, learned, start.tallies[0], pending, start.setting,
        roots=start.roots, step=start.n_initial + 3, n=2,
    )  # fmt: skip
    assert np.stack(found, axis=-1).tolist() == np.array(asked).tolist()


def test_pairs_without_a_value_are_ruled_out_run_by_run() -> None:
    start, studies = after_the_initial_design("branin", "dvr-loss:additive-gp", common=False)
    learned = step.learn(start.model, start.setting, start.tallies)
    out: BoolArray = np.zeros(start.tallies[0].shape, bool)
    best = learned.choice(start.setting.question)
    out[0, best[0, 0], 0] = out[1, best[1, 3], 3] = True
    nothing = np.zeros(start.tallies[0].shape, np.int64)
    found = step.decide(
        start.policy, learned, start.tallies[0], nothing, start.setting,
        roots=start.roots, step=7, n=3, ruled_out=out,
    )  # fmt: skip
    for run, study in enumerate(studies):
        single = step.decide(
            study.policy, study._learned().learned, study._tally, nothing[run], start.setting,
            roots=int(start.roots[run]), step=7, n=3, ruled_out=out[run],
        )  # fmt: skip
        np.testing.assert_array_equal(np.stack(found)[:, run], np.stack(single))


def test_runs_whose_beliefs_cannot_share_arrays_are_learned_by_themselves() -> None:
    start, _ = after_the_initial_design("serial-inventory", "dvr-loss:additive-gp", common=False)
    learned = step.learn(start.model, start.setting, start.tallies)
    assert [group.studies for group in learned.groups] == [0, 1]
    assert all(isinstance(group.belief, FocusedBelief) for group in learned.groups)
    assert learned.belief_of(1) is learned.groups[1].belief
    assert learned.belief_of(None) is None
    assert learned.choice(start.setting.question).shape == (2, 1)


def mixed_runs() -> tuple[Any, Tally]:
    """Return runs of which some find that alternatives share noise, and some do not."""
    experiment = Experiment(
        small_problems.table(), "dvr-loss:additive-gp", replications=1, initial=2, common_random_numbers=True
    )
    start = loop._start(experiment, experiment.contenders[0], np.arange(12), loop._Clock())
    return start, start.tallies[0]


def test_runs_that_share_noise_and_runs_that_do_not_learn_as_each_alone() -> None:
    start, tally = mixed_runs()
    learned = step.learn(start.model, start.setting, [tally])
    shares = np.any(learned.params[0].correlation > 0, axis=-1)
    assert shares.any()
    assert not shares.all()
    assert [group.studies.tolist() for group in learned.groups] == [  # type: ignore[union-attr]
        np.flatnonzero(~shares).tolist(), np.flatnonzero(shares).tolist()
    ]  # fmt: skip
    for run in range(len(shares)):
        single = step.learn(start.model, start.setting, [tally[run]])
        np.testing.assert_allclose(learned.params[0].theta[run], single.params[0].theta, rtol=1e-6, atol=1e-6)
        mean = learned.of_all(lambda group: group.belief.mean)[run]
        np.testing.assert_allclose(mean, single.belief.mean, rtol=1e-6, atol=1e-6)
