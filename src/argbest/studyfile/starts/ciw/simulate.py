"""A help desk in Ciw: a server helps twelve people per hour."""

import ciw


def simulate(alternative, context, seed):
    """Return the cost per hour of servers and waiting, and the share of people who wait over ten minutes."""
    ciw.seed(seed)
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(rate=context["calls"])],
        service_distributions=[ciw.dists.Exponential(rate=12)],
        number_of_servers=[alternative["servers"]],
    )
    desk = ciw.Simulation(network)
    desk.simulate_until_max_time(24)
    waited = [record.waiting_time for record in desk.get_all_records()]
    late = sum(wait > 1 / 6 for wait in waited) / max(len(waited), 1)
    return {"cost": 15 * alternative["servers"] + 10 * sum(waited) / 24, "late": late}
