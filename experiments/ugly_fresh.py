"""Fourteen problems written after those kept back had been looked at, of other systems than these.

They were written without looking at how the library does on them: only their truth was checked. Alternatives
of one context share what a simulator that takes a seed would let them share: the same patients, calls, years.
Truth is by formulas and recursions, never by simulation.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.linalg import expm
from scipy.special import ndtr
from scipy.stats import binom, nbinom

from argbest import Problem
from argbest.core.arrays import Array, IntArray
from experiments.ugly_parts import logistic, most_customers, rate, table_of

Step = tuple[Array, Array, IntArray]  # [state, outcome]: chance, cost, state after it


def total_moments(steps: Sequence[Step]) -> tuple[Array, Array]:
    """Return [state] the first and second moment of the cost of all steps, from the last one backwards."""
    states = len(steps[0][2])
    first, second = np.zeros(states), np.zeros(states)
    for chance, cost, after in reversed(steps):
        second = np.sum(chance * (cost**2 + 2.0 * cost * first[after] + second[after]), axis=1)
        first = np.sum(chance * (cost + first[after]), axis=1)
    return first, second


def mean_and_noise(moments: Array) -> tuple[Array, Array]:
    """Return the means and standard deviations of a table of two moments, [alternative, context, moment]."""
    mean = moments[..., 0]
    return mean, np.sqrt(moments[..., 1] - mean**2)


def partly_shared(seed: int, alternative: int, share: float) -> float:
    """Return a standard normal value; alternatives have a share of its variance in common."""
    common = np.random.default_rng(seed).normal()
    own = np.random.default_rng([seed, alternative + 1]).normal()  # [seed, 0] is seed itself to NumPy
    return float(np.sqrt(share) * common + np.sqrt(1.0 - share) * own)


# --- Rates ------------------------------------------------------------------------------------------------


def packets() -> Problem:
    """Arrived or not: a message with a code that corrects so many wrong bits, by noise and fading.

    With the best code 85 to 99 in a hundred arrive. A longer message bears more wrong bits, but the line
    fades before its end more often: it stays good for Weibull many bits, with shape 3.
    """
    corrected = [0, 1, 2, 3, 5, 7, 9, 12]
    contexts = [
        {"wrong_bits": p, "good_bits": good} for good in (900.0, 1400.0) for p in (0.0003, 0.001, 0.003)
    ]

    def length(correct: int) -> int:
        return 200 + 80 * correct

    longest, shape = length(corrected[-1]), 3.0

    def simulate(correct: int, line: Mapping[str, float], seed: int) -> float:
        bits, fading = np.random.default_rng(seed).spawn(2)
        wrong = np.sum(bits.random(longest)[: length(correct)] < line["wrong_bits"])
        return float(wrong <= correct and line["good_bits"] * fading.weibull(shape) > length(correct))

    def chance(correct: int, line: Mapping[str, float]) -> float:
        stays = np.exp(-((length(correct) / line["good_bits"]) ** shape))
        return float(binom.cdf(correct, length(correct), line["wrong_bits"]) * stays)

    truth = table_of(chance, corrected, contexts)
    noise = np.sqrt(truth * (1.0 - truth))
    return Problem(corrected, contexts, simulate, truth=truth, noise_sd=noise, name="packets")


def on_time() -> Problem:
    """Within 35 minutes or not, by a road with a name and the hour of departure.

    The logarithm of a journey's minutes is normal. Three quarters of its variance are the day's, which is
    common to all roads.
    """
    roads = {  # minutes without traffic, what the morning adds, spread
        "motorway": (24.0, 0.55, 0.20),
        "ring road": (27.0, 0.35, 0.15),
        "old town": (30.0, 0.15, 0.30),
        "tunnel": (22.0, 0.80, 0.10),
        "river": (29.0, 0.25, 0.18),
        "hills": (33.0, 0.05, 0.08),
    }
    hours = [6.0, 6.5, 7.0, 7.5, 8.0, 8.5, 9.0]

    def parts(road: str, hour: float) -> tuple[float, float]:
        """Return the mean and the standard deviation of the logarithm of the minutes."""
        minutes, added, spread = roads[road]
        return float(np.log(minutes)) + added * float(np.exp(-(((hour - 7.9) / 0.8) ** 2))), spread

    def simulate(road: str, hour: float, seed: int) -> float:
        mean, spread = parts(road, hour)
        return float(mean + spread * partly_shared(seed, list(roads).index(road), 0.75) < np.log(35.0))

    def chance(road: str, hour: float) -> float:
        mean, spread = parts(road, hour)
        return float(ndtr((np.log(35.0) - mean) / spread))

    truth = table_of(chance, list(roads), hours)
    noise = np.sqrt(truth * (1.0 - truth))
    return Problem(list(roads), hours, simulate, truth=truth, noise_sd=noise, name="on-time")


def appointments() -> Problem:
    """Came or not, by the way and the day of a reminder, for patients of an age who waited long or not."""
    reached = {"letter": (0.3, 0.7, 1.1), "text": (1.4, 1.0, 0.1), "call": (0.6, 0.9, 1.0)}  # by age
    ages = ("young", "middle", "old")
    alternatives = [{"way": way, "days_before": days} for way in reached for days in (1.0, 4.0, 10.0)]
    contexts = [{"age": age, "weeks_waited": weeks} for age in ages for weeks in (2.0, 9.0)]
    right_day = {"letter": 7.0, "text": 1.5, "call": 3.0}

    def chance(reminder: Mapping[str, Any], patient: Mapping[str, Any]) -> float:
        way, weeks = reminder["way"], patient["weeks_waited"]
        late = float(np.log(reminder["days_before"] / right_day[way])) - 0.04 * weeks
        helped = 1.6 * reached[way][ages.index(patient["age"])] * float(np.exp(-0.5 * late**2))
        return logistic(0.1 - 0.12 * weeks + helped)

    return rate(chance, alternatives, contexts, "appointments")


# --- Rare losses ------------------------------------------------------------------------------------------


def loans() -> Problem:
    """Profit of an offered loan by interest and grade of the applicant: rarely it is not paid back.

    A low interest earns little, a high one is declined, and who accepts it fails more often: 1 in 24 to 1 in
    290 of those who accept. The applicant is common to all alternatives.
    """
    interests, grades = [4.0, 5.0, 6.0, 7.5, 9.0, 11.0, 13.0], [1.0, 2.0, 3.0, 4.0, 5.0]
    funds, lost = 3.0, 40.0

    def accepts(interest: float, grade: float) -> float:
        return logistic(1.1 * (4.6 + 0.9 * grade - interest))

    def fails(interest: float, grade: float) -> float:
        return 0.0016 * float(np.exp(0.42 * grade + 0.09 * interest))

    def simulate(interest: float, grade: float, seed: int) -> float:
        willing, able = np.random.default_rng(seed).random(2)
        if willing >= accepts(interest, grade):
            return 0.0
        return -lost if able < fails(interest, grade) else interest - funds

    def moments(interest: float, grade: float) -> list[float]:
        accepted, failed = accepts(interest, grade), fails(interest, grade)
        won = interest - funds
        return [accepted * (failed * (-lost) ** n + (1.0 - failed) * won**n) for n in (1, 2)]

    truth, noise = mean_and_noise(table_of(moments, interests, grades))
    return Problem(interests, grades, simulate, truth=truth, noise_sd=noise, name="loans")


YEARS = 24  # of bridges


def bridges() -> Problem:
    """Cost of 24 years of a bridge by years between inspections and the rule of repair; rarely it collapses.

    Its condition, 0 to 4, grows worse by one in a year with a chance that is the context. What an inspection
    finds bad is repaired. A collapse costs 300; its chance in 24 years is 1 in 30 to 1 in 500 for most pairs.
    """
    starts = {"early": 2, "late": 3}  # the condition from which on a bridge is repaired
    alternatives = [{"every": years, "repair": rule} for rule in starts for years in (1, 2, 3, 6, 12)]
    wear = [0.1, 0.16, 0.24, 0.34, 0.46]
    inspected, repaired, lost = 3.0, 3.0, 300.0
    worst = 4
    collapses = np.array([0.0, 0.0001, 0.0004, 0.002, 0.01])  # in a year, by condition

    def after_visit(plan: Mapping[str, Any], year: int, condition: int) -> tuple[float, int]:
        """Return what a year's inspection costs, if there is one, and the condition after it."""
        if year % plan["every"]:
            return 0.0, condition
        bad = condition >= starts[plan["repair"]]
        return inspected + repaired * condition * bad, 0 if bad else condition

    def simulate(plan: Mapping[str, Any], worse: float, seed: int) -> float:
        weather, disaster = np.random.default_rng(seed).random((2, YEARS)).tolist()
        condition, cost = 0, 0.0
        for year in range(1, YEARS + 1):
            condition = min(condition + (weather[year - 1] < worse), worst)
            if disaster[year - 1] < collapses[condition]:
                condition, cost = 0, cost + lost
            paid, condition = after_visit(plan, year, condition)
            cost += paid
        return cost

    def year_of(plan: Mapping[str, Any], worse: float, year: int) -> Step:
        """Return a year with four outcomes: worse or not, and a collapse or not."""
        chance, cost = np.zeros((worst + 1, 4)), np.zeros((worst + 1, 4))
        after = np.zeros((worst + 1, 4), np.int64)
        for condition in range(worst + 1):
            for outcome, (step, collapse) in enumerate([(0, 0), (0, 1), (1, 0), (1, 1)]):
                then = min(condition + step, worst)
                failed = collapses[then] if collapse else 1.0 - collapses[then]
                chance[condition, outcome] = (worse if step else 1.0 - worse) * failed
                paid, after[condition, outcome] = after_visit(plan, year, 0 if collapse else then)
                cost[condition, outcome] = lost * collapse + paid
        return chance, cost, after

    def moments(plan: Mapping[str, Any], worse: float) -> tuple[float, float]:
        steps = [year_of(plan, worse, year) for year in range(1, YEARS + 1)]
        first, second = total_moments(steps)
        return float(first[0]), float(second[0])

    truth, noise = mean_and_noise(table_of(moments, alternatives, wear))
    return Problem(alternatives, wear, simulate, goal="min", truth=truth, noise_sd=noise, name="bridges")


# --- Waiting ----------------------------------------------------------------------------------------------


PATIENTS, LONGEST = 8, 60  # of consultations; the latter in minutes


def consultations() -> Problem:
    """Cost of a doctor's session of eight patients, by minutes between appointments and how many come first.

    Cost of minutes: 1 of a patient who waits, 2 of the doctor who waits, 4 after the last appointment. Some
    do not come; consultations are lognormal, in whole minutes, and are ended after an hour.
    """
    kinds = {"control": 2.2, "first visit": 2.6}  # mean logarithm of the minutes
    sigma = 0.65
    alternatives = [{"minutes": gap, "first": first} for first in (1, 2) for gap in (8, 11, 14, 17, 21)]
    contexts = [{"kind": kind, "absent": absent} for kind in kinds for absent in (0.0, 0.15, 0.3)]

    def gaps(plan: Mapping[str, int]) -> list[int]:
        """Return the minutes from each patient's appointment to the next one's, or to the end."""
        return [0 if n < plan["first"] - 1 else plan["minutes"] for n in range(PATIENTS)]

    def simulate(plan: Mapping[str, int], session: Mapping[str, Any], seed: int) -> float:
        coming, talking = np.random.default_rng(seed).spawn(2)
        comes = coming.random(PATIENTS) >= session["absent"]
        talks = np.minimum(np.ceil(talking.lognormal(kinds[session["kind"]], sigma, PATIENTS)), LONGEST)
        wait, cost = 0.0, 0.0
        for here, minutes, gap in zip(comes, talks, gaps(plan), strict=True):
            cost += wait * here
            ahead = wait + minutes * here - gap
            wait = max(ahead, 0.0)
            cost += 2.0 * max(-ahead, 0.0)
        return float(cost + 4.0 * wait)

    def moments(plan: Mapping[str, int], session: Mapping[str, Any]) -> tuple[float, float]:
        ends = np.arange(1, LONGEST)
        below = ndtr((np.log(ends) - kinds[session["kind"]]) / sigma)
        talks = np.diff(below, prepend=0.0, append=1.0)  # of 1 to LONGEST minutes
        chance = np.r_[session["absent"], (1.0 - session["absent"]) * talks][None]
        wait, minutes = np.arange(PATIENTS * LONGEST + 1)[:, None], np.arange(LONGEST + 1)
        steps: list[Step] = []
        for n, gap in enumerate(gaps(plan), start=1):
            ahead = wait + minutes - gap
            cost = wait * (minutes > 0) + 2.0 * np.maximum(-ahead, 0)
            if n == PATIENTS:
                cost = cost + 4.0 * np.maximum(ahead, 0)
            steps.append((chance, cost, np.clip(ahead, 0, wait[-1])))  # the longest waits cannot be reached
        first, second = total_moments(steps)
        return float(first[0]), float(second[0])

    truth, noise = mean_and_noise(table_of(moments, alternatives, contexts))
    return Problem(
        alternatives, contexts, simulate, goal="min", truth=truth, noise_sd=noise, name="consultations"
    )


def callers() -> Problem:
    """Cost of two hours of a call centre: wages, and callers who hang up; often there are too few agents.

    A call takes six minutes and a caller is patient for eight, both on average and exponential. The busiest
    hours bring three times the calls that the fewest agents can take.
    """
    agents, rates, hours = [3, 4, 5, 6, 7, 8, 9, 10], [35.0, 50.0, 65.0, 80.0, 95.0], 2.0
    ended, hung_up, wage, lost = 10.0, 7.5, 16.0, 3.0  # ends per hour; costs of an agent and of a caller

    def simulate(n: int, rate: float, seed: int) -> float:
        gaps, talking, waiting = np.random.default_rng(seed).spawn(3)
        customers = most_customers(rate * hours)
        arrivals = np.cumsum(gaps.exponential(1.0 / rate, customers))
        talks, patience = (
            talking.exponential(1.0 / ended, customers),
            waiting.exponential(1.0 / hung_up, customers),
        )
        free, gone = [0.0] * n, 0
        calls = zip(arrivals[arrivals < hours].tolist(), talks.tolist(), patience.tolist(), strict=False)
        for arrival, talk, patient in calls:
            first = min(range(n), key=free.__getitem__)
            begin = max(arrival, free[first])
            if begin - arrival > patient:
                gone += 1
            else:
                free[first] = begin + talk
        return wage * n + lost * gone

    def expected(n: int, rate: float) -> float:
        """Return wages and the callers lost: ∫ θ E(waiting) dt until the end, and those lost after it."""
        size = most_customers(rate / min(ended, hung_up))  # as many as with infinitely many slow agents
        present = np.arange(size)
        leaving = hung_up * np.maximum(present - n, 0)
        up, down = np.where(present < size - 1, rate, 0.0), ended * np.minimum(present, n) + leaving
        whole = np.zeros((size + 1, size + 1))
        whole[:size, :size] = np.diag(up[:-1], 1) + np.diag(down[1:], -1) - np.diag(up + down)
        whole[:size, size] = leaving
        *at_end, until_end = expm(whole * hours)[0]
        after = np.cumsum(np.r_[0.0, leaving[1:] / down[1:]])  # one leaves or is served, until nobody waits
        return wage * n + lost * float(until_end + np.array(at_end) @ after)

    truth = table_of(expected, agents, rates)
    return Problem(agents, rates, simulate, goal="min", truth=truth, name="callers")


# --- Stocks and insurance ---------------------------------------------------------------------------------


def platelets() -> Problem:
    """Cost of 14 days of a blood bank by the level it orders up to and the unit it gives first; one context.

    Units last three days. One that is thrown away costs 4, one that is missing 15, each day of age of one
    that is given 0.8. Demand is negative binomial with mean 6 and variance 15.
    """
    alternatives = [
        {"up_to": level, "gives": rule} for rule in ("oldest", "newest") for level in (6, 9, 12, 16, 20)
    ]
    days, missing, wasted, aged = 14, 15.0, 4.0, 0.8
    number, chance_each = 4.0, 0.4

    def given(wanted: Any, stock: Sequence[Any], oldest_first: bool) -> list[Any]:
        """Return how many are given of each age, [fresh, one day, two days]."""
        found: dict[int, Any] = {}
        for age in (2, 1, 0) if oldest_first else (0, 1, 2):
            found[age] = np.minimum(wanted, stock[age])
            wanted = wanted - found[age]
        return [found[age] for age in range(3)]

    def cost_of(wanted: Any, stock: Sequence[Any], handed: Sequence[Any]) -> Any:
        short = wanted - sum(handed)
        return missing * short + wasted * (stock[2] - handed[2]) + aged * (handed[1] + 2 * handed[2])

    def simulate(rule: Mapping[str, Any], _: str, seed: int) -> float:
        demand = np.random.default_rng(seed).negative_binomial(number, chance_each, days)
        day_old, two_days, cost = 0, 0, 0.0
        for wanted in demand.tolist():
            stock = [rule["up_to"] - day_old - two_days, day_old, two_days]
            handed = given(wanted, stock, rule["gives"] == "oldest")
            cost += cost_of(wanted, stock, handed)
            day_old, two_days = stock[0] - handed[0], stock[1] - handed[1]
        return float(cost)

    def moments(rule: Mapping[str, Any], _: str) -> tuple[float, float]:
        wanted, level = np.arange(150), rule["up_to"]  # as many are wanted less than once in 10²⁸ days
        day_old, two_days = (each.reshape(-1, 1) for each in np.indices((level + 1, level + 1)))
        stock = [np.maximum(level - day_old - two_days, 0), day_old, two_days]
        handed = given(wanted, stock, rule["gives"] == "oldest")
        after = (stock[0] - handed[0]) * (level + 1) + stock[1] - handed[1]
        chance = nbinom.pmf(wanted, number, chance_each)[None]
        first, second = total_moments([(chance, cost_of(wanted, stock, handed), after)] * days)
        return float(first[0]), float(second[0])

    truth, noise = mean_and_noise(table_of(moments, alternatives, ["hospital"]))
    return Problem(
        alternatives, ["hospital"], simulate, goal="min", truth=truth, noise_sd=noise, name="platelets"
    )


def treaty() -> Problem:
    """Cost of an insurer's year by the kind and level of its reinsurance and the size of its portfolio.

    Claims are negative binomial many and Pareto large, in whole units up to 100. The insurer pays a premium
    and what it keeps, and four times as much as it keeps beyond its capital, 1.5 times what is expected.
    """
    kinds = {  # the share that is kept, the most that is kept of a claim, or of the sum over its mean
        "share": (0.2, 0.4, 0.7),
        "each claim": (5.0, 15.0, 40.0),
        "whole year": (0.8, 1.1, 1.6),
    }
    loading = {"share": 0.6, "each claim": 0.6, "whole year": 2.0}
    alternatives = [{"kind": kind, "level": level} for kind, levels in kinds.items() for level in levels]
    sizes = [3.0, 8.0, 20.0, 50.0, 120.0]  # mean numbers of claims
    largest, alpha, scale, spread = 100, 1.6, 4.0, 20.0  # the number has the variance m + m²/spread
    beyond = np.r_[(1.0 + np.arange(largest) / scale) ** -alpha, 0.0]  # P(claim > 0, …, largest)
    claim, mean_claim = np.r_[0.0, -np.diff(beyond)], float(beyond.sum())

    def most_of_each(plan: Mapping[str, Any]) -> int:
        return int(plan["level"]) if plan["kind"] == "each claim" else largest

    def kept(plan: Mapping[str, Any], size: float, total: Any) -> Any:
        """Return what is kept of a sum of claims, each of which is cut already."""
        if plan["kind"] == "each claim":
            return total
        if plan["kind"] == "share":
            return plan["level"] * total
        return np.minimum(total, plan["level"] * size * mean_claim)

    def distribution(plan: Mapping[str, Any], size: float) -> tuple[Array, Array]:
        """Return what may be kept and its chances, from the generating function of the sum of claims."""
        n = 2**14  # the sum is as large less than once in 10¹⁰⁰ years
        cut = np.bincount(np.minimum(np.arange(largest + 1), most_of_each(plan)), weights=claim, minlength=n)
        p = np.fft.irfft((1.0 + size / spread * (1.0 - np.fft.rfft(cut))) ** -spread, n)
        return np.asarray(kept(plan, size, np.arange(n)), float), p

    def premium(plan: Mapping[str, Any], size: float) -> float:
        values, p = distribution(plan, size)
        return (1.0 + loading[plan["kind"]]) * (size * mean_claim - float(values @ p))

    premiums = {
        (plan["kind"], plan["level"], size): premium(plan, size) for plan in alternatives for size in sizes
    }

    def cost(plan: Mapping[str, Any], size: float, own: Any) -> Any:
        capital = 1.5 * size * mean_claim
        return premiums[plan["kind"], plan["level"], size] + own + 4.0 * np.maximum(own - capital, 0.0)

    def simulate(plan: Mapping[str, Any], size: float, seed: int) -> float:
        count, amount = np.random.default_rng(seed).spawn(2)
        number = count.negative_binomial(spread, spread / (spread + size))
        claims = np.ceil(scale * amount.pareto(alpha, number))
        total = np.minimum(claims, most_of_each(plan)).sum()
        return float(cost(plan, size, kept(plan, size, total)))

    def moments(plan: Mapping[str, Any], size: float) -> tuple[float, float]:
        values, p = distribution(plan, size)
        paid = cost(plan, size, values)
        return float(paid @ p), float(paid**2 @ p)

    truth, noise = mean_and_noise(table_of(moments, alternatives, sizes))
    return Problem(alternatives, sizes, simulate, goal="min", truth=truth, noise_sd=noise, name="treaty")


# --- Counts and heavy tails -------------------------------------------------------------------------------


def patrols() -> Problem:
    """Thefts of a night, a Poisson number, by a patrol's round with a name, the kind of night and the crowd.

    What thieves try is common to all alternatives; a try succeeds unless the patrol prevents it.
    """
    rounds = {  # share of tries that is prevented at the station, market, harbour, park
        "station only": (0.8, 0.1, 0.0, 0.0),
        "market only": (0.1, 0.8, 0.0, 0.1),
        "harbour only": (0.0, 0.0, 0.8, 0.1),
        "centre": (0.5, 0.5, 0.0, 0.1),
        "waterside": (0.0, 0.2, 0.5, 0.4),
        "everywhere": (0.3, 0.3, 0.3, 0.3),
        "by car": (0.4, 0.0, 0.4, 0.1),
    }
    tries = {"weekday": np.array([3.2, 1.0, 0.8, 0.6]), "weekend": np.array([1.2, 2.8, 2.2, 1.0])}
    grows = np.array([0.4, 1.0, 0.7, 0.2])  # with the crowd
    contexts = [{"night": night, "crowd": crowd} for night in tries for crowd in (0.5, 1.0, 1.8, 3.0)]

    def tried(night: Mapping[str, Any]) -> Array:
        return np.asarray(tries[night["night"]] * night["crowd"] ** grows)

    def simulate(patrol: str, night: Mapping[str, Any], seed: int) -> float:
        number, luck = np.random.default_rng(seed).spawn(2)
        place = np.repeat(np.arange(4), number.poisson(tried(night)))
        return float(np.sum(luck.random(len(place)) >= np.array(rounds[patrol])[place]))

    truth = table_of(
        lambda patrol, night: float(tried(night) @ (1.0 - np.array(rounds[patrol]))), list(rounds), contexts
    )
    return Problem(
        list(rounds), contexts, simulate, goal="min", truth=truth, noise_sd=np.sqrt(truth), name="patrols"
    )


def block_sale() -> Problem:
    """Cost of the sale of a block of shares by its duration and how much is traded; tails are heavy.

    A fast sale lowers the price, a slow one is exposed to its fall and moves. Moves are normal, and five
    times as large on one day in twelve. Days are common to all alternatives, and four fifths of the variance
    of the moves.
    """
    durations, traded = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0], [0.5, 1.0, 2.0, 4.0, 8.0]
    wild, times, share = 1.0 / 12.0, 5.0, 0.8

    def mean(duration: float, volume: float) -> float:
        return 14.0 * float((duration * volume) ** -0.6) + 0.35 * duration

    def spread(duration: float) -> float:
        """Return the standard deviation of the moves on a usual day."""
        return 0.8 + 0.3 * float(np.sqrt(duration))

    def simulate(duration: float, volume: float, seed: int) -> float:
        day = np.random.default_rng([seed, len(durations) + 1]).random()
        moves = partly_shared(seed, durations.index(duration), share)
        return mean(duration, volume) + spread(duration) * moves * (times if day < wild else 1.0)

    truth = table_of(mean, durations, traded)
    larger = np.sqrt(1.0 - wild + wild * times**2)
    noise = larger * table_of(lambda duration, _: spread(duration), durations, traded)
    return Problem(durations, traded, simulate, goal="min", truth=truth, noise_sd=noise, name="block-sale")


# --- Normal noise -----------------------------------------------------------------------------------------


def normal_table(
    alternatives: Sequence[Any],
    contexts: Sequence[Any],
    truth: Array,
    sd: Array | float,
    name: str,
    *,
    share: float,
) -> Problem:
    """Return a problem with a table of means and normal noise, of which alternatives share a part."""
    spread = np.broadcast_to(sd, truth.shape)

    def simulate(alternative: Any, context: Any, seed: int) -> float:
        k, c = alternatives.index(alternative), contexts.index(context)
        return float(truth[k, c] + spread[k, c] * partly_shared(seed, k, share))

    return Problem(alternatives, contexts, simulate, truth=truth, noise_sd=spread, name=name)


def oven(instance: int) -> Problem:
    """Quality of bread by degrees and minutes and the moisture of the dough: smooth, with equal normal noise.

    Half of the variance is the flour's, which is common to all alternatives.
    """
    generator = np.random.default_rng([instance, 801])
    degrees, minutes, moisture = [180.0, 205.0, 230.0], [20.0, 30.0, 40.0], [0.5, 0.55, 0.6, 0.65, 0.7, 0.75]
    alternatives = [{"degrees": hot, "minutes": long} for hot in degrees for long in minutes]
    hot, long = (np.repeat([-1.0, 0.0, 1.0], 3)[:, None], np.tile([-1.0, 0.0, 1.0], 3)[:, None])
    wet = np.linspace(-1.0, 1.0, len(moisture))
    best_hot, best_long = (
        generator.normal(0.0, 0.5, 2)[:, None] + generator.normal(0.4, 0.4, 2)[:, None] * wet
    )
    together = generator.uniform(-0.5, 0.9)  # long baking makes up for little heat
    off_hot, off_long = hot - best_hot, long - best_long
    burnt = off_hot**2 + off_long**2 + 2.0 * together * off_hot * off_long
    truth = 10.0 * np.exp(-0.25 * burnt) - generator.uniform(0.5, 1.5) * wet
    return normal_table(alternatives, moisture, truth, 3.0, "oven", share=0.5)


def varieties(instance: int) -> Problem:
    """Yield of seven varieties with names by rain: a common trend, levels and slopes, equal normal noise.

    A third of the variance is the field's, which is common to all alternatives.
    """
    generator = np.random.default_rng([instance, 802])
    names, rain = (
        ["Alma", "Birk", "Cora", "Dorn", "Elba", "Faro", "Glen"],
        [300.0, 400.0, 500.0, 600.0, 700.0],
    )
    x = np.linspace(-1.0, 1.0, len(rain))
    level, slope = generator.normal(size=(2, len(names), 1)) * np.array([0.6, 0.5])[:, None, None]
    truth = 6.0 + 1.5 * x - 0.8 * x**2 + level + slope * x
    return normal_table(names, rain, truth, 0.7, "varieties", share=1.0 / 3.0)


def turbines(instance: int) -> Problem:
    """Power of a wind farm by angle of the blades and wind: the wind makes the normal noise thirtyfold.

    Stakes grow with the wind, too, but only tenfold. Gusts, three fifths of the variance, are common to all
    alternatives.
    """
    generator = np.random.default_rng([instance, 803])
    angles, wind = [0.0, 3.0, 6.0, 9.0, 12.0, 15.0, 18.0], [4.0, 6.0, 8.0, 10.0, 13.0, 16.0]
    x, y = np.linspace(-1.0, 1.0, len(angles))[:, None], np.linspace(-1.0, 1.0, len(wind))
    best, narrow = generator.uniform(-0.4, 0.4) + generator.uniform(0.0, 0.9) * y, generator.uniform(0.6, 1.4)
    power = np.array(wind) ** 1.66  # ten times as much from the first wind to the last
    truth = power / power[0] * (1.0 - 0.8 * narrow * (x - best) ** 2 / (0.3 + (x - best) ** 2))
    noise = 0.1 * 30.0 ** ((y + 1.0) / 2.0)
    return normal_table(angles, wind, truth, noise, "turbines", share=0.6)
