"""Mistakes in a study file: each is found when the file is read, and named with its file and key."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argbest import GP, InputError, registry
from argbest.studyfile import read, run_options
from argbest.studyfile.options import KEYS, TOP, table
from argbest.studyfile.reading import _study_file

AXES = 'alternatives = ["a", "b"]\ncontexts = [1, 2, 3]\n'
COMMAND = 'command = ["x", "{alternative}", "{context}", "{seed}"]\n'


def refused(folder: Path, text: str | bytes, message: str) -> None:
    path = folder / "study.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError, match=r"^study\.toml: " + message):
        read(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = = 1", r"this is not TOML: .*\(at line 1, column 5\)"),
        ("goal = 'min'\ngoal = 'max'\n", r"this is not TOML: Cannot overwrite a value"),
        (b"name = '\xff'", "this is not UTF-8 text"),
        (b"a = " + b"[" * 5000, "this is not TOML"),
        ("", r"the file has no \[alternatives\]; give for example alternatives = \['a', 'b'\]"),
        ('alternatives = ["a", "b"]', r"the file has no \[contexts\]"),
        (AXES + "gaol = 'min'", "unknown key of the top of the file 'gaol'.* Did you mean 'goal'?"),
        (AXES + "goal = 'least'", "goal 'least' begins with 'least'; expected max or min"),
        (AXES + "goal = 'minimise cost'", ".*expected max or min.*Did you mean 'min cost'?"),
        (AXES + "goal = 3", "got goal=3; expected a text such as 'max', 'min'"),
        (AXES + "limits = 'late <= 0.05'", "limits must be a list of texts, such as limits = "),
        (
            AXES + "limits = ['late <= 0.05']",
            "got the limit 'late <= 0.05' and the goal 'max', which names no",
        ),
        (AXES + "goal = 'min cost'\nlimits = ['late < 0.05']", "limit 'late < 0.05': < and <= are the same"),
        (AXES + "goal = 'min cost'\nlimits = ['late > 1']", "limit 'late > 1': > and >= are the same"),
        (AXES + "goal = 'min cost'\nlimits = [0.05]", "got the limit 0.05; expected a text such as"),
        (AXES + "goal = 'min cost'\nlimits = ['late calls <= 1']", ".*If it is one, write `late calls`"),
        (AXES + "goal = 'min cost'\nprice = 0", "price must be a number finite and above 0, got 0"),
        (AXES + "goal = 'min cost'\nresponses = 'cost'", "responses must be a list of texts, such as"),
        (
            AXES + "responses = ['cost', 'late']",
            r".*returns 2 responses \(cost, late\), and the goal 'max' names",
        ),
        (
            AXES + "goal = 'min cst'\nresponses = ['cost', 'late']",
            "goal 'min cst': there is no response 'cst'; known are cost, late. Did you mean cost?",
        ),
        (
            AXES + "goal = 'min cost'\nlimits = ['lat <= 1']\nresponses = ['cost', 'late']",
            "limit 'lat <= 1': there is no response 'lat'; known are cost, late. Did you mean late?",
        ),
        (
            AXES
            + "goal = 'min cost'\nlimits = ['late <= 1']\n"
            + "[simulator]\ncommand = ['x', '{alternative}', '{context}']\nfield = 'cost'",
            r"\[simulator\]: field = 'cost' is for programs with one response, and here are cost, late",
        ),
        ("problem = 'call-centre'\nlimits = ['late <= 1']", "problem and limits exclude each other"),
        (
            AXES + "goal = 'min cost'\nresponses = ['cost', 'late']\nnoise_sd.late = -1",
            "noise_sd of late must be a number from 0 up, got -1",
        ),
        (AXES + "name = 3", "name must be text, got 3"),
        (AXES + "rate = 1", "rate must be True or False, got 1"),
        (AXES + "rate = true\nreward_range = [0, 2]", r"got rate=True and reward_range=\(0, 2\)"),
        ("problem = 'newsvendor'\nrate = true", "problem and rate exclude each other"),
        (AXES + "description = []", "description must be text"),
        ("problem = 'brannin'", "unknown problem 'brannin'.* Did you mean 'branin'?"),
        ("problem = 3", "problem must be text, got 3"),
        (AXES + "problem = 'branin'", "problem and alternatives exclude each other"),
        ("problem = 'branin'\ngoal = 'min'", "problem and goal exclude each other"),
    ],
)
def test_the_top_of_the_file(text: str | bytes, message: str, tmp_path: Path) -> None:
    refused(tmp_path, text, message)


@pytest.mark.parametrize(
    ("axis", "message"),
    [
        ("alternatives = ['a']", r"\[alternatives\]: got 1 alternative; at least 2 needed"),
        ("alternatives = ['a', 'a']", r"\[alternatives\]: duplicate alternative labels: 'a'"),
        ("alternatives = ['a', 1]", r"\[alternatives\]: 'label' of alternative 1 is 1 \(number\)"),
        ("alternatives = [nan, 1]", r"\[alternatives\]: .*finite number"),
        ("alternatives = [2024-01-01, 2024-01-02]", r"\[alternatives\]: .*a date to text"),
        ("alternatives = [[1], [2]]", r"\[alternatives\]: 'label' of alternative 0 is \[1\]"),
        ("alternatives = 'a'", r"\[alternatives\] is 'a'; expected a table"),
        ("alternatives = [{ a = 1 }, { b = 1 }]", r"\[alternatives\]: alternative 1 is .*keys \['a'\]"),
        ("alternatives = [{ a = 1 }, 'x']", r"\[alternatives\]: alternative 1 is 'x'"),
        ("[alternatives]\nservers = [1, 2]", r"unknown key of \[alternatives\] 'servers'; known are .*grid"),
        (
            "[alternatives]\nweights = [1]",
            r"unknown key of \[alternatives\] 'weights'.*It belongs to \[contexts\]",
        ),
        ("[alternatives]", r"\[alternatives\] has none of them; expected one of"),
        (
            "[alternatives]\nlabels = ['a', 'b']\ngrid.x = [1]",
            r"\[alternatives\] has labels and grid; expected one",
        ),
        ("[alternatives]\ngrid = 3", r"\[alternatives\]: grid must be a table of columns"),
        ("[alternatives]\ngrid = {}", r"\[alternatives\]: grid must be a table of columns"),
        (
            "[alternatives]\ngrid.servers = 3",
            r"\[alternatives\]: grid.servers must be a list of values, got 3",
        ),
        ("[alternatives]\ngrid.servers = []", r"\[alternatives\]: grid.servers must be a list"),
        ("[alternatives]\ngrid.servers = [1, 1]", r"\[alternatives\]: identical alternatives"),
        (
            "[alternatives]\nlabels = ['a', 'b']\nlabel = 'x'",
            r"\[alternatives\]: label names columns of rows",
        ),
        ("[alternatives]\nfile = 3", r"\[alternatives\]: file must be text, got 3"),
        (
            "[alternatives]\ngrid.plan = [1, 2]\ncategorical = ['plans']",
            r"\[alternatives\]: unknown categorical column 'plans'; known are plan. Did you mean 'plan'",
        ),
        (
            "[alternatives]\ngrid.plan = [1, 2]\ncategorical = true",
            r"\[alternatives\]: got categorical=True; expected names of columns",
        ),
        (
            "[alternatives]\nfile = 'gone.csv'",
            r"\[alternatives\]: '.*gone.csv' is not there: no such file",
        ),
        (
            "[alternatives]\nfile = 'ragged.csv'",
            r"\[alternatives\]: line 3 of '.*' has 3 fields, its first line names 1",
        ),
        (
            "[alternatives]\nfile = 'quote.csv'",
            r"\[alternatives\]: '.*' is not a table of text: unexpected end",
        ),
        ("[alternatives]\nfile = 'twice.csv'", r"\[alternatives\]: the file .* has the columns \['a', 'a'\]"),
        ("[alternatives]\nfile = 'head.csv'", r"\[alternatives\]: got 0 alternatives"),
        ("[alternatives]\nfile = 'binary.csv'", r"\[alternatives\]: '.*binary.csv' is not UTF-8 text"),
        (
            "[alternatives]\nfile = 'empty.csv'",
            r"\[alternatives\]: '.*' is empty; expected a line of names",
        ),
        (
            "[alternatives]\nfile = 'hole.csv'",
            r"\[alternatives\]: row 2 of the file .* has no servers. Complete it",
        ),
        (
            "[alternatives]\nfile = 'good.csv'\ncolumns = ['server']",
            "unknown column 'server'.*Did you mean 'servers'",
        ),
        ("[alternatives]\nfile = 'good.csv'\ncolumns = 'servers'", "columns must be a list of names"),
        (
            "[alternatives]\nfile = 'good.csv'\ncolumns = [['servers']]",
            r"unknown column \['servers'\]; known are",
        ),
        (
            "[alternatives]\nfile = 'good.csv'\nlabel = 'plans'",
            "unknown column 'plans'; known are plan, servers",
        ),
        ("[alternatives]\nfile = 'good.csv'\nlabel = 3", "unknown column 3"),
    ],
)
def test_alternatives(axis: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "good.csv").write_text("plan,servers\nx,2\ny,3\n")
    (tmp_path / "ragged.csv").write_text("servers\n2\n3,4,5\n")
    (tmp_path / "binary.csv").write_bytes(b"servers\n\xff\xfe\n")
    (tmp_path / "quote.csv").write_text('servers\n"2\n')
    (tmp_path / "twice.csv").write_text("a,a\n1,2\n3,4\n")
    (tmp_path / "head.csv").write_text("servers\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "hole.csv").write_text("plan,servers\nx,2\ny,\n")
    refused(tmp_path, f"contexts = [1, 2]\n{axis}", message if message[0] == "\\" else f".*{message}")


@pytest.mark.parametrize(
    ("axis", "message"),
    [
        ("contexts = []", "got 0 contexts; at least 1 needed"),
        (
            "[contexts]\nlabels = [1, 2]\nweights = [1]",
            r"got weights of shape \(1,\).*expected numbers of shape \(2,\)",
        ),
        ("[contexts]\nlabels = [1, 2]\nweights = [1, -1]", "got weights .*; expected none negative"),
        ("[contexts]\nlabels = [1, 2]\nweights = ['a', 'b']", "got weights: entry 0 is 'a' .*, not a number"),
        ("[contexts]\nlabels = [1, 2]\nweights = 'share'", "weights names columns of rows or of a file"),
        ("[contexts]\nlabels = [1, 2]\nbounds = [2, 3]", r"bounds \(2.0, 3.0\) .* do not hold its values"),
        ("[contexts]\ngrid.rate = [1, 2]\nbounds.rat = [0, 3]", "unknown context column with bounds 'rat'"),
        ("[contexts]\ngrid.rate = [1, 2]\nbounds.rate = 3", "got bounds 3 for 'rate'; expected two numbers"),
        ("[contexts]\nrows = [{ rate = 1 }]\nweights = 'share'", "unknown column 'share'; known are rate"),
    ],
)
def test_contexts(axis: str, message: str, tmp_path: Path) -> None:
    refused(tmp_path, f"alternatives = ['a', 'b']\n{axis}", rf"\[contexts\]: {message}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "needs either command = .* or python = 'module:function'"),
        (f"{COMMAND}python = 'a:b'", "needs either command"),
        (f"{COMMAND}tiemout = 3", r"unknown key of \[simulator\] 'tiemout'.*Did you mean 'timeout'"),
        (f"{COMMAND}budget = 3", r"unknown key .* It belongs to \[run\]."),
        (f"{COMMAND}timeout = 0", "timeout must be a number finite and above 0, got 0"),
        (f"{COMMAND}timeout = '3 s'", "timeout must be a number"),
        (f"{COMMAND}retries = -1", "retries must be a whole number"),
        (f"{COMMAND}backoff = -1", "backoff must be a number"),
        (f"{COMMAND}field = 3", "field=3"),
        (f"{COMMAND}folder = 'gone'", "folder: there is no folder '.*gone'"),
        (f"{COMMAND}folder = 3", "folder must be text, got 3"),
        (f"{COMMAND}environment = {{ A = 1 }}", "environment=.*expected texts by name"),
        ("command = './simulate --fast'", "command='./simulate --fast'; expected a list of texts"),
        (
            "command = ['x', '{alternative}', '{context.rate}']",
            r"command: unknown field \{context.rate\}; known are",
        ),
        (
            "command = ['x', '{alternativ}', '{context}']",
            r"the template '\{alternativ\}': .*Did you mean \{alternative\}",
        ),
        ("command = ['x', '{context}']", "command: the command is the same for every alternative"),
        ("command = ['x', '{alternative}']", "command: the command is the same for every context"),
        ("command = ['x', '{alternative', '{context}']", "has a lone '{'"),
        (
            "python = 'surely_missing_module:run'",
            "no module 'surely_missing_module' in the installed packages or the folder",
        ),
        ("python = 'simulate'", "expected 'module:function'"),
        ("python = 3", "expected 'module:function'"),
        ("python = 'json:lods'", "unknown function of json 'lods'.*Did you mean 'loads'"),
        ("python = 'math:pi'", "math:pi is 3.14.*; expected a function"),
        ("python = 'builtins:max'\nretries = 2", "retries is for programs"),
        ("python = 'builtins:max'\ntimeout = -1", "timeout must be a number"),
    ],
)
def test_simulators(text: str, message: str, tmp_path: Path) -> None:
    refused(tmp_path, f"{AXES}[simulator]\n{text}", rf"(?=.*\[simulator\]).*{message}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("study = 3", r"\[study\] is 3; expected a table with question, policy, "),
        ("[study]\ngoal = 'min'", r"unknown key of \[study\] 'goal'.*It belongs to the top of the file"),
        ("[study]\npolicy = 'gp-ocba'", r"unknown \[study\] policy 'gp-ocba'.*Did you mean 'gp-c-ocba'?"),
        ("[study]\npolicy = 3", r"unknown \[study\] policy 3"),
        ("[study]\npolicy = ['ikg']", r"unknown \[study\] policy \['ikg'\]"),
        ("[study]\nmodel = 'gpp'", r"unknown \[study\] model 'gpp'.*Did you mean 'gp'?"),
        (
            "[study]\nseed = -1",
            r"\[study\] seed must be a whole number ≥ 0 and below 18446744073709551616, got -1",
        ),
        ("[study]\nseed = 1.5", r"\[study\] seed must be a whole number"),
        ("[study]\nrefit_every = 0", r"\[study\] refit_every must be a whole number ≥ 1, got 0"),
        (
            "[study]\ncommon_random_numbers = 1",
            r"\[study\] common_random_numbers must be True or False, got 1",
        ),
        ("[study]\ninitial = -1", r"\[study\] initial: replications must be a whole number ≥ 0, got -1"),
        ("[study]\ninitial = true", r"\[study\] initial: initial=True is not an initial design"),
        ("[study]\ninitial = 'two'", r"\[study\] initial: initial='two' is not an initial design"),
        ("[study]\ninitial = [['a', 9]]", r"\[study\] initial: unknown context 9"),
        (
            "[study]\ninitial = { random_contexts = 4 }",
            r"\[study\] initial: RandomContexts asks for 4 of 3 contexts",
        ),
        (
            "[study]\ninitial = { random = 4 }",
            r"\[study\] initial: unknown key of \[study\] initial 'random'",
        ),
        (
            "[study]\ninitial = { replace = true }",
            r"\[study\] initial: got .*expected random_contexts = NUMBER",
        ),
        (
            "[study]\ninitial = { random_contexts = 1, replace = 2 }",
            r"\[study\] initial: replace must be True or False",
        ),
        (
            "[study]\ninitial = { extreme_contexts = 1 }",
            r"\[study\] initial: replications must be a whole number ≥ 2",
        ),
    ],
)
def test_options_of_the_study(text: str, message: str, tmp_path: Path) -> None:
    refused(tmp_path, AXES + text, message)


def test_a_model_that_cannot_serve_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.MODELS, "gp", lambda: GP(noise_sd=np.ones((9, 9))))
    refused(tmp_path, AXES + "[study]\nmodel = 'gp'", r"\[study\] model: noise_sd has shape \(9, 9\)")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bugdet = 100", r"unknown key of \[run\] 'bugdet'.*Did you mean 'budget'?"),
        ("budget = 0", r"\[run\] budget must be a whole number ≥ 1, got 0"),
        ("budget = 10.5", r"\[run\] budget must be a whole number"),
        ("budget = '100'", r"\[run\] budget must be a whole number ≥ 1, got '100'"),
        (
            "budget = 11\n[study]\ninitial = 2",
            r"\[run\] budget is 11, below the 12 replications of the initial design; raise it",
        ),
        (
            "budget = 11\n[study]\npolicy = 'gp-c-ocba'",
            r"\[run\] budget is 11, below the 12 replications of the initial design; raise it",
        ),
        ("seconds = 0", r"\[run\] seconds must be a number"),
        ("seconds = inf", r"\[run\] seconds must be a number"),
        ("workers = 0", r"\[run\] workers must be a whole number ≥ 1"),
        ("batch = true", r"\[run\] batch must be a whole number ≥ 1, got True"),
        (
            "budget = 50\nconfirm = 1",
            r"\[run\] confirm must be a number from 0 to below 1, got 1",
        ),
        ("budget = 50\nconfirm = '10 %'", r"\[run\] confirm must be a number from 0 to below 1"),
        ("budget = 50\nconfirm = nan", r"\[run\] confirm must be a number from 0 to below 1"),
        ("confirm = 0.1", r"\[run\] confirm is a share of a budget of replications; give budget too"),
        ("timeout = 3", r"unknown key of \[run\] 'timeout'.*It belongs to \[simulator\]"),
        ("stop = 0.95", r"\[run\] stop is 0.95; expected a table with rule, target, delta"),
        (
            "stop = { target = 0.95 }",
            r"unknown \[run\] stop rule None; known are expected-pcs, guaranteed, opportunity-cost, worst-",
        ),
        ("stop = { rule = 'pcs', target = 0.95 }", r"unknown \[run\] stop rule 'pcs'.*Did you mean"),
        ("stop = { rule = ['pcs'], target = 0.95 }", r"unknown \[run\] stop rule \['pcs'\]"),
        ("stop = { rule = 'worst-pcs' }", r"\[run\] stop needs a target"),
        (
            "stop = { rule = 'worst-pcs', target = 1 }",
            r"\[run\] stop: the target probability must be a number between",
        ),
        ("stop = { rule = 'worst-pcs', target = 0.9, delta = -1 }", r"\[run\] stop: the indifference zone"),
        ("stop = { rule = 'worst-pcs', target = 0.9, dleta = 1 }", r"unknown key of \[run\] stop 'dleta'"),
        (
            "stop = { rule = 'opportunity-cost', target = 1, delta = 1 }",
            r"\[run\] stop: opportunity-cost takes target; leave delta out",
        ),
        (
            "stop = { rule = 'guaranteed', target = 0.95 }",
            r"\[run\] stop: guaranteed takes alpha and delta and contexts and assume; leave target out",
        ),
        (
            "stop = { rule = 'guaranteed', alpha = 2 }",
            r"\[run\] stop: alpha must be a number between 0 and 1",
        ),
        ("stop = { rule = 'guaranteed', contexts = 'any' }", r"\[run\] stop: unknown contexts 'any'"),
        ("stop = { rule = 'guaranteed', assume = 'luck' }", r"\[run\] stop: unknown assume 'luck'"),
    ],
)
def test_options_of_the_run(text: str, message: str, tmp_path: Path) -> None:
    refused(tmp_path, f"{AXES}[run]\n{text}", message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cost = 3", r"\[cost\] is 3; expected a table"),
        ("cost = 'mesured'", r"\[cost\] is 'mesured'"),
        ("[cost]", r"\[cost\] has no key; expected measured = true"),
        ("[cost]\nmeasured = false", r"\[cost\] measured must be true, got False"),
        ("[cost]\nmeasured = true\ntable = [[1]]", r"\[cost\] has measured and table"),
        ("[cost]\ntable = [[1, 2, 3]]", r"\[cost\] table must be a list of 2 entries, got 1 entries"),
        ("[cost]\ntable = [[1, 2, 3], [1, 2]]", r"\[cost\] table, row 2, must be a list of 3 entries, got 2"),
        ("[cost]\ntable = 5", r"\[cost\] table must be a list of 2 entries, got 5"),
        (
            "[cost]\nalternatives = [1, 0]",
            r"every entry of \[cost\] alternatives must be a number finite and above 0",
        ),
        ("[cost]\ncontexts = [1, 2, 'x']", r"every entry of \[cost\] contexts must be a number"),
        ("[storage]", r"\[storage\] url must be text, got None"),
        ("[storage]\npath = 'x'", r"unknown key of \[storage\] 'path'"),
        ("[storage]\nurl = ''", r"\[storage\] url must be text, got ''"),
        ("[storage]\nurl = 'x'\nname = ''", r"\[storage\] name must be text"),
        ("storage = 3", r"\[storage\] is 3; expected a table with url, name"),
    ],
)
def test_costs_and_storages(text: str, message: str, tmp_path: Path) -> None:
    refused(tmp_path, AXES + text, message)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match="there is no study file '.*gone.toml'; `argbest init` writes an example"
    ):
        read(tmp_path / "gone.toml")
    with pytest.raises(InputError, match="cannot read '.*': Is a directory"):
        read(tmp_path)


def test_stored_options_of_a_run_are_checked_too() -> None:
    with pytest.raises(InputError, match=r"\[run\] budget must be a whole number"):
        run_options({"budget": "many"})
    assert run_options({}) == {}


PLACES = [
    (section.strip("[]"), key) for section, keys in KEYS.items() if section[-1] == "]" for key in keys
] + [("", key) for key in KEYS[TOP]]
VALUES = st.recursive(
    st.one_of(st.booleans(), st.integers(), st.floats(), st.text(max_size=6), st.just(date(2024, 1, 1))),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text("abrule.", max_size=4), inner, max_size=2)
    ),
    max_leaves=5,
)


@settings(max_examples=150)
@given(place=st.sampled_from(PLACES), value=VALUES)
def test_any_value_at_any_key_is_taken_or_refused_with_a_reason(
    place: tuple[str, str], value: object
) -> None:
    content: dict[str, Any] = {
        "alternatives": {"grid": {"servers": [1, 2]}},
        "contexts": {"labels": [1, 2, 3]},
        "simulator": {"command": ["x", "{alternative}", "{context}"]},
        "study": {"initial": 1},
        "run": {"budget": 100},
    }
    section, key = place
    if section:
        content[section] = content.get(section, {}) | {key: value}
    else:
        content[key] = value
    try:
        found = _study_file(Path("study.toml"), table(TOP, content))
    except InputError:
        return
    json.dumps(found.plain(), allow_nan=False)
