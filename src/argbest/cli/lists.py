"""`argbest problems`, `argbest policies` and `argbest models`: what ships."""

import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import click

from argbest.cli.terminal import numbers, say, show_json, table
from argbest.errors import unknown_name

if TYPE_CHECKING:
    from argbest.core.arrays import Array
    from argbest.problems.base import Problem

_ABOUT = 41  # letters on a problem for which a line of 80 has room
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
@click.argument("name", required=False)
def policies(name: str | None) -> None:
    """List the policies, or show the policy NAME."""
    from argbest import registry

    entries = registry.policies()
    if name is None:
        table(("policy", "what it does"), [(each, _first(entry.make())) for each, entry in entries.items()])
        say("`argbest policies NAME` shows one.")
    else:
        entry = _named("policy", name, entries)
        _show(name, entry.make(), f"model by default: {entry.model}")


@click.command()
@click.argument("name", required=False)
def models(name: str | None) -> None:
    """List the models, or show the model NAME."""
    from argbest import registry

    entries = registry.models()
    if name is None:
        table(("model", "what it does"), [(each, _first(make())) for each, make in entries.items()])
        say("`argbest models NAME` shows one.")
    else:
        _show(name, _named("model", name, entries)())


def _named(kind: str, name: str, entries: Mapping[str, Any]) -> Any:
    if name not in entries:
        raise unknown_name(kind, name, entries)
    return entries[name]


def _first(thing: Any) -> str:
    """Return the first line of its docstring, and the options in which it is not the usual one."""
    unusual = [
        f"{each.name}={getattr(thing, each.name)!r}"
        for each in fields(thing)
        if getattr(thing, each.name) is not each.default and getattr(thing, each.name) != each.default
    ]
    first = (inspect.getdoc(thing) or "").partition("\n")[0]
    return first + (f" ({', '.join(unusual)})" if unusual else "")


def _show(name: str, thing: Any, *facts: str) -> None:
    """Print all that is said of a policy or a model, and its options."""
    told = re.sub(r"(?<=\S)\n(?=\S)", " ", inspect.getdoc(thing) or "").replace("``", "")
    say(f"{name}: {told}", "", *facts)
    options = [f"  {each.name} = {getattr(thing, each.name)!r}" for each in fields(thing) if each.init]
    say(
        *(
            [f"options, as in --{'policy' if facts else 'model'} {name}:OPTION=VALUE:", *options]
            if options
            else []
        )
    )


def _show_problems(shipped: Iterable["Problem"]) -> None:
    rows = [
        (p.name, "{} x {}".format(*p.shape), p.goal, shorten(re.split("[;,:] ", p.description)[0], _ABOUT))
        for p in shipped
    ]
    table(("problem", "K x C", "goal", "what it is"), rows)
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
