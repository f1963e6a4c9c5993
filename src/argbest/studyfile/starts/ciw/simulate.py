"""A help desk in Ciw: a server helps twelve people per hour."""

import ciw


def simulate(alternative, context, seed):
    """Return the cost per hour of servers and of people who wait."""
    ciw.seed(seed)
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(rate=context["calls"])],
        service_distributions=[ciw.dists.Exponential(rate=12)],
        number_of_servers=[alternative["servers"]],
    )
    desk = ciw.Simulation(network)
    desk.simulate_until_max_time(24)
    waited = sum(record.waiting_time for record in desk.get_all_records())
    return 15 * alternative["servers"] + 40 * waited / 24
