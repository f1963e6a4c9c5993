"""Draw the pictures of the docs, on a light and on a dark background, and write the live report.

    make pictures

The studies and the experiment take about a minute. Pictures of the report need Playwright and Chromium.
"""

import contextlib
import os
import shutil
import tempfile
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from argbest import Study, registry, report
from argbest.experiment import Contender, Experiment, run
from argbest.report import looks, style
from argbest.report.page import write_report
from argbest.serve.server import LiveView

HERE = Path(__file__).resolve().parent
SCHEMES = {"light": "", "dark": "_dark"}  # the end of a picture's name


def pictures() -> dict[str, Callable[..., Any]]:
    """Return what draws each picture, by its name."""
    line = Study(registry.problem("branin"), seed=0).run(400)
    regional = registry.problem("covid-regional")
    grid = Study(regional, policy="dvr", initial=1, seed=0).run(1_000)
    policies = ("gp-c-ocba", "ikg", "dvr", "equal")
    contenders = [Contender.named(name) for name in policies]
    experiment = Experiment("branin", contenders, replications=200, macroreps=50, certify=True)
    results = run(experiment, progress=False)
    return {
        "policy_map": partial(report.plot_policy_map, line),
        "policy_map_grid": partial(report.plot_policy_map, grid),
        "profiles": partial(report.plot_profiles, line),
        "profiles_grid": partial(report.plot_profiles, grid),
        "allocation": partial(report.plot_allocation, line),
        "contention": partial(report.plot_contention, line),
        "contention_grid": partial(report.plot_contention, grid),
        "progress": partial(report.plot_progress, line),
        "progress_cost": partial(report.plot_progress, grid, measure="eoc"),
        "model_check": partial(report.plot_model_check, grid),
        "comparison": partial(report.plot_comparison, results, measure="eoc"),
        "calibration": partial(report.plot_calibration, results),
        "shared_luck": partial(plot_shared_luck, {name: by_distance(name) for name in ROWS}),
    }


# A row of alternatives of shipped problems: the column that differs, what the others are, the context.
ROWS: dict[str, tuple[str, dict[str, Any], int]] = {
    "flow-line": ("buffer", {"first": 1.2, "second": 1.2}, 2),
    "queue-staffing": ("servers", {}, 4),
    "newsvendor": ("order", {}, 3),
    "serial-inventory": ("shop", {"depot": 12, "plant": 12}, 0),
}
SEEDS = 400


def by_distance(name: str) -> tuple[Any, Any]:
    """Return the correlation by steps between alternatives under the same seeds, and what it leaves.

    The second is Var(Y_k − Y_j) over Var(Y_k) + Var(Y_j), which it is with seeds of their own; averages.
    """
    problem, (_, fixed, context) = registry.problem(name), ROWS[name]
    items: list[Any] = [problem.alternatives.item(k) for k in range(problem.n_alternatives)]
    row = [item for item in items if all(item[column] == value for column, value in fixed.items())]
    where: Any = problem.contexts.item(context)
    simulate: Any = problem.simulate
    values = np.array([[simulate(item, where, seed) for seed in range(SEEDS)] for item in row])
    alike, var = np.corrcoef(values), values.var(axis=1)
    left = (values[:, None] - values).var(axis=-1) / (var[:, None] + var)
    steps = range(1, len(row))
    return tuple(np.array([np.diag(each, step).mean() for step in steps]) for each in (alike, left))


def plot_shared_luck(found: dict[str, tuple[Any, Any]], *, theme: str) -> Any:
    """Return axes with the correlation of noise by distance, beside what it leaves of a difference."""
    sheet = style.sheet(None, theme, 8.4, 3.9)
    figure, first = sheet.ax.figure, sheet.ax
    first.set_position((0.08, 0.16, 0.38, 0.66))
    second = figure.add_axes((0.58, 0.16, 0.38, 0.66))
    for i, (name, (alike, left)) in enumerate(found.items()):
        marks = looks.look(sheet.theme, i) | {"markersize": 4.5, "linewidth": 1.3}
        label = f"{name}, by {ROWS[name][0]}"
        first.plot(np.arange(1, len(alike) + 1), alike, label=label, **marks)
        second.plot(np.arange(1, len(left) + 1), 100 * left, **marks)
    first.set_ylim(min(0.0, 1.05 * min(alike.min() for alike, _ in found.values())), 1.03)
    second.set_yscale("log")
    second.axhline(100.0, color=sheet.theme.ink, linewidth=0.8)
    second.set_yticks([1, 3, 10, 30, 100], ["1 %", "3 %", "10 %", "30 %", "100 %"])
    second.text(1.0, 108.0, "separate seeds", fontsize=style.TICK, va="bottom", color=sheet.theme.ink)
    for ax, text in ((first, "correlation of the noise"), (second, "replications that a comparison takes")):
        ax.set_xlabel("steps between two alternatives", fontsize=style.LABEL)
        ax.set_ylabel(text, fontsize=style.LABEL)
        style.bare(ax)
        style.finish(sheet._replace(ax=ax))
    figure.legend(*first.get_legend_handles_labels(), loc="upper center", ncols=2, frameon=False,
                  fontsize=style.TICK, labelcolor=sheet.theme.ink)  # fmt: skip
    return first


def questions() -> dict[str, Callable[..., Any]]:
    """Return what draws the pictures of the page on questions, from the study that its first block makes."""
    block = (HERE.parent / "questions.md").read_text("utf-8").partition("```python\n")[2].partition("```")[0]
    scope: dict[str, Any] = {}
    exec(block, scope)  # noqa: S102
    asked = ("best", "overall", "worst-case", "regret", "top:m=2", "most-probable-best", "rule")
    answers = {name.partition(":")[0]: scope["study"].answer(name) for name in asked}
    drawn = {name: partial(report.plot_answer, answer) for name, answer in answers.items()}
    return drawn | {"tailoring": partial(report.plot_tailoring, answers["best"])}


def report_page() -> Path:
    """Return the page of the demo's study, written."""
    study = Study(registry.problem("queue-staffing"), seed=0).run(240)
    page = HERE / "report" / "example.html"
    return write_report(study, page, command="argbest demo", again="argbest demo")


def screens(page: Path) -> None:
    """Take the pictures of the page, and of a live view: its beginning, and what is below."""
    from playwright.sync_api import sync_playwright

    path = os.environ.get("ARGBEST_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for name, width, height, part, question in (
            ("answer", 1100, 900, "", ""),
            ("chooser", 1100, 900, "#choices", "rule"),
            ("decisions", 1100, 900, "#decisions", ""),
            ("any_context", 1100, 900, "#explore", ""),
            ("narrow", 400, 800, "", ""),
        ):
            for scheme, end in SCHEMES.items():
                opened = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
                opened.goto(page.resolve().as_uri())
                opened.wait_for_selector("#how")
                if question:
                    opened.get_by_role("radio", name=question, exact=True).check()
                if name == "answer":  # the head of the page and the whole first section
                    box: Any = opened.locator("#choices").bounding_box()
                    opened.set_viewport_size({"width": width, "height": int(box["y"] + box["height"]) + 8})
                shown = opened.locator(part) if part else opened
                shown.screenshot(path=page.with_name(f"{name}{end}.png"))
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            live_screens(browser, "study.db")  # as a reader would call it
        browser.close()


def live_screens(browser: Any, storage: str) -> None:
    """Take the pictures of a live view while a study goes on."""
    study = Study(registry.problem("queue-staffing"), seed=0, storage=storage, plan={"budget": 400})
    study.run(80)
    view = LiveView(storage, port=0)
    server = threading.Thread(target=view.serve, daemon=True)
    server.start()
    pages = {end: browser.new_page(color_scheme=scheme) for scheme, end in SCHEMES.items()}
    for opened in pages.values():
        opened.set_viewport_size({"width": 900, "height": 1100})
        opened.goto(view.url)

    def look(*_: object) -> None:
        n = study.n_replications
        for end, opened in pages.items() if n % 20 == 0 else ():
            opened.locator("#answer", has_text=f"After {n} ").wait_for(state="attached")
            opened.evaluate("scrollTo(0, 0)")
            opened.screenshot(path=HERE / "serve" / f"running{end}.png")
            opened.locator("#course").screenshot(path=HERE / "serve" / f"course{end}.png")

    study.run(240, on_result=look)
    view.stop()
    server.join()


def main() -> None:
    """Write all of them."""
    screens(report_page())
    for folder, drawn in (("plots", pictures()), ("questions", questions())):
        for name, draw in drawn.items():
            for theme in ("light", "dark"):
                draw(theme=theme).figure.savefig(HERE / folder / f"{name}_{theme}.png", dpi=110)


if __name__ == "__main__":
    main()
