"""The pages speak the truth: their code prints what they say, their links lead somewhere, names exist."""

import ast
import importlib
import re
import shlex
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import click
import pages
import public_names
import pytest

import argbest
from argbest import questions, registry
from argbest.cli import _MOVED, main
from argbest.models import retired
from argbest.studyfile.options import _STOPS, KEYS
from experiments.__main__ import main as reproduce
from experiments.parts import ALL, PARTS

DOCS = pages.ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
WITH_CODE = [
    page for page in PAGES if any(b.kind in ("python", "console", "toml") for b in pages.blocks(page))
]
EVERY = [*PAGES, *(pages.ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))]
NAMES = [str(page.relative_to(pages.ROOT)) for page in EVERY]

# Names with a hyphen that are no names of ours.
FOREIGN = {"dask-jobqueue", "lint-imports"}
# Classes of others that pages call.
OTHERS = {"Client", "ThreadPoolExecutor"}
# What may follow a program of ours, with the command whose options may follow that.
PROGRAMS: dict[str, Mapping[str, click.Command]] = {
    "argbest": main.commands,
    "python -m experiments": dict.fromkeys((*PARTS, ALL), reproduce),
}
SOURCES = sorted((pages.ROOT / "src").rglob("*.py"))


DEAR = (
    "benchmark",
    "choosing",
    "large",
    "people",
    "pictures",
    "scaling",
)  # pages whose code is run by the slow tests


def of(page: Path) -> str:
    return str(page.relative_to(pages.ROOT))


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=[pytest.mark.slow] * (page.stem in DEAR)) for page in WITH_CODE], ids=of
)
def test_the_code_of_a_page_runs_and_prints_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    with pages.at(tmp_path) as run:
        for block in pages.blocks(page):
            try:
                run.block(block)
            except BaseException as error:
                error.add_note(f"in the block at line {block.line} of {of(page)}")
                raise


def test_what_is_not_run_says_why_and_is_short() -> None:
    for page in WITH_CODE:
        for block in pages.blocks(page):
            if block.not_run is not None:
                assert len(block.not_run) > 5, of(page)
                assert len(block.text.splitlines()) <= 30, of(page)


@pytest.mark.parametrize("page", EVERY, ids=NAMES)
def test_every_link_of_a_page_leads_to_a_file_and_a_heading(page: Path) -> None:
    for text, target in re.findall(r"!?\[([^\]]*)\]\(([^)\s]+)\)", pages.prose(page)):
        if re.match(r"https?://|mailto:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{of(page)}: [{text}]({target})"
        if page.is_relative_to(DOCS):
            assert there.is_relative_to(DOCS), f"{of(page)} links out of the site: {target}"
        if anchor and there.suffix == ".md":
            assert anchor in headings(there), f"{of(page)}: no heading for {target}"


def headings(page: Path) -> set[str]:
    """Return the anchors of a page, as mkdocs and most viewers make them."""
    titles = re.findall(r"^#+ +(.+?)\s*$", pages.prose(page), re.MULTILINE)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", title.lower()).strip()) for title in titles}


@pytest.mark.parametrize("page", EVERY, ids=NAMES)
def test_every_command_on_a_page_exists_with_its_options(page: Path) -> None:
    for typed in (*pages.commands(page), *spans_of(page)):
        for part in typed.split(" | "):
            for program in PROGRAMS:
                if part.startswith(f"{program} "):
                    check_command(program, part, of(page))


def check_command(program: str, typed: str, where: str) -> None:
    plain = typed.removeprefix(program).replace("…", "").replace("[", "").replace("]", "")
    words = shlex.split(plain)
    past = _MOVED if where == "CHANGELOG.md" else ()  # it may tell what was
    if not words or words[0].startswith("-") or words[0].isupper() or words[0] in past:
        return
    assert words[0] in PROGRAMS[program], f"{where}: {typed}"
    command = PROGRAMS[program][words[0]]
    options = [each for each in command.params if isinstance(each, click.Option)]
    known = {name for each in options for name in (*each.opts, *each.secondary_opts)} | {"--help"}
    for word in words[1:]:
        if re.match(r"--?[a-z]", word):
            assert word.partition("=")[0] in known, f"{where}: {typed}"


def spans_of(page: Path) -> list[str]:
    return re.findall(r"(?<!`)`([^`\n]+)`(?!`)", pages.prose(page))


@pytest.mark.parametrize("page", EVERY, ids=NAMES)
def test_every_name_on_a_page_that_looks_like_ours_exists(page: Path) -> None:
    for span in spans_of(page):
        for name in re.findall(r"\bargbest(?:\.\w+)+", span):
            assert resolves(name), f"{of(page)}: {span}"
        owner = re.match(r"(\w+)\.(\w+)\b", span)
        if (
            owner
            and (owner[1] == "study" or hasattr(argbest, owner[1]))
            and owner[2] not in ("py", "toml", "db")
        ):
            kind = argbest.Study if owner[1] == "study" else getattr(argbest, owner[1])
            known = {*dir(kind), *getattr(kind, "__annotations__", {}), "problem", "seed"}
            assert owner[2] in known, f"{of(page)}: {span}"
        called = re.match(r"([A-Z]\w+)\(", span)
        past = retired.CLASSES if page.name == "CHANGELOG.md" else ()  # it may tell what was
        assert called is None or called[1] in defined() or called[1] in past, f"{of(page)}: {span}"
        if re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)+(?::[a-z0-9-]+)?", span):
            known = hyphenated() | (set(retired.NAMES) if page.name == "CHANGELOG.md" else set())
            assert all(part in known for part in span.split(":")), f"{of(page)}: {span}"


def hyphenated() -> set[str]:
    """Return the names of policies, models, problems, questions, stop rules, commands and packages."""
    ours = registry.POLICIES, registry.MODELS, registry.PROBLEMS, _STOPS, main.commands, questions.QUESTIONS
    return {name for each in ours for name in each} | FOREIGN


@cache
def defined() -> set[str]:
    """Return the names of all classes of ours, and of those of others that pages call."""
    trees = [ast.parse(path.read_text("utf-8")) for path in SOURCES]
    return {node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)} | OTHERS


def resolves(name: str) -> bool:
    """Return whether a dotted name is a module of ours or something in one."""
    parts = name.split(".")
    for i in range(len(parts), 0, -1):
        try:
            thing: Any = importlib.import_module(".".join(parts[:i]))
        except ModuleNotFoundError:
            continue
        for part in parts[i:]:
            annotated = part in getattr(thing, "__annotations__", {})
            if not hasattr(thing, part) and not annotated:
                return False
            thing = getattr(thing, part, None)
        return True
    return False


def mentioned(page: str) -> str:
    return (DOCS / page).read_text("utf-8")


def test_every_policy_is_weighed_on_the_page_of_the_tournament() -> None:
    assert [name for name in registry.POLICIES if f"`{name}`" not in mentioned("tournament.md")] == []


def test_every_model_is_described_on_the_page_about_models() -> None:
    assert [name for name in registry.MODELS if f"`{name}`" not in mentioned("models.md")] == []


def test_every_command_is_described_on_the_page_of_commands() -> None:
    assert [name for name in main.commands if f"`argbest {name}" not in mentioned("commands.md")] == []


def test_every_key_of_a_study_file_is_described() -> None:
    page = mentioned("studyfile.md")
    missing = [f"{where} {key}" for where, keys in KEYS.items() for key in keys if f"`{key}" not in page]
    assert missing == []


# Written by programs from what stands elsewhere, or told by date.
_GENERATED = {"names.md", "changelog.md", "CHANGELOG.md", "CONTRIBUTING.md"}
_SENTENCE, _RUN = 8, 12  # words


def repeated(read: Mapping[str, list[tuple[str, ...]]]) -> dict[str, list[str]]:
    """Return whole sentences of some words, and runs of a few more, that stand on two pages."""
    where: dict[tuple[str, ...], set[str]] = {}
    for page, sentences in read.items():
        for words in sentences:
            runs = {words[i : i + _RUN] for i in range(len(words) - _RUN + 1)}
            for each in runs | ({words} if len(words) >= _SENTENCE else set()):
                where.setdefault(each, set()).add(page)
    return {" ".join(words): sorted(found) for words, found in where.items() if len(found) > 1}


def test_no_sentence_stands_on_two_pages() -> None:
    assert repeated({of(page): pages.sentences(page) for page in EVERY if page.name not in _GENERATED}) == {}


def test_a_sentence_on_two_pages_would_be_found(tmp_path: Path) -> None:
    one, two = tmp_path / "one.md", tmp_path / "two.md"
    one.write_text(
        "# A title\n\nShort. Every pair is [simulated](x.md) twice\nbefore the policy decides.\n", "utf-8"
    )
    two.write_text("| a | Every pair is simulated twice before the policy decides; short. |\n", "utf-8")
    found = repeated({"one": pages.sentences(one), "two": pages.sentences(two)})
    assert found == {"every pair is simulated twice before the policy decides": ["one", "two"]}


def test_every_page_is_in_the_navigation() -> None:
    listed = re.findall(r": ([\w/-]+\.md)$", (pages.ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(str(page.relative_to(DOCS)) for page in PAGES)


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("a 1.000", "a 1.100"),
        ("a 1.0 b", "a 1.0"),
        ("a", "a 1.0"),
        ("3 right", "4 right"),
        ("begin\nmiddle\nend", "begin\n...\nfinish"),
        ("begin\nend", "...\nbegin"),
    ],
)
def test_output_that_differs_from_what_is_shown_is_noticed(printed: str, shown: str) -> None:
    with pytest.raises(AssertionError):
        pages.assert_alike(printed, shown)


def test_output_that_differs_in_last_digits_or_is_left_out_passes() -> None:
    pages.assert_alike("p 0.9531\n ───── \n 7", "p  0.950\n──\n7\n")
    pages.assert_alike("begin\nmiddle 1\nend", "begin\n...\nend")


def test_a_block_is_read_with_its_kind_its_file_and_why_it_is_not_run(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "a `span`\n\n<!-- not run: needs a cluster -->\n```python\nboom()\n```\n\n"
        "```toml\n# study.toml\nx = 1\n```\n    argbest run study.toml \\\n        --workers 2\n",
        encoding="utf-8",
    )
    first, second = pages.blocks(page)
    assert (first.kind, first.not_run, first.file) == ("python", "needs a cluster", None)
    assert (second.kind, second.not_run, second.file) == ("toml", None, "study.toml")
    assert "boom" not in pages.prose(page)
    assert [command.split() for command in pages.commands(page)] == [
        ["argbest", "run", "study.toml", "--workers", "2"]
    ]


@pytest.mark.parametrize("name", ["argbest.Stady", "argbest.theory.contenton", "argbest.nothing.here"])
def test_names_that_do_not_exist_are_noticed(name: str) -> None:
    assert not resolves(name)
    assert resolves("argbest.theory.contention")


@pytest.mark.slow
def test_the_site_builds_strictly_and_fetches_nothing(tmp_path: Path) -> None:
    build = pytest.importorskip("mkdocs.commands.build", reason="mkdocs is the extra docs")
    from mkdocs.config import load_config

    config = load_config(str(pages.ROOT / "mkdocs.yml"), strict=True, site_dir=str(tmp_path / "site"))
    build.build(config)
    for page in (tmp_path / "site").rglob("*.html"):
        fetched = re.findall(
            r'<(?:script|link|img|iframe)\b[^>]*(?:src|href)="https?://[^"]+"', page.read_text("utf-8")
        )
        assert [tag for tag in fetched if 'rel="canonical"' not in tag] == [], page.name


def test_the_page_of_public_names_is_current() -> None:
    assert public_names.PAGE.read_text(encoding="utf-8") == public_names.page()
    assert [line for line in public_names.page().splitlines() if line.endswith("|  |")] == []
