"""Take the same GP-C-OCBA decisions with a loop on plain BoTorch, and compare their cost.

Branin, two replications of every pair to begin with, a refit every 10 replications. Prints CPU time per
decision, refits included and simulations not: of the BoTorch loop, of a live `Study`, and per run of an
experiment of many; right after the initial design, and 1,000 replications later. Needs the extra `bench`.
"""

import argparse
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, cast

import botorch
import numpy as np
import torch
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms.outcome import Standardize
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import MaternKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.mlls import ExactMarginalLogLikelihood
from gpytorch.priors import GammaPrior
from threadpoolctl import threadpool_limits

from argbest import Problem, Study, registry, streams
from argbest.core import tally as tallies
from argbest.core.arrays import Array, IntArray
from argbest.core.decision import Decision
from argbest.experiment import Experiment, run
from argbest.models.gp import GP
from argbest.policies.ocba import GPCOCBA

INITIAL = 200
REFIT_EVERY = 10
APART: dict[str, Any] = {"common_random_numbers": False}  # noise as BoTorch takes it
History = list[tuple[int, int, float]]  # alternative, context, value


@dataclass
class BoTorchLoop:
    """GP-C-OCBA with one SingleTaskGP per alternative, as a careful user of BoTorch would write it.

    Only alternatives with new data are refitted, ``warm`` from their last hyper-parameters or cold from the
    defaults; in between an observation changes the posterior of its own alternative alone.
    """

    contexts: Array  # [context, coordinate], in the unit cube
    n_alternatives: int
    warm: bool = False
    models: list[Any] = field(init=False)
    inputs: list[Any] = field(init=False)  # per alternative, [observation, coordinate]
    values: list[Any] = field(init=False)  # per alternative, [observation, 1]
    points: Any = field(init=False)  # the contexts as a tensor
    fresh: set[int] = field(init=False)  # alternatives with data since the last refit
    mean: Array = field(init=False)  # [alternative, context]
    var: Array = field(init=False)
    count: IntArray = field(init=False)

    def __post_init__(self) -> None:
        shape = (self.n_alternatives, len(self.contexts))
        self.points = torch.as_tensor(self.contexts)
        self.models = [None] * self.n_alternatives
        self.inputs = [self.points[:0]] * self.n_alternatives
        self.values = [self.points[:0, :1]] * self.n_alternatives
        self.fresh = set()
        self.mean, self.var, self.count = np.zeros(shape), np.zeros(shape), np.zeros(shape, np.int64)

    def record(self, k: int, c: int, value: float) -> None:
        """Take an observation in; the posterior follows with `refit` or `condition`."""
        self.inputs[k] = torch.cat([self.inputs[k], self.points[c : c + 1]])
        self.values[k] = torch.cat([self.values[k], torch.tensor([[value]], dtype=torch.float64)])
        self.count[k, c] += 1
        self.fresh.add(k)

    def refit(self) -> None:
        """Search the MAP hyper-parameters of the alternatives with new data."""
        for k in self.fresh:
            model = _single_task_gp(self.inputs[k], self.values[k])
            if self.warm and self.models[k] is not None:
                _start_from(model, self.models[k])
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
            self.models[k] = model
            self._predict(k)
        self.fresh = set()

    def condition(self, k: int) -> None:
        """Let the model of one alternative know its last observation; nothing is searched.

        `condition_on_observations` leads to the same decisions and takes more than twice as long.
        """
        model = self.models[k]
        standardised, _ = model.outcome_transform(self.values[k])
        model.set_train_data(self.inputs[k], standardised.squeeze(-1), strict=False)
        self._predict(k)

    def decide(self) -> tuple[int, int]:
        """Return the pair Algorithm 1 of Cakmak, Gao and Zhou samples next."""
        contexts = np.arange(len(self.contexts))
        best = self.mean.argmax(axis=0)
        gap = self.mean[best, contexts] - self.mean
        zeta = gap**2 / (self.var[best, contexts] + self.var)
        zeta[best, contexts] = np.inf
        k, c = (int(i) for i in np.unravel_index(zeta.argmin(), zeta.shape))
        ratio = self.count[:, c] / self.var[:, c]
        of_best = ratio[best[c]]
        return (int(best[c]), c) if of_best < ratio.sum() - of_best else (k, c)

    def _predict(self, k: int) -> None:
        with torch.no_grad():
            posterior = self.models[k].posterior(self.points)
            self.mean[k] = posterior.mean.squeeze(-1).numpy()
            self.var[k] = posterior.variance.squeeze(-1).numpy()


def _single_task_gp(inputs: Any, values: Any) -> Any:
    """Return the paper's model: the defaults of BoTorch in 2021, which later versions have changed."""
    noise = GaussianLikelihood(
        noise_prior=GammaPrior(1.1, 0.05),
        noise_constraint=GreaterThan(1e-4, transform=None, initial_value=2.0),
    )
    matern = MaternKernel(nu=2.5, ard_num_dims=inputs.shape[-1], lengthscale_prior=GammaPrior(3.0, 6.0))
    kernel = ScaleKernel(matern, outputscale_prior=GammaPrior(2.0, 0.15))
    return SingleTaskGP(
        inputs, values, likelihood=noise, covar_module=kernel, outcome_transform=Standardize(m=1)
    )


def _start_from(model: Any, other: Any) -> None:
    """Give the model the hyper-parameters of another, leaving its own standardisation alone."""
    with torch.no_grad():
        for own, given in zip(model.parameters(), other.parameters(), strict=True):
            own.copy_(given)


def unit_contexts(problem: Problem) -> Array:
    """Return the coordinates of the contexts scaled by the problem's bounds, [context, coordinate]."""
    columns = []
    for name, values in problem.contexts.coordinates.items():
        low, high = problem.bounds[name]
        columns.append((np.array(values, float) - low) / (high - low))
    return np.stack(columns, axis=-1)


def simulated(problem: Problem, k: int, c: int, seed: int) -> float:
    """Return one noisy reward of a pair."""
    simulate = cast("Any", problem.simulate)
    return float(simulate(problem.alternatives.item(k), problem.contexts.item(c), seed))


def run_study(study: Study, number: int) -> tuple[History, float]:
    """Return ``number`` further observations of a study, and the CPU seconds of its ask and tell."""
    history, seconds = [], 0.0
    for _ in range(number):
        started = time.process_time()
        [trial] = study.ask()
        seconds += time.process_time() - started
        value = simulated(study.problem, *trial.pair, trial.seed)
        started = time.process_time()
        study.tell(trial, value)
        seconds += time.process_time() - started
        history.append((*trial.pair, value))
    return history, seconds


def run_botorch(
    problem: Problem, seed: int, history: History, number: int, *, warm: bool
) -> tuple[History, float]:
    """Return ``number`` observations decided by BoTorch after a history, and the CPU seconds it took.

    The n-th replication of a pair has the noise it has in the study of this seed.
    """
    loop = _prepared(BoTorchLoop(unit_contexts(problem), problem.n_alternatives, warm), history)
    later, seconds = [], 0.0
    for i in range(number):
        started = time.process_time()
        if i % REFIT_EVERY == 0:
            loop.refit()
        k, c = loop.decide()
        seconds += time.process_time() - started
        address = streams.replication_seed(seed, c, int(loop.count[k, c]), alternative=k)
        value = simulated(problem, k, c, int(address))
        started = time.process_time()
        loop.record(k, c, value)
        if (i + 1) % REFIT_EVERY:  # otherwise a refit comes next
            loop.condition(k)
        seconds += time.process_time() - started
        later.append((k, c, value))
    return later, seconds


def _prepared(loop: BoTorchLoop, history: History) -> BoTorchLoop:
    """Return the loop as it is when the next refit is due, its last one made up for."""
    known = len(history) - REFIT_EVERY if len(history) > INITIAL else len(history)
    for k, c, value in history[:known]:
        loop.record(k, c, value)
    if known < len(history):
        loop.refit()
    for k, c, value in history[known:]:
        loop.record(k, c, value)
        loop.condition(k)
    return loop


def shared(problem: Problem, history: History, since: int) -> int:
    """Return how many of the decisions from ``since`` on are ours, too, given the history before each."""
    setting, nothing = problem.setting, np.zeros(problem.shape, np.int64)
    alternative, context, value = (np.array(column) for column in zip(*history, strict=True))
    first = alternative[:INITIAL], context[:INITIAL]
    tally = tallies.from_observations(first, value[:INITIAL], problem.shape)
    model, policy, params, belief, count = GP(), GPCOCBA(), None, None, 0
    for i in range(INITIAL, len(history)):
        if belief is None or (i - INITIAL) % REFIT_EVERY == 0:
            params = model.fit(tally, setting, params)
            belief = model.posterior(tally, setting, params, belief)
        if i >= since:
            draws = streams.StepDraws(0, streams.Purpose.POLICY, i)
            ours = policy.propose(belief, tally, nothing, setting, draws)
            count += int((ours.alternative[0], ours.context[0]) == (alternative[i], context[i]))
        theirs = Decision(alternative[i], context[i])
        tally, belief = tallies.add(tally, theirs, value[i]), belief.update(theirs, value[i])
    return count


def before_parting(ours: History, theirs: History) -> int:
    """Return how many decisions two runs that began alike have in common before the first that differs."""
    same = [a[:2] == b[:2] for a, b in zip(ours, theirs, strict=True)]
    return [*same, False].index(False)


def run_together(seed: int, macroreps: int, starts: tuple[int, ...], number: int) -> list[float]:
    """Return the CPU seconds of ``number`` decisions from each start, per run of an experiment.

    A checkpoint is read after its refit, so the refits of these decisions are those up to the last checkpoint
    but one. Scoring and simulating are not counted.
    """
    experiment = Experiment(
        "branin",
        "gp-c-ocba",
        replications=max(starts) + number,
        macroreps=macroreps,
        seed=seed,
        checkpoint_every=REFIT_EVERY,
        common_random_numbers=False,
    )
    times = run(experiment).runs.groupby("replications").mean(numeric_only=True)
    refit = times["refit_seconds"].to_dict()
    apart = times[["refit_seconds", "certify_seconds", "simulate_seconds"]].sum(axis=1)
    rest = (times["seconds"] - apart).to_dict()
    return [
        rest[start + number]
        - rest[start]
        + refit[start + number - REFIT_EVERY]
        - refit.get(start - REFIT_EVERY, 0.0)
        for start in starts
    ]


def measure(
    *, number: int = 60, after: int = 1_000, seeds: int = 3, macroreps: int = 100
) -> dict[int, dict[str, float]]:
    """Return agreement and CPU seconds of decisions right after the design and ``after`` replications later.

    ``number`` decisions (a multiple of 10) of each seed by BoTorch, refitted "cold" and "warm", by a "single"
    study and by an experiment of ``macroreps`` ("vectorised"). "cold given" and "warm given" are the shares
    of BoTorch's decisions that are ours given the same history; "cold alone" and "warm alone" those before a
    study with the same noise takes another way.
    """
    torch.set_num_threads(1)
    problem, starts = registry.problem("branin"), (0, after)
    total: dict[int, dict[str, float]] = {start: defaultdict(float) for start in starts}
    with threadpool_limits(1):
        # First calls compile, or load what is loaded late; they are nobody's decisions.
        history, _ = run_study(Study(problem, **APART), INITIAL + REFIT_EVERY)
        run_botorch(problem, 0, history, REFIT_EVERY, warm=True)
        for seed in range(seeds):
            in_batch = run_together(seed, macroreps, starts, number)
            for start, vectorised in zip(starts, in_batch, strict=True):
                study, row = Study(problem, seed=seed, **APART), total[start]
                history, _ = run_study(study, INITIAL + start)
                ours, seconds = run_study(study, number)
                row["single"] += seconds
                row["vectorised"] += vectorised
                for kind in ("cold", "warm"):
                    theirs, seconds = run_botorch(problem, seed, history, number, warm=kind == "warm")
                    row[kind] += seconds
                    row[f"{kind} given"] += shared(problem, history + theirs, INITIAL + start)
                    row[f"{kind} alone"] += before_parting(ours, theirs)
    each = number * seeds
    return {start: {name: sums / each for name, sums in row.items()} for start, row in total.items()}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--decisions", type=int, default=60, help="decisions of each window, a multiple of 10"
    )
    parser.add_argument("--after", type=int, default=1_000, help="replications before the second window")
    parser.add_argument("--seeds", type=int, default=3, help="studies, each beside BoTorch cold and warm")
    parser.add_argument("--macroreps", type=int, default=100, help="runs of the experiment")
    options = parser.parse_args(arguments)
    if options.decisions % REFIT_EVERY or options.after % REFIT_EVERY:
        parser.error(f"--decisions and --after are multiples of {REFIT_EVERY}, the refits")
    number, macroreps = options.decisions, options.macroreps
    figures = measure(number=number, after=options.after, seeds=options.seeds, macroreps=macroreps)
    print(f"torch {torch.__version__}, botorch {botorch.__version__}, one thread; CPU time per decision")
    columns = ("BoTorch", "1 study", "ratio", f"{macroreps} runs", "ratio", "given", "alone")
    print(f"{'replications':>11} {'refits':>6} " + " ".join(f"{name:>9}" for name in columns))
    for start, row in figures.items():
        single, vectorised = row["single"], row["vectorised"]
        for kind in ("cold", "warm"):
            entries = (
                f"{row[kind] * 1e3:.1f} ms",
                f"{single * 1e6:.0f} µs",
                f"{row[kind] / single:,.0f}",
                f"{vectorised * 1e6:.1f} µs",
                f"{row[kind] / vectorised:,.0f}",
                f"{row[f'{kind} given']:.1%}",
                f"{row[f'{kind} alone']:.1%}",
            )
            span = f"{start}-{start + number}"
            print(f"{span:>11} {kind:>6} " + " ".join(f"{entry:>9}" for entry in entries), flush=True)


if __name__ == "__main__":
    main()
