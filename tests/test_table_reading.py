"""Tables of runs in files: delimited text, Parquet, Excel."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from argbest import InputError, Study
from argbest.table_files import read_table

RUNS = pd.DataFrame(
    {
        "plan": ["a", "b", "a, b", 'q"x'],
        "rate": [10, 20, 30, 40],
        "cost": [0.1, -2.5e-7, 3.0, 1 / 3],
        "open": [True, False, True, True],
    }
)


def text(folder: Path, content: str | bytes, name: str = "runs.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_text_comes_back_as_it_was_written_whatever_the_delimiter(
    tmp_path: Path, delimiter: str, ends: str
) -> None:
    RUNS.to_csv(tmp_path / "runs.txt", sep=delimiter, index=False, lineterminator=ends)
    found = read_table(tmp_path / "runs.txt")
    pd.testing.assert_frame_equal(found, RUNS, check_dtype=False, check_column_type=False, check_exact=True)
    assert [found[name].dtype.kind for name in found] == ["O", "i", "f", "b"]


@pytest.mark.parametrize("name", ["runs.parquet", "runs.pq", "runs.xlsx"])
def test_parquet_and_excel_hold_the_same(tmp_path: Path, name: str) -> None:
    pytest.importorskip("pyarrow" if "x" not in name else "openpyxl")
    (RUNS.to_excel if "x" in name else RUNS.to_parquet)(tmp_path / name, index=False)
    pd.testing.assert_frame_equal(read_table(str(tmp_path / name)), RUNS, check_dtype=False)


def test_an_index_with_a_name_is_a_column_of_a_parquet_file(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    RUNS.set_index("plan").to_parquet(tmp_path / "r.parquet")
    assert read_table(tmp_path / "r.parquet")["plan"].tolist() == RUNS["plan"].tolist()


def test_a_sheet_is_chosen_by_name(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    with pd.ExcelWriter(tmp_path / "r.xlsx") as book:
        pd.DataFrame({"x": [1]}).to_excel(book, sheet_name="notes", index=False)
        RUNS.to_excel(book, sheet_name="data", index=False)
    assert read_table(tmp_path / "r.xlsx").columns.tolist() == ["x"]
    assert read_table(tmp_path / "r.xlsx", sheet="data")["rate"].tolist() == [10, 20, 30, 40]
    with pytest.raises(InputError, match="cannot be read as a table of Excel: .*'dat'"):
        read_table(tmp_path / "r.xlsx", sheet="dat")


def test_names_that_come_twice_stay_so_and_are_refused_only_if_used(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    twice = pd.DataFrame([["a", 1, 2.0, 3.0], ["b", 1, 3.0, 4.0]], columns=["plan", "rate", "cost", "cost"])
    twice.to_csv(tmp_path / "r.csv", index=False)
    twice.to_excel(tmp_path / "r.xlsx", index=False)
    for name in ("r.csv", "r.xlsx"):
        frame = read_table(tmp_path / name)
        assert frame.columns.tolist() == ["plan", "rate", "cost", "cost"]
        with pytest.raises(InputError, match="the column 'cost' comes 2 times"):
            Study.from_observations(frame, alternative="plan", context="rate", value="cost")


def test_decimal_commas_are_read_where_told_and_refused_otherwise(tmp_path: Path) -> None:
    path = text(tmp_path, "plan;rate;cost\na;0,5;1,25\nb;0,5;2\na;1;-3,5e2\nb;1;4,0\n")
    assert read_table(path, decimal=",")["cost"].tolist() == [1.25, 2.0, -350.0, 4.0]
    assert read_table(path, decimal=",")["rate"].tolist() == [0.5, 0.5, 1.0, 1.0]
    names: dict[str, Any] = {"alternative": "plan", "context": "rate", "value": "cost"}
    with pytest.raises(InputError, match=r"data row 1 has cost '1,25' .*decimal=',' \(--decimal ,\)"):
        Study.from_observations(read_table(path), **names)
    with pytest.raises(InputError, match="context column 'rate' holds '0,5'.*decimal comma"):
        Study.from_observations(read_table(path).assign(cost=1.0), **names)
    thousands = text(tmp_path, "plan;cost;more\na;1.234,5;1.234\nb;2;5\n", "t.csv")
    assert read_table(thousands, decimal=",")["more"].tolist() == ["1.234", "5"]
    assert read_table(thousands, decimal=",")["cost"].tolist() == ["1.234,5", "2"]
    with pytest.raises(InputError, match="unknown decimal point"):
        read_table(path, decimal="'")


def test_missing_is_empty_or_in_a_column_of_numbers_a_word_for_it(tmp_path: Path) -> None:
    found = read_table(text(tmp_path, "plan,rate,cost\nNA,1,NA\n,2,2.5\nnone,,nan\nx,4,-1\n"))
    assert found["plan"].tolist()[::2] == ["NA", "none"]
    assert found["plan"].isna().tolist() == [False, True, False, False]
    np.testing.assert_array_equal(found["rate"], [1, 2, np.nan, 4])
    np.testing.assert_array_equal(found["cost"], [np.nan, 2.5, np.nan, -1])


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (["007", "012"], ["007", "012"]),
        (["1_000", "2"], ["1_000", "2"]),
        (["e", "-"], ["e", "-"]),
        (["1", "2a"], ["1", "2a"]),
        (["0", "-0.5"], [0.0, -0.5]),
        (["+3", "4"], [3, 4]),
        ([".5", "1."], [0.5, 1.0]),
        (["1e3", "2E-3"], [1000.0, 0.002]),
        (["9" * 5000, "1"], ["9" * 5000, "1"]),
        (["9007199254740993", "1"], [9007199254740993, 1]),
        (["TRUE", "false"], [True, False]),
        (["٣", "4"], ["٣", "4"]),
        (["0x10", "1"], ["0x10", "1"]),
    ],
)
def test_a_column_is_of_numbers_only_if_all_of_it_is(
    tmp_path: Path, column: list[str], values: list[Any]
) -> None:
    found = read_table(text(tmp_path, "x\n" + "\n".join(column)))["x"].tolist()
    assert found == values
    assert [type(v) for v in found] == [type(v) for v in values]


def test_blank_lines_spaces_marks_and_trailing_delimiters_do_no_harm(tmp_path: Path) -> None:
    content = b"\xef\xbb\xbf\nplan ; rate;cost\n\n a ;1; 2.5;\n;;;\n b;2;3\n"
    found = read_table(text(tmp_path, content))
    assert found.to_dict("list") == {"plan": ["a", "b"], "rate": [1, 2], "cost": [2.5, 3.0]}


def test_a_header_alone_is_a_table_without_rows(tmp_path: Path) -> None:
    found = read_table(text(tmp_path, "plan,rate,cost\n"))
    assert found.columns.tolist() == ["plan", "rate", "cost"]
    with pytest.raises(InputError, match="a table without rows"):
        Study.from_observations(found)


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        ("", "r.csv", "'.*r.csv' is empty"),
        ("\n\n", "r.csv", "is empty; expected a line of names"),
        ("a,b\n1,2\n1,2,3\n", "r.csv", "line 3 of '.*r.csv' has 3 fields, its first line names 2: a, b"),
        ('a,b\n"x\ny",2\n1\n', "r.csv", "line 4 of .* has 1 fields"),
        (b"a,b\n\xff\xfe,2\n", "r.csv", "is not UTF-8 text.*Save it as UTF-8"),
        ("a,b\n" + "x" * 200_000 + ",1\n", "r.csv", "is not a table of text: field larger than"),
        (b"junk", "r.parquet", "cannot be read as a table of Parquet|cannot read"),
        (b"junk", "r.xlsx", "cannot be read as a table of Excel: File is not a zip file"),
        (b"junk", "r.xls", "is an old Excel file.*Save it as .xlsx"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, content: str | bytes, name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_table(text(tmp_path, content, name))


@pytest.mark.parametrize("name", ["none.csv", "none.parquet", "none.xlsx"])
def test_a_file_that_is_not_there_is_told(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="is not there: no such file"):
        read_table(tmp_path / name)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder; name a file in it"):
        read_table(tmp_path)
