"""How many doctors and nurses for which rush? The model is written in SimPy; argbest only sees a function.

    pip install simpy
    python examples/simpy_clinic.py --budget 200

Patients are seen by a nurse first and, most of them, by a doctor afterwards; staff costs money and so does
waiting. One replication is the mean of a simulated week: single days, with their rare jams, are far from
normal.
"""

import argparse
from collections.abc import Generator
from typing import Any

import numpy as np
import simpy

import argbest

STAFF = [{"nurses": nurses, "doctors": doctors} for nurses in (1, 2, 3) for doctors in (1, 2, 3)]
ARRIVALS = [{"per_hour": rate} for rate in (3, 5, 7, 9, 11)]
HOURS, DAYS = 8.0, 5
NURSE, DOCTOR, WAITING = 40.0, 90.0, 60.0  # cost per hour of each, and per hour that a patient waits


class Clinic:
    """One day: who comes when, how long everybody waits until served or closing time."""

    def __init__(self, staff: dict[str, int], per_hour: float, draw: np.random.Generator) -> None:
        self.draw = draw
        self.per_hour = per_hour
        self.day = simpy.Environment()
        self.nurses = simpy.Resource(self.day, staff["nurses"])
        self.doctors = simpy.Resource(self.day, staff["doctors"])
        self.waited = 0.0
        self.queueing: dict[simpy.Event, float] = {}  # whoever has no turn yet, and since when
        self.day.process(self.doors())
        self.day.run(until=HOURS)
        self.waited += sum(HOURS - came for came in self.queueing.values())  # they have waited, too

    def doors(self) -> Generator[simpy.Event, Any, None]:
        """Let patients in."""
        while True:
            yield self.day.timeout(self.draw.exponential(1 / self.per_hour))
            self.day.process(self.patient())

    def patient(self) -> Generator[simpy.Event, Any, None]:
        """Go to a nurse for ten minutes and, three times in four, to a doctor for fifteen."""
        yield from self.served(self.nurses, 10 / 60)
        if self.draw.random() < 0.75:
            yield from self.served(self.doctors, 15 / 60)

    def served(self, room: simpy.Resource, mean: float) -> Generator[simpy.Event, Any, None]:
        """Wait for a free one, then stay for an exponential time."""
        with room.request() as turn:
            self.queueing[turn] = self.day.now
            yield turn
            self.waited += self.day.now - self.queueing.pop(turn)
            yield self.day.timeout(self.draw.exponential(mean))


def cost_per_hour(staff: dict[str, int], rush: dict[str, float], seed: int) -> float:
    """Return what a week costs per hour: wages, and the patients' time."""
    draw = np.random.default_rng(seed)
    waited = sum(Clinic(staff, rush["per_hour"], draw).waited for _ in range(DAYS))
    return NURSE * staff["nurses"] + DOCTOR * staff["doctors"] + WAITING * waited / (DAYS * HOURS)


def main(arguments: list[str] | None = None) -> argbest.Study:
    """Run the study and print the staff for every rush."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--budget", type=int, default=200, help="simulated weeks; the first 90 are two each")
    parser.add_argument("--workers", type=int, help="processes that simulate at once")
    options = parser.parse_args(arguments)

    problem = argbest.Problem(STAFF, ARRIVALS, cost_per_hour, goal="min", name="clinic")
    study = argbest.Study(problem, policy="dvr")
    study.run(options.budget, workers=options.workers)
    print("patients per hour  nurses  doctors  cost per hour  P(best)")
    chosen = problem.alternatives.frame(study.certificate().selected)
    for row, (nurses, doctors) in zip(study.selection().to_dict("records"), chosen.to_numpy(), strict=True):
        print(f"{row['context.per_hour']:17} {nurses:7} {doctors:8} {row['mean']:14.0f} {row['p_best']:8.2f}")
    print(study.certificate())
    return study


if __name__ == "__main__":
    main()
