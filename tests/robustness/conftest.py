"""What the tests of robustness share: a script that is killed, and what must hold whatever happened."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
from conftest import ROOT
from postgres import postgres
from robustness.mortal import key, value

from argbest import Study

__all__ = ["postgres"]


def mortal(mode: str, *arguments: object) -> dict[str, Any]:
    """Return what the script says after doing what it does in this mode."""
    command = [sys.executable, str(ROOT / "tests" / "robustness" / "mortal.py"), mode, *map(str, arguments)]
    single = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=500, check=False, env=os.environ | single
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found | {"said": done.stderr}


def assert_nothing_lost(study: Study, log: Path, budget: int) -> None:
    """Check the observations of a study against the log that its simulator wrote by itself."""
    logged = dict(line.split() for line in log.read_text().splitlines())
    observations = study.observations()
    assert len(observations) == study.n_replications == budget
    assert observations["trial"].is_unique
    told: dict[str, str] = {}
    for row in observations.to_dict("records"):
        simulation = row["alternative"], row["context"], row["seed"]
        assert row["value"] == value(*simulation)
        told[key(*simulation)] = repr(row["value"])
    assert len(told) == budget  # no simulation counts twice
    assert logged.items() <= told.items()  # what was simulated was told, at last
    trials = study.trials()
    assert trials["trial"].tolist() == list(range(len(trials)))
    assert set(trials["status"]) == {"told"}
    assert study.allocation()["pending"].sum() == 0


def assert_same_study(one: Study, two: Study) -> None:
    for name in ("trials", "observations", "allocation"):
        pd.testing.assert_frame_equal(getattr(one, name)(), getattr(two, name)())
