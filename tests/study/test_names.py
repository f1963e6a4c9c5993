"""Thousands of names without coordinates: all are seen once, and those that are out never again."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import argbest
from argbest import Problem, Study, Trial
from argbest.core.arrays import Array
from argbest.core.noise import clearly_beaten
from argbest.policies.confirm import Separate
from argbest.problems import design
from argbest.study.journal import Request

K = 1200


def a_study(truth: Array, sd: Array, policy: str, model: str, **options: object) -> Study:
    """A study of names, larger rewards being better, whose noise follows from the seeds."""
    names = [f"plan {k}" for k in range(len(truth))]
    place = {name: k for k, name in enumerate(names)}

    def rewards(plans: list[str], _contexts: list[str], seeds: list[int]) -> Array:
        k = np.array([place[plan] for plan in plans])
        normals = np.array([np.random.default_rng(seed).normal() for seed in seeds])
        return np.asarray(truth[k] + sd[k] * normals)

    simulate: Any = argbest.vectorised(rewards)
    problem = Problem(names, ["any"], simulate)
    given = {"policy": policy, "model": model, "common_random_numbers": False, "seed": 1, **options}
    return Study(problem, **given)  # type: ignore[arg-type]


def told(study: Study, trials: list[Trial]) -> list[int]:
    """Tell what the simulator gives, and return the alternatives of the trials, by position."""
    plans, seeds = [trial.alternative for trial in trials], [trial.seed for trial in trials]
    simulate: Any = study.problem.simulate
    for trial, value in zip(trials, simulate(plans, ["any"] * len(plans), seeds), strict=True):
        study.tell(trial, float(value))
    return [study.problem.alternatives.index(plan) for plan in plans]


def truths(n: int = K, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=n)


@pytest.mark.parametrize(
    ("policy", "model"),
    [
        ("c-ocba", "independent"),
        ("ocba", "independent"),
        ("dsco", "independent"),
        ("equal", "independent"),
        ("top-two", "independent"),
        ("dvr-loss", "additive-gp"),
        ("equal", "additive-gp"),
    ],
)
def test_none_that_is_out_gets_a_second_replication(policy: str, model: str) -> None:
    truth = truths()
    study = a_study(truth, np.full(K, 0.1), policy, model, plan={"budget": 2 * K + 200})
    told(study, study.ask(K + 60))
    assert (study._tally.count == 1).sum() == K - 60
    total = 0
    for _ in range(4):
        closed = clearly_beaten(study._tally)[:, 0]
        total += int(closed.sum())
        assert not closed[np.argmax(truth)]
        chosen = told(study, study.ask(15))
        assert not closed[chosen].any()
    assert total > 800  # there were many to be sent again in vain


def test_a_study_of_many_names_answers_with_pairs_seen_once(tmp_path: Path) -> None:
    truth = truths()
    study = a_study(truth, np.full(K, 0.2), "c-ocba", "independent").run(K + 200, batch=20)
    assert "once, 60 of them again (1,260 replications)" in study.initial_design
    count = study._tally.count[:, 0]
    assert (count == 1).sum() > K - 150
    row = study.selection().iloc[0]
    assert study.problem.alternatives.index(row["selected"]) == np.argmax(truth)
    assert 0.0 < row["p_best"] <= 1.0
    assert np.isfinite(row["expected_loss"])
    study.report(tmp_path / "report.html")
    assert "once, 60 of them again" in (tmp_path / "report.html").read_text()


def test_a_policy_for_a_guarantee_may_ask_for_what_is_out() -> None:
    study = a_study(truths(), np.full(K, 0.3), "c-ocba", "independent").run(K + 60, batch=K)
    closed = clearly_beaten(study._tally)
    journal = study._journal
    trials = journal.ask(Request(5, "by hand", policy=lambda _: Separate(closed)))
    assert all(closed[study.problem.alternatives.index(trial.alternative), 0] for trial in trials)


def test_a_stored_study_goes_on_with_the_design_that_it_began_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(design, "MANY_PAIRS", 10**9)  # as if there were no other rule
        study = a_study(truths(), np.ones(K), "c-ocba", "independent", storage=tmp_path / "study.db")
        assert [trial.alternative for trial in study.ask(3)] == ["plan 0", "plan 1", "plan 2"]
    again = Study.load(tmp_path / "study.db", simulate=study.problem.simulate)
    assert "every pair twice" in again.initial_design
    assert again.n_queued == 2 * K - 3
    assert [trial.alternative for trial in again.ask(1)] == ["plan 3"]


@pytest.mark.slow
def test_claims_about_names_seen_once_hold_where_noise_differs_between_them() -> None:
    claims, losses = [], []
    for uneven in (True, False):  # by a factor that is log-normal, or 10 for a twentieth of the names
        for seed in range(6):
            rng = np.random.default_rng([seed, 15])
            truth, z, u = rng.normal(size=1000), rng.normal(size=1000), rng.random(1000)
            sd = np.exp(0.7 * z) if uneven else np.where(u < 0.05, 10.0, 1.0)
            row = (
                a_study(truth, sd, "dvr-loss", "additive-gp", seed=seed)
                .run(2000, batch=20)
                .selection()
                .iloc[0]
            )
            claims.append(row["p_best"])
            losses.append(truth.max() - truth[int(row["selected"].split()[1])])
    assert np.mean(claims) <= np.mean(np.array(losses) == 0.0) + 0.1
    assert np.mean(losses) < 0.2  # 0.34 with 500 of the names, each twice
