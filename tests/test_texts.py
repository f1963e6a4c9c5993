import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from argbest.texts import LONGEST, capped, chance, harmless, number

ANY = st.text(st.characters(codec=None, exclude_categories=()))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J\x1b]0;title\x07", r"\x1b[2J\x1b]0;title\x07"),
        ("\x9b31m red", r"\x9b31m red"),
        ("done\rundone", r"done\rundone"),
        ("pay \u202e1000\u202c \u2066x\u2069", r"pay \u202e1000\u202c \u2066x\u2069"),
        ("half \ud800", r"half \ud800"),
        ("nul \0, delete \x7f", r"nul \x00, delete \x7f"),
        ("two\nlines\tand a tab, 5\u00a0% é 漢 👩‍🔬", "two\nlines\tand a tab, 5\u00a0% é 漢 👩‍🔬"),
    ],
)
def test_what_commands_a_terminal_is_written_as_an_escape(text: str, shown: str) -> None:
    assert harmless(text) == shown


@given(ANY)
def test_nothing_harmful_is_left_and_nothing_else_is_touched(text: str) -> None:
    shown = harmless(text)
    assert all(c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs", "Zl", "Zp") for c in shown)
    assert all(unicodedata.bidirectional(c) not in DIRECTIONS for c in shown)
    assert harmless(shown) == shown
    if text.isprintable():
        assert shown == text


DIRECTIONS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")


@given(ANY)
def test_a_text_that_is_short_enough_is_kept_whole(text: str) -> None:
    assert capped(text) == text


@given(st.text(min_size=1, max_size=7), st.integers(LONGEST + 1, 3 * LONGEST), st.integers(0, 3))
def test_a_long_text_keeps_its_beginning_and_end_and_says_what_is_cut(
    unit: str, times: int, shift: int
) -> None:
    text = "x" * shift + unit * times
    kept = capped(text)
    assert len(kept.encode()) <= LONGEST
    start, mark, end = (
        kept.rpartition("\n[... ")[0],
        *kept.rpartition("\n[... ")[2].split(" bytes are cut", 1),
    )
    end = end.removeprefix(" here ...]\n")
    assert text.startswith(start)
    assert text.endswith(end)
    assert min(len(start), len(end)) > LONGEST // 16
    assert int(mark) == len(text.encode()) - len(start.encode()) - len(end.encode())
    assert capped(kept) == kept


def test_no_digit_before_the_point_of_a_number_is_lost() -> None:
    assert number(12345.678) == "12346"
    assert number(999.9) == "999.9"
    assert number(1.5e7) == "1.5e+07"
    assert number(float("inf")) == "inf"


@pytest.mark.slow
def test_no_probability_that_data_tell_is_written_as_certain() -> None:
    assert [chance(p) for p in (1.0, 0.9995, 0.9994, 0.5)] == [">0.999", ">0.999", "0.999", "0.500"]
    assert [chance(p) for p in (0.0006, 0.0004, 0.0)] == ["0.001", "<0.001", "0.000"]
