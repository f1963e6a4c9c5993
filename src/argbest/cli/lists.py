"""`argbest problems`, `argbest policies` and `argbest models`: what ships."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from argbest.cli.terminal import numbers, say, show_json, table

if TYPE_CHECKING:
    from argbest.core.arrays import Array
    from argbest.problems.base import Problem

_MOST_COLUMNS = 10  # alternatives whose truth fits beside each other in 80 columns


@click.command()
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print the problem NAME as JSON.")
def problems(name: str | None, as_json: bool) -> None:
    """List the shipped problems, or show the problem NAME."""
    from argbest import registry

    if name is None and as_json:
        raise click.UsageError("--json needs the NAME of a problem.")
    if name is None:
        _show_problems(registry.problem(each) for each in registry.problems())
    elif as_json:
        show_json(registry.problem(name).summary(), indent=2)
    else:
        _show_problem(registry.problem(name))


@click.command()
def policies() -> None:
    """List the policies and the models they use by default."""
    from argbest import registry

    rows = [(name, entry.model, _about(entry.make())) for name, entry in registry.policies().items()]
    table(("policy", "model", "what it does"), rows)


@click.command()
def models() -> None:
    """List the models that a study or an experiment can use."""
    from argbest import registry

    table(("model", "what it assumes"), [(name, _about(make())) for name, make in registry.models().items()])


def _about(thing: Any) -> str:
    """Return the first line of its docstring, and the options in which it is not the usual one."""
    import inspect
    from dataclasses import fields

    first = (inspect.getdoc(thing) or "").partition("\n")[0]
    unusual = [
        f"{each.name}={getattr(thing, each.name)!r}"
        for each in fields(thing)
        if getattr(thing, each.name) is not each.default and getattr(thing, each.name) != each.default
    ]
    return first + (f" ({', '.join(unusual)})" if unusual else "")


def _show_problems(shipped: Iterable["Problem"]) -> None:
    rows = [(p.name, "{} x {}".format(*p.shape), p.goal, p.description) for p in shipped]
    table(("problem", "K x C", "goal", "description"), rows)
    say("K alternatives x C contexts; `argbest problems NAME` shows one.")


def _show_problem(problem: "Problem") -> None:
    from argbest.report import curves

    goal = "larger is better" if problem.goal == "max" else "smaller is better"
    size = "{} alternatives x {} contexts".format(*problem.shape)
    say(f"{problem.name}: {size}, {goal}", problem.description)
    names, contexts = curves.row_labels(problem.alternatives), curves.side(problem.contexts)
    columns = {contexts.title: contexts.labels, "weight": numbers(problem.weights[contexts.order])}
    facts = []
    if problem.truth is not None:
        columns["best"] = tuple(" = ".join(names[k] for k in problem.ties[c]) for c in contexts.order)
        columns["gap"] = numbers(problem.gaps[contexts.order])
        tied = sum(len(ties) > 1 for ties in problem.ties)
        facts.append(f"ties: in {tied} contexts; PCS ceiling {problem.pcs_ceiling:.4g}")
    if problem.noise_sd is not None:
        low, high = numbers((problem.noise_sd.min(), problem.noise_sd.max()))
        facts.append(f"noise: standard deviation {low if low == high else f'{low} to {high}'}")
    if problem.truth is not None and problem.noise_sd is not None:
        columns["gap/noise"] = numbers(problem.gap_over_noise[contexts.order])
    table(columns, zip(*columns.values(), strict=True), justify="right")
    say(*facts)
    if problem.truth is not None:
        _show_truth(problem, problem.truth)


def _show_truth(problem: "Problem", truth: "Array") -> None:
    from argbest.report import curves

    if problem.n_alternatives > _MOST_COLUMNS:
        say(f"truth: {problem.n_alternatives} alternatives are too many to show here; --json has them")
        return
    alternatives, contexts = curves.side(problem.alternatives), curves.side(problem.contexts)
    say("", f"mean reward by {contexts.title} (rows) and {alternatives.title} (columns):")
    shown = truth[alternatives.order][:, contexts.order].T
    rows = [(label, *numbers(row)) for label, row in zip(contexts.labels, shown, strict=True)]
    table(("", *alternatives.labels), rows, justify="right")
