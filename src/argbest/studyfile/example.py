"""What `argbest init` writes: a study file that runs as it is, and its simulator, of several kinds."""

import os
from pathlib import Path

from argbest import defaults, files
from argbest.checks import one_of
from argbest.errors import InputError

SIMULATOR = "simulate.py"
_PROGRAM = "program"  # the kind that shows every option
_STARTS = Path(__file__).with_name("starts")  # the other kinds, a folder each
_BEFORE = {"c": "cc -O2 -o simulate simulate.c -lm", "fmu": "python make_fmu.py"}

STUDY_FILE = """\
# A study for argbest: the best alternative for every context, from noisy simulations.
#
#     argbest run {file}
#
# This example asks how many agents a call centre needs, depending on how many customers call.
# Lines that begin with "# " and a key are further options; remove the "# " to use them.

name = "call-centre"
goal = "min"                    # "max": larger rewards are better, "min": smaller ones
# reward = "cost per hour, dollars"   # what is simulated, with its unit, for pictures and pages
# description = "Staffing of a call centre"
# reward_range = [0, 1]         # if every single reward lies in it, such as success or failure
# problem = "queue-staffing"    # a problem that ships with argbest, in place of all the rest

# What you choose. Columns in a grid are crossed: every combination is one alternative.
[alternatives]
grid.servers = [2, 3, 4, 5, 6]
# Instead of a grid you can give
# labels = ["A", "B"]                                   # names
# rows = [{{ servers = 2, shift = "day" }}, {{ servers = 3, shift = "night" }}]
# file = "plans.csv"                                    # a table, one row per alternative
# columns = ["servers", "shift"]                        # which columns of rows or of a file to use
# label = "plan"                                        # the column that holds the names
# categorical = ["servers"]                             # columns whose numbers are names, not amounts

# What you do not choose, but will know when you decide. The same forms, and
[contexts]
grid.rate = [10, 20, 30, 40, 50]
# weights = [1, 2, 3, 2, 1]     # how much each context counts; or the name of a column of rows or of a file
# bounds.rate = [0, 60]         # the range in which predictions are meant to hold

# A program, run once per replication, without a shell, in the folder of this file. The last number of its
# output is the reward. It is given
#   {{alternative.servers}}   a column; {{alternative}} is a name, or all columns as a JSON object
#   {{context.rate}}          the same for contexts
#   {{seed}}                  a whole number below 2^31, another for every replication of a pair
#   {{python}}                the Python that runs argbest
# and {{{{ or }}}} stand for braces.
[simulator]
command = [
    "{{python}}", "simulate.py",
    "--servers", "{{alternative.servers}}", "--rate", "{{context.rate}}", "--seed", "{{seed}}",
]
timeout = 60                    # seconds after which a run is killed, and counts as a failure
# retries = 2                   # how often a failed run is tried again
# backoff = 1.0                 # seconds before that, doubled every time
# field = "cost.total"          # the reward is this field of JSON output
# folder = "model"              # run it there
# environment = {{ OMP_NUM_THREADS = "1" }}
# A Python function (alternative, context, seed) needs no program, and starts faster:
# python = "simulate:simulate"  # in place of command: module:function

[study]
policy = "{policy}"                  # `argbest policies` lists them
# model = "additive-gp"         # `argbest models` lists them
initial = "auto"                # every pair twice, or some pairs of a large table
# initial = 2                   # or that many replications of every pair
# initial = {{ random_contexts = 3, replace = false }}    # or that many random contexts of every alternative
# initial = {{ extreme_contexts = 5 }}                    # or replications at the extreme contexts
seed = 1                        # the same seed, the same study
# refit_every = 10              # replications between looks at the model's parameters; or "auto"
# common_random_numbers = false # give every alternative seeds of its own, not those of the context

[run]
budget = 200                    # replications in all
# seconds = 3600                # or seconds of simulation, summed over workers
# workers = 4                   # processes that simulate at once
# batch = 1                     # replications given to a worker at a time
# confirm = 0.1                 # share of the budget reserved for contexts that are undecided at the end
# stop = {{ rule = "expected-pcs", target = 0.95, delta = 0.0 }}   # or "worst-pcs", "opportunity-cost"
# stop = {{ rule = "guaranteed", alpha = 0.05, delta = 5.0, contexts = "all" }}    # or by the data alone

# What a replication costs, if that differs; the policy then weighs what it learns against it.
# [cost]
# measured = true               # learned from run times
# alternatives = [1, 1, 1, 2, 2]
# contexts = [1, 1, 1, 2, 3]    # multiplied with that of the alternative
# table = [[1, 2], [3, 4]]      # or a row per alternative, with a number per context

# Where everything is kept; a study that was interrupted goes on from there.
[storage]
url = "{database}"
# name = "study"                # which study, where several share a database
"""

PROGRAM = '''\
"""One simulated morning in a call centre: wages, and what it costs when customers hang up.

    python simulate.py --servers 4 --rate 30 --seed 1
"""

import argparse
import heapq
import random

HOURS = 4
WAGE = 20  # per agent and hour
LOSS = 8  # per customer who hangs up


def simulate(alternative, context, seed):
    """Return the cost per hour; agents serve 12 customers per hour, customers wait 3 minutes on average."""
    draw = random.Random(seed)
    free_from = [0.0] * alternative["servers"]  # when each agent is free again
    now = lost = 0
    while (now := now + draw.expovariate(context["rate"])) < HOURS:
        patience, service = draw.expovariate(20), draw.expovariate(12)
        if free_from[0] - now > patience:
            lost += 1
        else:
            heapq.heapreplace(free_from, max(now, free_from[0]) + service)
    return WAGE * alternative["servers"] + LOSS * lost / HOURS


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--servers", type=int, required=True)
    parser.add_argument("--rate", type=float, required=True)
    parser.add_argument("--seed", type=int, required=True)
    given = parser.parse_args()
    print(simulate({"servers": given.servers}, {"rate": given.rate}, given.seed))
'''


def kinds() -> list[str]:
    """Return the kinds of simulator that there is a starting point for."""
    return sorted([_PROGRAM, *(folder.name for folder in _STARTS.iterdir() if folder.is_dir())])


def before(kind: str) -> str | None:
    """Return the command that prepares a starting point, None where nothing is to be done."""
    return _BEFORE.get(kind)


def write(path: str | os.PathLike[str], *, kind: str = _PROGRAM, force: bool = False) -> list[Path]:
    """Return the files written: the study file, and what it needs beside it.

    A folder gets a study.toml. Files that exist are left alone, and nothing is written, unless forced.
    """
    file = Path(path)
    if file.is_dir():
        file = file / "study.toml"
    texts = _texts(one_of("kind", kind, kinds()), file)
    there = [each for each in texts if each.exists() or each.is_symlink()]
    if there and not force:
        names = " and ".join(repr(str(each)) for each in there)
        said = "exists already and is" if len(there) == 1 else "exist already and are"
        raise InputError(f"{names} {said} left alone. Name another file, or use --force.")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {error.filename!r}: {error.strerror or error}.") from error
    return [files.write(each, content) for each, content in texts.items()]


def _texts(kind: str, file: Path) -> dict[Path, str]:
    """Return the files of a starting point, the study file first."""
    if kind == _PROGRAM:
        database = _escaped(file.with_suffix(".db").name)
        study = STUDY_FILE.format(policy=defaults.POLICY, file=file.name, database=database)
        beside = {SIMULATOR: PROGRAM}
    else:
        found = {each.name: each.read_text("utf-8") for each in (_STARTS / kind).iterdir() if each.is_file()}
        study = found.pop("study.toml")
        beside = dict(sorted(found.items()))
    if file.name in beside:
        raise InputError(
            f"{file.name!r} is the name of the example's simulator; name the study file otherwise."
        )
    return {file: study} | {file.with_name(name): text for name, text in beside.items()}


def _escaped(name: str) -> str:
    """Return a file name as the inside of a TOML text."""
    return name.replace("\\", "\\\\").replace('"', '\\"')
