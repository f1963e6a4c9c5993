"""A room in an FMU, run by FMPy. An FMU has no random numbers of its own: the weather is drawn here."""

import random
from pathlib import Path

import fmpy

ROOM = fmpy.extract(str(Path(__file__).with_name("room.fmu")))  # once, not for every replication
DESCRIPTION = fmpy.read_model_description(ROOM)


def simulate(alternative, context, seed):
    """Return the cost of a day, for energy and the heater, and the discomfort of being cold."""
    outside = random.Random(seed).gauss(context["outside"], 1)
    given = {"power": alternative["power"], "outside": outside}
    day = fmpy.simulate_fmu(
        ROOM,
        model_description=DESCRIPTION,
        start_values=given,
        stop_time=24,
        output_interval=1,
        output=["energy", "discomfort"],
    )
    cost = float(day["energy"][-1] + alternative["power"])
    return {"cost": cost, "discomfort": float(day["discomfort"][-1])}
