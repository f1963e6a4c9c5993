"""Colours by their numbers: contrast, colour blindness, grey; and text that stays in the picture."""

import itertools

import numpy as np
import oracles
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from argbest import InputError
from argbest.core.arrays import Array
from argbest.report import looks, style
from argbest.report.looks import DARK, LIGHT, Theme

BOTH = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
BLINDNESS = {
    "none": np.eye(3),
    "protan": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deutan": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}


def lab(colour: str, blindness: str) -> Array:
    """The colour as it is seen, in CIELAB."""
    given = np.array(to_rgb(colour))
    linear = np.where(given <= 0.04045, given / 12.92, ((given + 0.055) / 1.055) ** 2.4)
    seen = np.clip(BLINDNESS[blindness] @ linear, 0, 1)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = np.cbrt(np.maximum(to_xyz @ seen / [0.9505, 1.0, 1.089], 1e-6))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_contrast_is_that_of_the_guidelines() -> None:
    assert oracles.contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert oracles.contrast("#ffffff", "#777777") == pytest.approx(4.48, abs=0.005)


@BOTH
def test_lines_and_text_stand_out_from_the_paper(theme: Theme) -> None:
    assert oracles.contrast(theme.ink, theme.paper) >= 7.0
    for colour in (*theme.colours, theme.alarm):
        assert oracles.contrast(colour, theme.paper) >= 3.0


@BOTH
@pytest.mark.parametrize("blindness", BLINDNESS)
def test_the_first_six_colours_differ_for_everyone(theme: Theme, blindness: str) -> None:
    seen = [lab(colour, blindness) for colour in theme.colours[:6]]
    assert min(float(np.linalg.norm(a - b)) for a, b in itertools.combinations(seen, 2)) > 12.0


@BOTH
def test_shades_grow_away_from_the_paper_also_in_grey(theme: Theme) -> None:
    distance = [oracles.contrast(shade, theme.paper) for shade in theme.shades]
    assert distance == sorted(distance)
    assert distance[0] < 1.2
    assert distance[-1] > 10


@BOTH
def test_lines_differ_without_any_colour(theme: Theme) -> None:
    lines = [looks.look(theme, i) for i in range(56)]
    assert len({(look["color"], str(look["linestyle"]), look["marker"]) for look in lines}) == 56
    assert len({(str(look["linestyle"]), look["marker"]) for look in lines}) == 56
    assert len({str(look["linestyle"]) for look in lines[:7]}) == 7


def test_text_on_a_cell_is_black_or_white_by_contrast() -> None:
    for grey in np.linspace(0.0, 1.0, 21):
        cell = (grey, grey, grey)
        chosen = looks.readable(cell)
        other = "#ffffff" if chosen == "#000000" else "#000000"
        assert oracles.contrast(chosen, cell) >= oracles.contrast(other, cell)


def test_blending_goes_from_the_paper_to_the_colour() -> None:
    assert looks.blend("#ff0000", "#ffffff", 1.0) == (1.0, 0.0, 0.0)
    assert looks.blend("#ff0000", "#ffffff", 0.0) == (1.0, 1.0, 1.0)
    assert looks.blend("#ff0000", "#000000", 0.5) == (0.5, 0.0, 0.0)


def test_the_theme_of_given_axes_is_seen_from_their_background() -> None:
    figure = Figure()
    ax = figure.add_subplot()
    assert style.sheet(ax, None, 1, 1).theme is LIGHT
    ax.set_facecolor("#202020")
    assert style.sheet(ax, None, 1, 1).theme is DARK
    ax.set_facecolor("none")
    assert style.sheet(ax, None, 1, 1).theme is LIGHT
    figure.set_facecolor("black")
    assert style.sheet(ax, None, 1, 1).theme is DARK
    assert style.sheet(ax, "light", 1, 1).theme is LIGHT


def test_what_is_no_theme_and_what_are_no_axes_is_refused() -> None:
    with pytest.raises(InputError, match="unknown theme 'drak'; known are dark, light. Did you mean 'dark'?"):
        style.sheet(None, "drak", 1, 1)
    with pytest.raises(InputError, match="expected the axes of a matplotlib figure"):
        style.sheet("axes", None, 1, 1)  # type: ignore[arg-type]


def test_labels_are_cut_unless_two_become_alike() -> None:
    room = style.length("x" * 7)
    assert style.cut(["a long label", "short"], room) == ("a l…bel", "short")
    assert style.cut(["plan one here", "plan two here"], room) == ("plan one here", "plan two here")
