"""Whole studies on a real Dask cluster and a real Ray, with run times that differ a hundredfold."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from study.conftest import problem

from argbest import Study
from argbest.answers.overview import overview
from argbest.simulators.ray import RayExecutor

pytestmark = [  # both open files and sockets for the life of the process
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def uneven() -> Callable[[str, int, int], float]:
    """Return a simulator that travels whole: workers cannot import the modules of these tests."""

    def simulate(alternative: str, context: int, seed: int) -> float:
        time.sleep(0.2 if seed % 10 == 0 else 0.002)
        if seed % 17 == 0:
            raise ZeroDivisionError("no servers")
        return context * (ord(alternative) - 97) + seed % 1000 / 1000

    return simulate


@pytest.fixture(scope="module")
def dask() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")
    options = {"n_workers": 2, "threads_per_worker": 2, "dashboard_address": ":0", "silence_logs": 50}
    with (
        distributed.LocalCluster(processes=False, **options) as local,
        distributed.Client(local) as client,
        client.get_executor() as executor,
    ):
        yield executor


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"  # else a FutureWarning on machines without GPUs
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    module = pytest.importorskip("ray", reason="the extra `ray` is not installed")
    module.init(num_cpus=2, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    yield RayExecutor(module)
    module.shutdown()


@pytest.mark.parametrize("cluster", ["dask", "ray"])
@pytest.mark.fast_cases("dask")
def test_a_study_runs_on_a_cluster(cluster: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    executor = request.getfixturevalue(cluster)
    study = Study(problem(uneven()), storage=tmp_path / "s.db", common_random_numbers=False, seed=1)
    study.run(60, executor=executor, workers=4, on_failure="record")
    assert study.n_replications == 60
    for row in study.observations().to_dict("records"):
        assert row["value"] == row["context"] * "abc".index(row["alternative"]) + row["seed"] % 1000 / 1000
    trials = study.trials()
    assert trials.loc[trials["status"] == "failed", "reason"].unique().tolist() == [
        "ZeroDivisionError: no servers"
    ]
    assert study.pending() == []
    [worker] = overview(study)["workers"]
    assert worker["slots"] == 4
    assert 0.0 < worker["utilisation"] <= 1.0
