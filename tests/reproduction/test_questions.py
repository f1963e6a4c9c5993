"""The comparisons of questions: their tables by hand, small runs, and what is stored."""

from pathlib import Path

import numpy as np
import oracles
import pandas as pd
import pytest
from scipy.stats import norm

from argbest.core.arrays import Array
from argbest.core.belief import BlockBelief, CellBelief
from argbest.core.questions import joint_draws
from argbest.core.setting import Setting
from argbest.core.tally import Tally, empty
from argbest.engine import step
from argbest.policies.ocba import COCBA
from argbest.problems.most_probable_best import MostProbableBestProblem
from experiments import best_by_draws, most_probable_best, most_probable_check, questions, tailoring
from experiments.best_by_draws import BestByDraws

STORED = Path(questions.__file__).parent / "stored"
WEIGHTS = np.array([0.2, 0.5, 0.3])


def test_losses_are_set_against_those_of_the_same_macro_replications() -> None:
    rows = pd.DataFrame(
        [
            ("p", r, "overall", who, loss, 1.0)
            for r, three in enumerate([(4.0, 2.0, 1.0), (2.0, 2.0, 1.0), (3.0, 2.0, 4.0)])
            for who, loss in zip(("equal", "best", "own"), three, strict=True)
        ],
        columns=[*questions.KEY, "loss", "right"],
    )
    found = questions.losses(rows).set_index("contender")
    assert found.loc["own", "loss"] == pytest.approx(2.0)
    assert found.loc["own", "over_equal"] == pytest.approx(2 / 3)
    apart = np.array([-1.0, -1.0, 2.0])
    assert found.loc["own", "apart_best"] == pytest.approx(0.0)
    assert found.loc["equal", "apart_best"] == pytest.approx(1.0 / (1.0 / np.sqrt(3)))
    assert apart.sum() == 0
    [line] = questions.standing(found.reset_index()).to_dict("records")
    assert line["over_best"] == pytest.approx(1.0)
    assert not line["holds"]


def test_claims_are_set_against_what_came_true_in_bins_that_have_enough() -> None:
    rows = pd.DataFrame(
        {
            "problem": "p",
            "macroreplication": np.arange(60),
            "question": "overall",
            "contender": "own",
            "weight": 1.0,
            "unit": 2.0,
            "loss": np.where(np.arange(60) < 6, 1.0, 0.0),
            "claimed_loss": 0.2,
            "right": np.where(np.arange(60) < 6, 0.0, 1.0),
            "claimed_right": 0.93,
        }
    )
    found = questions.bins(rows).set_index("claim")
    assert found.loc["right", "true"] == pytest.approx(0.9)
    assert found.loc["right", "holds"] == "True"
    assert [found.loc["loss", name] for name in ("claimed", "true")] == pytest.approx([0.1, 0.05])
    bold = rows.assign(right=0.0, loss=10.0)
    assert questions.bins(bold)["holds"].tolist() == ["False", "False"]
    assert questions.bins(bold.head(40))["holds"].tolist() == ["", ""]


def test_a_policy_that_decides_for_the_best_does_so_whatever_is_asked() -> None:
    few = questions.Budget(replications=6)
    _, one, _ = questions.played("newsvendor", "best", "overall", np.arange(2), few)
    _, other, _ = questions.played("newsvendor", "own", "best", np.arange(2), few)
    np.testing.assert_array_equal(one.alternative, other.alternative)
    _, own, _ = questions.played("newsvendor", "own", "overall", np.arange(2), few)
    assert not np.array_equal(own.alternative, other.alternative)


def test_choices_and_claims_of_a_small_run_are_those_of_the_truth() -> None:
    few = questions.Budget(replications=4)
    chosen = questions.choices(
        "newsvendor", "equal", "best", ("best", "overall", "rule:depth=2"), np.arange(2), few
    )
    assert len(chosen) == 6
    assert (chosen["loss"] >= 0).all()
    claimed, tailored = questions.claims("newsvendor", "own", "overall", ("overall",), np.arange(1), few)
    assert claimed["claimed_right"].between(0, 1).all()
    assert (claimed["right"] == (claimed["loss"] == 0)).all()
    assert tailored["low"].iloc[0] <= tailored["mean"].iloc[0] <= tailored["high"].iloc[0]


def test_an_interval_covers_if_the_truth_lies_within() -> None:
    rows = pd.DataFrame(
        {
            "problem": ["branin"] * 10,
            "truth": 1.0,
            "mean": 1.2,
            "low": [0.5] * 9 + [1.1],
            "high": 2.0,
        }
    )
    found = tailoring.coverage(rows).set_index("problem").loc["branin"]
    assert found["covered"] == pytest.approx(0.9)
    assert found["truth_below"] == pytest.approx(0.1)
    assert found["bias"] == pytest.approx(0.2)


def test_a_tie_of_votes_is_a_false_choice() -> None:
    selected = np.array([[0, 0, 1, 0], [0, 1, 2, 0], [1, 1, 0, 0]])
    plug_in, expected = most_probable_best.false_choices(selected, 0, 3)
    assert plug_in.tolist() == [0.0, 1.0, 1.0]
    assert expected.tolist() == [0.0, 0.0, 0.0]


def test_the_baseline_is_played_and_set_beside_what_was_published() -> None:
    match = most_probable_best.Match("most-probable-best", 2, (2_502, 2_504))
    rows = most_probable_best.play(match, "dvr-loss:independent", np.arange(2))
    assert rows["replications"].unique().tolist() == [2_502, 2_504]
    found = most_probable_best.summary(rows.assign(replications=7_500, contender="c-ocba"))
    assert found["published"].tolist() == [0.338]
    assert found["runs"].tolist() == [4]


def test_the_check_of_the_baseline_draws_the_tables_of_the_shipped_problem() -> None:
    mean, spread = most_probable_check.tables(np.random.default_rng(1), (4.0, 6.0))
    assert mean.argmin(axis=1).tolist() == MostProbableBestProblem().best.tolist()
    assert (np.sort(mean, axis=1) == np.arange(1.0, 11.0)).all()
    assert ((spread >= 4.0) & (spread <= 6.0)).all()


def test_the_check_of_the_baseline_decides_as_c_ocba_does() -> None:
    rng = np.random.default_rng(7)
    shape = 12, 4, 10  # macro-replication, context, alternative
    mean, number, var = rng.normal(size=shape), rng.integers(2, 9, size=shape), rng.uniform(0.5, 2.0, shape)
    count, ours, noise = np.swapaxes(number, 1, 2), -np.swapaxes(mean, 1, 2), np.swapaxes(var, 1, 2)
    tally = Tally(count, ours, noise * (count - 1))
    found = step.decide(
        COCBA(),
        step.Learned.of_one((), CellBelief(ours, noise / count, noise)),
        tally,
        np.zeros_like(count),
        Setting(np.full(4, 0.25), np.zeros((1, 4, 4)), np.ones(4, bool)),
        roots=np.arange(12),
        step=0,
    )
    for r in range(12):
        each = [most_probable_check._smallest_rate(mean[r, c], var[r, c], number[r, c]) for c in range(4)]
        context = int(np.argmin([rate for rate, _, _ in each]))
        expected = each[context][1], context
        assert (int(found.alternative[r, 0]), int(found.context[r, 0])) == expected
        assert [leader for _, _, leader in each] == mean[r].argmin(axis=-1).tolist()


def test_equal_allocation_of_the_check_is_that_of_normal_sample_means() -> None:
    """2,000 macro-replications: .634 by direct simulation, four standard errors allowed."""
    rng, false = np.random.default_rng(11), []
    for _ in range(2_000):
        mean, spread = most_probable_check.tables(rng, (4.0, 6.0))
        chosen = (mean + spread / np.sqrt(15) * rng.standard_normal(mean.shape)).argmin(axis=1)
        votes = np.bincount(chosen, minlength=10)
        false.append(votes[0] < votes.max() or np.sum(votes == votes[0]) > 1)
    stored = pd.read_csv(STORED / "most_probable_check.csv").query("policy == 'equal'")
    found = stored.query("problem == 'most-probable-best' and replications == 7_500")["p_false"].iloc[0]
    assert abs(np.mean(false) - found) < 4 * np.sqrt(found * (1 - found) * (1 / 2_000 + 1 / 5_000))


def scores(belief: BlockBelief) -> Array:
    """φ(z)/τ Cov² of the two foremost alternatives of every draw and context, one after the other."""
    score = np.zeros(belief.mean.shape)
    for table in joint_draws.of_belief(belief, joint_draws.FOR_CONTRASTS):
        for c in range(table.shape[1]):
            one, two = np.argsort(-table[:, c])[:2]
            var = belief.cov[one, c, c] + belief.cov[two, c, c]
            z = (belief.mean[one, c] - belief.mean[two, c]) / np.sqrt(var)
            for j in (one, two):
                score[j] += WEIGHTS[c] * norm.pdf(z) / np.sqrt(var) * belief.cov[j, c] ** 2
    return np.asarray(score / (belief.var + belief.noise))


def test_draws_name_the_contrasts_that_variance_is_removed_from() -> None:
    rng = np.random.default_rng(3)
    beliefs = oracles.random_belief(rng, (12,), (5, 3))
    setting = Setting(WEIGHTS, np.zeros((1, 3, 3)), np.ones(3, bool))
    tally = empty(beliefs.mean.shape)
    found = step.decide(
        BestByDraws(),
        step.Learned.of_one((), beliefs),
        tally,
        np.zeros(tally.shape, np.int64),
        setting,
        roots=np.arange(12),
        step=0,
    )
    for r in range(12):
        alone = BlockBelief(beliefs.mean[r], beliefs.cov[r], beliefs.noise[r])
        expected = divmod(int(np.argmax(scores(alone))), 3)
        assert (int(found.alternative[r, 0]), int(found.context[r, 0])) == expected


def test_the_pairs_that_draws_name_are_counted() -> None:
    belief = oracles.random_belief(np.random.default_rng(4), (), (4, 2))
    tables = np.random.default_rng(5).normal(size=(30, 4, 2))
    one, two, context, count = best_by_draws.foremost_pairs(belief, tables)
    assert count.sum() == 60
    for a, b, c, n in zip(one, two, context, count, strict=True):
        named = [set(np.argsort(-table[:, c])[:2].tolist()) == {int(a), int(b)} for table in tables]
        assert sum(named) == n


def test_what_is_stored_holds_for_every_question() -> None:
    standing = pd.read_csv(STORED / "questions_standing.csv")
    assert standing["holds"].all()
    assert set(standing["question"]) <= set(questions.QUESTIONS)
    bins = pd.read_csv(STORED / "questions_bins.csv", dtype={"holds": str})
    assert not (bins["holds"] == "False").any()


def test_what_is_stored_of_tailoring_covers_on_the_families() -> None:
    stored = pd.read_csv(STORED / "tailoring.csv").set_index("problem")
    assert 0.87 <= float(str(stored.loc["families", "covered"])) <= 0.93
    missed = stored.index[~stored["holds"]].tolist()
    page = (STORED.parents[1] / "docs" / "tournament.md").read_text(encoding="utf-8")
    assert missed == ["newsvendor", "covid-paper"]
    assert all(f"`{name}`" in page.split("value of tailoring")[-1] for name in missed)


def test_what_is_stored_of_tailoring_is_of_the_stored_runs() -> None:
    runs = pd.read_csv(STORED / "tailoring_runs.csv")
    assert not runs.duplicated(["problem", "macroreplication"]).any()
    pd.testing.assert_frame_equal(tailoring.coverage(runs), pd.read_csv(STORED / "tailoring.csv"), rtol=1e-3)


def test_c_ocba_of_the_publication_knows_the_variances() -> None:
    stored = pd.read_csv(STORED / "most_probable_check.csv")
    assert len(stored) == 15
    assert (stored.query("variances != 'learned'")["apart"].abs() < 3).all()
    assert (stored.query("variances == 'learned'")["apart"].abs() > 3).any()


def test_the_set_up_of_the_baseline_is_within_three_standard_errors_of_what_its_check_finds() -> None:
    """The check is within two of the publication; C-OCBA learns the variances here, which costs something."""
    where = ["problem", "replications", "contender"]
    stored = pd.read_csv(STORED / "most_probable_best.csv").dropna(subset="published").set_index(where)
    check = pd.read_csv(STORED / "most_probable_check.csv").query("variances != 'known'")
    found = check.rename(columns={"policy": "contender"}).set_index(where).loc[stored.index]
    assert len(stored) == 8
    error = np.hypot(stored["plug_in_se"], found["se"])
    assert ((stored["plug_in"] - found["p_false"]).abs() < 3 * error).all()
    beyond = (stored["plug_in"] - stored["published"]).abs() > 3 * stored["plug_in_se"]
    assert beyond[beyond].index.tolist() == [("most-probable-best", 12_500, "c-ocba")]
