"""Runs whose contexts never repeat: exact where they are few, represented where they are many."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from argbest import InputError, Study
from argbest.answers.people import left_within_groups
from argbest.errors import DataNotice
from argbest.posthoc.analysis import notes
from argbest.posthoc.observed import observe
from argbest.posthoc.representatives import represented
from experiments.population import ALTERNATIVES, LAWS, frame, mean_reward, never_repeating

NAMES: dict[str, Any] = {"alternative": "drug", "context": ["age", "weight", "smoker"]}


def matern(distance: np.ndarray) -> np.ndarray:
    a = np.sqrt(5.0) * distance
    return np.asarray((1.0 + a + a**2 / 3.0) * np.exp(-a))


def test_the_belief_is_that_of_dense_algebra_over_the_runs() -> None:
    """Textbook: one row per run, all covariances written out, a constant with a flat prior."""
    runs = frame("normal", 3, 220)
    study = Study.from_observations(runs, **NAMES)
    view, problem = study.view(), study.problem
    belief, params = view.knowledge.belief, view.knowledge.params
    assert problem.n_contexts == 220
    x = np.stack([np.array(values, float) for values in problem.contexts.columns.values()], axis=1)
    x = (x - x.min(axis=0)) / np.ptp(x, axis=0)
    trend = params.trend * matern(cdist(x / params.trend_lengthscale, x / params.trend_lengthscale))
    near = matern(cdist(x / params.lengthscale, x / params.lengthscale))
    place = {tuple(row): c for c, row in enumerate(zip(*problem.contexts.columns.values(), strict=True))}
    c = np.array([place[row] for row in runs[["age", "weight", "smoker"]].itertuples(index=False, name=None)])
    k = np.array([problem.alternatives.index({"drug": drug}) for drug in runs["drug"]])
    every = np.arange(3).repeat(220), np.tile(np.arange(220), 3)

    def covariance(one: Any, other: Any) -> np.ndarray:
        same = one[0][:, None] == other[0]
        at = np.ix_(one[1], other[1])
        return np.asarray(trend[at] + same * (params.offset + (params.joint + params.own) * near[at]))

    known = covariance((k, c), (k, c)) + np.diag(params.noise[k, c])
    inverse = np.linalg.inv(known)
    ones, y = np.ones(220), runs["value"].to_numpy()
    level = 1.0 / (ones @ inverse @ ones)
    constant = level * (ones @ inverse @ y)
    cross = covariance(every, (k, c)) @ inverse
    mean = constant + cross @ (y - constant)
    left = 1.0 - cross @ ones
    cov = covariance(every, every) - cross @ covariance((k, c), every) + level * np.outer(left, left)
    np.testing.assert_allclose(belief.mean.ravel(), mean, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(belief.var.ravel(), np.diag(cov), rtol=1e-5, atol=1e-9)


@pytest.mark.slow
def test_noise_is_learned_from_what_neighbours_say() -> None:
    """400 runs with noise of variance 0.25; 400 − 60 degrees of freedom leave a relative error of 8 %."""
    study = Study.from_observations(frame("normal", 5, 400), **NAMES)
    noise = study.view().knowledge.belief.noise
    assert study.tally.count.max() == 1
    assert 0.25 * 0.7 < noise.mean() < 0.25 * 1.35
    found = study.doubts()
    assert not found.silent.any()
    assert not found.few.any()
    said = notes(study)
    assert said[0].startswith("400 contexts that hardly repeat are taken for a population")


def test_equal_rewards_at_other_contexts_tell_nothing_of_the_noise() -> None:
    study = Study.from_observations(frame("normal", 5, 60).assign(value=1.0), **NAMES)
    assert study.doubts().silent.all()


def test_rare_disasters_are_seen_beside_their_neighbours() -> None:
    runs = frame("normal", 5, 120)
    runs.loc[[7, 50, 99], "value"] = -40.0
    assert Study.from_observations(runs, **NAMES).doubts().rare.any()


@pytest.mark.slow
def test_skewed_runs_show_their_skewness() -> None:
    """Exponential noise has the skewness 2, normal noise none."""
    reasons = {}
    for law in ("normal", "skewed"):
        found = Study.from_observations(frame(law, 8, 400), **NAMES).doubts()
        reasons[law] = (found.few | found.rare).mean()
    assert reasons["normal"] == 0.0
    assert reasons["skewed"] > 0.0


@pytest.mark.slow
@pytest.mark.parametrize("law", ["normal", "skewed"])
def test_claims_come_true_in_bins(law: str) -> None:
    """Six studies; claims of 0.8 and more may come true 0.06 less often, three errors of the mean of six."""
    found = [never_repeating(law, seed) for seed in range(20, 26)]
    claims, right = (np.concatenate(each) for each in zip(*found, strict=True))
    high = claims >= 0.8
    assert high.sum() > 200
    assert right[high].mean() > claims[high].mean() - 0.06
    assert right.mean() > claims.mean() - 0.15


@pytest.mark.parametrize("law", LAWS)
def test_sure_choices_of_a_strong_effect_are_right(law: str) -> None:
    """Two alternatives that cross at the middle of one column: what is called sure is at its side of it."""
    numbers = np.random.default_rng(4)
    x, second = numbers.uniform(-1, 1, 160), numbers.random(160) < 0.5
    mean = np.where(second, 1.5 * x, -1.5 * x)
    noise = numbers.normal(0, 0.5, 160) if law == "normal" else numbers.exponential(0.5, 160) - 0.5
    value = (numbers.random(160) < 1 / (1 + np.exp(-2 * mean))) * 1.0 if law == "rate" else mean + noise
    runs = pd.DataFrame({"plan": np.where(second, "up", "down"), "x": x, "value": value})
    study = Study.from_observations(runs, alternative="plan", context="x", rate=law == "rate")
    chosen = study.selection()
    sure = chosen[chosen["p_best"] >= 0.95]
    assert len(sure) > 40
    right = np.where(sure["context.x"] > 0, "up", "down") == sure["selected"]
    assert right.mean() > 0.9


@pytest.mark.slow
def test_more_runs_than_that_are_represented_and_it_is_said_what_is_lost() -> None:
    runs = frame("normal", 0, 3_000)
    with pytest.warns(DataNotice, match="3,000 different contexts are represented by 500"):
        study = Study.from_observations(runs, **NAMES)
    problem = study.problem
    assert problem.n_contexts == 500
    assert int(study.tally.count.sum()) == 3_000
    np.testing.assert_allclose(problem.weights.sum(), 1.0)
    ages = np.array(problem.contexts.columns["age"])
    assert ages @ problem.weights == pytest.approx(runs["age"].mean())
    assert problem.bounds["age"] == (runs["age"].min(), runs["age"].max())
    assert problem.population is not None
    found = problem.population.represented
    assert found is not None
    assert min(found.kept.values()) > 0.95
    (sentence,) = left_within_groups(study.view())
    assert sentence.startswith(
        "3,000 contexts are represented by groups: within these mean rewards vary by 0.0"
    )
    assert sentence in study.model_summary().sentences
    # Whole tables of means, each run at its own context: by the truth, groups lose about as much.
    there = np.array([found.sample[name] for name in ("age", "weight", "smoker")], float)
    stands = np.array([problem.contexts.columns[name] for name in ("age", "weight", "smoker")], float)
    lost = [
        mean_reward(np.array(k), *there) - mean_reward(np.array(k), *stands[:, list(found.group)])
        for k in range(len(ALTERNATIVES))
    ]
    said = float(sentence.split("vary by ")[1].split(" ")[0])
    assert 0.5 < said / np.sqrt(np.mean(np.square(lost))) < 2.0


def test_a_stored_study_keeps_what_is_represented(tmp_path: Path) -> None:
    with pytest.warns(DataNotice, match="are represented"):
        study = Study.from_observations(frame("normal", 0, 1_600), **NAMES, storage=tmp_path / "s.db")
    again = Study.load(tmp_path / "s.db")
    assert again.problem.population is not None
    assert study.problem.population is not None
    assert again.problem.population.represented == study.problem.population.represented


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([2, 5, 20]))
def test_everybody_is_represented_by_a_group_of_its_names_near_by(seed: int, n_alternatives: int) -> None:
    runs = frame("normal", seed, 1_700)
    where = observe(runs.head(40), **NAMES)  # forms of the columns
    from argbest.posthoc import columns

    located = columns.locate(columns.named("context", runs, NAMES["context"]), runs, np.arange(len(runs)))
    found, size, record = represented(located, n_alternatives)
    assert where.problem.contexts.columns.keys() == found.axis.columns.keys()
    assert size.sum() == 1_700
    assert len(size) <= max(1_500 // n_alternatives, 100)
    group = found.position
    assert np.array_equal(np.array(found.axis.columns["smoker"])[group], runs["smoker"].to_numpy())
    for name in ("age", "weight"):
        means = runs[name].groupby(group).mean().to_numpy()
        np.testing.assert_allclose(np.array(found.axis.columns[name], float), means, rtol=1e-9)
    assert record.n == 1_700


def test_equal_numbers_and_names_alone_make_groups_too() -> None:
    runs = frame("normal", 1, 2_000).assign(weight=3.0, age=lambda f: f["age"].round(3))
    with pytest.warns(DataNotice, match="are represented"):
        study = Study.from_observations(runs, **NAMES)
    assert set(study.problem.contexts.columns["weight"]) == {3.0}


def test_too_many_combinations_of_names_are_refused() -> None:
    runs = frame("normal", 1, 2_000).assign(town=lambda f: (f.index % 700).astype(str))
    with pytest.raises(InputError, match="different combinations of smoker, town, too many"):
        Study.from_observations(runs, alternative="drug", context=["age", "smoker", "town"])


def test_the_answer_may_be_about_contexts_that_somebody_gives() -> None:
    runs = frame("normal", 6, 100)
    asked = pd.DataFrame({"weight": [20.0, 30.0], "age": [60.0, 60.0], "smoker": [True, False]})
    study = Study.from_observations(runs, **NAMES, contexts=asked, weights=[1.0, 3.0])
    assert study.problem.n_contexts == 102
    np.testing.assert_allclose(study.problem.weights[:2], [0.25, 0.75])
    assert not study.problem.weights[2:].any()
    certificate = study.certificate()
    assert certificate.pcs_e == pytest.approx(certificate.pcs[:2] @ [0.25, 0.75])
    plain = Study.from_observations(runs, **NAMES)
    expected = plain.posterior(asked)["mean"].to_numpy()
    found = study.posterior(asked)["mean"].to_numpy()
    assert np.abs(found - expected).max() < 0.2  # other bounds and starts, the same runs
    with pytest.raises(InputError, match="weights of the contexts asked about"):
        Study.from_observations(runs, **NAMES, contexts=asked, weights=[1.0])


def test_a_context_that_was_run_and_is_asked_about_is_one() -> None:
    runs = frame("normal", 6, 60)
    asked = runs[["age", "weight", "smoker"]].head(3)
    study = Study.from_observations(runs, **NAMES, contexts=asked)
    assert study.problem.n_contexts == 60
    assert study.tally.count[:, :3].sum() == 3
