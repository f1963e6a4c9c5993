"""Macro-replications side by side are the studies they would be alone, seed by seed, decision by decision."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import small_problems
from twins import alone

from argbest import GP, AdditiveGP, Problem, RandomContexts, Study, registry
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.errors import InputError, SimulationError
from argbest.experiment import Contender, Experiment, measures
from argbest.experiment.loop import Trace, rehearse, trace
from argbest.models.gp import GPParams

NUMBERS = np.array([0, 4])


def assert_same(experiment: Experiment, found: Trace, run: int, study: Study, *, rtol: float = 1e-10) -> None:
    for look, replications in enumerate(experiment.checkpoints.tolist()):
        study.run(max(found.n_initial + replications, 1))
        if found.n_initial + replications == 0:
            continue  # a study is asked for an answer once something was observed
        certificate = study.certificate(integrate=experiment.integrate)
        np.testing.assert_array_equal(found.selected[look, run], certificate.selected)
        claim = found.claim[look, run]
        np.testing.assert_allclose(claim @ study.problem.weights, certificate.pcs_e, rtol=rtol)
        np.testing.assert_allclose(claim, certificate.pcs, rtol=10 * rtol)  # no average evens out rounding
    pairs = [trial.pair for trial in study._journal.ledger.trials]
    together = zip(found.alternative[:, run].tolist(), found.context[:, run].tolist(), strict=True)
    assert pairs[found.n_initial :] == list(together)
    np.testing.assert_array_equal(found.tally.count[run], study._tally.count)
    np.testing.assert_allclose(found.tally.mean[run], study._tally.mean, rtol=1e-12, atol=1e-12)


CASES: dict[str, tuple[str, Contender, dict[str, Any]]] = {
    "gp-c-ocba": ("branin", Contender("gp-c-ocba"), {"initial": 1}),
    "common random numbers": ("table", Contender("dvr-loss"), {"common_random_numbers": True, "initial": 3}),
    "common, every pair by itself": (
        "table",
        Contender("dvr-loss", "independent"),
        {"common_random_numbers": True, "initial": 3, "refit_every": 1},
    ),
    "seeds parted, for noise goes against each other": (
        "against",
        Contender("dvr-loss", "independent"),
        {"common_random_numbers": True, "initial": 8, "refit_every": 1},
    ),
    "ikg": ("table", Contender("ikg"), {}),
    "ikg without noise": ("table", Contender("ikg-noise-free"), {"weights": "uniform"}),
    "c-ocba": ("table", Contender("c-ocba"), {"refit_every": 1}),
    "dsco": ("table", Contender("dsco"), {"refit_every": 3}),
    "ts": ("table", Contender("ts"), {}),
    "ts-plus": ("branin", Contender("ts-plus"), {}),
    "top-two": ("table", Contender("top-two"), {"refit_every": 7}),
    "equal": ("table", Contender("equal"), {}),
    "random": ("table", Contender("random", "independent"), {}),
    "another model": ("table", Contender("gp-c-ocba", "independent"), {}),
    "random contexts": ("table", Contender("gp-c-ocba", initial=RandomContexts(3)), {}),
    "with replacement": ("table", Contender("levi", initial=RandomContexts(6, replace=True)), {}),
    "smaller is better": ("smaller", Contender("gp-c-ocba"), {}),
    "smaller is better, by ts": ("smaller", Contender("ts"), {}),
    "simulated one by one": ("plain", Contender("dvr"), {}),
    "one by one, smaller": ("plain smaller", Contender("ikg"), {"common_random_numbers": False}),
    "every run its own truth": ("family", Contender("gp-c-ocba"), {"weights": "uniform"}),
    "noise per pair": ("table", Contender("dvr", GP(noise="pair")), {}),
    "additive": ("numbered", Contender("dvr", "additive-gp"), {}),
    "additive, of names": ("table", Contender("gp-c-ocba", "additive-gp"), {}),
    "additive by ikg": ("table", Contender("ikg", "additive-gp"), {}),
    "additive, joint part": ("numbered", Contender("levi", AdditiveGP(parts=("joint",))), {}),
    "zeros and ones": ("rate", Contender("dvr-loss", "additive-gp"), {"initial": 3}),
    "zeros and ones, smaller": ("rate smaller", Contender("gp-c-ocba", "additive-gp"), {"initial": 2}),
    "zeros and ones, every pair by itself": ("rate", Contender("c-ocba"), {"initial": 2, "refit_every": 1}),
    "skewed": ("skewed", Contender("dvr-loss", "additive-gp"), {"initial": 3}),
    "skewed, smaller": ("skewed smaller", Contender("gp-c-ocba", "additive-gp"), {"initial": 3}),
    "skewed, few": ("skewed", Contender("dvr", "additive-gp"), {"initial": 1, "refit_every": 1}),
    "skewed, with common random numbers": (
        "skewed",
        Contender("dvr-loss", "additive-gp"),
        {"initial": 4, "common_random_numbers": True},
    ),
    "hundreds of names": (
        "some names",
        Contender("equal", "independent"),
        {"refit_every": 11, "initial": "auto"},
    ),
    "a thousand names, by rates": ("names", Contender("c-ocba"), {"refit_every": 1, "initial": "auto"}),
    "no initial design": ("table", Contender("gp-c-ocba"), {"initial": 0}),
    "an empty list of pairs": ("table", Contender("equal", initial=[]), {}),
}
# Sums in another order may end a search elsewhere within its tolerance.
# Padded and plain matrices round differently, and a search ends where its steps fall below 1e-8.
# Where all noise is common, differences are all but free of it, and digits are lost.
LOOSE = {"noise per pair": 1e-8, "additive, joint part": 1e-8}
LOOSE |= {"simulated one by one": 1e-6, "one by one, smaller": 1e-6}
PROBLEMS: dict[str, Any] = {
    "branin": "branin",
    "table": small_problems.table(),
    "against": small_problems.table(correlation=-0.3),
    "smaller": small_problems.table(goal="min"),
    "plain": small_problems.plain(),
    "plain smaller": small_problems.plain(goal="min"),
    "rate": small_problems.turned("rate"),
    "rate smaller": small_problems.turned("rate", goal="min"),
    "skewed": small_problems.turned("skewed"),
    "skewed smaller": small_problems.turned("skewed", goal="min"),
    "family": small_problems.Family(),
    "numbered": small_problems.numbered(),
    "names": small_problems.names(1000),
    "some names": small_problems.names(600),
}


@pytest.mark.filterwarnings("ignore:rewards look far from normal")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.fast_cases(
    "gp-c-ocba",
    "common random numbers",
    "seeds parted*",
    "ikg",
    "dsco",
    "ts-plus",
    "another model",
    "random contexts",
    "smaller is better",
    "simulated one by one",
    "noise per pair",
    "additive",
    "additive, of names",
    "zeros and ones",
    "skewed",
    "no initial design",
    "hundreds of names",
)
def test_runs_together_equal_studies_alone(case: str) -> None:
    problem, contender, options = CASES[case]
    experiment = Experiment(PROBLEMS[problem], contender, replications=33, seed=11, certify=True, **options)
    rehearse(experiment, contender)
    found = trace(experiment, contender, NUMBERS, lambda _: None)
    for run, number in enumerate(NUMBERS.tolist()):
        study = alone(experiment, contender, number)
        assert_same(experiment, found, run, study, rtol=LOOSE.get(case, 1e-10))


def test_a_run_does_not_depend_on_its_company() -> None:
    experiment = Experiment("branin", "gp-c-ocba", replications=20, seed=2, certify=True)
    [contender] = experiment.contenders
    many, one = (trace(experiment, contender, np.array(n), lambda _: None) for n in ([0, 1, 2, 3], [2]))
    np.testing.assert_array_equal(many.alternative[:, 2], one.alternative[:, 0])
    np.testing.assert_array_equal(many.context[:, 2], one.context[:, 0])
    np.testing.assert_allclose(many.claim[:, 2], one.claim[:, 0], rtol=1e-10)


def observations(policy: str, number: int) -> dict[tuple[int, int, int], float]:
    study = alone(Experiment("branin", policy, replications=40), Contender(policy), number).run(240)
    trials = study._journal.ledger.trials
    return {(*trials[r.trial].pair, trials[r.trial].replication): r.mean for r in study.view().records}


def test_policies_meet_the_same_noise_in_the_same_replication_of_a_pair() -> None:
    first, second = observations("gp-c-ocba", 1), observations("equal", 1)
    shared = first.keys() & second.keys()
    assert len(shared) >= 200
    assert all(first[key] == second[key] for key in shared)
    other = observations("equal", 2)
    assert not any(second[key] == other[key] for key in second.keys() & other.keys())


def test_ticks_count_the_replications_of_all_runs_and_parts_of_time_fit_in_the_whole() -> None:
    experiment = Experiment(small_problems.table(), "equal", replications=25)
    ticks: list[int] = []
    found = trace(experiment, experiment.contenders[0], np.arange(4), ticks.append)
    assert experiment.checkpoints.tolist() == [0, 10, 20, 25]
    assert ticks == [0, 40, 40, 20]
    whole, *parts = found.seconds.values()
    assert (np.diff(whole) >= 0).all()
    assert (sum(parts) <= whole + 1e-9).all()


def test_replications_are_those_that_the_tally_has_beyond_the_initial_design() -> None:
    contender = Contender("gp-c-ocba", initial=RandomContexts(3))
    experiment = Experiment(small_problems.table(), contender, replications=25)
    found = trace(experiment, contender, NUMBERS, lambda _: None)
    problems = experiment.problems(NUMBERS.tolist())
    runs = measures.scored(found, problems, NUMBERS, experiment.checkpoints, 0.0)
    last = runs.groupby("macroreplication").tail(1)
    taken = found.tally.count.sum(axis=(1, 2)) - last["n_initial"].to_numpy()
    assert (last["n_initial"] == 3 * len(small_problems.table().alternatives)).all()
    np.testing.assert_array_equal(last["replications"], taken)


def test_repeated_pairs_of_a_design_get_replications_of_their_own() -> None:
    named = [("A", 0.0), ("B", 0.5), ("A", 0.0), ("A", 0.0), ("B", 0.5)]
    rest = [(label, x) for label in "ABCD" for x in (0.25, 0.75)] * 2
    contender = Contender("equal", initial=named + rest)
    experiment = Experiment(small_problems.plain(), contender, replications=0, certify=True)
    found = trace(experiment, contender, NUMBERS, lambda _: None)
    for run, number in enumerate(NUMBERS.tolist()):
        assert_same(experiment, found, run, alone(experiment, contender, number))
    assert found.tally.count[0, 0, 0] == 3


@pytest.mark.parametrize("policy", ["c-ocba", "dsco", "equal:independent"])
def test_a_contender_that_cannot_begin_is_refused_with_a_remedy(policy: str) -> None:
    experiment = Experiment("branin", policy, replications=10, initial=RandomContexts(6))
    with pytest.raises(
        InputError,
        match=f"^{policy} with the model independent cannot begin on branin after an initial design of 60",
    ):
        rehearse(experiment, experiment.contenders[0])
    with pytest.raises(InputError, match="Start with initial=2 or more"):
        rehearse(experiment, experiment.contenders[0])


def test_a_rehearsal_simulates_nothing() -> None:
    def fails(*_: object) -> float:
        pytest.fail("simulated")

    problem = Problem(["A", "B"], [0.0, 1.0], fails, truth=[[0, 1], [1, 0]])
    experiment = Experiment(problem, ["gp-c-ocba", "ts"], replications=10)
    for contender in experiment.contenders:
        rehearse(experiment, contender)


@dataclass(frozen=True, eq=False)
class Lonely(GP):
    """A model for one study at a time."""

    def fit(self, tally: Tally, setting: Setting, params: GPParams | None = None) -> GPParams:
        if tally.shape[:-2] not in ((), (1,)):
            raise InputError(f"{tally.shape[0]} studies at once")
        return super().fit(tally, setting, params)


def test_a_model_that_cannot_serve_many_runs_at_once_is_refused_in_the_rehearsal() -> None:
    contender = Contender("dvr", Lonely())
    many = Experiment("branin", contender, replications=10, macroreps=51)
    with pytest.raises(InputError, match="cannot begin on branin.*2 studies at once"):
        rehearse(many, contender)
    rehearse(Experiment("branin", contender, replications=10, macroreps=1), contender)


def test_an_interruption_is_noticed_at_refits_too() -> None:
    experiment = Experiment(
        small_problems.table(), "equal", replications=25, refit_every=4, checkpoint_every=25
    )
    ticks: list[int] = []
    trace(experiment, experiment.contenders[0], np.arange(2), ticks.append)
    assert ticks == [0, *[8] * 6, 2]


class Growing:
    """A design of another length in every run."""

    def __init__(self) -> None:
        self.calls = 0

    def pairs(self, problem: Problem, generator: np.random.Generator) -> list[tuple[int, int]]:
        self.calls += 1
        return [(0, 0)] * self.calls


def test_designs_of_different_lengths_are_refused() -> None:
    contender = Contender("equal", initial=Growing())
    experiment = Experiment(small_problems.table(), contender, replications=5)
    with pytest.raises(InputError, match="differs in length between macro-replications"):
        trace(experiment, contender, NUMBERS, lambda _: None)


class Failing:
    """A simulator that gives no number for alternative B."""

    def __init__(self, outcome: object) -> None:
        self.outcome = outcome

    def __call__(self, alternative: str, context: float, seed: int) -> Any:
        if alternative == "B" and isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome if alternative == "B" else 0.0


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (float("nan"), "it returned .*nan.*A reward is a finite number of at most 1e\\+130 in size"),
        (1e200, "it returned .*1e\\+200.*at most 1e\\+130"),
        (ArithmeticError("no luck"), "ArithmeticError: no luck"),
        ("x", "it returned 'x', which is not one finite number"),
        ("3.5", "it returned '3.5', which is not one finite number"),
        (np.ma.masked, "it returned masked, which is not one finite number"),
    ],
)
def test_a_failing_simulator_is_named_with_pair_and_seed(outcome: object, reason: str) -> None:
    problem = Problem(["A", "B"], [0.0, 1.0], Failing(outcome), truth=[[0, 1], [1, 0]], name="bad")
    experiment = Experiment(problem, "equal", replications=1)
    with pytest.raises(
        SimulationError,
        match=f"simulator of 'bad' failed on alternative 'B', context 0.0 with seed [0-9]+: {reason}",
    ):
        trace(experiment, experiment.contenders[0], NUMBERS, lambda _: None)


def test_the_usual_design_of_ts_is_as_large_as_that_of_the_others() -> None:
    experiment = Experiment("branin", ["ts", "gp-c-ocba", "ts-plus"], replications=0)
    problem = registry.problem("branin")
    sizes = [
        len(experiment.design(each, problem).pairs(problem, np.random.default_rng(0)))
        for each in experiment.contenders
    ]
    assert sizes == [200, 200, 200]


def test_integrated_claims_are_those_of_the_study_s_certificate() -> None:
    for contender in (
        Contender("equal", "gp"),
        Contender("equal", "independent"),
        Contender("equal", "linear"),
    ):
        experiment = Experiment(
            small_problems.table(), contender, replications=4, macroreps=2, initial=2, seed=5, integrate=True
        )
        found = trace(experiment, contender, np.arange(2), lambda _: None)
        for run in range(2):
            study = alone(experiment, contender, run)
            for look, replications in enumerate(experiment.checkpoints.tolist()):
                study.run(found.n_initial + replications)
                np.testing.assert_allclose(found.claim[look, run], study.certificate().pcs, rtol=1e-8)


def test_whether_claims_are_integrated_tells_stored_experiments_apart() -> None:
    plain, integrated = (
        Experiment("branin", "equal", replications=1, certify=True, integrate=flag).plain()
        for flag in (False, True)
    )
    assert integrated == plain | {"integrate": True}
    assert "integrate" not in plain
    assert Experiment("branin", "equal", replications=1, integrate=True).certify  # to integrate is to certify


def test_without_certificates_all_else_is_the_same_and_nothing_is_claimed() -> None:
    contender = Contender("gp-c-ocba", "gp")
    found, bare = (
        trace(
            Experiment(
                small_problems.table(), contender, replications=3, macroreps=2, initial=2, certify=flag
            ),
            contender,
            np.arange(2),
            lambda _: None,
        )
        for flag in (True, False)
    )
    assert np.isfinite(found.claim).all()
    assert np.isnan(bare.claim).all()
    np.testing.assert_array_equal(bare.selected, found.selected)
    np.testing.assert_array_equal(bare.tally.mean, found.tally.mean)
    told, silent = (
        Experiment("branin", "equal", replications=1, certify=flag).plain() for flag in (True, False)
    )
    assert silent == told | {"certify": False}
    assert "certify" not in told
