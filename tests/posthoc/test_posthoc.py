"""Runs made elsewhere become a study that is as if told by hand."""

import re
import runpy
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from elsewhere import NAMES, runs
from study.conftest import assert_same_frames

from argbest import InputError, Problem, Study, registry
from argbest.posthoc.analysis import notes
from argbest.posthoc.observed import observe

ROOT = Path(__file__).resolve().parents[2]


def told_by_hand(frame: pd.DataFrame, **options: Any) -> Study:
    """The literal way: a problem written out, and one trial told per pair, in the order of first rows."""
    plans, rates = frame["plan"].drop_duplicates().tolist(), sorted(set(frame["rate"]))
    problem = Problem([{"plan": k} for k in plans], [{"rate": c} for c in rates], goal="min")
    pairs = frame[["plan", "rate"]].drop_duplicates().itertuples(index=False)
    initial = [({"plan": k}, {"rate": c}) for k, c in pairs]
    study = Study(problem, initial=initial, common_random_numbers=False, **options)
    for trial in study.ask(len(initial)):
        own = frame[(frame["plan"] == trial.alternative["plan"]) & (frame["rate"] == trial.context["rate"])]  # type: ignore[index]
        study.tell(trial, own["cost"].tolist())
    return study


@pytest.mark.parametrize("policy", ["gp-c-ocba", "c-ocba", "dvr"])
def test_a_study_of_runs_equals_one_that_was_told_by_hand(policy: str) -> None:
    frame = runs()
    one = Study.from_observations(frame, **NAMES, goal="min", policy=policy, seed=4)
    two = told_by_hand(frame, policy=policy, seed=4)
    assert one.n_queued == 0
    assert_same_frames(one, two)
    np.testing.assert_array_equal(one.tally.m2, two.tally.m2)
    pd.testing.assert_frame_equal(one.selection(), two.selection())
    for _ in range(3):
        asked = one.ask(4), two.ask(4)
        assert [(t.id, t.pair, t.seed) for t in asked[0]] == [(t.id, t.pair, t.seed) for t in asked[1]]
        for mine, theirs in zip(*asked, strict=True):
            value = float(mine.seed % 7)
            one.tell(mine, value)
            two.tell(theirs, value)
    pd.testing.assert_frame_equal(one.selection(), two.selection())


def test_the_tally_is_that_of_the_problem_s_own_reading() -> None:
    frame = runs(1).assign(cost=lambda f: f["cost"] + 1e6)
    study = Study.from_observations(frame, **NAMES)
    renamed = frame.rename(columns={"plan": "alternative.plan", "rate": "context.rate", "cost": "value"})
    expected = study.problem.tally(renamed)
    np.testing.assert_array_equal(study.tally.count, expected.count)
    np.testing.assert_allclose(study.tally.mean, expected.mean, rtol=1e-15)
    np.testing.assert_allclose(study.tally.m2, expected.m2, rtol=1e-9)


def test_observations_show_every_value_in_the_order_of_the_rows() -> None:
    frame = runs(2)
    shown = Study.from_observations(frame, **NAMES).observations()
    assert len(shown) == len(frame)
    for (k, c), own in frame.groupby(["plan", "rate"]):
        mine = shown[(shown["alternative.plan"] == k) & (shown["context.rate"] == c)]
        assert mine["value"].tolist() == own["cost"].tolist()
        assert mine["trial"].nunique() == 1


def test_axes_are_ordered_by_their_columns_numbers_by_size_and_text_as_it_first_came() -> None:
    rows = [("low", 20), ("high", 3), ("low", 3), ("high", 20), ("mid", 3)]
    frame = pd.DataFrame(rows, columns=["level", "size"]).assign(k=[2, 1, 1, 2, 2], value=0.0)
    problem = observe(frame, alternative="k", context=["level", "size"]).problem
    assert problem.alternatives.columns == {"k": (1, 2)}
    assert problem.contexts.labels == (
        *("level=low, size=3", "level=low, size=20", "level=high, size=3", "level=high, size=20"),
        "level=mid, size=3",
    )


@pytest.mark.parametrize(
    "axes",
    [
        (["a", "b"], [1, 2, 3]),
        ([{"servers": 2, "fast": True}, {"servers": 3, "fast": False}], [{"rate": 0.1}, {"rate": 0.7}]),
        (pd.DataFrame({"x": [1.5, 2.5]}, index=["p", "q"]), pd.DataFrame({"y": ["u", "v"]}, index=[0, 1])),
        (pd.DataFrame({"x": [1.5, 2.5]}, index=[10, 11]), pd.DataFrame({"y": ["u", "v"]}, index=[7, 8])),
    ],
    ids=["labels", "rows", "named and not", "named"],
)
def test_what_a_study_exports_gives_the_same_study_back(axes: tuple[Any, Any], tmp_path: Path) -> None:
    problem = Problem(*axes, goal="min")
    study = Study(problem, initial=2, seed=1)
    for i, trial in enumerate(study.ask(study.n_queued)):
        study.tell(trial, 0.1 * i * i - i)
    study.tell(study.ask(1)[0], mean=0.3, variance=2.0, n=9)
    study.observations().to_csv(tmp_path / "o.csv", index=False)
    for frame in (study.observations(), pd.read_csv(tmp_path / "o.csv")):
        again = Study.from_observations(frame, goal="min", seed=1)
        assert again.problem.alternatives == problem.alternatives
        assert again.problem.contexts == problem.contexts
        np.testing.assert_array_equal(again.tally.count, study.tally.count)
        np.testing.assert_allclose(again.tally.mean, study.tally.mean, rtol=1e-14)
        np.testing.assert_allclose(again.tally.m2, study.tally.m2, rtol=1e-13)
        twice = Study.from_observations(again.observations(), goal="min", seed=1)
        pd.testing.assert_frame_equal(twice.observations(), again.observations())
        assert [t.pair for t in twice.ask(6)] == [t.pair for t in again.ask(6)]


def test_columns_may_be_named_as_they_are_exported() -> None:
    frame = runs().rename(columns={"plan": "alternative.plan", "rate": "context.rate"})
    named = observe(frame, alternative="alternative.plan", context=["context.rate"], value="cost").problem
    assert named.alternatives.columns == {"plan": tuple(frame["alternative.plan"].drop_duplicates())}
    assert list(named.contexts.columns) == ["rate"]


def test_rows_with_n_above_one_are_summaries_of_their_own() -> None:
    frame = pd.DataFrame(
        {
            "alternative": ["a", "a", "b", "a", "b"],
            "context": [1, 1, 1, 1, 1],
            "value": [2.0, 3.0, 1.0, 4.0, 5.0],
            "n": [1, 10, 4, 1, 1],
            "variance": [np.nan, 2.5, 0.5, 7.0, np.nan],
        }
    )
    study = Study.from_observations(frame)
    assert study.n_replications == 17
    np.testing.assert_allclose(study.tally.mean[:, 0], [(2 + 30 + 4) / 12, 9 / 5])
    shown = study.observations()
    assert shown["n"].tolist() == [1, 1, 10, 4, 1]
    assert shown["variance"].dropna().tolist() == [2.5, 0.5]
    by_hand = Study(study.problem, initial=[("a", 1), ("a", 1), ("b", 1), ("b", 1)])
    first, second, third, last = by_hand.ask(4)
    by_hand.tell(first, [2.0, 4.0])
    by_hand.tell(second, mean=3.0, variance=2.5, n=10)
    by_hand.tell(third, mean=1.0, variance=0.5, n=4)
    by_hand.tell(last, 5.0)
    np.testing.assert_array_equal(study.tally.m2, by_hand.tally.m2)


@pytest.mark.parametrize("kind", [bool, object, "boolean"])
def test_a_column_of_truth_values_is_a_rate(kind: Any) -> None:
    frame = pd.DataFrame({"alternative": ["a", "b"] * 3, "context": [1] * 6, "value": [True, False] * 3})
    study = Study.from_observations(frame.astype({"value": kind}))
    assert study.rate
    assert study.tally.mean.tolist() == [[1.0], [0.0]]
    assert not Study.from_observations(frame.astype({"value": float})).rate
    assert Study.from_observations(frame.astype({"value": float}), rate=True).rate


def test_shares_of_a_rate_need_no_variance() -> None:
    frame = pd.DataFrame({"alternative": ["a", "b"], "context": [1, 1], "value": [0.3, 0.75], "n": [10, 4]})
    study = Study.from_observations(frame, rate=True)
    assert study.observations()["variance"].tolist() == pytest.approx([0.3 * 0.7 * 10 / 9, 0.25])
    again = Study.from_observations(study.observations(), rate=True)  # here with their variance
    np.testing.assert_allclose(again.tally.m2, study.tally.m2)
    with pytest.raises(InputError, match=r"column 'variance', .*declare rate=True \(--rate\)"):
        Study.from_observations(frame)
    with pytest.raises(InputError, match="expected a whole number from 0 to 4"):
        Study.from_observations(frame.assign(value=[0.3, 0.7]), rate=True)
    with pytest.raises(InputError, match="0.3 is neither 0 nor 1, but rate=True"):
        Study.from_observations(frame.assign(n=1), rate=True)


def test_a_column_n_that_tells_the_alternative_is_no_count() -> None:
    frame = pd.DataFrame({"n": [3, 4] * 4, "context": [1, 1, 2, 2] * 2, "value": range(8)})
    assert Study.from_observations(frame, alternative="n").n_replications == 8
    frame = pd.DataFrame({"alternative": [3, 4] * 4, "context": [1, 1, 2, 2] * 2, "n": range(8)})
    assert Study.from_observations(frame, value="n").tally.mean.tolist() == [[2.0, 4.0], [3.0, 5.0]]


def test_a_column_variance_may_be_the_reward() -> None:
    frame = runs().rename(columns={"cost": "variance"})
    study = Study.from_observations(frame, **(NAMES | {"value": "variance"}))
    assert study.n_replications == 36
    frame.loc[2, "variance"] = np.nan
    with pytest.raises(InputError, match="data row 3 has no variance"):
        Study.from_observations(frame, **(NAMES | {"value": "variance"}))


def test_pairs_never_run_and_extreme_imbalance_are_fine_for_a_gp() -> None:
    r = np.random.default_rng(0)
    rows = [("a", 1, v) for v in r.normal(size=2000)] + [("b", 2, 1.0), ("c", 3, 0.0), ("c", 3, 0.5)]
    study = Study.from_observations(pd.DataFrame(rows, columns=["alternative", "context", "value"]))
    assert np.isfinite(study.selection()[["mean", "gap", "p_best"]].to_numpy()).all()
    assert len(study.ask(5)) == 5
    assert notes(study) == [
        "6 of 9 pairs were never run: their results depend on the model alone.",
        "1 of 9 pairs have a single run, which says nothing about the noise.",
        "run in 1 of 3 contexts only: alternative 'a', 'b', 'c'.",
    ]


def test_notes_are_few_where_nothing_is_open_and_name_rewards_far_from_normal() -> None:
    assert notes(Study.from_observations(runs(), **NAMES)) == []
    frame = runs(0, 40).assign(cost=lambda f: np.exp(2 * f["cost"]))
    [note] = notes(Study.from_observations(frame, **NAMES))
    assert note.startswith("rewards look far from normal: strongly skewed")


def test_alternatives_hardly_run_are_named_three_at_most() -> None:
    rows = [(k, c, 0.0) for k in range(9) for c in range(6) if k < 2 or c < k % 3 + 1 - (k == 8)]
    study = Study.from_observations(pd.DataFrame(rows, columns=["alternative", "context", "value"]))
    assert "run in 1 to 2 of 6 contexts only: alternative 3, 4, 6 and 2 more." in notes(study)


def test_numbers_that_differ_by_rounding_are_one_context_but_whole_numbers_never() -> None:
    frame = pd.DataFrame(
        {"alternative": [1, 2] * 2, "context": [0.3, 0.1 + 0.2, 0.4, 0.4], "value": range(4)}
    )
    assert observe(frame).problem.contexts.labels == (0.3, 0.4)
    frame["context"] = [10**13, 10**13 + 1, 10**13, 5]
    assert observe(frame).problem.contexts.labels == (5, 10**13, 10**13 + 1)


@pytest.mark.parametrize("kind", ["category", "string", "object"])
def test_columns_of_any_pandas_type_of_text_will_do(kind: Any) -> None:
    frame = runs().astype({"plan": kind})
    expected = Study.from_observations(runs(), **NAMES)
    pd.testing.assert_frame_equal(Study.from_observations(frame, **NAMES).selection(), expected.selection())


@pytest.mark.parametrize("kind", ["Int64", "Float64", "float32", "object"])
def test_columns_of_any_pandas_type_of_number_will_do(kind: Any) -> None:
    frame = runs().astype({"rate": kind}).assign(cost=lambda f: np.rint(f["cost"]))
    study = Study.from_observations(frame.astype({"cost": kind}), **NAMES)
    expected = Study.from_observations(frame.astype({"rate": "int64"}), **NAMES)
    np.testing.assert_array_equal(study.tally.mean, expected.tally.mean)


def test_decimals_and_fractions_are_numbers() -> None:
    frame = runs()[:6].assign(cost=cast("Any", [Decimal("0.5"), Fraction(1, 4), 1, 2.0, 3, 4]))
    assert observe(frame.astype({"cost": object}), **NAMES).told.values[0].tolist() == [0.5, 0.25, 1, 2, 3, 4]


def test_hostile_labels_are_labels() -> None:
    hostile = ["'; drop table trials; --", "<script>alert(1)</script>", "a\nb", "", "ü \u202e\u0000", "NaN"]
    rows = [(k, c, float(i)) for i, (k, c) in enumerate((k, c) for k in hostile for c in hostile)]
    frame = pd.DataFrame(rows, columns=["plan", "rate", "cost"])
    study = Study.from_observations(frame, **NAMES)
    assert study.problem.alternatives.labels == study.problem.contexts.labels == tuple(hostile)
    again = Study.from_observations(study.observations())
    pd.testing.assert_frame_equal(again.allocation(), study.allocation())


def test_a_stored_study_of_runs_goes_on_where_it_was(tmp_path: Path) -> None:
    study = Study.from_observations(runs(), **NAMES, storage=tmp_path / "s.db")
    loaded = Study.load(tmp_path / "s.db")
    pd.testing.assert_frame_equal(loaded.observations(), study.observations())
    assert [t.pair for t in loaded.ask(5)] == [
        t.pair for t in Study.from_observations(runs(), **NAMES).ask(5)
    ]


def test_numbers_as_text_are_names_and_said_to_be() -> None:
    found = observe(runs().astype({"rate": str}), **NAMES)
    assert set(found.problem.contexts.labels) == {"5", "10", "20", "40"}
    assert found.notes == (
        "rate holds numbers as text, which are taken as names. Convert it if they are numbers.",
    )


def test_weights_come_from_a_column_that_agrees_with_itself() -> None:
    frame = runs().assign(w=lambda f: f["rate"] / 5.0)
    assert observe(frame, **NAMES, weights="w").problem.weights.tolist() == [
        1 / 15,
        2 / 15,
        4 / 15,
        8 / 15,
    ]
    frame.loc[frame.index[-1], "w"] = 99.0
    with pytest.raises(
        InputError, match=r"weight 'w' of the context \d+ is .* in data row \d+ and 99 in data row 36"
    ):
        observe(frame, **NAMES, weights="w")


def test_a_simulator_lets_the_study_run_on() -> None:
    def simulate(alternative: Any, context: Any, seed: int) -> float:
        return float(seed % 5)

    study = Study.from_observations(runs(), **NAMES, simulate=simulate, title="plans")
    assert study.run(40).n_replications == 40
    assert study.problem.name == "plans"


def test_the_shipped_problem_s_own_study_is_recovered_from_its_export() -> None:
    study = Study(registry.problem("branin")).run(210)
    again = Study.from_observations(study.observations(), goal=study.problem.goal)
    for axis in ("alternatives", "contexts"):
        assert set(getattr(again.problem, axis).labels) == set(getattr(study.problem, axis).labels)
    merged = study.allocation().merge(again.allocation(), on=["alternative.x1", "context.x2"])
    assert merged["n_x"].tolist() == merged["n_y"].tolist()
    np.testing.assert_allclose(merged["mean_x"], merged["mean_y"], rtol=1e-12)


def test_the_example_places_as_many_replications_as_asked(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples" / "posthoc_csv.py"))["main"](["--next", "7"])
    printed = capsys.readouterr().out
    assert "80 replications, selections right: PCS_E" in printed
    placed = re.findall(r"^ +(\d+) x ", printed.split("where the next 7 should go:")[1], re.MULTILINE)
    assert sum(map(int, placed)) == 7


def test_the_page_s_own_lines_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    block, *_ = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs" / "posthoc.md").read_text("utf-8"), re.DOTALL
    )
    names: dict[str, Any] = {}
    exec(block, names)  # noqa: S102 (our own page)
    assert len(names["trials"]) == 20
    assert names["open_questions"] == []


def shared_runs(rng: np.random.Generator, *, gap: bool = False) -> pd.DataFrame:
    """Runs whose noise is mostly that of their seed; with a gap one pair lacks a replication."""
    rows = [
        {
            "option": k,
            "load": c,
            "seed": 1000 * r + c,
            "value": float(k == "b") * 0.3 + shock + 0.3 * rng.normal(),
        }
        for c in (1.0, 2.0, 3.0)
        for r, shock in enumerate(rng.normal(size=6))
        for k in "abc"
    ]
    frame = pd.DataFrame(rows)
    return frame.drop(index=[4, 22]).reset_index(drop=True) if gap else frame


@pytest.mark.parametrize("gap", [False, True])
def test_runs_with_the_same_replication_have_noise_in_common(gap: bool) -> None:
    frame = shared_runs(np.random.default_rng(3), gap=gap)
    columns: dict[str, Any] = {"alternative": "option", "context": "load"}
    study = Study.from_observations(frame, replication="seed", **columns)
    assert study.certificate().common_noise > 0.6
    plain = Study.from_observations(frame, **columns)
    chosen = study.certificate().selected
    alone = study.model.posterior(
        study._tally.statistics_alone, study.problem.setting, study._learned().params
    )
    narrower, wider = (each.difference_var(chosen) for each in (study._learned().belief, alone))
    assert np.all(narrower <= 0.7 * wider)
    np.testing.assert_array_equal(study.tally.count, plain.tally.count)
    assert study._journal.ledger.in_order.count.sum() == len(frame)


def test_later_runs_share_nothing_with_those_made_elsewhere() -> None:
    frame = shared_runs(np.random.default_rng(4), gap=True)
    study = Study.from_observations(frame, alternative="option", context="load", replication="seed")
    assert min(trial.replication for trial in study.ask(6)) >= 6


def test_a_replication_of_a_pair_comes_once() -> None:
    frame = shared_runs(np.random.default_rng(5))
    frame.loc[1, ["option", "seed"]] = frame.loc[0, ["option", "seed"]]
    with pytest.raises(InputError, match="data rows 1 and 2 have the same alternative, context and seed"):
        Study.from_observations(frame, alternative="option", context="load", replication="seed")
