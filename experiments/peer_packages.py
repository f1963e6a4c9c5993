"""Optuna, BoTorch and SMAC3 on problems with contexts, each set up as its manual says.

They are in the dependency group `peers`.

All three get seeds of their own for every replication, since their models take noise as independent.
"""

import logging
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from argbest.core.arrays import Array, IntArray
from argbest.problems.axis import Axis
from experiments.peer_methods import Look, Task


@dataclass(eq=False)
class Replicated:
    """Replications asked for one at a time: counts, sums, and the next number of every pair."""

    task: Task
    count: IntArray = field(init=False)  # [alternative, context]
    total: Array = field(init=False)

    def __post_init__(self) -> None:
        self.count, self.total = (
            np.zeros(self.task.problem.shape, np.int64),
            np.zeros(self.task.problem.shape),
        )

    def once(self, k: int, c: int) -> float:
        """Return the next replication of a pair."""
        n = int(self.count[k, c])
        value = float(self.task.draws(n + 1, common=False)[k, c, n])
        self.count[k, c] += 1
        self.total[k, c] += value
        return value

    @property
    def samples(self) -> int:
        """How many replications there were."""
        return int(self.count.sum())

    @property
    def largest_average(self) -> IntArray:
        """The alternative with the largest average of those that were simulated, [context]."""
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(self.count > 0, self.total / self.count, -np.inf)
        return np.asarray(mean.argmax(axis=0))


@dataclass(frozen=True, eq=False)
class Space:
    """Alternatives as parameters: an integer for every column of numbers, otherwise one category."""

    sizes: dict[str, int]  # number of levels by column; empty where alternatives are names
    place: dict[tuple[int, ...], int]  # position of an alternative by those of its levels

    @classmethod
    def of(cls, axis: Axis) -> "Space":
        """Return the space of an axis; numbers count only where all their combinations are there."""
        levels = {name: sorted(set(values)) for name, values in axis.metric.items()}
        whole = int(np.prod([len(each) for each in levels.values()])) == len(axis)
        if len(levels) < len(axis.coordinates) or not whole:
            return cls({}, {(k,): k for k in range(len(axis))})
        rows = zip(
            *([levels[name].index(x) for x in values] for name, values in axis.metric.items()), strict=True
        )
        return cls({name: len(each) for name, each in levels.items()}, {row: k for k, row in enumerate(rows)})


# --- Optuna -----------------------------------------------------------------------------------------------


def optuna(task: Task, most: float) -> Iterator[Look]:
    """Yield what one Optuna study per context names, each with the default sampler, TPE.

    The answer of its manual is `study.best_params`, the luckiest trial; "average" names the alternative with
    the largest average over its trials instead. Columns of numbers are integers, names a category.
    """
    import optuna as package

    package.logging.set_verbosity(package.logging.ERROR)
    n_alternatives, n_contexts = task.problem.shape
    space = Space.of(task.problem.alternatives)
    studies = [
        package.create_study(
            direction="maximize", sampler=package.samplers.TPESampler(seed=_small(task.seed + c))
        )
        for c in range(n_contexts)
    ]
    done, lucky = Replicated(task), np.zeros(n_contexts, np.int64)
    highest = np.full(n_contexts, -np.inf)

    def position(trial: Any) -> int:
        if not space.sizes:
            return int(trial.suggest_categorical("alternative", list(range(n_alternatives))))
        return space.place[tuple(trial.suggest_int(name, 0, n - 1) for name, n in space.sizes.items())]

    for n in task.up_to(most):
        while done.count[:, 0].sum() < round(n * n_alternatives):
            for c, study in enumerate(studies):
                trial = study.ask()
                k = position(trial)
                value = done.once(k, c)
                study.tell(trial, value)
                if value > highest[c]:
                    highest[c], lucky[c] = value, k
        if done.samples:
            yield Look(done.samples, lucky.copy())
            yield Look(done.samples, done.largest_average, answer="average")


# --- BoTorch ----------------------------------------------------------------------------------------------


def features(axis: Axis) -> tuple[Array, list[int]]:
    """Return every entry of an axis as numbers in [0, 1], [entry, column], and the columns of categories."""
    table, categories = [], []
    for i, (name, values) in enumerate(axis.coordinates.items()):
        if name in axis.metric:
            numbers = np.asarray(values, float)
            span = float(np.ptp(numbers)) or 1.0
            table.append((numbers - numbers.min()) / span)
        else:
            named = sorted(set(values), key=str)
            table.append(np.array([named.index(each) for each in values], float))
            categories.append(i)
    return np.stack(table, axis=-1), categories


def botorch(task: Task, most: float) -> Iterator[Look]:
    """Yield what a Gaussian process over alternatives and contexts names, sampled by noisy EI.

    `SingleTaskGP`, or `MixedSingleTaskGP` where there are names. It begins with two random alternatives of
    every context. Then in every round the model is fitted again, from its last hyper-parameters, and
    `qLogNoisyExpectedImprovement` over the pairs seen in a context chooses the next alternative there, the
    context being fixed. What is named has the largest posterior mean.
    """
    import torch

    torch.set_num_threads(1)
    problem, done = task.problem, Replicated(task)
    n_alternatives, n_contexts = problem.shape
    own, own_names = features(problem.alternatives)
    other, other_names = features(problem.contexts)
    if n_contexts == 1:
        other, other_names = other[:, :0], []
    names = own_names + [own.shape[1] + i for i in other_names]
    points = torch.as_tensor(
        np.stack([[np.concatenate([a, b]) for a in own] for b in other])
    )  # [context, alternative, column]
    random = np.random.default_rng(task.seed)
    rows: list[tuple[int, int, float]] = []
    for c in range(n_contexts):
        begin = random.choice(n_alternatives, size=min(2, n_alternatives), replace=False).tolist()
        rows += [(k, c, done.once(k, c)) for k in begin]
    model, looks = None, iter(task.up_to(most))
    look = next(looks)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while True:
            at, there, value = (np.array(column) for column in zip(*rows, strict=True))
            model = _fitted(points[there, at], torch.as_tensor(value)[:, None], names, model)
            if done.samples >= look * task.pairs:
                with torch.no_grad():
                    mean = model.posterior(points.reshape(-1, points.shape[-1])).mean
                yield Look(done.samples, mean.reshape(n_contexts, n_alternatives).argmax(dim=1).numpy())
                look = next((n for n in looks if n * task.pairs > done.samples), np.inf)
                if look == np.inf:
                    return
            torch.manual_seed(_small(task.seed + done.samples))
            chosen = [
                _next(model, points[i], points[i][np.unique(at[there == i])]) for i in range(n_contexts)
            ]
            rows += [(each, i, done.once(each, i)) for i, each in enumerate(chosen)]


def _fitted(inputs: Any, values: Any, names: list[int], last: Any) -> Any:
    """Return the model of all observations, its hyper-parameters searched from the last ones."""
    import torch
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import MixedSingleTaskGP, SingleTaskGP
    from gpytorch.mlls import ExactMarginalLogLikelihood

    model = MixedSingleTaskGP(inputs, values, cat_dims=names) if names else SingleTaskGP(inputs, values)
    if last is not None:
        with torch.no_grad():
            for parameter, found in zip(model.parameters(), last.parameters(), strict=True):
                parameter.copy_(found)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


def _next(model: Any, choices: Any, seen: Any) -> int:
    """Return the alternative of the largest noisy expected improvement in a context."""
    from botorch.acquisition.logei import qLogNoisyExpectedImprovement
    from botorch.optim import optimize_acqf_discrete

    acquisition = qLogNoisyExpectedImprovement(model, seen, prune_baseline=True)
    point, _ = optimize_acqf_discrete(acquisition, q=1, choices=choices)
    return int((choices == point).all(dim=-1).nonzero()[0, 0])


# --- SMAC3 ------------------------------------------------------------------------------------------------


def smac(task: Task, most: float) -> Iterator[Look]:
    """Yield the incumbent of SMAC3's algorithm configuration, with the contexts as instances.

    SMAC3 looks for one configuration with the best average over instances, so that is its answer in every
    context. Features of instances are their coordinates.
    """
    from ConfigSpace import Categorical, ConfigurationSpace, Integer
    from smac import AlgorithmConfigurationFacade, Scenario
    from smac.main.exceptions import ConfigurationSpaceExhaustedException
    from smac.runhistory.dataclasses import TrialValue

    logging.getLogger("smac").setLevel(logging.ERROR)  # it warns whenever it has tried every configuration

    space, done = Space.of(task.problem.alternatives), Replicated(task)
    configurations = ConfigurationSpace(seed=_small(task.seed))
    if space.sizes:
        configurations.add([Integer(name, (0, n - 1)) for name, n in space.sizes.items()])
    else:
        configurations.add(Categorical("alternative", list(range(task.problem.n_alternatives))))
    table, _ = features(task.problem.contexts)
    instances = [str(c) for c in range(task.problem.n_contexts)]

    def position(config: Any) -> int:
        return space.place[tuple(int(config[name]) for name in space.sizes or ["alternative"])]

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scenario = Scenario(
            configurations,
            output_directory=folder,
            n_trials=round(most * task.pairs),
            instances=instances,
            instance_features=dict(zip(instances, table.tolist(), strict=True)),
            seed=_small(task.seed),
        )
        facade = AlgorithmConfigurationFacade(scenario, _never_called, overwrite=True, logging_level=False)
        ended = False
        for n in task.up_to(most):
            while not ended and done.samples < round(n * task.pairs):
                try:
                    info = facade.ask()
                except (StopIteration, ConfigurationSpaceExhaustedException):
                    ended = True  # it has seen every configuration
                else:
                    value = done.once(position(info.config), int(info.instance))
                    facade.tell(info, TrialValue(cost=-value))
            if incumbents := facade.intensifier.get_incumbents():
                yield Look(done.samples, np.full(len(instances), position(incumbents[0])))
            if ended:
                return


def _never_called(config: Any, instance: str, seed: int) -> float:
    """Say what SMAC3 wants to know: the names of the arguments. Values are told, not asked for."""
    raise NotImplementedError


def _small(seed: int) -> int:
    """Return a seed that all packages take."""
    return seed % 2**31
