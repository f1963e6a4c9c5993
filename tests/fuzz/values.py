"""Values that nobody should give, made anew every time: some are used up, some are changed by looking."""

import datetime
import decimal
import fractions
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

Draw = np.random.Generator
LETTER, DAY = "\N{LATIN SMALL LETTER E WITH ACUTE}", datetime.date(2020, 2, 29)
SMALL_NUMBERS: tuple[Any, ...] = (
    *(0, -1, 1, 2, 3, 0.5, -0.0, 3.5, 0.95, True, False, float("nan"), float("inf"), -float("inf")),
    *(1e-300, 5e-324, 1e-160, np.int64(3), np.uint8(255), np.float32(1.5), np.float64("nan"), np.bool_(True)),
    *(decimal.Decimal("1.5"), decimal.Decimal("NaN"), fractions.Fraction(1, 3), 1 + 2j, np.array(3.0)),
    *(np.longdouble(1) / 3, np.float16("inf"), np.datetime64("2020-01-01"), np.timedelta64(3, "s")),
)
LARGE_NUMBERS: tuple[Any, ...] = (
    *(
        2**31,
        2**53 + 1,
        2**63,
        2**64,
        -(2**63),
        10**400,
        1e20,
        1e155,
        1e160,
        1e300,
        10**9,
        -1e308,
        1.7976931348623157e308,
    ),
)
TEXTS = (
    *("", " ", "a", "A", "a ", "0", "1", "-1", "1e5", "nan", "inf", "None", "true", "\0", "\n", "\t", "\r\n"),
    *("\x1b[31mred", "\x7f", LETTER, "e\u0301", "\u202egnirts", "\ufeffa", "\U0001f600", "\u2028", "ﬁ", "İ"),
    *(
        "=1+1",
        "@SUM(A1)",
        "'; DROP TABLE t; --",
        "<script>",
        "{seed}",
        "{alternative}",
        "{",
        "%s",
        "../x",
        "/",
    ),
    *(
        "\ud800",
        "a\udcff",
        "x" * 5000,
        "gp-c-ocba",
        "equal",
        "max",
        "min",
        "MAX",
        "measured",
        "a,b",
        'a"b',
        "NaT",
        "१",
    ),
)


def _kept(*values: Any) -> list[Callable[[], Any]]:
    return [partial(_same, value) for value in values]


def _same(value: Any) -> Any:
    return value


def _frames() -> list[Callable[[], Any]]:
    return [
        lambda: pd.DataFrame(),
        lambda: pd.DataFrame({"a": [1, 2]}),
        lambda: pd.DataFrame({"a": [1, 1], "b": ["x", "x"]}),
        lambda: pd.DataFrame({"a": [1.0, np.nan]}),
        lambda: pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]),
        lambda: pd.DataFrame({("a", "b"): [1, 2]}),
        lambda: pd.DataFrame({"a": pd.to_datetime(["2020", "2021"])}),
        lambda: pd.DataFrame({"a": pd.Categorical(["x", "y"])}),
        lambda: pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}),
        lambda: pd.DataFrame({"a": [[1], [2]]}),
        lambda: pd.DataFrame({0: [1, 2]}),
        lambda: pd.Series([1, 2], name="a"),
        lambda: pd.Series([1.0, np.nan]),
        lambda: pd.Series(["x", "y"], dtype="category"),
        lambda: pd.Index([3, 4]),
    ]


def _containers() -> list[Callable[[], Any]]:
    return [
        *(list, tuple, dict, set, frozenset, bytearray),
        *(partial(list, (each,)) for each in (1, "a", None, float("nan"), True, {"a": 1})),
        lambda: ["a", "b"],
        lambda: ["a", "a"],
        lambda: [1, "1"],
        lambda: [1, 1.0],
        lambda: [True, 1],
        lambda: [0.0, -0.0],
        lambda: [1, 2, 3],
        lambda: [1.0, float("nan"), 2.0],
        lambda: [float("inf"), 1.0],
        lambda: [[1], [2, 3]],
        lambda: [[1, 2], [3, 4]],
        lambda: [["a", 1]],
        lambda: [None, None],
        lambda: [DAY, DAY],
        lambda: ["\0", "\n"],
        lambda: (1, 2),
        lambda: (12.1, "x", 12),
        lambda: (12.1, 11.8, 12.0),
        lambda: {"a": 1},
        lambda: {"a": [1, 2], "b": [3]},
        lambda: {"a": [1, 2]},
        lambda: {1: 2},
        lambda: {"grid": {"a": [1, 2]}},
        lambda: [{"a": 1}, {"a": 2}],
        lambda: [{"a": 1}, {"b": 2}],
        lambda: [{"a": 1}, {"a": "x"}],
        lambda: [{"a": 1, "b": [1]}, {"a": 2, "b": [1]}],
        lambda: [{"": 1}, {"": 2}],
        lambda: [{"a": None}, {"a": 1}],
        lambda: [{}, {}],
        lambda: [{"a": 1}, 2],
        lambda: {1, 2},
        lambda: range(3),
        lambda: range(0),
        lambda: iter([1, 2]),
        lambda: (n for n in (1, 2)),
        lambda: map(str, [1, 2]),
        lambda: b"ab",
        lambda: memoryview(b"ab"),
        lambda: np.arange(3),
        lambda: np.eye(2),
        lambda: np.zeros((2, 3)),
        lambda: np.full((2, 3), np.nan),
        lambda: np.zeros((0, 3)),
        lambda: np.zeros((2, 2, 2)),
        lambda: np.array([]),
        lambda: np.array(["a", "b"]),
        lambda: np.array([1, "a", None], dtype=object),
        lambda: np.array([1 + 2j, 3]),
        lambda: np.array(["2020-01-01", "NaT"], dtype="datetime64[D]"),
        lambda: np.array([(1, "a")], dtype=[("n", int), ("t", "U1")]),
        lambda: np.array([1e308, -1e308]),
        lambda: np.ma.array([1.0, 2.0], mask=[False, True]),
        lambda: np.ma.array([1.0, 2.0]),
        lambda: [1.0, np.ma.masked],
    ]


def _objects() -> list[Callable[[], Any]]:
    return [
        *_kept(None, int, str, Ellipsis, NotImplemented, len, object(), DAY, pd.NA, pd.NaT, np.ma.masked),
        lambda: lambda: 0.0,
        lambda: lambda *_: 1.0,
        lambda: lambda *_: "x",
        lambda: lambda *_: float("nan"),
        lambda: pd.Timestamp("2020"),
        lambda: pd.Interval(0, 1),
        lambda: Path("x"),
        lambda: ValueError("x"),
        lambda: datetime.datetime.now(tz=datetime.UTC),
    ]


POOLS: dict[str, list[Callable[[], Any]]] = {
    "small": _kept(*SMALL_NUMBERS),
    "large": _kept(*LARGE_NUMBERS),
    "text": _kept(*TEXTS),
    "frame": _frames(),
    "container": _containers(),
    "object": _objects(),
}


def hostile(draw: Draw, *, large: bool = True) -> Any:
    """Return a value of any kind; none that asks for more than a little work unless ``large``."""
    pools = [name for name in POOLS if large or name != "large"]
    pool = POOLS[pools[draw.integers(len(pools))]]
    return pool[draw.integers(len(pool))]()


def text(draw: Draw) -> str:
    """Return a text, now and then of several."""
    return "".join(TEXTS[draw.integers(len(TEXTS))] for _ in range(draw.choice([1, 1, 1, 2, 3])))


def one(draw: Draw, values: Any) -> Any:
    """Return one of several values, as it is."""
    return list(values)[draw.integers(len(values))]
