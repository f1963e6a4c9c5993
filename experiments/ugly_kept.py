"""The problems kept for the end, of other families than those that the noise model was built with.

They were written without looking at how the library does on them: only their truth was checked.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import gamma as gamma_function
from scipy.special import gammainc
from scipy.stats import norm

from argbest import Problem
from experiments.ugly_parts import (
    drawn,
    expected_waits,
    logistic,
    lognormal_below,
    noisy,
    normal_noise,
    rate,
    rewards,
    student_noise,
    table_of,
    waits,
)

# --- Rates ------------------------------------------------------------------------------------------------


def trial() -> Problem:
    """Recovered or not, by drug and dose, for patients of an age group and a severity; columns are mixed."""
    helps, harms = {"A": 0.9, "B": 1.3, "C": 0.6}, {"child": 0.9, "adult": 0.3, "old": 0.6}
    relief = {("A", "child"): 0.5, ("B", "old"): -0.6, ("C", "old"): 0.7}
    alternatives = [{"drug": drug, "dose": dose} for drug in helps for dose in (10.0, 20.0, 40.0, 80.0)]
    contexts = [{"age": age, "severity": level} for age in harms for level in (0.2, 0.5, 0.8)]

    def chance(treatment: Mapping[str, Any], patient: Mapping[str, Any]) -> float:
        drug, doublings = treatment["drug"], float(np.log2(treatment["dose"] / 10.0))
        age, severity = patient["age"], patient["severity"]
        helped = helps[drug] * (0.4 + severity) * doublings + relief.get((drug, age), 0.0)
        return logistic(1.2 - 3.0 * severity + helped - 0.35 * harms[age] * doublings**2)

    return rate(chance, alternatives, contexts, "trial")


def accidents() -> Problem:
    """Rare accidents, 1 in 1,000 to 1 in 5, by strictness of a rule and traffic: to be made fewer."""
    strictness, traffic = [1, 2, 3, 4, 5, 6, 7], [1.0, 2.0, 3.0, 4.0, 5.0]

    def chance(strict: float, busy: float) -> float:
        return 0.0005 * busy * float(np.exp(0.8 * abs(strict - 1.0 - 1.1 * busy))) + 0.0003 * strict

    return rate(chance, strictness, traffic, "accidents", goal="min")


def two_arms(instance: int) -> Problem:
    """Success or failure of two named treatments along eight contexts."""
    generator = np.random.default_rng([instance, 701])
    level, slope, ahead, turn = generator.normal(size=4)
    x = np.linspace(0, 1, 8)
    common, apart = level + slope * x, 0.8 * ahead + 2.0 * turn * (x - 0.5)
    p = 1.0 / (1.0 + np.exp(-np.stack([common + apart / 2, common - apart / 2])))
    noise = np.sqrt(p * (1.0 - p))
    return rewards(p, noise, lambda g, mean, _: float(g.random() < mean), "two-arms", names=("old", "new"))


def answered(instance: int) -> Problem:
    """Share of 20 calls that are answered in time: rewards are twentieths, and often 1."""
    p = 1.0 / (1.0 + np.exp(-1.5 - drawn(instance, 702, 7, 5)))
    noise = np.sqrt(p * (1.0 - p) / 20)
    return rewards(p, noise, lambda g, mean, _: g.binomial(20, mean) / 20, "answered")


# --- Systems ----------------------------------------------------------------------------------------------


def replacement() -> Problem:
    """Earnings of a machine until it is replaced, at an age or when it fails, which costs six times as much.

    It earns 5 per day. Its life is Weibull with shape 2.5; the scale is the context.
    """
    ages, scales = [4.0, 7.0, 10.0, 14.0, 19.0, 25.0], [8.0, 12.0, 16.0, 22.0, 30.0]
    earned, planned, failed, shape = 5.0, 20.0, 120.0, 2.5

    def simulate(age: float, scale: float, seed: int) -> float:
        life = scale * float(np.random.default_rng(seed).weibull(shape))
        return earned * min(life, age) - (failed if life < age else planned)

    def moment(age: float, scale: float, power: int) -> float:
        """Return E[rewardⁿ] from E[lifeᵐ; life < age], m up to 2."""
        x, m = (age / scale) ** shape, np.arange(3)
        below = scale**m * gamma_function(1 + m / shape) * gammainc(1 + m / shape, x)
        weights = [-failed, earned, 0.0] if power == 1 else [failed**2, -2.0 * failed * earned, earned**2]
        return float(below @ weights + np.exp(-x) * (earned * age - planned) ** power)

    truth = table_of(lambda age, scale: moment(age, scale, 1), ages, scales)
    noise = np.sqrt(table_of(lambda age, scale: moment(age, scale, 2), ages, scales) - truth**2)
    return Problem(ages, scales, simulate, truth=truth, noise_sd=noise, name="replacement")


def newsvendor() -> Problem:
    """Cost of an order before a lognormal demand: what is left costs 1 each, what is short 20."""
    orders, sizes = [20.0, 40.0, 70.0, 110.0, 160.0, 230.0, 320.0], [2.5, 3.0, 3.5, 4.0, 4.5]
    left, short, sigma = 1.0, 20.0, 0.7

    def simulate(order: float, size: float, seed: int) -> float:
        demand = float(np.random.default_rng(seed).lognormal(size, sigma))
        return left * max(order - demand, 0.0) + short * max(demand - order, 0.0)

    def moment(order: float, size: float, power: int) -> float:
        """Return E[costⁿ] from the moments of the demand below and above the order."""
        below = np.array([lognormal_below(n, order, size, sigma) for n in range(3)])
        whole = np.array([np.exp(n * size + (n * sigma) ** 2 / 2) for n in range(3)])
        weights = [-order, 1.0, 0.0] if power == 1 else [order**2, -2.0 * order, 1.0]  # of (demand − order)ⁿ
        return float((-left) ** power * (below @ weights) + short**power * ((whole - below) @ weights))

    truth = table_of(lambda order, size: moment(order, size, 1), orders, sizes)
    noise = np.sqrt(table_of(lambda order, size: moment(order, size, 2), orders, sizes) - truth**2)
    return Problem(orders, sizes, simulate, goal="min", truth=truth, noise_sd=noise, name="newsvendor")


def harvest() -> Problem:
    """Yield by day of sowing and wetness of the soil: one year in three is dry, and spoils what is sown late.

    Rewards have two modes. The year is common to all alternatives.
    """
    days, soils, dry = [0.0, 10.0, 20.0, 30.0, 40.0, 50.0], [0.1, 0.3, 0.5, 0.7, 0.9], 1.0 / 3.0

    def usual(day: float, soil: float) -> float:
        return 60.0 - 0.02 * (day - 50.0 + 25.0 * soil) ** 2

    def lost(day: float, soil: float) -> float:
        return 40.0 * logistic((day - 15.0 - 30.0 * soil) / 6.0)

    def simulate(day: float, soil: float, seed: int) -> float:
        year, plot = np.random.default_rng(seed).spawn(2)
        return usual(day, soil) - lost(day, soil) * float(year.random() < dry) + 3.0 * plot.normal()

    losses = table_of(lost, days, soils)
    truth, noise = table_of(usual, days, soils) - dry * losses, np.sqrt(9.0 + dry * (1.0 - dry) * losses**2)
    return Problem(days, soils, simulate, truth=truth, noise_sd=noise, name="harvest")


def one_server() -> Problem:
    """Cost of ten hours of one server near saturation: a faster one costs more, but makes fewer wait."""
    speeds, rates, hours = [5.0, 6.0, 7.0, 8.0, 10.0, 12.0], [3.5, 4.5, 5.5, 6.5, 7.5], 10.0

    def simulate(speed: float, rate: float, seed: int) -> float:
        return 6.0 * speed + waits(rate, speed, 1, hours, seed)

    truth = table_of(lambda speed, rate: 6.0 * speed + expected_waits(rate, speed, 1, hours), speeds, rates)
    return Problem(speeds, rates, simulate, goal="min", truth=truth, name="one-server")


# --- Tables of means --------------------------------------------------------------------------------------


def prospects(instance: int) -> Problem:
    """Usually a stake of 1 is lost, rarely 50 are won: with chances of half a percent to seven percent."""
    means = drawn(instance, 703, 6, 5)
    p = 0.005 + 0.065 * (means - means.min()) / np.ptp(means)
    noise = 51.0 * np.sqrt(p * (1.0 - p))

    def draw(generator: np.random.Generator, mean: float, _: float) -> float:
        return 50.0 if generator.random() < (mean + 1.0) / 51.0 else -1.0

    return rewards(51.0 * p - 1.0, noise, draw, "prospects")


def defects(instance: int) -> Problem:
    """Poisson counts of defects, to be made fewer."""
    counts = np.exp(0.3 - 0.6 * drawn(instance, 704))
    return rewards(counts, np.sqrt(counts), lambda g, mean, _: g.poisson(mean), "defects", goal="min")


def student(instance: int) -> Problem:
    """Smooth means with noise of heavy tails: Student's t with 3 degrees of freedom."""
    return noisy(drawn(instance, 705), 0.8, student_noise, "student")


def gamma(instance: int) -> Problem:
    """Gamma rewards of shape 1.5, whose standard deviation is 0.82 times the mean."""
    means = np.exp(0.6 * drawn(instance, 706) + 1.0)
    sd = means / np.sqrt(1.5)
    return rewards(means, sd, lambda g, mean, _: g.gamma(1.5, mean / 1.5), "gamma")


def rounded(instance: int) -> Problem:
    """Smooth means with normal noise, rounded to whole numbers, which are coarse: many rewards are equal."""
    centres, sd = drawn(instance, 707), 0.4
    whole = np.arange(np.floor(centres.min()) - 5, np.ceil(centres.max()) + 6)
    upper = norm.cdf((whole + 0.5 - centres[..., None]) / sd)
    lower = norm.cdf((whole - 0.5 - centres[..., None]) / sd)
    truth, second = (upper - lower) @ whole, (upper - lower) @ whole**2
    noise = np.sqrt(second - truth**2)

    def draw(generator: np.random.Generator, centre: float, _: float) -> float:
        return float(np.rint(centre + sd * generator.normal()))

    return rewards(truth, noise, draw, "rounded", told=centres)


def thirtyfold(instance: int) -> Problem:
    """Smooth means with normal noise of a level of its own in every pair, from 0.1 to 3."""
    sd = 0.1 * 30.0 ** np.random.default_rng([instance, 708, 1]).random((8, 6))
    return noisy(drawn(instance, 708), sd, normal_noise, "thirtyfold")


def rough(instance: int) -> Problem:
    """Means without any order, with equal normal noise."""
    return noisy(np.random.default_rng([instance, 709]).normal(size=(8, 6)), 0.8, normal_noise, "rough")
