"""Templates of commands: what they take, what they refuse, and that labels stay what they are."""

import json
import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from argbest import InputError
from argbest.simulators.program_texts import Field, check, fields, parse, render, written

HOSTILE = [
    "it's",
    'say "hi"',
    "$(touch pwned)",
    "`touch pwned`",
    "a; rm -rf ~",
    "two\nlines",
    "{seed}",
    "{{",
    "}",
    "<script>alert(1)</script>",
    "'; DROP TABLE studies; --",
    "--help",
    "-",
    "",
    " spaces ",
    "%PATH%",
    "$HOME",
    "*",
    "naïve ☃",
]

names = st.text(st.characters(exclude_characters="{}", codec="utf-8"), min_size=1)
values = st.one_of(st.text(st.characters(exclude_characters="\0", codec="utf-8")), st.integers())
parts = st.one_of(
    st.text(st.characters(codec="utf-8"), min_size=1),
    st.sampled_from([Field("alternative", None), Field("context", None), Field("seed", None)]),
    names.map(lambda name: Field("alternative", name)),
    names.map(lambda name: Field("context", name)),
)


def source(part: str | Field) -> str:
    """How a template says this literal text or field."""
    return part.replace("{", "{{").replace("}", "}}") if isinstance(part, str) else str(part)


def merged(some: Sequence[str | Field]) -> list[str | Field]:
    """The parts with neighbouring texts joined."""
    joined: list[str | Field] = []
    for part in some:
        if joined and isinstance(part, str) and isinstance(joined[-1], str):
            joined[-1] += part
        else:
            joined.append(part)
    return joined


def test_a_template_of_every_kind_of_field() -> None:
    assert parse("a{alternative}{context.max rate}-{seed}{{x}}") == (
        "a",
        Field("alternative", None),
        Field("context", "max rate"),
        "-",
        Field("seed", None),
        "{",
        "x",
        "}",
    )
    assert render("--n={alternative.servers}", {"servers": 3}, "c", 7) == "--n=3"
    assert render("{{{seed}}}", "a", "c", 7) == "{7}"
    assert render("{python}", "a", "c", 7) == sys.executable
    assert parse("") == ()


@given(st.lists(parts, max_size=8))
def test_parsing_undoes_writing(given_parts: list[str | Field]) -> None:
    parsed = parse("".join(map(source, given_parts)))
    assert merged(parsed) == merged(given_parts)


@given(st.text(st.sampled_from("{}.ab alternativeseed"), max_size=20))
def test_any_text_is_either_refused_or_understood_to_the_last_character(text: str) -> None:
    try:
        parsed = parse(text)
    except InputError:
        balanced = text.replace("{{", "").replace("}}", "")
        assert "{" in balanced or "}" in balanced
    else:
        assert "".join(map(source, parsed)) == text


@given(st.lists(parts, max_size=6), values, values, st.integers(0, 2**64 - 1))
def test_rendering_puts_each_value_in_its_place(
    given_parts: list[str | Field], one: Any, two: Any, seed: int
) -> None:
    columns = {part.column for part in given_parts if isinstance(part, Field) and part.column}
    rows = {"alternative": dict.fromkeys(columns, one), "context": dict.fromkeys(columns, two)}
    expected = ""
    for part in given_parts:
        if isinstance(part, str):
            expected += part
        elif part.root == "seed":
            expected += str(seed)
        elif part.column is None:
            expected += json.dumps(rows[part.root], ensure_ascii=False)
        else:
            expected += str(rows[part.root][part.column])
    text = "".join(map(source, given_parts))
    assert render(text, rows["alternative"], rows["context"], seed) == expected


@pytest.mark.parametrize("label", HOSTILE)
def test_a_hostile_label_is_passed_on_as_it_is(label: str) -> None:
    assert render("{alternative}", label, "c", 1) == label
    assert render("x{context.name}y", "a", {"name": label}, 1) == f"x{label}y"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (0.1, "0.1"),
        (1 / 3, "0.3333333333333333"),
        (1e-5, "1e-05"),
        (2.0, "2.0"),
        (-(2**53), "-9007199254740992"),
        (True, "true"),
        (False, "false"),
        (np.float64(0.1), "0.1"),
        (np.int64(3), "3"),
        (np.bool_(True), "true"),
        ("true", "true"),
        (
            {"servers": 3, "shift": "night 'n' day", "x": 0.1},
            '{"servers": 3, "shift": "night \'n\' day", "x": 0.1}',
        ),
    ],
)
def test_how_values_are_written(value: object, text: str) -> None:
    assert written(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_read_back_exactly(number: float) -> None:
    back = float(written(number))
    assert back == number
    assert math.copysign(1, back) == math.copysign(1, number)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"lone '\{' at position 0"),
        ("a}", r"lone '\}' at position 1"),
        ("{seed", r"lone '\{'"),
        ("{seed}}", r"lone '\}' at position 6"),
        ("{}", r"unknown field \{\}"),
        ("{sede}", r"unknown field \{sede\}.*Did you mean \{seed\}\?"),
        ("{ seed }", r"Did you mean \{seed\}\?"),
        ("{0}", r"unknown field \{0\}"),
        ("{seed!r}", r"unknown field \{seed!r\}"),
        ("{seed:05d}", r"unknown field \{seed:05d\}"),
        ("{seed.real}", r"unknown field \{seed.real\}"),
        ("{python.x}", r"unknown field"),
        ("{alternative.}", r"unknown field \{alternative.\}"),
        ("{alternative[servers]}", r"unknown field"),
        ("{alternatives.servers}", r"Did you mean \{alternative"),
    ],
)
def test_a_malformed_template_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse(text)


def test_attributes_of_labels_are_out_of_reach() -> None:
    for name in ("__class__", "__class__.__mro__", "upper"):
        with pytest.raises(InputError, match=r"unknown field .*; known are \{alternative\}"):
            render("{alternative." + name + "}", "label", "c", 1)
    assert fields(["{alternative.__class__}"]) == {Field("alternative", "__class__")}


@pytest.mark.parametrize("value", [None, [1], (1, 2), object()])
def test_what_is_neither_label_nor_row_cannot_be_passed(value: object) -> None:
    with pytest.raises(InputError, match="a program is given text, numbers or rows"):
        written(value)


def test_nul_cannot_be_passed() -> None:
    with pytest.raises(InputError, match="NUL"):
        written("a\0b")


ROWS = [{"servers": 3, "shift": "day"}, {"servers": 3, "shift": "night"}, {"servers": 4, "shift": "day"}]


def checked(*templates: str, alternatives: Any = ROWS, contexts: Any = (10, 20)) -> None:
    check(templates, {"alternative": alternatives, "context": contexts})


def test_a_command_that_tells_all_pairs_apart_is_fine() -> None:
    checked("{alternative.servers}", "{alternative.shift}", "{context}")
    checked("{alternative}", "{context}")
    checked("{alternative}", contexts=[10])


@pytest.mark.parametrize(
    ("templates", "message"),
    [
        (
            ("{alternative.server}", "{context}"),
            r"unknown field \{alternative.server\}.* Did you mean \{alternative.servers\}\?",
        ),
        (("{alternative}", "{context.rate}"), r"unknown field \{context.rate\}; known are \{context\}"),
        (("{alternative}",), r"the same for every context. Use \{context\} in it"),
        (
            ("{context}",),
            r"the same for every alternative. Use \{alternative.servers\} or \{alternative.shift\} or",
        ),
        (
            ("{alternative.servers}", "{context}"),
            r"the same for the alternatives \{'servers': 3, 'shift': 'day'\} and "
            r"\{'servers': 3, 'shift': 'night'\}. "
            r"Use \{alternative.shift\} or \{alternative\} in it too",
        ),
    ],
)
def test_a_command_that_does_not_fit_is_refused(templates: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        checked(*templates)
