"""Parameters of an outbreak and of the measures against it; the paper's values are the defaults."""

import math
from dataclasses import dataclass, fields
from numbers import Real

import numpy as np

from argbest.checks import whole
from argbest.core.arrays import Array
from argbest.errors import InputError

MOST_CONTACTS = 1e6  # per person and day
_LONGEST_DAYS = 3650  # of a horizon or a stay: a slip of the pen is refused before it fills the memory
_LARGEST = 10**9  # people in one population


def _people(name: str, given: object, *, at_least: int) -> tuple[int, ...]:
    """Return whole numbers of people."""
    if not isinstance(given, tuple | list | np.ndarray):
        raise InputError(f"got {name}={given!r}; expected one whole number per population. Give a tuple.")
    return tuple(whole(name, n, at_least=at_least, below=_LARGEST + 1) for n in given)


def _number(name: str, value: object, least: float, most: float = np.inf) -> float:
    """Return the value as a float if it is a finite number in the closed range."""
    usable = isinstance(value, Real | np.number) and not isinstance(value, bool)
    if not usable or not least <= float(value) <= most or not math.isfinite(float(value)):  # type: ignore[arg-type]
        wanted = f"from {least:g} to {most:g}" if math.isfinite(most) else f"of {least:g} or more"
        raise InputError(f"{name} must be a finite number {wanted}, got {value!r}. Correct it.")
    return float(value)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Stay:
    """Whole days spent in a stage: min(Poisson(mean), longest), all mass of the tail on the longest."""

    mean: float
    longest: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "longest", whole("longest", self.longest, at_least=0, below=_LONGEST_DAYS))
        object.__setattr__(self, "mean", _number("mean", self.mean, 0.0, 700.0))

    @property
    def pmf(self) -> Array:
        """The probabilities of 0, 1, ..., longest days."""
        k = np.arange(self.longest)
        log_factorial = np.array([math.lgamma(i + 1.0) for i in k])
        log_mean = math.log(self.mean) if self.mean > 0 else -np.inf
        head = np.exp(np.where(k == 0, 0.0, np.maximum(k, 1) * log_mean) - self.mean - log_factorial)
        return np.append(head, max(0.0, 1.0 - head.sum()))

    def hazards(self, width: int) -> Array:
        """Return [width] P(stay = k | stay ≥ k), 1 from the longest stay on."""
        pmf = self.pmf
        left = np.cumsum(pmf[::-1])[::-1]
        hazards = np.ones(width)
        certain = left[:-1] > 0
        hazards[: self.longest][certain] = np.minimum(1.0, pmf[:-1][certain] / left[:-1][certain])
        return hazards


@dataclass(frozen=True, kw_only=True)
class Outbreak:
    """Populations, disease and measures; everything that is neither an alternative nor a context.

    | parameter | meaning | default |
    |---|---|---|
    | `sizes` | people in each population | 50,000, 75,000, 100,000 |
    | `cases` | infected at the start, all at the beginning of stage I | 125, 300, 500 |
    | `tests` | tests per day, for all populations together | 10,000 |
    | `infection` | chance p that one contact infects | 0.02 |
    | `contacts` | mean number λ of contacts per person and day | 10 |
    | `days` | horizon | 14 |
    | `exposed`, `preinfectious` | stays in E, then in P where tests see it | mean 1, at most 4 |
    | `infectious` | stay in I | mean 4, at most 8 |
    | `late` | stay in M or V, still infectious | mean 10, at most 14 |
    | `mild_share` | of those leaving I, the share that never reports itself | 0.0442 |
    | `false_negative` | chance that a test misses somebody in P, I, M or V | 0.2 |
    | `false_positive` | chance that a test of somebody in S or E is positive | 0.005 |
    | `self_report` | daily chance that somebody in V reports | 0.8 |
    | `recall` | share of contacts remembered when asked | 0.5 |
    | `tracing_delay` | days between being found and being asked | 2 |
    | `tracing_window` | days of contacts asked for | 5 |
    | `leave_infected`, `leave_healthy` | daily chance to leave quarantine | 0.05, 0.3 |

    The infection chance and the contacts are usually set by the context; their values here serve where it
    does not name them. Sources: Cakmak, Gao and Zhou, "Contextual ranking and selection with Gaussian
    processes", and the group-testing population model of Cornell University that its experiment runs. The
    mild share is the average 0.0033 / 0.074628 over five age groups in that model.
    """

    sizes: tuple[int, ...] = (50_000, 75_000, 100_000)
    cases: tuple[int, ...] = (125, 300, 500)
    tests: float = 10_000.0
    infection: float = 0.02
    contacts: float = 10.0
    days: int = 14
    exposed: Stay = Stay(1.0, 4)
    preinfectious: Stay = Stay(1.0, 4)
    infectious: Stay = Stay(4.0, 8)
    late: Stay = Stay(10.0, 14)
    mild_share: float = 0.0033 / 0.074628
    false_negative: float = 0.2
    false_positive: float = 0.005
    self_report: float = 0.8
    recall: float = 0.5
    tracing_delay: int = 2
    tracing_window: float = 5.0
    leave_infected: float = 0.05
    leave_healthy: float = 0.3

    def __post_init__(self) -> None:
        sizes = _people("sizes", self.sizes, at_least=1)
        cases = _people("cases", self.cases, at_least=0)
        if len(sizes) != len(cases) or not sizes:
            raise InputError(
                f"got {len(sizes)} sizes and {len(cases)} cases; expected one of each per population."
            )
        for j, (n, size) in enumerate(zip(cases, sizes, strict=True), 1):
            if n > size:
                raise InputError(f"population {j} has {size} people but {n} cases. Lower its cases.")
        checked: dict[str, object] = {"sizes": sizes, "cases": cases}
        for name, least in (("days", 1), ("tracing_delay", 0)):
            checked[name] = whole(name, getattr(self, name), at_least=least, below=_LONGEST_DAYS)
        for name, most in (("tests", np.inf), ("contacts", MOST_CONTACTS), ("tracing_window", _LONGEST_DAYS)):
            checked[name] = _number(name, getattr(self, name), 0.0, most)
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(field.default, Stay) and not isinstance(value, Stay):
                raise InputError(f"got {field.name}={value!r}; expected Stay(mean, longest). Give one.")
            if isinstance(field.default, float) and field.name not in checked:
                checked[field.name] = _number(field.name, value, 0.0, 1.0)
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def n_populations(self) -> int:
        """The number of populations."""
        return len(self.sizes)

    @property
    def rates(self) -> Array:
        """What all runs share, in the order in which compiled code reads it."""
        detection = 1.0 - self.false_negative
        tracing = (self.recall, self.tracing_window)
        leaving = (self.leave_infected, self.leave_healthy)
        return np.array(
            [detection, self.false_positive, self.mild_share, self.self_report, *tracing, *leaving]
        )

    @property
    def hazards(self) -> Array:
        """[stage, k] P(stay = k | stay ≥ k) in E, P, I, M and V."""
        stays = (self.exposed, self.preinfectious, self.infectious, self.late, self.late)
        width = max(2, 1 + max(stay.longest for stay in stays))
        return np.stack([stay.hazards(width) for stay in stays])
