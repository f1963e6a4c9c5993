"""Simulators whose rewards are far from normal, each with its exact truth: rates, rare losses, skewed times.

`PROBLEMS` were looked at while the noise model was built. `KEPT_BACK` were written before it was judged, and
have been looked at since. `FRESH` were written after that, for the judgement of what came later, and are run
once, at the end. A problem is a function of the number of an instance. Tables of means are drawn anew for
every instance; simulators of a system are always the same, and built once. Systems, and the clinics, use the
same random numbers for all alternatives, one stream per purpose. In the other tables every alternative has
its own; in those of `FRESH` alternatives share a part of the noise.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.stats import poisson

from argbest import Problem
from argbest.core.arrays import Array, IntArray
from experiments import ugly_fresh, ugly_kept
from experiments.ugly_parts import (
    Make,
    always,
    drawn,
    expected_waits,
    exponential_noise,
    logistic,
    lognormal_below,
    lognormal_noise,
    noisy,
    normal_noise,
    rate,
    table_of,
    waits,
)

# --- Rates ------------------------------------------------------------------------------------------------


def cure() -> Problem:
    """Cured or not, by dose and body weight: too little does not help, and too much harms."""

    def chance(dose: float, weight: float) -> float:
        level = dose / weight
        return 0.95 * logistic(3.0 * (level - 1.6)) * logistic(4.0 * (3.4 - level)) + 0.02

    doses, weights = [60, 90, 120, 150, 180, 210, 240, 270], [45, 55, 65, 75, 85, 95]
    return rate(chance, doses, weights, "cure")


def clinics(instance: int) -> Problem:
    """Success or failure of five named treatments in six named clinics, which have nothing in common."""
    chances = np.random.default_rng([instance, 501]).beta(2.0, 1.2, (5, 6))
    names, places = [f"treatment {i}" for i in "ABCDE"], [f"clinic {i}" for i in "uvwxyz"]
    return rate(lambda k, c: float(chances[names.index(k), places.index(c)]), names, places, "clinics")


# --- Rare losses ------------------------------------------------------------------------------------------


def generators() -> Problem:
    """Cost of backup generators, each of which fails with probability 0.3; a loss of 400 if all do.

    The chance of a loss falls from 1 in 5 to 1 in 14,000; without one all replications of a pair are equal.
    """

    def simulate(n: int, outage: float, seed: int) -> float:
        out, *failed = np.random.default_rng(seed).random(7)
        return 6.0 * n + 400.0 * float(out < outage and all(each < 0.3 for each in failed[:n]))

    numbers, outages = [1, 2, 3, 4, 5, 6], [0.1, 0.2, 0.35, 0.5, 0.7]
    p = table_of(lambda n, outage: outage * 0.3**n, numbers, outages)
    truth = 6.0 * np.array(numbers)[:, None] + 400.0 * p
    noise = 400.0 * np.sqrt(p * (1.0 - p))
    return Problem(numbers, outages, simulate, goal="min", truth=truth, noise_sd=noise, name="generators")


def breakdowns() -> Problem:
    """Profit of six maintenance plans at five loads: a little normal noise, and rarely a breakdown."""
    plans, loads = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0.5, 0.7, 0.9, 1.1, 1.3]

    def usual(plan: float, load: float) -> float:
        return 30.0 * load - 1.6 * plan

    def chance(plan: float, load: float) -> float:
        return 0.25 * load**2 * float(np.exp(-0.55 * plan))

    def simulate(plan: float, load: float, seed: int) -> float:
        generator = np.random.default_rng(seed)
        return usual(plan, load) + generator.normal() - 60.0 * float(generator.random() < chance(plan, load))

    p = table_of(chance, plans, loads)
    truth, noise = table_of(usual, plans, loads) - 60.0 * p, np.sqrt(1.0 + 3600.0 * p * (1.0 - p))
    return Problem(plans, loads, simulate, truth=truth, noise_sd=noise, name="breakdowns")


def claims() -> Problem:
    """Cost of an insured risk by excess: a premium, and Poisson many lognormal claims up to the excess."""
    excesses, risks = [50.0, 100.0, 200.0, 400.0, 800.0, 1600.0], [0.1, 0.2, 0.4, 0.8, 1.6]
    mu, sigma = 4.5, 1.2
    whole = float(np.exp(mu + sigma**2 / 2))

    def kept(excess: float, power: int) -> float:
        """Return E[min(X, excess)ⁿ]."""
        above = 1.0 - lognormal_below(0, excess, mu, sigma)
        return lognormal_below(power, excess, mu, sigma) + excess**power * above

    premium = {
        (excess, risk): 1.35 * risk * (whole - kept(excess, 1)) + 4.0 for excess in excesses for risk in risks
    }

    def simulate(excess: float, risk: float, seed: int) -> float:
        generator = np.random.default_rng(seed)
        sizes = generator.lognormal(mu, sigma, generator.poisson(risk))
        return premium[excess, risk] + float(np.minimum(sizes, excess).sum()) * (1.0 + 0.4 * risk)

    truth = table_of(lambda k, c: premium[k, c] + c * kept(k, 1) * (1 + 0.4 * c), excesses, risks)
    noise = table_of(lambda k, c: float(np.sqrt(c * kept(k, 2))) * (1 + 0.4 * c), excesses, risks)
    return Problem(excesses, risks, simulate, goal="min", truth=truth, noise_sd=noise, name="claims")


# --- Waiting lines and stocks -----------------------------------------------------------------------------


def overload() -> Problem:
    """Cost of a day of a queue with 2 to 8 servers, at loads up to almost three times what two can do."""
    servers, rates, hours = [2, 3, 4, 5, 6, 7, 8], [6.0, 10.0, 14.0, 18.0, 22.0], 6.0

    def simulate(n: int, rate: float, seed: int) -> float:
        return 8.0 * n + waits(rate, 4.0, n, hours, seed)

    truth = table_of(lambda n, rate: 8.0 * n + expected_waits(rate, 4.0, n, hours), servers, rates)
    return Problem(servers, rates, simulate, goal="min", truth=truth, name="overload")


def department() -> Problem:
    """Cost of a shift in an emergency department: doctors and triage, by arrivals and kind of day."""
    ways = {"plain": (1.0, 0.0), "fast track": (1.25, 9.0), "nurse first": (1.12, 4.0)}
    days = {"weekday": 1.0, "weekend": 0.8}
    alternatives = [{"doctors": n, "triage": way} for way in ways for n in (2, 3, 4, 5, 6)]
    contexts = [{"arrivals": rate, "day": day} for day in days for rate in (4.0, 7.0, 10.0, 13.0)]

    def parts(plan: Mapping[str, Any], shift: Mapping[str, Any]) -> tuple[float, float]:
        """Return the price of a plan, and patients per doctor and hour."""
        speed, price = ways[plan["triage"]]
        return 12.0 * plan["doctors"] + price, 2.2 * speed * days[shift["day"]]

    def simulate(plan: Mapping[str, Any], shift: Mapping[str, Any], seed: int) -> float:
        price, speed = parts(plan, shift)
        return price + 3.0 * waits(shift["arrivals"], speed, plan["doctors"], 8.0, seed)

    def mean(plan: Mapping[str, Any], shift: Mapping[str, Any]) -> float:
        price, speed = parts(plan, shift)
        return price + 3.0 * expected_waits(shift["arrivals"], speed, plan["doctors"], 8.0)

    truth = table_of(mean, alternatives, contexts)
    return Problem(alternatives, contexts, simulate, goal="min", truth=truth, name="department")


DAYS, DELIVERY, SHORT, HOLD, ORDER = 30, 2, 9.0, 0.4, 12.0  # of lost_sales: days, and costs


def lost_sales() -> Problem:
    """Cost of 30 days of a (Q, r) stock with Poisson demand, two days of delivery and lost sales."""
    alternatives = [{"order": q, "reorder": r} for q in (15, 25, 40) for r in (2, 6, 10, 14)]
    demands = [2.0, 3.5, 5.0, 6.5]

    def simulate(rule: Mapping[str, int], demand: float, seed: int) -> float:
        wanted = np.random.default_rng(seed).poisson(demand, DAYS)
        stock, due, cost = rule["order"], -1, 0.0
        for sold in wanted.tolist():
            if due == 0:
                stock += rule["order"]
            due -= 1
            cost += SHORT * max(sold - stock, 0) + HOLD * max(stock - sold, 0)
            stock = max(stock - sold, 0)
            if stock <= rule["reorder"] and due < 0:
                due, cost = DELIVERY, cost + ORDER
        return cost

    truth = table_of(
        lambda rule, demand: _expected_cost(rule["order"], rule["reorder"], demand), alternatives, demands
    )
    return Problem(alternatives, demands, simulate, goal="min", truth=truth, name="lost-sales")


def _expected_cost(order: int, reorder: int, demand: float) -> float:
    """Return the mean of `lost_sales` from the distribution over stock and days to delivery, day by day."""
    stock = np.arange(2 * order + reorder + 1)
    paid, becomes = _sales(stock, poisson.pmf(np.arange(400), demand))
    low = stock <= reorder
    state = np.zeros((len(stock), DELIVERY + 2))  # the last column: nothing is on order
    state[order, -1] = 1.0
    cost = 0.0
    for _ in range(DAYS):
        state = _next_day(state, order)
        cost += float(paid @ state.sum(axis=1))
        state = becomes @ state
        cost += ORDER * float(state[low, -1].sum())
        state[low, DELIVERY] += state[low, -1]
        state[low, -1] = 0.0
    return cost


def _next_day(state: Array, order: int) -> Array:
    """Return the state a day nearer to the delivery; what is due today arrives."""
    after = np.zeros_like(state)
    after[:, :DELIVERY] = state[:, 1 : DELIVERY + 1]
    after[:, -1] = state[:, -1]
    after[order:, -1] += state[:-order, 0]
    return after


def _sales(stock: IntArray, p: Array) -> tuple[Array, Array]:
    """Return the expected cost of a day by stock, and P(stock after it | stock), [after, before]."""
    left = stock[:, None] - np.arange(len(p))
    paid = (SHORT * np.maximum(-left, 0) + HOLD * np.maximum(left, 0)) @ p
    becomes = np.zeros((len(stock), len(stock)))
    np.add.at(becomes, (np.maximum(left, 0), stock[:, None]), p)
    return paid, becomes


# --- Tables of means with noise of a given shape ----------------------------------------------------------


def exponential(instance: int) -> Problem:
    """Smooth means with noise that is skewed to the left, exponential."""
    return noisy(drawn(instance, 601), 0.8, exponential_noise, "exponential")


def lognormal(instance: int) -> Problem:
    """Smooth means with noise that is skewed to the right, lognormal with σ = 1."""
    return noisy(drawn(instance, 602), 0.8, lognormal_noise, "lognormal")


def own_noise(instance: int) -> Problem:
    """Smooth means with normal noise of a level of its own in every pair."""
    sd = 0.6 * np.random.default_rng([instance, 603, 1]).lognormal(0.0, 0.8, (8, 6))
    return noisy(drawn(instance, 603), sd, normal_noise, "own-noise")


def one_noisy(instance: int) -> Problem:
    """Smooth means with normal noise, a hundred times as large for one alternative."""
    sd = np.full((8, 6), 0.08)
    sd[np.random.default_rng([instance, 604, 1]).integers(8)] = 8.0
    return noisy(drawn(instance, 604), sd, normal_noise, "one-noisy")


def normal(instance: int) -> Problem:
    """Smooth means with equal normal noise."""
    return noisy(drawn(instance, 605), 0.8, normal_noise, "normal")


PROBLEMS: dict[str, Make] = {
    "cure": always(cure),
    "clinics": clinics,
    "generators": always(generators),
    "breakdowns": always(breakdowns),
    "claims": always(claims),
    "overload": always(overload),
    "department": always(department),
    "lost-sales": always(lost_sales),
    "exponential": exponential,
    "lognormal": lognormal,
    "own-noise": own_noise,
    "one-noisy": one_noisy,
    "normal": normal,
}

KEPT_BACK: dict[str, Make] = {
    "trial": always(ugly_kept.trial),
    "accidents": always(ugly_kept.accidents),
    "two-arms": ugly_kept.two_arms,
    "answered": ugly_kept.answered,
    "replacement": always(ugly_kept.replacement),
    "newsvendor": always(ugly_kept.newsvendor),
    "harvest": always(ugly_kept.harvest),
    "one-server": always(ugly_kept.one_server),
    "prospects": ugly_kept.prospects,
    "defects": ugly_kept.defects,
    "student": ugly_kept.student,
    "gamma": ugly_kept.gamma,
    "rounded": ugly_kept.rounded,
    "thirtyfold": ugly_kept.thirtyfold,
    "rough": ugly_kept.rough,
}

FRESH: dict[str, Make] = {
    "packets": always(ugly_fresh.packets),
    "on-time": always(ugly_fresh.on_time),
    "appointments": always(ugly_fresh.appointments),
    "loans": always(ugly_fresh.loans),
    "bridges": always(ugly_fresh.bridges),
    "consultations": always(ugly_fresh.consultations),
    "callers": always(ugly_fresh.callers),
    "platelets": always(ugly_fresh.platelets),
    "treaty": always(ugly_fresh.treaty),
    "patrols": always(ugly_fresh.patrols),
    "block-sale": always(ugly_fresh.block_sale),
    "oven": ugly_fresh.oven,
    "varieties": ugly_fresh.varieties,
    "turbines": ugly_fresh.turbines,
}

# The model fits where noise is normal, whatever its levels; it loses nothing by care where these are equal.
FITTING = ("own-noise", "one-noisy", "normal", "thirtyfold", "rough", "oven", "varieties", "turbines")
NEAR_NORMAL = ("normal", "rough", "oven", "varieties")
