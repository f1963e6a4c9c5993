"""The published Branin runs of C-OCBA and DSCO: given the rows above it, each row is the decision we take."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from argbest.core import tally as tallies
from argbest.core.decision import Decision
from argbest.core.setting import Setting
from argbest.models.frequentist import Independent
from argbest.policies.base import Policy
from argbest.policies.ocba import COCBA, DSCO
from argbest.streams import Purpose, StepDraws

INITIAL = 200


@pytest.mark.parametrize(("name", "policy"), [("c-ocba", COCBA()), ("dsco", DSCO())])
def test_every_published_decision_is_ours(reference: Path, name: str, policy: Policy) -> None:
    """All eight runs at once, so the leading axis is on trial, too."""
    rows = pd.read_csv(reference / "branin_trajectories.csv").query("policy == @name")
    runs = [run.sort_values("index") for _, run in rows.groupby("seed")]
    alternative, context, value = (
        np.stack([run[column].to_numpy() for run in runs]) for column in ("alternative", "context", "value")
    )
    n_runs, n_rows = value.shape
    first = (np.arange(n_runs).repeat(INITIAL), *(a[:, :INITIAL].ravel() for a in (alternative, context)))
    tally = tallies.from_observations(first, value[:, :INITIAL].ravel(), (n_runs, 10, 10))
    setting = Setting(np.full(10, 0.1), np.zeros((1, 10, 10)), np.ones(10, bool))
    model, pending, shared = Independent(), np.zeros(tally.shape, np.int64), 0
    for i in range(INITIAL, n_rows):
        belief = model.posterior(tally, setting, model.fit(tally, setting))
        draws = StepDraws(np.arange(n_runs), Purpose.POLICY, i)
        ours = policy.propose(belief, tally, pending, setting, draws)
        same = (ours.alternative[:, 0] == alternative[:, i]) & (ours.context[:, 0] == context[:, i])
        shared += int(same.sum())
        tally = tallies.add(tally, Decision(alternative[:, i], context[:, i]), value[:, i])
    print(f"{name}: {shared} of {n_runs * (n_rows - INITIAL)} decisions")
    assert n_runs * (n_rows - INITIAL) == 1600
    assert shared == 1600
