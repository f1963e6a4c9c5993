"""The published Branin runs: given the rows above it, each gp-c-ocba row is the decision we take."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from argbest import registry
from argbest.core import tally as tallies
from argbest.core.decision import Decision
from argbest.core.setting import Setting
from argbest.models.gp import GP
from argbest.policies.ocba import GPCOCBA
from argbest.streams import Purpose, StepDraws

INITIAL = 200
REFIT_EVERY = 10


def replay(rows: pd.DataFrame, setting: Setting, *, warm: bool) -> tuple[int, int]:
    """Return how many of the decisions after the initial samples we share, and how many there are."""
    alternative, context, value = (rows[name].to_numpy() for name in ("alternative", "context", "value"))
    tally = tallies.from_observations((alternative[:INITIAL], context[:INITIAL]), value[:INITIAL], (10, 10))
    model, policy, params, shared = GP(), GPCOCBA(), None, 0
    for i in range(INITIAL, len(rows)):
        if (i - INITIAL) % REFIT_EVERY == 0:
            params = model.fit(tally, setting, params if warm else None)
            belief = model.posterior(tally, setting, params)
        draws = StepDraws(0, Purpose.POLICY, i)
        ours = policy.propose(belief, tally, np.zeros((10, 10), np.int64), setting, draws)
        shared += (ours.alternative[0], ours.context[0]) == (alternative[i], context[i])
        theirs = Decision(np.asarray(alternative[i]), np.asarray(context[i]))
        tally, belief = tallies.add(tally, theirs, value[i]), belief.update(theirs, value[i])
    return shared, len(rows) - INITIAL


@pytest.mark.parametrize("warm", [False, True])
def test_every_published_decision_is_ours(reference: Path, *, warm: bool) -> None:
    problem = registry.problem("branin")
    separation = problem.contexts.separation(problem.bounds)
    setting = Setting(problem.weights, separation, np.ones(10, bool))
    runs = pd.read_csv(reference / "branin_trajectories.csv").query("policy == 'gp-c-ocba'")
    scores = [replay(rows, setting, warm=warm) for _, rows in runs.groupby("seed")]
    shared, total = np.sum(scores, axis=0)
    print(f"{'warm' if warm else 'cold'} starts: {shared} of {total} decisions")
    assert total == 480
    assert shared == 480
