"""`argbest compare`: policies against each other over many macro-replications."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from argbest.cli.terminal import drawn, list_written, prepare, say, show_json, table

if TYPE_CHECKING:
    import pandas as pd

    from argbest.experiment import Experiment, Results


# Options that may be given with --paper; the others follow from what was published.
_WITH_PAPER = ("paper", "problem", "macroreps", "seed", "jobs", "out", "as_json")


def _initial(_: click.Context, __: click.Parameter, given: str | None) -> int | str | None:
    """Return a number of replications as a number, and "auto" as it is."""
    if given is None or given == "auto":
        return given
    if not given.isdecimal():
        raise click.BadParameter(f"{given!r} is neither a whole number from 0 nor auto.")
    return int(given)


@click.command()
@click.argument("problem", required=False)
@click.option(
    "--policy",
    "policies",
    metavar="NAME[:MODEL]",
    multiple=True,
    help="A policy, optionally with its own model; may be repeated.  [required]",
)
@click.option(
    "--paper",
    is_flag=True,
    help="Print published results beside ours, of PROBLEM or of all problems with published results. Takes "
    "a minute or two; --macroreps 100 is as many as most of them had.",
)
@click.option("--model", metavar="NAME", help="Model for policies that name none.")
@click.option(
    "--question",
    metavar="NAME",
    help="What is to be chosen, such as overall.  [default: the best of each context]",
)
@click.option(
    "--weights", type=click.Choice(["problem", "uniform"]), default="problem", help="Weights of the contexts."
)
@click.option(
    "--replications", type=click.IntRange(0), help="Replications after the initial design.  [required]"
)
@click.option("--samples", type=click.IntRange(0), hidden=True, deprecated="It is now called --replications.")
@click.option(
    "--macroreps",
    type=click.IntRange(1),
    help="Macro-replications (complete studies) per policy.  [required; with --paper: 20]",
)
@click.option("--seed", type=click.IntRange(0, 2**64 - 1), default=0, help="Seed of the random numbers.")
@click.option("--jobs", type=click.IntRange(1), default=1, help="Number of processes.")
@click.option(
    "--refit-every",
    type=click.IntRange(1),
    help="Replications between refits, when the model learns its hyper-parameters again.  [default: the "
    "model's own schedule]",
)
@click.option(
    "--initial",
    callback=_initial,
    metavar="NUMBER|auto",
    help="Replications of every pair to begin with; auto: the design a study with a budget of twice "
    "the --replications would choose.  [default: the problem's]",
)
@click.option(
    "--delta",
    type=click.FloatRange(0.0),
    default=0.0,
    help="Count a choice as good if it is within DELTA of the best.",
)
@click.option(
    "--pcs",
    type=click.FloatRange(0.0, 1.0, min_open=True),
    default=0.9,
    help="Count the replications until PCS_E, the mean probability of correct selection, reaches this.",
)
@click.option(
    "--loss",
    type=click.FloatRange(0.0),
    help="Count the replications until the expected opportunity cost falls to this.  [default: a tenth "
    "of the largest after the initial design]",
)
@click.option(
    "--integrate",
    is_flag=True,
    help="Certify, and average over hyper-parameters and noise, as studies do. Takes many times as long.",
)
@click.option(
    "--certify/--no-certify",
    default=False,
    help="Work out what certificates claim at every look, and how often that came true. It can take "
    "longer than the decisions.",
)
@click.option(
    "--common-random-numbers/--independent",
    default=None,
    help="Give all alternatives of a context the same random numbers, replication by replication; by default "
    "where there are no limits.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Folder that keeps runs, tables and curves.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the curves as one JSON object instead of the table."
)
def compare(
    problem: str | None,
    policies: tuple[str, ...],
    paper: bool,
    model: str | None,
    jobs: int,
    refit_every: int | None,
    pcs: float,
    loss: float | None,
    out: Path | None,
    as_json: bool,
    replications: int | None,
    samples: int | None,
    macroreps: int | None,
    **options: Any,
) -> None:
    """Compare policies on PROBLEM over many repeated studies (macro-replications) with the same noise.

    With --out, finished work is kept: the same command continues after an interruption, and adds runs if you
    raise --macroreps. With --paper, the publications say which policies are run and how long.
    """
    from argbest.experiment import Contender, Experiment, run

    if paper:
        _refuse_beside_paper()
        _show_paper(problem, macroreps, options["seed"], jobs, out, as_json)
        return
    length = samples if replications is None else replications
    if problem is None or not policies or length is None or macroreps is None:
        missing = {
            "argument 'PROBLEM'": problem is None,
            "option '--policy'": not policies,
            "option '--replications'": length is None,
            "option '--macroreps'": macroreps is None,
        }
        raise click.UsageError(f"Missing {next(what for what, absent in missing.items() if absent)}.")
    contenders = [Contender.named(name, model=model) for name in policies]
    experiment = Experiment(
        problem,
        contenders,
        replications=length,
        macroreps=macroreps,
        refit_every="auto" if refit_every is None else refit_every,
        **options,
    )
    if out is not None:
        prepare(out)
    results = run(experiment, jobs=jobs, out=out, progress=True, apart=True)
    summary = results.summary()
    if as_json:
        show_json({**results.plain(pcs=pcs, loss=loss), "calibration": _claims(results).to_dict("records")})
    else:
        _show(
            results, summary, replications=experiment.replications, delta=experiment.delta, pcs=pcs, loss=loss
        )
    if out is not None:
        _write(
            results, summary, out, how=_reproduction(experiment, results), quiet=as_json, pcs=pcs, loss=loss
        )


def _refuse_beside_paper() -> None:
    """Refuse options that the publications decide."""
    context = click.get_current_context()
    for parameter in context.command.params:
        name = str(parameter.name)
        given = context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
        if given and name not in _WITH_PAPER:
            raise click.UsageError(
                f"--paper and {parameter.opts[0]} exclude each other: the publications say what is run."
            )


def _show_paper(
    problem: str | None, macroreps: int | None, seed: int, jobs: int, out: Path | None, as_json: bool
) -> None:
    """Print published results beside ours, and keep the table where a folder is named."""
    from argbest.experiment import published
    from argbest.jsonable import value
    from argbest.table_files import write_csv

    if out is not None:
        prepare(out)
    number = published.MACROREPS if macroreps is None else macroreps
    found = published.beside_ours(problem, macroreps=number, seed=seed, jobs=jobs, out=out, progress=True)
    if as_json:
        show_json([{name: value(each) for name, each in row.items()} for row in found.to_dict("records")])
    else:
        for keys, own in found.groupby(["source", "problem", "measure"], sort=False):
            _show_published(str(keys[0]), str(keys[1]), str(keys[2]), own)
        _show_published_seconds(found)
        _show_verdict(found)
    if out is not None:
        path = write_csv(out / "published.csv", found)
        if not as_json:
            list_written([path])


def _show_published(source: str, problem: str, measure: str, own: "pd.DataFrame") -> None:
    """Print a row per policy: published/ours at every number of replications."""
    from argbest.experiment import published

    looks = sorted(set(own["replications"]))
    rows = []
    for contender, curve in own.groupby("contender", sort=False):
        at = {row["replications"]: row for row in curve.to_dict("records")}
        cells = [f"{at[n]['published']:.3f}/{at[n]['ours']:.3f}" if n in at else "-" for n in looks]
        most = max(curve["difference"], key=abs)
        rows.append((_policy(str(contender)), *(each.replace("0.", ".") for each in cells), f"{most:+.1f}"))
    theirs, ours = (f"{int(own[name].iloc[0]):,}" for name in ("published_n", "n"))
    say("", f"{problem}: {published.MEASURES[measure]}, published/ours")
    table(("policy", *(f"{n:,}" for n in looks), "se"), rows, justify="right")
    say(
        f"{published.SOURCES[source]}: {theirs} macro-replications, ours {ours}. Columns are replications "
        "after the initial design."
    )


def _policy(contender: str) -> str:
    return contender.partition(":")[0]


def _show_published_seconds(found: "pd.DataFrame") -> None:
    """Print a row per problem and policy: published seconds and ours, where there are some."""
    from argbest.experiment import published

    known = found[found["published_seconds"].notna() & (found["measure"] == "pcs_e")]
    last = known.groupby(["problem", "contender"], sort=False).tail(1).to_dict("records")
    if last:
        rows = [
            (
                row["problem"],
                _policy(row["contender"]),
                f"{row['published_seconds']:,.0f}",
                f"{row['seconds']:.2g}",
            )
            for row in last
        ]
        say("", "seconds per 1,000 replications")
        table(("problem", "policy", "published", "ours"), rows, justify="right")
        say(
            f"published: wall clock on {published.CORES} cores, Table 1 of the paper; ours: processor time, "
            "of many macro-replications side by side"
        )


def _show_verdict(found: "pd.DataFrame") -> None:
    """Print how many numbers differ by much."""
    size = found["difference"].abs()
    two, three = (int((size > limit).sum()) for limit in (2.0, 3.0))
    say(
        "",
        f"{len(found)} published numbers: {two} differ by more than two combined standard errors, {three} by "
        "more than three. Column se: the largest difference of a row, ours less published, in combined "
        "standard errors. Numbers of one row come from the same runs. `ikg-noise-free` is the published IKG.",
    )


def _show(
    results: "Results",
    summary: "pd.DataFrame",
    *,
    replications: int,
    delta: float,
    pcs: float,
    loss: float | None,
) -> None:
    """Print a row per policy: its measures after the last replication, and how soon it was good."""
    last = summary.groupby("contender", sort=False).tail(1)
    columns = {
        "policy": last["contender"].tolist(),
        "PCS_E": _pairs(last, "pcs_e", ".3f"),
        "PCS_M": [f"{value:.3f}" for value in last["pcs_m"]],
        "P_all": _pairs(last, "p_all", ".3f"),
        f"PGS({delta:g})": [f"{value:.3f}" for value in last["pgs"]],
        "EOC": _pairs(last, "eoc", ".2g"),
        "infeasible": _pairs(last, "infeasible", ".3f"),
        "claim": [f"{value:.3f}" for value in last["certificate"]],
        "CPU s": [f"{value * results.macroreps:.3g}" for value in last["seconds"]],
    }
    if not delta:
        del columns["PGS(0)"]
    if last["infeasible"].isna().all():  # no limits
        del columns["infeasible"]
    claimed = bool(last["certificate"].notna().any())
    if not claimed:
        del columns["claim"]
    say(
        f"{results.problem}: {results.macroreps} macro-replications, scored after {replications} replications"
    )
    table(columns, zip(*columns.values(), strict=True), justify="right")
    explained = "; claim: the certificate's mean PCS_E" if claimed else ""
    say(f"± one standard error over macro-replications{explained}.")
    _show_reached(summary, replications=replications, pcs=pcs, loss=loss)
    _show_claims(results)


def _show_reached(summary: "pd.DataFrame", *, replications: int, pcs: float, loss: float | None) -> None:
    """Print a row per policy: how many replications it took to be good, and to stay so."""
    from argbest.experiment import measures

    target = measures.usual_loss(summary) if loss is None else loss
    fast = measures.reached(summary, pcs=pcs, loss=target)
    columns = {
        "policy": fast["contender"].tolist(),
        f"to PCS_E {pcs:g}": _counts(fast["replications_to_pcs"], replications),
        f"to EOC {target:.2g}": _counts(fast["replications_to_loss"], replications),
    }
    say("replications until the mean reaches the target and stays there:")
    table(columns, zip(*columns.values(), strict=True), justify="right")


def _counts(values: "pd.Series[float]", most: int) -> list[str]:
    return [f"> {most}" if math.isnan(value) else f"{value:.0f}" for value in values]


def _claims(results: "Results") -> "pd.DataFrame":
    """Return how often claims came true, unknown errors as None."""
    from argbest.report.calibration import calibration

    found = calibration(results)
    return found.astype({"se": object}).where(found.notna(), None)


def _show_claims(results: "Results") -> None:
    """Print a row per policy and bin of claims: how often they came true."""
    found = _claims(results)
    rows = [
        (
            row["contender"],
            f"{row['claimed']:.3f}",
            f"{row['achieved']:.3f}",
            f"{row['low']:.3f} to {row['high']:.3f}",
            str(row["looks"]),
        )
        for row in found.to_dict("records")
    ]
    if rows:
        say("P(right) claimed for single contexts, at all checkpoints, and how often it came true:")
        table(("policy", "claimed", "came true", "95 % interval", "looks"), rows, justify="right")


def _pairs(last: "pd.DataFrame", name: str, form: str) -> list[str]:
    """Return texts such as 0.946±0.008, without an error where there is none."""
    pairs = zip(last[name].tolist(), last[f"{name}_se"].tolist(), strict=True)
    return [f"{value:{form}}" + ("" if math.isnan(error) else f"±{error:{form}}") for value, error in pairs]


def _reproduction(experiment: "Experiment", results: "Results") -> dict[str, object]:
    """Return names and values of all that is needed to compute it again."""
    from argbest.cli.terminal import command_line
    from argbest.core import schedule
    from argbest.report.page import versions

    begun = results.runs.groupby("contender", sort=False)["n_initial"].first()
    sizes = ", ".join(f"{n:,}" for n in dict.fromkeys(begun.astype(int).tolist()))
    refits = [schedule.words(each.make()[1], experiment.refit_every) for each in experiment.contenders]
    each = f"{experiment.initial} of every pair"
    if experiment.initial is None:
        each = "as the problem has it"
    elif experiment.initial == "auto":
        each = f"chosen for a budget of {2 * experiment.replications:,}"
    return {
        "problem": results.problem,
        "contenders": ", ".join(f"{label} (model {model})" for label, model in results.models.items()),
        "replications": f"{experiment.replications:,} after the initial design",
        "initial design": f"{each}: {sizes} replications",
        "refits": "; ".join(dict.fromkeys(refits)),
        "macro-replications": results.macroreps,
        "weights of contexts": experiment.weights,
        "good within": f"{experiment.delta:g} of the best",
        "seed": results.seed,
        "versions": versions(),
        "command": command_line(),
    }


def _write(
    results: "Results",
    summary: "pd.DataFrame",
    out: Path,
    *,
    how: dict[str, object],
    quiet: bool,
    pcs: float,
    loss: float | None,
) -> None:
    """Write the tables, a page and, where matplotlib is there, the pictures; say where they are."""
    from argbest.report import comparison, plot_calibration, style
    from argbest.report.page import write_comparison
    from argbest.table_files import write_csv

    claims, goals = _claims(results), {"pcs": pcs, "loss": loss}
    written = [write_csv(out / "summary.csv", summary)]
    page = out / "index.html"
    written.append(
        write_comparison(summary, page, title=results.problem, how=how, goals=goals, claims=claims)
    )
    pictures: dict[str, Callable[[], Any]] = {
        "curves.png": lambda: comparison.plot(summary, title=results.problem)
    }
    if len(claims):
        written.insert(1, write_csv(out / "calibration.csv", claims))
        pictures["calibration.png"] = lambda: plot_calibration(results).figure
    for name, draw in pictures.items():
        if (figure := drawn(draw)) is not None:
            written.append(style.save(figure, out / name))
    if not quiet:
        list_written(written)
