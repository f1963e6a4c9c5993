"""Published numbers beside ours: those that were printed, and the runs that belong to them."""

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from argbest import InputError, registry
from argbest.cli import main
from argbest.core.questions.contexts import Contexts
from argbest.experiment import Experiment, published, run
from experiments.most_probable_best import false_choices
from experiments.published import CONTENDERS, PROBLEMS


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["compare", "--paper", *arguments])


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """Only the first hundred replications of four curves."""
    known = published.numbers()
    chosen = known["contender"].isin(["c-ocba", "ikg-noise-free:gp"])
    kept = known[chosen & (known["problem"] == "branin") & (known["replications"] <= 100)]
    monkeypatch.setattr(published, "numbers", lambda: kept)
    return kept


def test_every_published_number_belongs_to_a_problem_a_policy_and_a_measure_of_ours() -> None:
    known = published.numbers()
    assert known.columns.tolist() == [
        *("source", "problem", "measure", "contender", "replications", "value", "se", "n")
    ]
    assert set(known["source"]) == set(published.SOURCES)
    assert set(known["measure"]) == set(published.MEASURES)
    assert set(known["problem"]) <= set(registry.PROBLEMS)
    assert set(known["contender"].str.partition(":")[0]) <= set(registry.POLICIES)
    assert not known.duplicated(["problem", "measure", "contender", "replications"]).any()
    assert known["value"].between(0, 1).all()
    shares = known[known["measure"] != "pcs_e"]
    binomial = np.sqrt(shares["value"] * (1 - shares["value"]) / (shares["n"] - 1))
    np.testing.assert_allclose(shares["se"], binomial, atol=6e-5)


def test_the_numbers_of_figure_2_are_those_of_the_published_file(reference: Path) -> None:
    theirs = pd.read_csv(reference / "published_curves.csv")
    theirs["problem"] = theirs["experiment"].replace(PROBLEMS)
    theirs["measure"] = theirs["objective"].map({"mean": "pcs_e", "worst": "p_all"})
    theirs["contender"] = theirs["algorithm"].map(CONTENDERS)
    known = published.numbers()
    known = known[known["source"] == "figure-2"]
    known = known.assign(contender=known["contender"].str.partition(":")[0])
    keys = ["problem", "measure", "contender"]
    both = known.merge(theirs, left_on=[*keys, "replications"], right_on=[*keys, "iteration"])
    assert len(both) == len(known) == 69
    np.testing.assert_array_equal(both["value"], both["pcs_as_plotted"])
    np.testing.assert_array_equal(both["se"], both["stderr"])
    np.testing.assert_array_equal(both["n"], both["n_rep"])


def test_votes_are_counted_and_a_tie_names_the_last() -> None:
    best = np.array([[0, 0, 1, 2], [0, 0, 1, 1], [2, 1, 1, 2], [3, 0, 0, 0]])
    assert published.last_of_most(best, 4).tolist() == [0, 1, 2, 0]


def test_a_choice_is_false_where_the_publication_calls_it_so() -> None:
    """Random tables with many ties; `false_choices` counts in another way."""
    draws = np.random.default_rng(1)
    best = draws.integers(0, 4, (200, 6))
    choice = published.last_of_most(best, 4)
    unused = np.zeros((200, 1), np.int64)
    plug_in, _ = false_choices(np.concatenate([best, unused], axis=1), 0, 4)
    np.testing.assert_array_equal(choice != 0, plug_in == 1)
    assert 0.2 < plug_in.mean() < 0.95


def test_the_question_of_counted_votes_chooses_by_the_means_alone() -> None:
    belief: Any = SimpleNamespace(mean=np.array([[3.0, 3.0, 0.0], [0.0, 0.0, 9.0], [1.0, 1.0, 1.0]]))
    asked = published.CountedVotes().about(Contexts(np.ones(3) / 3))
    assert int(asked.choice(belief)) == 0


@pytest.mark.slow
def test_ours_are_the_runs_of_the_experiment_beside_which_they_stand(short: pd.DataFrame) -> None:
    found = published.beside_ours("branin", macroreps=3, seed=5)
    assert len(found) == len(short) == 8
    options: dict[str, Any] = {"replications": 100, "macroreps": 3, "seed": 5, "checkpoint_every": 100}
    for weights, measure, policy in [
        ("problem", "pcs_e", "c-ocba"),
        ("problem", "p_all", "c-ocba"),
        ("problem", "pcs_e", "ikg-noise-free:gp"),
        ("uniform", "p_all", "ikg-noise-free:gp"),
    ]:
        own = found[(found["measure"] == measure) & (found["contender"] == policy)]
        asked = Experiment("branin", policy, weights=weights, common_random_numbers=False, **options)
        summary = run(asked).summary()
        np.testing.assert_allclose(own["ours"], summary[measure])
        np.testing.assert_allclose(own["ours_se"], summary[f"{measure}_se"])
    row = found[(found["measure"] == "pcs_e") & (found["contender"] == "c-ocba")].iloc[1]
    error = math.hypot(row["ours_se"], row["published_se"])
    assert row["difference"] == pytest.approx((row["ours"] - row["published"]) / error)
    assert found.groupby("contender")["published_seconds"].first()["ikg-noise-free:gp"] == 1218.0
    assert found.groupby("contender")["published_seconds"].first().isna()["c-ocba"]


def test_false_choices_are_what_is_not_right(monkeypatch: pytest.MonkeyPatch) -> None:
    known = published.numbers()
    first = known[(known["problem"] == "most-probable-best") & known["contender"].str.startswith("equal")]
    short = first.iloc[:1].assign(replications=20)
    monkeypatch.setattr(published, "numbers", lambda: short)
    monkeypatch.setitem(published._CHECKPOINT_EVERY, "baseline", 20)
    [row] = published.beside_ours(macroreps=6).to_dict("records")
    asked = Experiment(
        "most-probable-best", "equal:independent", replications=20, macroreps=6, refit_every=50,
        question=published.CountedVotes(), common_random_numbers=False, checkpoint_every=20,
    )  # fmt: skip
    assert row["ours"] == pytest.approx(1.0 - run(asked).summary()["pcs_e"].iloc[-1])
    assert row["ours"] > 0.5  # hardly any replications


def test_every_look_meets_its_published_number() -> None:
    known = published.numbers()
    for (source, problem), theirs in known.groupby(["source", "problem"]):
        asked = published._experiment(str(source), str(problem), "problem", theirs, macroreps=1, seed=0)
        for n in theirs["replications"]:
            assert np.abs(asked.checkpoints - n).min() <= 1


def test_the_command_prints_published_and_ours_in_80_columns(short: pd.DataFrame, tmp_path: Path) -> None:
    result = call("branin", "--macroreps", "2", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert max(map(len, lines[: lines.index("written:")])) <= 80
    head = next(line.split() for line in lines if line.split()[:1] == ["policy"])
    assert head == ["policy", "0", "100", "se"]
    first = next(line.split() for line in lines if line.split()[:1] == ["c-ocba"])
    assert first[1].startswith(".708/")
    assert "8 published numbers:" in result.stdout
    kept = pd.read_csv(tmp_path / "published.csv")
    assert len(kept) == len(short)
    assert first[2] == f"{kept['published'][3]:.3f}/{kept['ours'][3]:.3f}".replace("0.", ".")


def test_json_has_a_row_per_published_number(short: pd.DataFrame) -> None:
    result = call("--macroreps", "1", "--json")
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)
    assert len(rows) == len(short)
    assert rows[0]["published_seconds"] == 1218.0
    assert rows[0]["ours_se"] is None  # of a single run


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("--policy", "equal"), "--paper and --policy exclude each other"),
        (("branin", "--replications", "5"), "--paper and --replications exclude each other"),
        (("newsvendor",), "unknown problem with published numbers 'newsvendor'; known are branin"),
    ],
)
def test_what_the_publications_decide_is_refused(arguments: tuple[str, ...], hint: str) -> None:
    result = call(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert hint in " ".join(result.stderr.split())


def test_a_problem_without_published_numbers_is_refused_in_python_too() -> None:
    with pytest.raises(InputError, match="unknown problem with published numbers 'covid'"):
        published.beside_ours("covid")
