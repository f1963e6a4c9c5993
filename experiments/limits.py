"""Whether dvr-loss with limits finds the best feasible alternative sooner than others, and claims what holds.

The rule, written before the first run:

- Problems: the four that ship with limits and exact truth. The call centre and its busy hours, where some
  contexts have no feasible alternative, are taken whole. Of call-lines, with two limits, 3 to 8 servers and
  0, 2 or 8 places are taken (18 of 35 alternatives, all contexts); of facility-sizing capacities of 160, 200
  and 240 and the demands with full correlation (27 of 216 alternatives, 5 of 10 contexts): whole they take
  too long.
- Contenders: *dvr-loss*; *objective only*, which is dvr-loss without limits; *alternating*, which takes the
  goal's part of dvr-loss with limits and the limits in doubt in turn; *ocba-co*, OCBA with constraints, by
  rates and per context; *constrained-kg*, the knowledge gradient of what it is worth to name an alternative;
  *equal*. They are written down in this file, except dvr-loss and equal. All have the model `additive-gp`,
  the same initial design (every pair twice), and the same rule for what is named: what loses least over joint
  draws.
- Macro-replication r of all contenders has the same seed. Pairs have seeds of their own, so that the formulas
  of all contenders hold as they are written. Looks are after 0, 100 and 500 replications beyond the initial
  design. Macro-replications are added in rounds (`IN_A_ROUND`, fewer of the dear problems) to all contenders
  alike until the processor time allowed is used up; only whole rounds of all count. (Rounds were made smaller
  when the first had not ended: the machine was busy. Nothing of it was looked at.)
- *Loss*: the opportunity cost of what is named, averaged over contexts, over the stakes: the mean over
  contexts of the price of breaking a limit, in the true table. *Right*: nothing feasible is truly better, or
  none is feasible and that is said. *Infeasible*: what is named breaks a limit. A limit *binds* in a context
  where the best alternative without limits breaks one.
- Score: the mean of the losses after 100 and after 500 replications. Pooled is the mean over problems.

The aims for dvr-loss:

- pooled: its score is below that of every contender;
- no problem: on none is its score behind that of a contender by more than three standard errors of the paired
  difference;
- half: after 500 replications it loses at most half of what equal loses in contexts where limits bind, the
  mean over problems.

Claims are those of live studies with default settings (dvr-loss, every pair with seeds of its own,
hyper-parameters averaged over), which begin with every pair twice, at the same three looks; every round has
one of every problem. They are put into bins from 0.8, 0.9, 0.95 and 0.99 up: P(right) of what is named, and
P(feasible) of it where an alternative is named. Standard errors are clustered by study. These studies were
run again, alone (`--claims`), when own seeds had become the default within limits; with shared seeds 20 of 20
bins had held, and of facility-sizing hardly a choice had been right.

- claims: in every bin, over all problems together and at each look, the share that holds is at least the mean
  claim less 0.03, two standard errors allowed. A bin of a single study is not judged. The share of contexts
  that are sure, of an alternative or of there being none, is shown beside it.

`python -m experiments.limits --out DIR` runs it. What was run is kept in DIR and not run again.
"""

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import count, product, takewhile
from pathlib import Path
from typing import Any, ClassVar, TypeAlias, cast

import click
import numpy as np
import pandas as pd

from argbest import Problem, Study
from argbest.cli.terminal import echo, note
from argbest.core import knowledge_gradient as kg
from argbest.core.arrays import AnyArray, Array, BoolArray, IntArray, log_ndtr
from argbest.core.belief import Belief
from argbest.core.decision import Decision, at, of_each_context
from argbest.core.limits import NONE, BestWithinLimits, Slack, Standing, about_limits
from argbest.core.question import BEST
from argbest.core.setting import Setting
from argbest.core.states import NO_FEASIBLE, SURE
from argbest.errors import DataNotice
from argbest.experiment import Experiment, loop
from argbest.experiment.spec import Contender
from argbest.policies.base import Moment, OneByOne, largest
from argbest.policies.dvr import DVRLoss, log_reduction
from argbest.problems.call_centres import call_centre, call_lines, call_rush
from argbest.problems.facilities import facility_sizing
from argbest.problems.noisy_table import SeveralResponses
from argbest.table_files import write_csv
from experiments.noise import BINS, clustered

STORED = Path(__file__).parent / "stored"
MODEL = "additive-gp"
LOOKS = (0, 100, 500)  # replications after the initial design
EVERY = 100  # replications between looks of the loop, of which those in LOOKS count
INITIAL = 2  # replications of every pair
IN_A_ROUND = {"call-centre": 4, "call-rush": 4, "call-lines": 2, "facility-sizing": 2}
SEED = 32
BEHIND, HALF, BELOW = 3.0, 0.5, 0.03
Job: TypeAlias = Callable[[], pd.DataFrame]
_LEAST_NOISE = 1e-200  # so that a goal without noise can be divided by


# --- Problems ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Part(SeveralResponses):
    """The simulator of some alternatives and contexts of another one."""

    whole: SeveralResponses
    rows: IntArray
    columns: IntArray

    def many(self, alternatives: IntArray, contexts: IntArray, seeds: IntArray) -> Mapping[str, AnyArray]:
        """Return the responses of positions and seeds, as the whole simulator gives them."""
        return self.whole.many(self.rows[alternatives], self.columns[contexts], seeds)


def part(whole: Problem, name: str, keeps: Callable[[Any, Any], bool]) -> Problem:
    """Return the problem of the alternatives and contexts that occur in any pair that is kept."""
    axes = whole.alternatives, whole.contexts
    items = [[axis.item(i) for i in range(len(axis))] for axis in axes]
    kept = np.array([[keeps(k, c) for c in items[1]] for k in items[0]])
    rows, columns = np.flatnonzero(kept.any(axis=1)), np.flatnonzero(kept.any(axis=0))
    alternatives, contexts = (
        axis.rows([own[i] for i in some])
        for axis, own, some in zip(axes, items, (rows, columns), strict=True)
    )
    if not isinstance(whole.simulate, SeveralResponses):
        raise TypeError(f"{whole.name} has no simulator of positions.")
    return Problem(
        alternatives,
        contexts,
        Part(alternatives, contexts, whole.simulate, rows, columns),
        goal=whole.goal,
        limits=whole.limits,
        truth={response: table[np.ix_(rows, columns)] for response, table in whole.truths.items()},
        name=name,
    )


def fewer_lines() -> Problem:
    """Return the part of call-lines that is run."""
    return part(call_lines(), "call-lines", lambda k, _: k["servers"] >= 3 and k["places"] in (0, 2, 8))


def fewer_facilities() -> Problem:
    """Return the part of facility-sizing that is run."""
    taken = (160, 200, 240)
    return part(
        facility_sizing(),
        "facility-sizing",
        lambda k, c: all(each in taken for each in k.values()) and c["correlation"] == 1.0,
    )


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "call-centre": call_centre,
    "call-rush": call_rush,
    "call-lines": fewer_lines,
    "facility-sizing": fewer_facilities,
}


def stakes(problem: Problem) -> float:
    """Return the mean over contexts of what it costs to break a limit, in the true table."""
    goal, kept = problem.sign * np.asarray(problem.goal_truth), problem.feasible.astype(float)
    return float(np.mean(asked_of(problem.setting).prices(goal, kept)))


def asked_of(setting: Setting) -> BestWithinLimits:
    """Return the question of a problem with limits."""
    return cast(BestWithinLimits, setting.question)


def binding(problem: Problem) -> BoolArray:
    """Return [context] whether the best alternative without limits breaks one."""
    first = np.argmax(problem.sign * np.asarray(problem.goal_truth), axis=0)
    return np.asarray(~problem.feasible[first, np.arange(problem.n_contexts)])


# --- Contenders -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ObjectiveOnly(OneByOne):
    """dvr-loss for the best alternative of every context, whatever limits it breaks."""

    takes_limits: ClassVar[bool] = True

    def decide(self, now: Moment) -> Decision:
        """Return what dvr-loss would simulate if there were no limits."""
        goal, setting = about_limits(now.belief).goal, replace(now.setting, question=BEST)
        return DVRLoss().decide(replace(now, belief=goal, setting=setting))


@dataclass(frozen=True)
class Alternating(OneByOne):
    """The goal and the limits in turn.

    At even numbers of replications the goal's part of dvr-loss with limits: the differences from the leader,
    each by the chance that both keep the limits. At odd ones the pair that removes most variance from the
    slacks, each by φ(ζ)/s²: whether they are above 0 is in doubt.
    """

    takes_limits: ClassVar[bool] = True

    def decide(self, now: Moment) -> Decision:
        """Return the pair of this turn."""
        even = now.count.sum(axis=(-2, -1), keepdims=True) % 2 == 0
        score = np.where(even, goal_score(now.belief, now.setting), doubt_score(now.belief, now.setting))
        return now.pick(largest(score, now.candidates))


def goal_score(belief: Belief, setting: Setting) -> Array:
    """Return the logarithm of Σ w P_b P_k φ(z)/τ × variance removed from f_b − f_k, for every pair."""
    what, log_weight = asked_of(setting).weighed(belief)[0]
    return log_reduction(what, log_weight + kg.log(setting.weights))


def doubt_score(belief: Belief, setting: Setting) -> Array:
    """Return the logarithm of Σ w φ(ζ)/s² × variance removed from the slacks, for every pair."""
    now, terms = Standing.of(belief), []
    for zeta, slack in zip(now.zeta, now.belief.slacks, strict=True):
        known = slack.var <= 0
        weight = np.where(known, -np.inf, -0.5 * zeta**2 - np.log(np.where(known, 1.0, slack.var)))
        terms.append(log_reduction(Slack(slack), weight + kg.log(setting.weights)))
    return np.asarray(np.logaddexp.reduce(terms))


@dataclass(frozen=True)
class OCBACO(OneByOne):
    """OCBA with constraints (Lee, Pujowidianto, Li, Chen and Yap 2012), by rates and per context.

    The leader is the best mean of those that keep the limits with at least even chances. That it breaks limit
    i has the rate ζ²/2 (ζ > 0); that k is better and feasible the rate z²/2 of the difference (z > 0) plus
    Σ ζ_i²/2 over the limits that it seems to break. Where there is no leader the latter alone counts. The
    pair of the smallest rate is simulated, or its leader where the difference is the larger part of the rate
    and N_b²/σ_b² < Σ_{k≠b} N_k²/σ_k². Variances are the belief's.
    """

    takes_limits: ClassVar[bool] = True

    def decide(self, now: Moment) -> Decision:
        """Return the pair of the smallest rate, or its leader."""
        leader, led, beaten, broken, rate = rates(now.belief)
        chosen = now.pick(largest(-rate, now.candidates))
        information = now.count**2 / np.maximum(about_limits(now.belief).goal.noise, _LEAST_NOISE)
        of_leader = information[of_each_context(leader)]
        short = led & (2 * of_leader < information.sum(axis=-2))
        lead = np.take_along_axis(leader, chosen.context[..., None], axis=-1)[..., 0]
        turn = (
            np.take_along_axis(short, chosen.context[..., None], axis=-1)[..., 0]
            & (at(broken, chosen) < at(beaten, chosen))
            & (chosen.alternative != lead)
            & at(now.candidates, Decision(lead, chosen.context))
        )
        return Decision(np.where(turn, lead, chosen.alternative), chosen.context)


def rates(belief: Belief) -> tuple[IntArray, BoolArray, Array, Array, Array]:
    """Return leaders [..., context] and whether there is one; parts and whole of every pair's rate."""
    now = Standing.of(belief)
    mean, zeta, kept = now.belief.mean, np.array(now.zeta), now.kept >= 0.5
    leader, led = np.where(kept, mean, -np.inf).argmax(axis=-2), np.asarray(kept.any(axis=-2))
    own = of_each_context(leader)
    spread, ahead = (
        np.sqrt(np.maximum(now.belief.goal.difference_var(leader), 0.0)),
        mean[own][..., None, :] - mean,
    )
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        z = np.where(spread > 0, ahead / spread, np.where(ahead > 0, np.inf, 0.0))
        beaten, broken = 0.5 * np.maximum(z, 0.0) ** 2, 0.5 * np.sum(np.minimum(zeta, 0.0) ** 2, axis=0)
        breaks = 0.5 * np.min(np.maximum(zeta, 0.0) ** 2, axis=0)
    rate = np.where(led[..., None, :], beaten + broken, broken)
    rate[own] = np.where(led, breaks[own], rate[own])
    return leader, led, beaten, broken, rate


@dataclass(frozen=True)
class ConstrainedKG(OneByOne):
    """The knowledge gradient of P(feasible) times what an alternative saves.

    To name k is worth u_k = P_k (Λ − v + m_k), none Λ π_0 (`Standing`). To first order a sample moves u_k by
    P_k for every unit of the goal's mean, and by (Λ − v + m_k) φ(ζ_i)/s_i Π_{i′≠i} Φ(ζ_i′) for that of slack
    i. With s the standard deviation of the move of u_b − u_k and d = u_b − u_k its value is, per context, the
    largest E[(s Z − d)⁺] over k and none: a lower bound of the knowledge gradient.
    """

    takes_limits: ClassVar[bool] = True

    def decide(self, now: Moment) -> Decision:
        """Return the pair of the largest value."""
        return now.pick(largest(kg_score(now.belief, now.setting), now.candidates))


def kg_score(belief: Belief, setting: Setting) -> Array:
    """Return the logarithm of the constrained knowledge gradient of every pair, [..., k, c]."""
    now = Standing.of(belief, asked_of(setting).price)
    *lead, n_alternatives, n_contexts = now.kept.shape
    own = of_each_context(now.leader)
    k, c = np.divmod(np.arange(n_alternatives * n_contexts), n_contexts)
    every = (*lead, n_alternatives * n_contexts)
    of_rival: Array | float = 0.0
    of_none: Array | float = 0.0
    for outcome, gradient in zip((now.belief.goal, *now.belief.slacks), gradients(now), strict=True):
        rows = outcome.cov_rows(np.broadcast_to(k, every), np.broadcast_to(c, every))
        moved = gradient[..., None] * rows.reshape(*lead, n_alternatives, n_contexts, -1)
        moved = moved * kg.precision_root(outcome).reshape(*lead, 1, 1, -1)
        of_leader = moved[own]  # [..., context, sample]
        of_rival = of_rival + (of_leader[..., None, :, :] - moved) ** 2
        of_none = of_none + of_leader**2
    worth = now.worth
    best = worth[own]
    gaps = np.concatenate(
        [best[..., None, :] - worth, np.abs(best - now.price * now.none)[..., None, :]], axis=-2
    )
    slopes = np.sqrt(np.concatenate([of_rival, np.asarray(of_none)[..., None, :, :]], axis=-3))
    values = kg.log_kg(gaps[..., None], slopes)  # [..., option, context, sample]; the leader's slope is 0
    each = values.max(axis=-3) + kg.log(setting.weights)[:, None]
    return kg.log_sum(each, axis=-2).reshape(*lead, n_alternatives, n_contexts)


def gradients(now: Standing) -> Iterator[Array]:
    """Yield how u_k changes with the mean of the goal, and with that of every slack."""
    surest = of_each_context(now.kept.argmax(axis=-2))
    mean, kept = now.belief.mean, now.kept[surest]
    with np.errstate(divide="ignore", invalid="ignore"):
        lift = np.where(kept > 0, now.worth[surest] / kept - mean[surest], now.price - mean.max(axis=-2))
    saved = lift[..., None, :] + mean  # Λ − v + m_k
    yield now.kept
    each = np.array([log_ndtr(zeta) for zeta in now.zeta])
    for i, slack in enumerate(now.belief.slacks):
        others = np.delete(each, i, axis=0).sum(axis=0)
        density = np.exp(-0.5 * now.zeta[i] ** 2 + others) / np.sqrt(2.0 * np.pi)
        spread = np.sqrt(slack.var)
        yield np.where(spread > 0, saved * density / np.where(spread > 0, spread, 1.0), 0.0)


CONTENDERS: dict[str, Any] = {
    "dvr-loss": "dvr-loss",
    "objective-only": ObjectiveOnly(),
    "alternating": Alternating(),
    "ocba-co": OCBACO(),
    "constrained-kg": ConstrainedKG(),
    "equal": "equal",
}
OURS, EQUAL = "dvr-loss", "equal"


# --- The contest ------------------------------------------------------------------------------------------


def play(name: str, label: str, numbers: IntArray, looks: tuple[int, ...] | None = None) -> pd.DataFrame:
    """Return a row per macro-replication and look of one contender on one problem."""
    problem, looks = PROBLEMS[name](), looks or LOOKS
    every = min(EVERY, max(looks)) or 1
    experiment = Experiment(
        problem,
        Contender(CONTENDERS[label], MODEL, label=label),
        replications=max(looks),
        macroreps=int(numbers.max()) + 1,
        initial=INITIAL,
        seed=SEED,
        checkpoint_every=every,
        common_random_numbers=False,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        found = loop.trace(experiment, experiment.contenders[0], numbers, lambda _: None)
    kept = [i for i, n in enumerate(experiment.checkpoints.tolist()) if n in looks]
    chosen = found.selected[kept]  # [look, run, context]
    loss, bound = problem.opportunity_cost(chosen) / stakes(problem), binding(problem)
    table = {
        "loss": loss.mean(axis=-1),
        "right": problem.good(chosen).mean(axis=-1),
        "infeasible": problem.infeasible(chosen).mean(axis=-1),
        "bound_loss": loss[..., bound].mean(axis=-1) if bound.any() else np.full(loss.shape[:-1], np.nan),
    }
    return pd.DataFrame(
        {
            "problem": name,
            "contender": label,
            "macroreplication": np.tile(numbers, len(kept)),
            "replications": np.repeat([experiment.checkpoints[i] for i in kept], len(numbers)),
            **{column: values.ravel() for column, values in table.items()},
            "seconds": float(found.seconds["all"][-1]) / len(numbers),
        }
    )


def contest(number: int) -> Iterator[tuple[str, Job]]:
    """Yield the parts of one round of the contest by name."""
    for name, label in product(PROBLEMS, CONTENDERS):
        numbers = number * IN_A_ROUND[name] + np.arange(IN_A_ROUND[name])
        yield f"contest-{number}-{name}-{label}.csv", partial(play, name, label, numbers)


def studies(number: int) -> Iterator[tuple[str, Job]]:
    """Yield the live studies of one round by name: the same seed of every problem."""
    for name in PROBLEMS:
        yield f"claims-{number}-{name}.csv", partial(watch, name, number)


def both(number: int) -> Iterator[tuple[str, Job]]:
    """Yield the parts of one round by name: the studies first."""
    yield from studies(number)
    yield from contest(number)


def run_rounds(folder: Path, minutes: float, jobs: Callable[[int], Iterator[tuple[str, Job]]]) -> None:
    """Run rounds while there is processor time for another; every part is kept in a file of the folder."""
    spent: list[float] = []
    for number in count():
        begun = time.process_time()
        if sum(spent) + max(spent, default=0.0) >= 60 * minutes:
            return
        for name, job in jobs(number):
            if not (folder / name).exists():
                write_csv(folder / name, job())
                note(f"{name}: {time.process_time() - begun + sum(spent):.0f} s")
        spent.append(time.process_time() - begun)


def whole_rounds(folder: Path, jobs: Callable[[int], Iterator[tuple[str, Job]]]) -> pd.DataFrame:
    """Return the rows of all rounds of which every part is there; more than none must be."""
    rounds = ([folder / name for name, _ in jobs(number)] for number in count())
    whole = takewhile(lambda files: all(file.exists() for file in files), rounds)
    return pd.concat([pd.read_csv(file) for files in whole for file in files], ignore_index=True)


def losses(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row per problem, contender and look: loss with its standard error, share right, infeasible."""
    groups = rows.groupby(["problem", "contender", "replications"], sort=False)
    return groups.agg(
        runs=("loss", "size"),
        loss=("loss", "mean"),
        loss_se=("loss", "sem"),
        bound_loss=("bound_loss", "mean"),
        right=("right", "mean"),
        infeasible=("infeasible", "mean"),
        seconds=("seconds", "mean"),
    ).reset_index()


def scores(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the score of every macro-replication, [problem and macro-replication, contender]."""
    later = rows[rows["replications"] > 0]
    return later.pivot_table(
        index=["problem", "macroreplication"], columns="contender", values="loss", sort=False
    )


def differences(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row per problem, or all pooled, and contender: how far its score is above that of dvr-loss."""
    wide, found = scores(rows), []
    for label in [each for each in wide.columns if each != OURS]:
        apart = wide[label] - wide[OURS]
        each = apart.groupby("problem", sort=False).agg(["mean", "sem"])
        score = wide[label].groupby("problem", sort=False).mean()
        pooled = pd.DataFrame(
            {"mean": [each["mean"].mean()], "sem": [np.sqrt(np.sum(each["sem"] ** 2)) / len(each)]},
            index=["all"],
        )
        for name, row in pd.concat([each, pooled]).iterrows():
            behind = row["mean"] > 0 if name == "all" else row["mean"] >= -BEHIND * row["sem"]
            found.append(
                {
                    "problem": name,
                    "contender": label,
                    "score": float(score.mean() if name == "all" else score[str(name)]),
                    "difference": row["mean"],
                    "difference_se": row["sem"],
                    "holds": bool(behind),
                }
            )
    return pd.DataFrame(found)


# --- Claims -----------------------------------------------------------------------------------------------


def look(study: Study, name: str, seed: int, n: int) -> pd.DataFrame:
    """Return a row per context of what a study claims, and of what is so."""
    problem, found = study.problem, study.certificate()
    named = found.selected != NONE
    return pd.DataFrame(
        {
            "problem": name,
            "seed": seed,
            "replications": n,
            "context": np.arange(problem.n_contexts),
            "claim": found.pcs,
            "right": problem.good(found.selected).astype(float),
            "claim_feasible": np.where(named, found.p_feasible, np.nan),
            "feasible": np.where(named, ~problem.infeasible(found.selected), np.nan),
            "sure": study.selection()["state"].isin((SURE, NO_FEASIBLE)).to_numpy(),
        }
    )


def watch(name: str, seed: int, looks: tuple[int, ...] | None = None) -> pd.DataFrame:
    """Return what a live study claims at every look."""
    problem, looks = PROBLEMS[name](), looks or LOOKS
    study, first = (
        Study(problem, initial=INITIAL, seed=seed),
        INITIAL * problem.n_alternatives * problem.n_contexts,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        return pd.concat([look(study.run(first + n), name, seed, n) for n in looks], ignore_index=True)


def bins(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row per kind of claim, problem or all, look or all, and bin: what was claimed, what held."""
    found = []
    for kind, (claim, truth) in {
        "right": ("claim", "right"),
        "feasible": ("claim_feasible", "feasible"),
    }.items():
        told = rows[rows[claim].notna()]
        groups = {("all", "all"): told}
        groups |= {("all", str(n)): group for n, group in told.groupby("replications", sort=False)}
        groups |= {(str(name), "all"): group for name, group in told.groupby("problem", sort=False)}
        for (name, when), group in groups.items():
            for low, high in zip(BINS, (*BINS[1:], np.inf), strict=True):
                inside = group[(group[claim] >= low) & (group[claim] < high)]
                if not len(inside):
                    continue
                study = inside["problem"] + " " + inside["seed"].astype(str)
                claimed, held = float(inside[claim].mean()), float(inside[truth].mean())
                error = clustered(inside[truth] - inside[claim], study)
                judged = name == "all" and when != "all" and np.isfinite(error)
                found.append(
                    {
                        "claim": kind, "problem": name, "replications": when, "from": low,
                        "contexts": len(inside), "studies": study.nunique(), "claimed": claimed, "held": held,
                        "difference_se": error,
                        "holds": bool(held >= claimed - BELOW - 2 * error) if judged else None,
                    }
                )  # fmt: skip
    return pd.DataFrame(found)


def sure(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row per problem, or all, and look: share of contexts that are sure, mean claims, what held."""
    means = {
        "contexts": ("claim", "size"),
        "sure": ("sure", "mean"),
        "claimed": ("claim", "mean"),
        "right": ("right", "mean"),
        "claimed_feasible": ("claim_feasible", "mean"),
        "feasible": ("feasible", "mean"),
    }
    every = rows.assign(problem="all")
    both = pd.concat([rows, every], ignore_index=True)
    return both.groupby(["problem", "replications"], sort=False).agg(**means).reset_index()


# --- The verdict ------------------------------------------------------------------------------------------


def verdict(apart: pd.DataFrame, found: pd.DataFrame, judged: pd.DataFrame) -> pd.DataFrame:
    """Return a row per aim, from `differences`, `losses` and `bins`: whether it holds, and what decides."""
    pooled, each = apart[apart["problem"] == "all"], apart[apart["problem"] != "all"]
    closest = pooled.iloc[int(pooled["difference"].argmin())]
    worst = each.iloc[int((each["difference"] / each["difference_se"]).argmin())]
    end = found[found["replications"] == found["replications"].max()]
    bound = end.pivot_table(index="problem", columns="contender", values="bound_loss").mean()
    judged = judged[judged["holds"].notna()]
    failing = judged[judged["holds"] == False]  # noqa: E712
    lines = [
        ("pooled", bool(pooled["holds"].all()), f"closest {closest['contender']}: {_apart(closest)}"),
        (
            "no problem",
            bool(each["holds"].all()),
            f"{worst['contender']} on {worst['problem']}: {_apart(worst)}",
        ),
        ("half", bool(bound[OURS] <= HALF * bound[EQUAL]), f"{bound[OURS]:.4f} of {bound[EQUAL]:.4f}"),
        ("claims", not len(failing), f"{len(judged) - len(failing)} of {len(judged)} bins hold"),
    ]
    return pd.DataFrame(lines, columns=["aim", "holds", "by"])


def _apart(row: "pd.Series[Any]") -> str:
    return f"{row['difference']:+.4f} ± {row['difference_se']:.4f}"


def tables(contest_tables: dict[str, pd.DataFrame], claims: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return all tables that are shown and stored, given the losses and the differences of the contest."""
    found, judged = contest_tables, bins(claims)
    said = verdict(found["differences"], found["losses"], judged)
    return {**found, "bins": judged, "sure": sure(claims), "verdict": said}


def on_page(found: dict[str, pd.DataFrame]) -> list[str]:
    """Return the lines of the page that these tables make: scores, shares, claims and the aims."""
    return [
        *_markdown(_scores_on_page(found["differences"], found["losses"])),
        "",
        *_markdown(_shares_on_page(found["losses"])),
        "",
        *_markdown(_claims_on_page(found["bins"])),
        "",
        *_markdown(_sure_on_page(found["sure"])),
        "",
        *_markdown(found["verdict"].replace({True: "yes", False: "no"})),
    ]


def _markdown(table: pd.DataFrame) -> list[str]:
    rows = [[str(name).replace("_", " ") for name in table.columns], ["---"] * len(table.columns)]
    rows += table.astype(str).to_numpy().tolist()
    return ["| " + " | ".join(row) + " |" for row in rows]


def _scores_on_page(apart: pd.DataFrame, found: pd.DataFrame) -> pd.DataFrame:
    """Return scores times 1,000 by problem and contender, with how many standard errors they lie apart."""
    later = found[found["replications"] > 0]
    ours = later[later["contender"] == OURS].groupby("problem", sort=False)["loss"].mean()
    lines = []
    for name, own in apart.groupby("problem", sort=False):
        mean = ours.mean() if name == "all" else ours[str(name)]
        each = (own["difference"] / own["difference_se"]).map("{:+.1f}".format)
        others = (1000 * own["score"]).map("{:.0f}".format) + " (" + each + ")"
        cells = dict(zip(own["contender"], others, strict=True))
        lines.append({"score, in thousandths": name, OURS: f"{1000 * mean:.0f}"} | cells)
    order = ["score, in thousandths", *CONTENDERS]
    return pd.DataFrame(lines).reindex(columns=[each for each in order if each in lines[0]])


def _shares_on_page(found: pd.DataFrame) -> pd.DataFrame:
    """Return shares right and infeasible and the loss of every contender, the means over problems."""
    means = found.groupby(["contender", "replications"], sort=False)[["loss", "right", "infeasible"]].mean()
    lines = []
    for label, own in means.groupby("contender", sort=False):
        cells = {
            f"{name} after {n}": f"{own.loc[(label, n), name]:.3f}"
            for name in ("loss", "right", "infeasible")
            for n in own.index.get_level_values("replications")
        }
        lines.append({"contender": label} | cells)
    return pd.DataFrame(lines)


def _claims_on_page(found: pd.DataFrame) -> pd.DataFrame:
    """Return the judged bins: all problems together, at each look."""
    own = found[(found["problem"] == "all") & (found["replications"].astype(str) != "all")]
    return pd.DataFrame(
        {
            "claim": "P(" + own["claim"] + ")",
            "after": own["replications"],
            "from": own["from"],
            "contexts": own["contexts"],
            "claimed": own["claimed"].map("{:.3f}".format),
            "held": own["held"].map("{:.3f}".format) + " ± " + own["difference_se"].map("{:.3f}".format),
            "aim kept": own["holds"].map({True: "yes", False: "no"}).fillna("not judged"),
        }
    )


def _sure_on_page(found: pd.DataFrame) -> pd.DataFrame:
    """Return the share of contexts that are sure, by problem and look."""
    wide = found.pivot_table(index="problem", columns="replications", values="sure", sort=False)
    wide.columns = pd.Index([f"sure after {n}" for n in wide.columns])
    return wide.map("{:.2f}".format).reset_index()


@click.command(help=__doc__)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Where what was run is kept.")
@click.option("--minutes", default=35.0, show_default=True, help="Processor minutes; 0 shows what there is.")
@click.option(
    "--claims", "only_claims", is_flag=True, help="Run live studies alone; the contest's tables stay."
)
@click.option("--store", is_flag=True, help="Put the tables where the pages take them from.")
def main(out: Path, minutes: float, only_claims: bool, store: bool) -> None:
    """Run the contest and the studies, and show the tables."""
    out.mkdir(parents=True, exist_ok=True)
    run_rounds(out, minutes, studies if only_claims else both)
    if only_claims:
        found = {name: pd.read_csv(STORED / f"limits_{name}.csv") for name in ("losses", "differences")}
    else:
        rows = whole_rounds(out, contest)
        found = {"losses": losses(rows), "differences": differences(rows)}
    made = {title: each.round(5) for title, each in tables(found, whole_rounds(out, studies)).items()}
    for title, each in made.items():
        echo(f"\n{title}\n{each.to_string(index=False)}")
        if store:
            write_csv(STORED / f"limits_{title}.csv", each)
    echo("\n" + "\n".join(on_page(made)))


if __name__ == "__main__":
    main()
