"""Show the rewards of a study in MLflow as they come in: python examples/tracking_mlflow.py 60.

Needs MLflow (pip install mlflow), and keeps its runs in mlflow.db. To see them:
mlflow ui --backend-store-uri sqlite:///mlflow.db
"""

import random
import sys

import mlflow

import argbest
from argbest.study.trial import Trial


def simulate(order: int, demand: int, seed: int) -> float:
    """Return the profit of a day: what is sold brings 3, what is ordered costs 1."""
    return 3 * min(order, random.Random(seed).gauss(demand, 5)) - order  # noqa: S311


def log(trial: Trial, value: float) -> None:
    """Log a reward under its context, at the number of its trial."""
    mlflow.log_metric(f"profit at demand {trial.context}", value, step=trial.id)


def main(budget: int) -> argbest.Study:
    """Return a study that was tracked."""
    mlflow.set_tracking_uri("sqlite:///mlflow.db")
    with mlflow.start_run(run_name="newsvendor"):
        study = argbest.select(simulate, [20, 30, 40, 50], [25, 45], budget=budget, on_result=log)
        mlflow.log_metrics({"PCS_E": float(study.certificate().pcs_e), "replications": budget})
    return study


if __name__ == "__main__":
    print(main(int(sys.argv[1]) if len(sys.argv) > 1 else 60).certificate())
