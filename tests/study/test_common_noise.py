"""Studies whose alternatives share random numbers, from the first trial to the answers."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from argbest import streams
from argbest.core import common_noise
from argbest.core.arrays import Array
from argbest.problems.base import Problem
from argbest.study.study import Study
from argbest.study.trial import Trial

K, C = 4, 3
TRUTH = np.random.default_rng(0).normal(0, 1, (K, C))
RHO = 0.8


def simulate(alternative: str, context: float, seed: int) -> float:
    """Noise of standard deviation 1 that alternatives share to the extent RHO where they share the seed."""
    k, c = "ABCD".index(alternative), int(context)
    shared, own = np.random.default_rng(seed).standard_normal(1 + K)[[0, 1 + k]]
    return float(TRUTH[k, c] + np.sqrt(RHO) * shared + np.sqrt(1 - RHO) * own)


def problem(**options: object) -> Problem:
    return Problem(list("ABCD"), [float(c) for c in range(C)], simulate, **options)  # type: ignore[arg-type]


def study(**options: object) -> Study:
    return Study(problem(), initial=4, common_random_numbers=True, **options)  # type: ignore[arg-type]


def assert_exact(one: Study) -> None:
    """The belief of a study is the posterior of all it was told, under the parameters of its last refit."""
    learned = one._learned()
    again = one.model.posterior(one._tally, one.problem.setting, learned.params)
    np.testing.assert_allclose(learned.belief.mean, again.mean, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(learned.belief.var, again.var, rtol=1e-6, atol=1e-9)


def mixed(trials: list[Trial]) -> Iterator[Trial]:
    yield from (trials[i] for i in np.random.default_rng(1).permutation(len(trials)))


def test_a_study_learns_the_correlation_and_says_how_much_of_the_noise_was_common() -> None:
    one = study().run(budget=100)
    rho = one._learned().params.correlation
    assert np.all((rho > 0.5) & (rho < 0.95))
    assert_exact(one)
    said = str(one.model_summary())
    assert "of the noise of a replication is common to all alternatives" in said
    share = one.certificate().common_noise
    assert share == pytest.approx(float(rho.mean()))
    assert f"{100 * share:.0f} % of the noise is common" in str(one.certificate())


def test_without_common_random_numbers_nothing_is_kept_or_said() -> None:
    one = Study(problem(), initial=3, common_random_numbers=False).run(budget=40)
    assert one._tally.common is None
    assert one.certificate().common_noise == 0.0
    assert "common to all alternatives (common random numbers)" not in str(one.model_summary())
    assert "of the noise is common" not in str(one.certificate())


def test_numbers_are_matched_whatever_the_order_the_failures_and_the_batches() -> None:
    one = study(refit_every=1000)
    for trial in mixed(one.ask(4 * K * C)):
        one.tell(trial, simulate(trial.alternative, trial.context, trial.seed))  # type: ignore[arg-type]
    for step in range(6):
        for trial in mixed(one.ask(5)):
            if (trial.id + step) % 4 == 0:
                one.fail(trial, "lost")
            else:
                one.tell(trial, simulate(trial.alternative, trial.context, trial.seed))  # type: ignore[arg-type]
    assert_exact(one)
    common = one._tally.common
    assert common is not None
    seeds = {
        (c, r): streams.replication_seed(one.seed, int(c), int(r))
        for c, r in zip(common.context, common.number, strict=True)
    }
    for k, c, r, value in zip(common.alternative, common.context, common.number, common.value, strict=True):
        assert value == simulate("ABCD"[k], float(c), int(seeds[c, r]))


def test_lists_are_matched_place_by_place_and_summaries_count_as_independent() -> None:
    one = study(refit_every=1000)
    rng = np.random.default_rng(2)
    for trial in one.ask(4 * K * C):
        if trial.pair == (0, 0):
            one.tell(trial, mean=1.0, variance=0.5, n=3)
        else:
            one.tell(trial, rng.normal(size=2))
    common = one._tally.common
    assert common is not None
    assert not np.any((common.alternative == 0) & (common.context == 0))
    own = common[(common.alternative == 1) & (common.context == 2)]
    assert len(np.unique(own.number)) == 8
    for trial in one.ask(3):
        one.tell(trial, rng.normal(size=2))
    assert_exact(one)


def test_runs_made_elsewhere_share_no_luck_with_trials_of_the_same_number() -> None:
    one = study(refit_every=1000).run(budget=50)
    rows = [(a, c, simulate(a, c, seed)) for seed, a in enumerate("ABCD") for c in (0.0, 1.0)]
    one.tell_frame(pd.DataFrame(rows, columns=["alternative", "context", "value"]))
    assert_exact(one)
    for trial in one.ask(4):
        one.tell(trial, simulate(trial.alternative, trial.context, trial.seed))  # type: ignore[arg-type]
    assert_exact(one)


@pytest.mark.parametrize("goal", ["max", "min"])
def test_a_resumed_study_goes_on_as_if_it_had_never_stopped(goal: str, tmp_path: Path) -> None:
    options = {"initial": 3, "common_random_numbers": True, "seed": 5}
    whole = Study(problem(goal=goal), **options).run(budget=60)  # type: ignore[arg-type]
    Study(problem(goal=goal), storage=tmp_path / "study.db", **options).run(budget=47)  # type: ignore[arg-type]
    resumed = Study.load(tmp_path / "study.db", simulate=simulate).run(budget=60)
    assert resumed.observations()["value"].tolist() == whole.observations()["value"].tolist()
    np.testing.assert_allclose(resumed._learned().belief.mean, whole._learned().belief.mean, atol=1e-8)


def test_answers_elsewhere_and_the_past_know_what_is_common() -> None:
    one = study(refit_every=1000).run(budget=60)
    found = one.predict([0.0, 1.0, 2.0])
    np.testing.assert_allclose(found["p_best"], one.selection()["p_best"], atol=2e-3)
    past = one.history(3)
    assert past["pcs_e"].iloc[-1] == pytest.approx(float(one.certificate().pcs_e))


def test_the_correlation_makes_differences_more_certain() -> None:
    one = study().run(budget=80)
    belief, selected = one._learned().belief, one.certificate().selected
    alone = one.model.posterior(one._tally.statistics_alone, one.problem.setting, one._learned().params)
    narrower = belief.difference_var(selected).sum() / alone.difference_var(selected).sum()
    assert narrower < 0.6


def test_the_estimate_is_the_one_of_the_core() -> None:
    one = study(refit_every=1).run(budget=60)
    found = one._learned().params
    noise: Array = found.noise
    np.testing.assert_allclose(found.correlation, common_noise.estimate(one._tally, noise), atol=1e-9)


def against(alternative: str, context: float, seed: int) -> float:
    """Noise that goes against each other where seeds are shared: correlation -0.3."""
    k = "ABCD".index(alternative)
    own = np.random.default_rng(seed).standard_normal(K)
    return float(TRUTH[k, int(context)] + np.sqrt(1.3) * (own[k] - own.mean()) + np.sqrt(0.1) * own.mean())


def test_a_study_goes_back_to_seeds_of_its_own_where_noise_goes_against_each_other(tmp_path: Path) -> None:
    made = Problem(list("ABCD"), [float(c) for c in range(C)], against)
    options = {"initial": 8, "common_random_numbers": True}
    one = Study(made, storage=tmp_path / "study.db", **options).run(budget=130)  # type: ignore[arg-type]
    assert one._journal.ledger.parted is not None
    assert np.all(one._learned().params.correlation < 0)  # those told before stay correlated
    assert one.certificate().common_noise == 0.0
    assert_exact(one)
    assert "each pair has had its own seeds since then" in str(one.model_summary())
    frame = one.observations()
    late = frame.iloc[len(frame) - 20 :]
    assert late["seed"].is_unique
    assert not set(late["seed"]) & set(frame["seed"].iloc[:-20])
    resumed = Study.load(tmp_path / "study.db", simulate=against)
    assert resumed._journal.ledger.parted == one._journal.ledger.parted


def test_rewards_that_do_not_depend_on_the_seed_are_noticed() -> None:
    made = Problem(list("ABCD"), [0.0, 1.0], lambda a, c, seed: float(ord(a) + c))
    one = Study(made, initial=2, common_random_numbers=True).run(budget=20)
    assert "the rewards do not depend on the seed" in str(one.model_summary())


def test_a_model_that_takes_noise_as_independent_says_so() -> None:
    one = Study(problem(), model="linear", policy="equal", initial=3, common_random_numbers=True)
    assert "this model treats their noise as independent" in str(one.run(budget=40).model_summary())


def test_where_a_simulator_ignores_its_seed_the_noise_counts_as_independent() -> None:
    rng = np.random.default_rng(8)
    made = Problem(list("ABCD"), [0.0, 1.0], lambda a, c, seed: float(ord(a) + c + rng.normal()))
    one = Study(made, initial=6, common_random_numbers=True).run(budget=60)
    share = one.certificate().common_noise
    assert share < 0.35
    assert share > 0 or "no common noise was found" in str(one.model_summary())
