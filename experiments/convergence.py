"""Convergence: GP-C-OCBA's allocation goes to p*, but its probability of false selection not with rate η*.

A problem with known noise and a diffuse independent prior, so that the posterior is N(ȳ, σ²/N) in every pair
and the theorems apply as they stand.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from argbest import registry, streams, theory
from argbest.core import tally as tallies
from argbest.core.arrays import Array, IntArray
from argbest.core.belief import CellBelief
from argbest.core.decision import Decision
from argbest.core.false_selection import balance, expected_pcs, optimal_allocation
from argbest.problems.base import Problem
from experiments import drawing
from experiments.plan import Outcome, Plan, picture, texts, write

TRUTH = np.array([[1.0, 0.0], [0.3, 1.0], [0.0, 0.4]])
INITIAL = 2  # replications of every pair
HORIZON = 480  # replications up to which false selections are counted
REPLICATIONS = 500  # per macro-replication asked for: false selections are rare
_SURE = 3.0  # standard errors
_ROWS = 12  # of a curve


def toy() -> Problem:
    """Return three alternatives in two contexts with unit noise."""
    return Problem(["A", "B", "C"], ["left", "right"], truth=TRUTH, noise_sd=1.0, name="toy")


def convergence(plan: Plan) -> Outcome:
    """Return how near the allocation comes to p*, and how false selections vanish under three allocations."""
    problem, length = toy(), plan.length()
    optimum = theory.optimal_allocation(problem)
    shares, residuals = allocations(problem, length, plan.runs, plan.seed)
    decay = false_selection(problem, min(length, HORIZON), REPLICATIONS * plan.runs, plan.seed)
    paths = write(plan, {"convergence_shares": shares, "convergence": residuals, "convergence_pfs": decay})
    drawn, missing = picture(plan, "convergence", lambda: drawing.decay(shares, residuals, decay))
    last = decay.groupby("allocation", sort=False).tail(1)
    table = texts(last, {"allocation": "", "n": ".0f", "pfs": ".2e", "pfs_se": ".1e", "rate": ".4f"})
    end = residuals.iloc[-1]
    notes = (
        f"eta* = {optimum.rate:.4f}; rate is -2 d log PFS/dn over the last quarter, which Theorem 1 says "
        "tends to eta* for the static p*.",
        f"After {end['n']:.0f} replications, medians over {plan.runs} runs: max |p - p*| "
        f"{end['distance']:.3f}, balance residual {end['balance']:.3f}, min eta/eta* "
        f"{end['efficiency']:.3f}; at p* they are 0, 0 and 1.",
        verdict(decay),
    )
    return Outcome("Convergence of GP-C-OCBA", table, notes + missing, paths + drawn)


def verdict(decay: pd.DataFrame) -> str:
    """Return what the last false selections say of the theorem on the adaptive policy's rate.

    It is contradicted where they exceed those of the static p* by three standard errors, else left open.
    """
    last = {row["allocation"]: row for row in decay.to_dict("records")}  # later rows replace earlier ones
    pfs, error = (float(last["gp-c-ocba"][name]) for name in ("pfs", "pfs_se"))
    static = float(last["static p*"]["pfs"])
    facts = f"PFS of GP-C-OCBA {pfs:.1e} ± {error:.1e}, of the static p* {static:.1e}"
    if not pfs - _SURE * error > static:
        return f"{facts}: with so few runs and replications no contradiction to the theorem on its rate."
    return (
        f"{facts}: the adaptive policy does not attain eta*. The theorem on its rate treats the allocation "
        "as if it were independent of the data, but a best alternative that begins badly is seldom sampled "
        "again."
    )


def allocations(problem: Problem, length: int, runs: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return mean shares beside p* per pair and checkpoint, and the median residuals per checkpoint.

    Residuals are those of `theory.convergence`: |balance| and spreads of η go to 0, the efficiency to 1.
    """
    truth, noise = _known(problem)
    optimum = theory.optimal_allocation(problem).allocation
    shares, residuals = [], []
    for tally in adaptive(problem, _checkpoints(problem, length), runs, seed):
        share = tally.count / tally.count.sum(axis=(-2, -1), keepdims=True)
        n, state = int(tally.count[0].sum()), balance(truth, noise, share)
        frame = optimum.rename(columns={"share": "optimal"})
        frame.insert(0, "n", n)
        frame["share"], frame["share_sd"] = share.mean(axis=0).ravel(), share.std(axis=0).ravel()
        shares.append(frame)
        residuals.append(
            {
                "n": n,
                "balance": float(np.median(np.abs(state.balance).max(axis=-1))),
                "within": float(np.median(state.within.max(axis=-1))),
                "across": float(np.median(state.across)),
                "distance": float(np.median(state.distance)),
                "efficiency": float(np.median(state.efficiency)),
            }
        )
    return pd.concat(shares, ignore_index=True), pd.DataFrame(residuals)


def false_selection(problem: Problem, length: int, replications: int, seed: int) -> pd.DataFrame:
    """Return P(some context selected wrong) by replications, under GP-C-OCBA, the static p* and equal shares.

    Counted over replications for the policy; exact for the static allocations, whose sample means are
    independent: 1 − Π_c PCS(c). ``reference`` is exp(−n η*/2); ``rate`` is −2 d log PFS/dn.
    """
    n = _checkpoints(problem, length)
    truth, noise = _known(problem)
    share, rate = optimal_allocation(truth, noise)
    wrong = [
        float(np.any(np.argmax(tally.mean, axis=-2) != problem.best, axis=-1).mean())
        for tally in adaptive(problem, n, replications, seed)
    ]
    error = np.sqrt(np.array(wrong) * (1.0 - np.array(wrong)) / replications)
    curves = {"gp-c-ocba": (np.array(wrong), error)}
    for name, static in (("static p*", share), ("equal", np.full(truth.shape, 1.0 / truth.size))):
        exact = np.array([_exact_pfs(truth, noise, static, int(m)) for m in n])
        curves[name] = (exact, np.zeros(len(n)))
    frames = [
        pd.DataFrame({"allocation": name, "n": n, "pfs": pfs, "pfs_se": se, "rate": _local_rate(n, pfs)})
        for name, (pfs, se) in curves.items()
    ]
    frame = pd.concat(frames, ignore_index=True)
    frame["reference"] = np.exp(-frame["n"].to_numpy(float) * float(rate) / 2.0)
    return frame


def adaptive(problem: Problem, checkpoints: IntArray, runs: int, seed: int) -> Iterator[tallies.Tally]:
    """Yield the tallies of GP-C-OCBA of all runs after so many replications, initial ones included."""
    truth, noise = _known(problem)
    shape = (runs, *problem.shape)
    normal = streams.generator(seed, streams.Purpose.NOISE)
    mean = truth + np.sqrt(noise / INITIAL) * normal.standard_normal(shape)
    tally = tallies.Tally(np.full(shape, INITIAL), mean, np.zeros(shape))
    policy = registry.policy("gp-c-ocba").make()
    nothing, roots = np.zeros(shape, np.int64), streams.roots(seed, np.arange(runs))
    wanted = set(checkpoints.tolist())
    for n in range(INITIAL * truth.size, int(checkpoints[-1]) + 1):
        if n in wanted:
            yield tally
        belief = CellBelief(tally.mean, noise / tally.count, np.broadcast_to(noise, shape))
        draws = streams.StepDraws(roots, streams.Purpose.POLICY, n)
        batch = policy.propose(belief, tally, nothing, problem.setting, draws)
        cell = batch.alternative[:, 0], batch.context[:, 0]
        value = truth[cell] + np.sqrt(noise[cell]) * normal.standard_normal(runs)
        tally = tallies.add(tally, Decision(*cell), value)


def _known(problem: Problem) -> tuple[Array, Array]:
    """Return truth and noise variance."""
    return np.asarray(problem.truth), np.asarray(problem.noise_sd) ** 2


def _checkpoints(problem: Problem, length: int) -> IntArray:
    """Return about a dozen numbers of replications, initial ones included: up to ``length`` after these."""
    first = INITIAL * problem.n_alternatives * problem.n_contexts
    return np.unique(np.linspace(first, first + length, _ROWS + 1).round().astype(np.int64))


def _exact_pfs(truth: Array, noise: Array, share: Array, n: int) -> float:
    return float(1.0 - np.prod(expected_pcs(truth, noise, share, n)))


def _local_rate(n: IntArray, pfs: Array) -> float:
    """Return −2 d log PFS/dn over the last quarter; unknown where nothing went wrong."""
    first = len(n) - 1 - max(1, len(n) // 4)
    if not (pfs[first] > 0 and pfs[-1] > 0):
        return float("nan")
    return float(-2.0 * np.log(pfs[-1] / pfs[first]) / (n[-1] - n[first]))
