"""Simulators whose rewards are far from normal, each with its exact truth: rates, rare losses, skewed times.

`PROBLEMS` were looked at while the noise model was built; `KEPT_BACK` were run once, at the end. A problem is
a function of an instance number: tables of means are drawn anew for every instance, simulators of a system are
always the same. Random numbers of the systems are common to alternatives by nature (one stream per purpose);
those of tables are not.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.linalg import expm
from scipy.stats import poisson

from argbest import Problem
from argbest.core.arrays import Array

Noise = Callable[[np.random.Generator], float]  # of mean 0 and variance 1


def _logistic(x: Array | float) -> Any:
    return 1.0 / (1.0 + np.exp(-np.asarray(x)))


def _table_of(function: Callable[..., float], alternatives: list[Any], contexts: list[Any]) -> Array:
    return np.array([[function(each, context) for context in contexts] for each in alternatives])


# --- Rates ------------------------------------------------------------------------------------------------


def cure(instance: int = 0) -> Problem:
    """Cured or not, by dose and body weight: too little does not help, too much harms; the best is near .9."""

    def chance(dose: float, weight: float) -> float:
        level = dose / weight
        return float(0.95 * _logistic(3.0 * (level - 1.6)) * _logistic(4.0 * (3.4 - level)) + 0.02)

    doses, weights = [60, 90, 120, 150, 180, 210, 240, 270], [45, 55, 65, 75, 85, 95]
    return _rate(chance, doses, weights, "cure")


def clinics(instance: int = 0) -> Problem:
    """Success or failure of five named treatments in six named clinics, which have nothing in common."""
    chances = np.random.default_rng([instance, 501]).beta(2.0, 1.2, (5, 6))
    names, places = [f"treatment {i}" for i in "ABCDE"], [f"clinic {i}" for i in "uvwxyz"]
    return _rate(lambda k, c: float(chances[names.index(k), places.index(c)]), names, places, "clinics")


def _rate(chance: Callable[[Any, Any], float], alternatives: list[Any], contexts: list[Any], name: str) -> Problem:
    def simulate(alternative: Any, context: Any, seed: int) -> float:
        return float(np.random.default_rng(seed).random() < chance(alternative, context))

    truth = _table_of(chance, alternatives, contexts)
    noise = np.sqrt(truth * (1.0 - truth))
    return Problem(alternatives, contexts, simulate, truth=truth, noise_sd=noise, name=name)


# --- Rare losses ------------------------------------------------------------------------------------------


def generators(instance: int = 0) -> Problem:
    """Cost of backup generators, each of which fails with probability 0.3; a loss of 400 if all do.

    The chance of a loss falls from 1 in 5 to 1 in 1,000; without one all replications of a pair are equal.
    """

    def chance(n: int, outage: float) -> float:
        return float(outage * 0.3**n)

    def simulate(n: int, outage: float, seed: int) -> float:
        out, *failed = np.random.default_rng(seed).random(7)
        return 6.0 * n + 400.0 * float(out < outage and all(each < 0.3 for each in failed[:n]))

    numbers, outages = [1, 2, 3, 4, 5, 6], [0.1, 0.2, 0.35, 0.5, 0.7]
    p = _table_of(chance, numbers, outages)
    truth = 6.0 * np.array(numbers)[:, None] + 400.0 * p
    noise = 400.0 * np.sqrt(p * (1.0 - p))
    return Problem(numbers, outages, simulate, goal="min", truth=truth, noise_sd=noise, name="generators")


def breakdowns(instance: int = 0) -> Problem:
    """Profit of six maintenance plans at five loads: a little normal noise, and rarely a breakdown."""
    plans, loads = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0.5, 0.7, 0.9, 1.1, 1.3]

    def parts(plan: float, load: float) -> tuple[float, float]:
        return 30.0 * load - 1.6 * plan, 0.25 * load**2 * float(np.exp(-0.55 * plan))

    def simulate(plan: float, load: float, seed: int) -> float:
        generator = np.random.default_rng(seed)
        usual, chance = parts(plan, load)
        return usual + generator.normal() - 60.0 * float(generator.random() < chance)

    usual, p = np.moveaxis(np.array([[parts(k, c) for c in loads] for k in plans]), -1, 0)
    noise = np.sqrt(1.0 + 3600.0 * p * (1.0 - p))
    return Problem(plans, loads, simulate, truth=usual - 60.0 * p, noise_sd=noise, name="breakdowns")


def claims(instance: int = 0) -> Problem:
    """Cost of an insured risk by excess: a premium, and claims, Poisson many and lognormal, up to the excess."""
    excesses, risks = [50.0, 100.0, 200.0, 400.0, 800.0, 1600.0], [0.1, 0.2, 0.4, 0.8, 1.6]
    mu, sigma = 4.5, 1.2

    def kept(excess: float) -> tuple[float, float]:
        """Return mean and mean square of min(X, excess)."""
        from scipy.special import ndtr

        z = (np.log(excess) - mu) / sigma
        first = np.exp(mu + sigma**2 / 2) * ndtr(z - sigma) + excess * ndtr(-z)
        second = np.exp(2 * mu + 2 * sigma**2) * ndtr(z - 2 * sigma) + excess**2 * ndtr(-z)
        return float(first), float(second)

    whole = float(np.exp(mu + sigma**2 / 2))

    def premium(excess: float, risk: float) -> float:
        return 1.35 * risk * (whole - kept(excess)[0]) + 4.0

    def simulate(excess: float, risk: float, seed: int) -> float:
        generator = np.random.default_rng(seed)
        sizes = generator.lognormal(mu, sigma, generator.poisson(risk))
        return premium(excess, risk) + float(np.minimum(sizes, excess).sum()) * (1.0 + 0.4 * risk)

    truth = _table_of(lambda k, c: premium(k, c) + c * kept(k)[0] * (1 + 0.4 * c), excesses, risks)
    noise = _table_of(lambda k, c: float(np.sqrt(c * kept(k)[1])) * (1 + 0.4 * c), excesses, risks)
    return Problem(excesses, risks, simulate, goal="min", truth=truth, noise_sd=noise, name="claims")


# --- Queues and stocks ------------------------------------------------------------------------------------


def _waits(rate: float, service: float, servers: int, hours: float, generator: np.random.Generator) -> float:
    """Return the waits of all who arrive within the hours, summed, first come first served, empty at first."""
    gaps, times = generator.spawn(2)
    most = int(rate * hours + 8 * np.sqrt(rate * hours) + 20)
    arrivals = np.cumsum(gaps.exponential(1.0 / rate, most))
    services = times.exponential(1.0 / service, most)
    free, total = [0.0] * servers, 0.0
    for arrival, length in zip(arrivals[arrivals < hours].tolist(), services.tolist(), strict=False):
        first = min(range(servers), key=free.__getitem__)
        begin = max(arrival, free[first])
        total += begin - arrival
        free[first] = begin + length
    return total


def _expected_waits(rate: float, service: float, servers: int, hours: float) -> float:
    """Return E of `_waits`: ∫ λ Σ_n P_n(t) (n − c + 1)⁺/(cμ) dt, by the transient birth-death chain."""
    most = int(rate * hours + 8 * np.sqrt(rate * hours) + 20)
    n = np.arange(most)
    up, down = np.where(n < most - 1, rate, 0.0), np.minimum(n, servers) * service
    chain = np.diag(up[:-1], 1) + np.diag(down[1:], -1) - np.diag(up + down)
    reward = rate * np.maximum(n - servers + 1, 0) / (servers * service)
    whole = np.zeros((most + 1, most + 1))
    whole[:most, :most], whole[:most, most] = chain, reward
    return float(expm(whole * hours)[0, most])


def overload(instance: int = 0) -> Problem:
    """Cost of a day of a queue with 2 to 8 servers, at loads up to twice what few servers can do."""
    servers, rates, hours = [2, 3, 4, 5, 6, 7, 8], [6.0, 10.0, 14.0, 18.0, 22.0], 6.0

    def simulate(n: int, rate: float, seed: int) -> float:
        return 8.0 * n + _waits(rate, 4.0, n, hours, np.random.default_rng(seed))

    truth = _table_of(lambda n, rate: 8.0 * n + _expected_waits(rate, 4.0, n, hours), servers, rates)
    return Problem(servers, rates, simulate, goal="min", truth=truth, name="overload")


def department(instance: int = 0) -> Problem:
    """Cost of a shift in an emergency department: doctors and a way of triage, by arrivals and kind of day."""
    ways = {"plain": (1.0, 0.0), "fast track": (1.25, 9.0), "nurse first": (1.12, 4.0)}
    days = {"weekday": 1.0, "weekend": 0.8}
    alternatives = [{"doctors": n, "triage": way} for way in ways for n in (2, 3, 4, 5, 6)]
    contexts = [{"arrivals": rate, "day": day} for day in days for rate in (4.0, 7.0, 10.0, 13.0)]

    def parts(plan: Mapping[str, Any], shift: Mapping[str, Any]) -> tuple[float, float]:
        speed, price = ways[plan["triage"]]
        return 12.0 * plan["doctors"] + price, 2.2 * speed * days[shift["day"]]

    def simulate(plan: Mapping[str, Any], shift: Mapping[str, Any], seed: int) -> float:
        price, speed = parts(plan, shift)
        return price + 3.0 * _waits(
            shift["arrivals"], speed, plan["doctors"], 8.0, np.random.default_rng(seed)
        )

    def mean(plan: Mapping[str, Any], shift: Mapping[str, Any]) -> float:
        price, speed = parts(plan, shift)
        return price + 3.0 * _expected_waits(shift["arrivals"], speed, plan["doctors"], 8.0)

    truth = _table_of(mean, alternatives, contexts)  # type: ignore[arg-type]
    return Problem(alternatives, contexts, simulate, goal="min", truth=truth, name="department")


def lost_sales(instance: int = 0) -> Problem:
    """Cost of 30 days of a (Q, r) stock with Poisson demand, two days of delivery and lost sales."""
    alternatives = [{"order": q, "reorder": r} for q in (15, 25, 40) for r in (2, 6, 10, 14)]
    demands, days, delivery = [2.0, 3.5, 5.0, 6.5], 30, 2

    def simulate(rule: Mapping[str, int], demand: float, seed: int) -> float:
        wanted = np.random.default_rng(seed).poisson(demand, days)
        stock, due, cost = rule["order"], -1, 0.0
        for sold in wanted.tolist():
            if due == 0:
                stock += rule["order"]
            due -= 1
            cost += 9.0 * max(sold - stock, 0) + 0.4 * max(stock - sold, 0)
            stock = max(stock - sold, 0)
            if stock <= rule["reorder"] and due < 0:
                due, cost = delivery, cost + 12.0
        return cost

    def mean(rule: Mapping[str, int], demand: float) -> float:
        """Return the expected cost from the distribution over (stock, days to delivery), day by day."""
        order, reorder = rule["order"], rule["reorder"]
        most = 2 * order + reorder + 1
        p = poisson.pmf(np.arange(400), demand)
        state = np.zeros((most, delivery + 2))  # the last column: nothing is on order
        state[order, -1] = 1.0
        cost = 0.0
        for _ in range(days):
            state[:, :] = np.concatenate(
                [
                    state[:, 1 : delivery + 1],
                    np.zeros((most, 1)),
                    (state[:, -1] + np.roll(np.where(np.arange(most) < most - order, state[:, 0], 0.0), order))[:, None],
                ],
                axis=1,
            )
            after = np.zeros_like(state)
            for stock in range(most):
                if not state[stock].any():
                    continue
                left = stock - np.arange(400)
                cost += state[stock].sum() * float(p @ (9.0 * np.maximum(-left, 0) + 0.4 * np.maximum(left, 0)))
                np.add.at(after, np.maximum(left, 0), p[:, None] * state[stock])
            low = np.arange(most) <= reorder
            cost += 12.0 * after[low, -1].sum()
            after[low, delivery] += after[low, -1]
            after[low, -1] = 0.0
            state = after
        return cost

    truth = _table_of(mean, alternatives, demands)  # type: ignore[arg-type]
    return Problem(alternatives, demands, simulate, goal="min", truth=truth, name="lost-sales")


# --- Tables of means with noise of a given shape ----------------------------------------------------------


def _drawn(instance: int, purpose: int, k: int = 8, c: int = 6) -> Array:
    """Return smooth means: a common trend, levels, and what alternatives near each other have in common."""
    generator = np.random.default_rng([instance, purpose])
    x, y = np.linspace(0, 1, k)[:, None], np.linspace(0, 1, c)
    trend, slope = generator.normal(size=2)
    peak, shift, width = generator.uniform(0.1, 0.9), generator.uniform(-0.6, 0.6), generator.uniform(0.4, 0.9)
    waves = sum(
        generator.normal() * 0.25 * np.cos(np.pi * (i * x + j * y) + generator.uniform(0, 6))
        for i in range(1, 3)
        for j in range(3)
    )
    return np.asarray(trend * y + slope * y**2 - 2.0 * ((x - peak - shift * y) / width) ** 2 + waves)


def _noisy(truth: Array, sd: Array | float, noise: Noise, name: str) -> Problem:
    k, c = truth.shape
    spread = np.broadcast_to(sd, truth.shape)
    rows, columns = np.linspace(0, 1, k).round(6).tolist(), np.linspace(0, 1, c).round(6).tolist()

    def simulate(alternative: float, context: float, seed: int) -> float:
        i, j = rows.index(alternative), columns.index(context)
        return float(truth[i, j] + spread[i, j] * noise(np.random.default_rng([seed, i])))

    return Problem(rows, columns, simulate, truth=truth, noise_sd=spread, name=name)


def _exponential(generator: np.random.Generator) -> float:
    return 1.0 - float(generator.exponential())


def _lognormal(generator: np.random.Generator) -> float:
    """Return a value skewed to the right: lognormal with σ = 1, standardised."""
    return float((generator.lognormal() - np.exp(0.5)) / np.sqrt((np.e - 1.0) * np.e))


def _normal(generator: np.random.Generator) -> float:
    return float(generator.normal())


def exponential(instance: int = 0) -> Problem:
    """Smooth means with noise that is skewed to the left, exponential."""
    return _noisy(_drawn(instance, 601), 0.8, _exponential, "exponential")


def lognormal(instance: int = 0) -> Problem:
    """Smooth means with noise that is skewed to the right, lognormal with σ = 1."""
    return _noisy(_drawn(instance, 602), 0.8, _lognormal, "lognormal")


def own_noise(instance: int = 0) -> Problem:
    """Smooth means with normal noise of a level of its own in every pair."""
    sd = 0.6 * np.random.default_rng([instance, 603, 1]).lognormal(0.0, 0.8, (8, 6))
    return _noisy(_drawn(instance, 603), sd, _normal, "own-noise")


def one_noisy(instance: int = 0) -> Problem:
    """Smooth means with normal noise, a hundred times as large for one alternative."""
    sd = np.full((8, 6), 0.08)
    sd[np.random.default_rng([instance, 604, 1]).integers(8)] = 8.0
    return _noisy(_drawn(instance, 604), sd, _normal, "one-noisy")


def normal(instance: int = 0) -> Problem:
    """Smooth means with equal normal noise."""
    return _noisy(_drawn(instance, 605), 0.8, _normal, "normal")


PROBLEMS: dict[str, Callable[[int], Problem]] = {
    "cure": cure,
    "clinics": clinics,
    "generators": generators,
    "breakdowns": breakdowns,
    "claims": claims,
    "overload": overload,
    "department": department,
    "lost-sales": lost_sales,
    "exponential": exponential,
    "lognormal": lognormal,
    "own-noise": own_noise,
    "one-noisy": one_noisy,
    "normal": normal,
}
