"""R studies in one array program take the decisions of R single studies, refits and ties included."""

import numpy as np

from argbest import Study, registry, streams
from argbest.core import tally as tallies
from argbest.core.arrays import IntArray
from argbest.core.decision import Decision
from argbest.core.setting import Setting
from argbest.models.gp import GP
from argbest.policies.gp_c_ocba import GPCOCBA

ROOT, RUNS, INITIAL, SAMPLES, REFIT_EVERY = 5, 6, 100, 45, 10


def run_together() -> tuple[list[Decision], IntArray]:
    """One loop over all runs at once; the noise of a run's n-th replication of a cell has its own address."""
    problem = registry.problem("branin")
    truth = problem.truth
    assert truth is not None
    setting = Setting(problem.weights, problem.contexts.separation(problem.bounds), np.ones(10, bool))
    runs = np.arange(RUNS)

    def simulate(decision: Decision, count: IntArray) -> np.ndarray:
        cell = (runs * 100 + decision.alternative * 10 + decision.context).astype(np.int64)
        seeds = streams.cell_seed(
            ROOT, cell, count[runs, decision.alternative, decision.context], n_cells=100 * RUNS
        )
        return truth[decision.alternative, decision.context] + 3.0 * streams.standard_normal(seeds)

    tally = tallies.empty((RUNS, 10, 10))
    for k, c in np.ndindex(10, 10):
        where = Decision(np.full(RUNS, k), np.full(RUNS, c))
        tally = tallies.add(tally, where, simulate(where, tally.count))
    model, policy, params, decisions = GP(), GPCOCBA(), None, []
    belief = None
    for i in range(SAMPLES):
        if belief is None or i % REFIT_EVERY == 0:
            params = model.fit(tally, setting, params)
            belief = model.posterior(tally, setting, params, belief)
        draws = streams.Draws(ROOT, streams.Purpose.POLICY, runs, INITIAL + i)
        batch = policy.propose(belief, tally, np.zeros(tally.shape, np.int64), setting, draws)
        decision = Decision(batch.alternative[:, 0], batch.context[:, 0])
        value = simulate(decision, tally.count)
        tally, belief = tallies.add(tally, decision, value), belief.update(decision, value)
        decisions.append(decision)
    return decisions, tally.count


def test_studies_run_together_equal_studies_run_alone() -> None:
    problem = registry.problem("branin")
    assert problem.truth is not None
    decisions, count = run_together()
    for run in range(RUNS):
        study = Study(problem, initial=1, seed=ROOT, refit_every=REFIT_EVERY)
        alone = []
        for _ in range(INITIAL + SAMPLES):
            [trial] = study.ask()
            alone.append(trial.pair)
            k, c = trial.pair
            cell = run * 100 + k * 10 + c
            seed = streams.cell_seed(ROOT, cell, trial.replication, n_cells=100 * RUNS)
            study.tell(trial, float(problem.truth[k, c] + 3.0 * streams.standard_normal(int(seed))))
        assert alone[INITIAL:] == [(int(d.alternative[run]), int(d.context[run])) for d in decisions]
        np.testing.assert_array_equal(study.tally.count, count[run])
