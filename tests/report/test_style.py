"""Colours by their numbers: contrast, colour blindness, grey; and text that stays in the picture."""

import itertools
import re
from typing import Any

import numpy as np
import oracles
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from argbest import InputError
from argbest.core.arrays import Array
from argbest.report import looks, style
from argbest.report.looks import DARK, LIGHT, Theme
from argbest.report.page.document import styles

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


def delta_e(one: Array, two: Array) -> float:
    """The difference of two colours in CIELAB by CIEDE2000 (Sharma, Wu and Dalal, 2005)."""
    (l1, a1, b1), (l2, a2, b2) = one.tolist(), two.tolist()
    mean = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    a1, a2 = (a * (1.5 - 0.5 * np.sqrt(mean**7 / (mean**7 + 25.0**7))) for a in (a1, a2))
    c1, c2 = np.hypot(a1, b1), np.hypot(a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = 0.0 if c1 * c2 == 0 else (h2 - h1 + 180) % 360 - 180
    middle = h1 + h2 if c1 * c2 == 0 else (h1 + turn / 2) % 360
    lightness, chroma = (l1 + l2) / 2, (c1 + c2) / 2
    waves = ((-0.17, 1, -30), (0.24, 2, 0), (0.32, 3, 6), (-0.20, 4, -63))
    t = 1 + sum(size * np.cos(np.radians(n * middle + shift)) for size, n, shift in waves)
    light = (l2 - l1) / (1 + 0.015 * (lightness - 50) ** 2 / np.sqrt(20 + (lightness - 50) ** 2))
    colour = (c2 - c1) / (1 + 0.045 * chroma)
    hue = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2)) / (1 + 0.015 * chroma * t)
    turned = 60 * np.exp(-(((middle - 275) / 25) ** 2))
    mixed = -2 * np.sqrt(chroma**7 / (chroma**7 + 25.0**7)) * np.sin(np.radians(turned))
    return float(np.sqrt(light**2 + colour**2 + hue**2 + mixed * colour * hue))


@pytest.mark.parametrize(
    ("one", "two", "published"),
    [
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((50.0, 2.5, 0.0), (73.0, 25.0, -18.0), 27.1492),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
        ((22.7233, 20.0904, -46.6940), (23.0331, 14.9730, -42.5619), 2.0373),
    ],
)
def test_differences_of_colours_are_the_published_ones(one: Any, two: Any, published: float) -> None:
    assert delta_e(np.array(one), np.array(two)) == pytest.approx(published, abs=1e-4)


@BOTH
@pytest.mark.parametrize(("blindness", "least"), [("none", 14.9), ("deutan", 14.9), ("protan", 12.0)])
def test_any_two_colours_differ_for_everyone(theme: Theme, blindness: str, least: float) -> None:
    seen = [lab(colour, blindness) for colour in theme.colours]
    assert min(delta_e(a, b) for a, b in itertools.combinations(seen, 2)) >= least


def test_the_page_has_the_colours_of_the_pictures() -> None:
    found = re.findall(r"--line-(\d): (#[0-9a-f]{6});", styles())
    light, dark = found[: len(LIGHT.colours)], found[len(LIGHT.colours) :]
    assert light == [(str(i), colour) for i, colour in enumerate(LIGHT.colours)]
    assert dark == [(str(i), colour) for i, colour in enumerate(DARK.colours)]


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
