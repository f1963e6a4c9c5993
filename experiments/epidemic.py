"""The epidemic behind the testing-allocation study: who is where on which day, under its best split."""

import numpy as np
import pandas as pd

from argbest.core.arrays import IntArray
from argbest.problems.covid.parameters import Outbreak
from argbest.problems.covid.simulator import COMPARTMENTS, curves
from experiments import covid_drawing
from experiments.plan import Outcome, Plan, picture, texts, write

SPLIT = (0.2, 0.3, 0.5)
_MOST = (2.5, 97.5)  # percent of the runs between which 95 % lie


def epidemic(plan: Plan) -> Outcome:
    """Return an epidemic curve where contagion is highest: mean and spread over runs, seeds as planned.

    ``macroreps`` is the number of runs; ``replications`` does not matter here.
    """
    outbreak = Outbreak(infection=0.03, contacts=12.0)  # the most contagious of the paper's contexts
    counts = curves(outbreak, SPLIT, np.arange(plan.seed, plan.seed + plan.runs))
    numbers = spread(counts, outbreak.sizes)
    paths = write(plan, {"covid_epidemic": numbers})
    drawn, missing = picture(plan, "covid_epidemic", lambda: covid_drawing.epidemic(numbers))
    last = numbers[numbers["day"] == outbreak.days]
    forms = {"population": "", "group": "", "mean": ",.0f", "low": ",.0f", "high": ",.0f"}
    notes = (
        f"Day {outbreak.days} of {plan.runs} runs: mean, and the ends of the middle 95 %. Contacts infect "
        f"with probability {outbreak.infection:g}, {outbreak.contacts:g} of them a day; tests split {SPLIT}.",
    )
    return Outcome("An epidemic", texts(last, forms), notes + missing, paths + drawn)


def spread(counts: IntArray, sizes: tuple[int, ...]) -> pd.DataFrame:
    """Return mean and middle 95 % over runs of every group, given [run, population, day, compartment]."""
    frames = []
    for j, size in enumerate(sizes):
        for group, names in covid_drawing.GROUPS.items():
            people = counts[:, j][..., [COMPARTMENTS.index(name) for name in names]].sum(axis=-1)
            low, high = np.percentile(people, _MOST, axis=0)
            frame = pd.DataFrame({"population": j + 1, "size": size, "group": group, "day": range(len(low))})
            frames.append(frame.assign(mean=people.mean(axis=0), low=low, high=high))
    return pd.concat(frames, ignore_index=True)
