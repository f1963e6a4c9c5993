import math
from pathlib import Path

import pandas as pd
import pytest

from argbest import InputError
from argbest.experiment.published import MeanOfRuns, gap_in_errors
from experiments.published import COLUMNS, compare, largest, read

ROW = ("branin", "mean", "IKG", 100, 0.9, 0.03, 100, 0.9)


def file(folder: Path, *rows: tuple[object, ...], columns: tuple[str, ...] = COLUMNS) -> Path:
    path = folder / "published.csv"
    pd.DataFrame(list(rows), columns=list(columns)).to_csv(path, index=False)
    return path


def ours(
    contender: str, value: float, se: float, *, replications: int = 100, measure: str = "pcs_e"
) -> pd.DataFrame:
    row = {"problem": "branin", "measure": measure, "contender": contender, "replications": replications}
    return pd.DataFrame([row | {"value": value, "se": se, "n": 400, "pcs_m": 0.5, "eoc": 0.1}])


def test_published_curves_come_under_our_names(tmp_path: Path) -> None:
    worst = ("hartmann", "worst", "TS+", 2000, 0.5, 0.05, 100, 0.6)
    frame = read(file(tmp_path, ROW, worst))
    assert frame.iloc[0][["problem", "measure", "contender", "replications"]].tolist() == [
        *("branin", "pcs_e", "ikg-noise-free", 100)
    ]
    assert math.isnan(frame["pcs_m"].iloc[0])
    assert frame.iloc[1][["problem", "measure", "contender", "pcs_m"]].tolist() == [
        *("hartmann3", "p_all", "ts-plus", 0.6)
    ]


def test_a_difference_is_in_combined_standard_errors() -> None:
    first, second = MeanOfRuns(0.95, 0.03, 400), MeanOfRuns(0.90, 0.04, 100)
    assert gap_in_errors(first, second, proportion=False) == pytest.approx(1.0)
    # Proportions: p = (8 + 4)/20 = 0.6, so the error is √(0.24 · 0.2).
    first, second = MeanOfRuns(0.8, 0.1, 10), MeanOfRuns(0.4, 0.1, 10)
    assert gap_in_errors(first, second, proportion=True) == pytest.approx(0.4 / math.sqrt(0.048))


def test_proportions_of_none_have_an_error_unless_both_are_none() -> None:
    none, some = MeanOfRuns(0.0, 0.0, 100), MeanOfRuns(0.1, 0.03, 100)
    assert -4.0 < gap_in_errors(none, some, proportion=True) < -3.0
    assert gap_in_errors(none, none, proportion=True) == 0.0
    assert gap_in_errors(MeanOfRuns(1.0, 0.0, 2), MeanOfRuns(0.5, 0.0, 2), proportion=False) == math.inf


def test_the_published_ikg_is_set_beside_both_of_ours(tmp_path: Path) -> None:
    theirs = read(file(tmp_path, ROW))
    both = pd.concat([ours("ikg-noise-free", 0.95, 0.04), ours("ikg", 0.85, 0.04), ours("dsco", 0.5, 0.1)])
    found = compare(both, theirs)
    assert found["contender"].tolist() == ["ikg-noise-free", "ikg"]
    assert found["difference"].tolist() == pytest.approx([1.0, -1.0])
    assert found["ours"].tolist() == [0.95, 0.85]
    assert found["published"].tolist() == [0.9, 0.9]


def test_comparisons_are_at_landmarks_and_at_the_last_iteration_both_have(tmp_path: Path) -> None:
    rows = [(*ROW[:3], i, *ROW[4:]) for i in (0, 10, 50, 100, 500, 1999)]
    curve = pd.concat([ours("ikg", 0.9, 0.03, replications=i) for i in (0, 25, 50, 100, 500, 1000, 2000)])
    found = compare(curve, read(file(tmp_path, *rows)))
    assert found["published_replications"].tolist() == [0, 100, 500, 1999]
    assert found["replications"].tolist() == [0, 100, 500, 2000]
    short = compare(curve[curve["replications"] <= 25], read(file(tmp_path, *rows)))
    assert short["published_replications"].tolist() == [0]


def test_the_largest_difference_is_the_largest_in_size(tmp_path: Path) -> None:
    rows = [(*ROW[:3], i, *ROW[4:]) for i in (0, 100)]
    curve = pd.concat([ours("ikg", 0.5, 0.04, replications=0), ours("ikg", 0.95, 0.04, replications=100)])
    assert largest(compare(curve, read(file(tmp_path, *rows)))) == {
        ("branin", "pcs_e", "ikg"): pytest.approx(-8.0)
    }


def test_a_difference_without_errors_is_left_out(tmp_path: Path) -> None:
    # Of a single macro-replication no standard error is known.
    found = compare(ours("ikg", 0.5, math.nan), read(file(tmp_path, ROW)))
    assert len(found) == 1
    assert largest(found) == {}


def test_columns_that_are_not_used_may_be_there_or_not(tmp_path: Path) -> None:
    more = file(tmp_path, (*ROW, "x"), columns=(*COLUMNS, "remark"))
    pd.testing.assert_frame_equal(read(more), read(file(tmp_path, ROW)))
    assert not {"total_samples", "stderr_by_definition"} & set(COLUMNS)


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read published curves from .*nowhere.csv.*No such file"):
        read(tmp_path / "nowhere.csv")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(InputError, match="cannot read published curves"):
        read(tmp_path / "empty.csv")


def test_a_file_with_other_columns_or_names_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="lacks the columns stderr, n_rep, pcs_by_definition"):
        read(file(tmp_path, ROW[:5], columns=COLUMNS[:5]))
    with pytest.raises(InputError, match="the column algorithm of .* none of GP-C-OCBA, IKG"):
        read(file(tmp_path, (*ROW[:2], "UCB", *ROW[3:])))
    with pytest.raises(InputError, match="the column objective of .* none of mean, worst"):
        read(file(tmp_path, ("branin", "median", *ROW[2:])))
    with pytest.raises(InputError, match="the column stderr of .* is not a number everywhere"):
        read(file(tmp_path, (*ROW[:5], "small", *ROW[6:])))
