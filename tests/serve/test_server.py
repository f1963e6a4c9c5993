"""What goes over the wire: to whom, under which headers, and nothing else; the study stays as it is."""

import html
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import pytest
from click.testing import CliRunner
from report.page_studies import HOSTILE, hostile, told
from serve.crowd import create, value
from serve.live import crowd, get, known, rows, serving
from watching import PATIENCE, eventually

from argbest import Study
from argbest.cli import main
from argbest.errors import ArgbestError, InputError, StorageError
from argbest.serve.application import is_loopback, is_own
from argbest.serve.server import LiveView

COMMAND = "from argbest.cli import main; main()"
PATHS = ("/", "/live.js", "/live.css", "/state", "/picture")


def test_everything_comes_under_a_policy_that_lets_nothing_else_in(view: LiveView) -> None:
    known(view, 30)
    for path in (*PATHS, "/nothing"):
        answer = get(view, path)
        assert answer.status == (404 if path == "/nothing" else 200)
        policy = answer.headers["content-security-policy"]
        assert policy.startswith(
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'"
        )
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in answer.headers
        assert "server" not in answer.headers


def test_the_page_names_nothing_from_elsewhere(view: LiveView) -> None:
    page = get(view, "/").body.decode()
    assert re.findall(r'(?:src|href)="([^"]*)"', page) == ["data:,", "live.css", "#main", "live.js"]
    assert "<script>" not in page
    assert "style=" not in page
    assert b"http://" not in get(view, "/live.css").body


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "192.168.0.7", ""]
)
def test_a_request_under_another_name_is_refused(view: LiveView, host: str) -> None:
    for path in PATHS:
        answer = get(view, path, Host=host)
        assert answer.status == 421
        assert b"staffing" not in answer.body


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:99", "127.0.0.1", "127.8.9.1:8000", "[::1]", "[::1]:80"]
)
def test_a_request_to_this_machine_is_answered(view: LiveView, host: str) -> None:
    assert get(view, "/state", Host=host).status == 200


def test_names_that_nobody_else_can_point_here_are_known() -> None:
    assert not is_loopback("localhost.evil.example")
    assert not is_loopback("0.0.0.0")  # noqa: S104 (refused)
    names = frozenset({"server.example"})
    assert is_own("10.0.0.7", names)
    assert is_own("[fe80::1]", names)
    assert is_own("Server.Example", names)
    assert not is_own("evil.example", names)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_only_getting_is_allowed(view: LiveView, method: str) -> None:
    for path in PATHS:
        assert get(view, path, method=method).status == 405


@pytest.mark.parametrize(
    "path", ["/live.html", "/study.db", "/../study.db", "/%2e%2e/server.py", "//etc/passwd", "/page/live.js"]
)
def test_no_file_can_be_reached(view: LiveView, path: str) -> None:
    assert get(view, path).status == 404


def test_what_a_browser_has_is_not_sent_again(view: LiveView) -> None:
    known(view, 30)
    for path in ("/", "/live.js", "/live.css"):
        first = get(view, path)
        again = get(view, path, If_None_Match=first.headers["etag"])
        assert (again.status, again.body) == (304, b"")
    assert get(view, "/state").headers["cache-control"] == "no-store"
    assert get(view, "/picture", If_None_Match='"another"').status == 200


def test_before_the_first_value_there_is_no_picture(file: Path) -> None:
    create(file)
    with serving(file) as view:
        assert get(view, "/picture").status == 404
        assert get(view, "/state").json()["standing"]["replications"] == 0


def test_hostile_names_are_escaped(file: Path) -> None:
    problem = hostile().problem
    study, name = told(problem, np.zeros(problem.shape), storage=file), problem.name
    with serving(file) as view:
        page = get(view, "/").body.decode()
        assert name not in page
        assert html.escape(name) in page
        assert known(view, study.n_replications)["alternatives"]["labels"] == list(HOSTILE)
        assert get(view, "/picture").headers["content-type"] == "application/json"


def test_serving_changes_no_row(study: Study, file: Path) -> None:
    before = rows(file)
    with serving(file) as view:
        known(view, 30)
        for path in PATHS:
            get(view, path)
    assert rows(file) == before


@pytest.mark.slow
def test_four_workers_write_while_it_is_watched(file: Path) -> None:
    create(file, budget=48)
    seen: list[tuple[int, int]] = []

    def has_reached(replications: int) -> bool:
        state = get(view, "/state").json()
        assert state["troubles"] == {"reading": None, "computing": None}
        seen.append((state["standing"]["replications"], state["picture_replications"] or 0))
        return seen[-1] == (replications, replications)

    with serving(file) as view:
        with crowd(file, 4, 48) as allow:
            for replications in (24, 48):
                allow(replications)
                assert eventually(lambda n=replications: has_reached(n))  # type: ignore[misc]
        assert eventually(lambda: not any(w["alive"] for w in standing(view)["workers"]))
        final, state = known(view, 48), standing(view)
    assert seen == sorted(seen)
    assert state["finished"]
    assert len(state["workers"]) == 4
    loaded = Study.load(file)
    assert final["decisions"]["rows"] == [list(row) for row in loaded.selection().itertuples(index=False)]
    told = loaded.observations().to_dict("records")
    assert len(told) == 48
    assert all(
        row["value"] == value(row["alternative"], {"load": row["context.load"]}, row["seed"]) for row in told
    )


def standing(view: LiveView) -> Any:
    return get(view, "/state").json()["standing"]


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::"])  # noqa: S104 (refused)
def test_addresses_that_others_reach_need_a_word(study: Study, file: Path, host: str) -> None:
    with pytest.raises(InputError, match="no password and does not encrypt.* --allow-remote"):
        LiveView(str(file), host=host, port=0)


def test_a_host_that_is_none_is_refused(study: Study, file: Path) -> None:
    with pytest.raises(InputError, match="names no address of this machine"):
        LiveView(str(file), host="no such host", port=0)


def test_with_a_word_other_machines_are_answered_but_not_under_other_names(study: Study, file: Path) -> None:
    with serving(file, host="0.0.0.0", allow_remote=True) as view:  # noqa: S104 (what is tested)
        assert get(view, "/state", Host="192.168.0.7:8000").status == 200
        assert get(view, "/state", Host=socket.gethostname()).status == 200
        assert get(view, "/state", Host="evil.example").status == 421


def test_a_port_in_use_is_named(study: Study, file: Path) -> None:
    with serving(file) as view:
        port = int(view.url.rsplit(":", 1)[1].rstrip("/"))
        with pytest.raises(InputError, match=f"port {port} of 127.0.0.1 cannot be used .* --port 0"):
            LiveView(str(file), port=port)


def test_a_port_can_be_taken_again_at_once(study: Study, file: Path) -> None:
    with serving(file) as view:
        port = int(view.url.rsplit(":", 1)[1].rstrip("/"))
        first = get(view, "/state").json()["instance"]
    with serving(file, port=port) as view:
        assert get(view, "/state").json()["instance"] != first


def test_a_study_that_is_not_there_takes_no_port(file: Path) -> None:
    with pytest.raises(StorageError, match="there is no study"):
        LiveView(str(file), port=0)
    assert not file.exists()


@pytest.mark.parametrize("missing", ["starlette", "uvicorn"])
def test_without_the_extra_its_name_is_told(
    study: Study, file: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ArgbestError, match=r"pip install 'argbest\[serve\]'"):
        LiveView(str(file), port=0)


def test_the_command_tells_its_address_and_ends_with_ctrl_c(study: Study, file: Path) -> None:
    served = subprocess.Popen(
        [sys.executable, "-c", COMMAND, "serve", str(file), "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert served.stdout is not None
    said = served.stdout.readline()
    assert re.fullmatch(r"live view of staffing at http://127\.0\.0\.1:\d+/\n", said)
    assert served.stdout.readline() == "Ctrl-C ends the view; the study continues.\n"
    with urlopen(said.split()[-1], timeout=PATIENCE) as page:  # noqa: S310 (our own)
        assert b"staffing" in page.read()
    served.send_signal(signal.SIGINT)
    out, complaint = served.communicate(timeout=PATIENCE)
    assert (served.returncode, out, complaint) == (0, "the live view has ended.\n", "")


def test_the_command_refuses_other_addresses_in_one_line(study: Study, file: Path) -> None:
    result = CliRunner().invoke(main, ["serve", str(file), "--host", "0.0.0.0"])  # noqa: S104 (refused)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: host='0.0.0.0' can be reached from other machines")
