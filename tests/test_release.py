"""The tools of a release; `make release-check` uses them on the packages themselves."""

import datetime
import subprocess
import sys

import pytest
import release

DAY = datetime.date(2030, 1, 2)
NAMES = ("pyproject.toml", "CITATION.cff", "CHANGELOG.md")
TEXTS = {name: (release.ROOT / name).read_text("utf-8") for name in NAMES}
UNRELEASED = TEXTS["CHANGELOG.md"].replace("\n## [", "\n## [Unreleased]\n\n### Added\n- More.\n\n## [", 1)
if "## [Unreleased]" in TEXTS["CHANGELOG.md"]:
    UNRELEASED = TEXTS["CHANGELOG.md"]


def test_a_version_is_written_to_all_places_that_name_it() -> None:
    texts = release.numbered(TEXTS | {"CHANGELOG.md": UNRELEASED}, "9.8.7", DAY)
    assert '\nversion = "9.8.7"\n' in texts["pyproject.toml"]
    assert "\nversion: 9.8.7\ndate-released: 2030-01-02\n" in texts["CITATION.cff"]
    assert "[Unreleased]" not in texts["CHANGELOG.md"]
    assert "\n## [9.8.7] - 2030-01-02\n" in texts["CHANGELOG.md"]
    assert release.complaints_about_heading(texts["CHANGELOG.md"], "9.8.7") == []
    changed = {
        name: sum(a != b for a, b in zip(old.splitlines(), texts[name].splitlines(), strict=True))
        for name, old in (TEXTS | {"CHANGELOG.md": UNRELEASED}).items()
    }
    assert changed == {"pyproject.toml": 1, "CITATION.cff": 2, "CHANGELOG.md": 1}


def test_a_second_release_of_the_same_changes_is_refused() -> None:
    once = release.numbered(TEXTS | {"CHANGELOG.md": UNRELEASED}, "9.8.7", DAY)
    with pytest.raises(SystemExit, match=r"CHANGELOG.md has 0 lines like .*Unreleased.*; expected one"):
        release.numbered(once, "9.8.8", DAY)


@pytest.mark.parametrize("number", ["9.8", "v9.8.7", "9.8.7rc1", ""])
def test_a_version_is_three_numbers(number: str) -> None:
    with pytest.raises(SystemExit, match="expected three numbers"):
        release.numbered(TEXTS, number, DAY)


def test_changes_without_a_number_are_no_release() -> None:
    [complaint] = release.complaints_about_heading(UNRELEASED, "9.8.7")
    assert "begins with [Unreleased], and the version is 9.8.7" in complaint


def test_a_file_that_is_not_packed_is_named() -> None:
    assert release.left_out(["a", "b/c"], ["b/c", "PKG-INFO"]) == ["a"]


def test_a_command_that_reaches_for_a_network_is_noticed() -> None:
    reach = "import socket; socket.create_connection(('192.0.2.1', 9), timeout=1)"
    code = release._OFFLINE.partition("from argbest")[0] + reach
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "the command reaches for a network" in ended.stderr
