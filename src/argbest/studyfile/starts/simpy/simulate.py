"""A clinic in SimPy: doctors see four patients per hour each."""

import random

import simpy


def simulate(alternative, context, seed):
    """Return the cost per hour of doctors and waiting, and the share who wait over half an hour."""
    draw, clinic, waited = random.Random(seed), simpy.Environment(), []
    doctors = simpy.Resource(clinic, capacity=alternative["doctors"])

    def patient():
        came = clinic.now
        with doctors.request() as turn:
            yield turn
            waited.append(clinic.now - came)
            yield clinic.timeout(draw.expovariate(4))

    def arrivals():
        while True:
            yield clinic.timeout(draw.expovariate(context["patients"]))
            clinic.process(patient())

    clinic.process(arrivals())
    clinic.run(until=100)
    late = sum(wait > 0.5 for wait in waited) / max(len(waited), 1)
    return {"cost": 15 * alternative["doctors"] + 10 * sum(waited) / 100, "late": late}
