"""Starts of targets: failing, at a taken port, by a target file found, with upstreams elsewhere."""

from __future__ import annotations

import json
import socket
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from mcp_proxy_conformance.catalogue.world import Step, World, server, tool, world
from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.discovery.scenarios import scenarios
from mcp_proxy_conformance.discovery.targets import operator
from mcp_proxy_conformance.discovery.targets.kinds import target_of
from mcp_proxy_conformance.discovery.targets.launch import mcpproxy
from mcp_proxy_conformance.discovery.targets.operator import OperatorAdapter
from mcp_proxy_conformance.discovery.targets.proxy_description import ProxyDescription
from mcp_proxy_conformance.discovery.targets.rest import OperatorApi
from mcp_proxy_conformance.discovery.targets.started import Started, declared_part
from mcp_proxy_conformance.targets.description import FILE, UpstreamPlace
from mcp_proxy_conformance.targets.process import free_port
from mcp_proxy_conformance.targets.target import AdapterError

CHECK = "test_the_cap_holds_on_every_endpoint"


def refer(*before: str) -> str:
    """Return a shell script that runs the reference with the script's own arguments.

    The words `before` precede the command.
    """
    return f'#!/bin/sh\nexec {" ".join(before)} {sys.executable} -m mcp_proxy_reference "$@"\n'


ENDS = """#!{python}
import http.server, os, sys

class Ready(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path != "/readyz":
            os._exit(0)
        self.send_response(200)
        self.end_headers()

    do_POST = do_PATCH = do_GET

address = next(word for word in sys.argv if word.startswith("--listen="))
http.server.HTTPServer(("127.0.0.1", int(address.rpartition(":")[2])), Ready).serve_forever()
"""
"""A proxy that is ready, and ends at the first other request."""


@pytest.mark.parametrize(
    ("program", "complaint"),
    [
        ("#!/bin/sh\necho going down >&2\nexit 4\n", "going down"),
        ("#!/bin/sh\nexec sleep 60\n", "did not become ready in time"),
        (ENDS.replace("{python}", sys.executable), "the target ended while it was set up"),
    ],
)
def test_a_proxy_that_does_not_come_up_or_stay_exits_with_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, complaint: str
) -> None:
    """`run mcpproxy` exits with 3, and prints the reason, if the proxy does not come up or stay.

    It ends at its start, ends once it is ready, or is not ready in time.
    """
    monkeypatch.setattr("mcp_proxy_conformance.discovery.targets.operator.START_S", 2.0)
    binary = tmp_path / "proxy"
    binary.write_text(program, encoding="utf-8")
    binary.chmod(0o700)
    out = str(tmp_path / "out")

    done = CliRunner().invoke(
        main, ["run", "mcpproxy", "--binary", str(binary), "--check", CHECK, "--out", out]
    )

    assert done.exit_code == 3
    assert complaint in done.output


def test_a_port_that_is_taken_meanwhile_is_left_for_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the chosen port is taken by another program, the target is started at another port."""
    binary = tmp_path / "proxy"
    binary.write_text(refer(), encoding="utf-8")
    binary.chmod(0o700)
    find, ports = free_port, list[int]()
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()

        def taken_once() -> int:
            """Return a port that is in use at the first call, a free one after that."""
            ports.append(find() if ports else busy.getsockname()[1])
            return ports[-1]

        monkeypatch.setattr(operator, "free_port", taken_once)
        adapter = OperatorAdapter(mcpproxy(str(binary)))
        (tmp_path / "target").mkdir()
        try:
            access = adapter.start(World(servers=(), id="none"), {}, tmp_path / "target")
        finally:
            adapter.stop()

    assert (len(ports), access.url) == (2, f"http://127.0.0.1:{ports[1]}/mcp")


def test_what_answers_otherwise_than_in_http_is_not_ready() -> None:
    """`ready` is false at a port that answers with text that is not HTTP."""
    with socket.create_server(("127.0.0.1", 0)) as other:

        def greet() -> None:
            """Accept one connection and send a line that is not HTTP."""
            with other.accept()[0] as sock:
                sock.sendall(b"Starting up...\n")

        greeter = threading.Thread(target=greet)
        greeter.start()
        ready = OperatorApi(other.getsockname()[1], "key").ready()
        greeter.join(5)

    assert ready is False


def test_a_file_in_the_working_folder_is_used_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`run` without a kind uses the target file in the working folder, and prints its name.

    The one check passes.
    """
    monkeypatch.chdir(tmp_path)
    adapter = json.dumps([sys.executable, "-m", "mcp_proxy_reference.adapter"])
    (tmp_path / FILE).write_text(f"command = {adapter}\n", encoding="utf-8")

    done = CliRunner().invoke(main, ["run", "--check", CHECK])

    report = json.loads((tmp_path / "mcp-proxy-conformance-out" / "report.json").read_bytes())
    assert f"target file: {FILE}" in done.output
    assert report["target"]["kind"] == "command"
    assert [result["verdict"] for result in report["results"]] == ["pass"]


def test_a_file_found_that_describes_another_kind_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`run mcpproxy` does not use a target file of another kind in the working folder.

    The first line of the output says so.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / FILE).write_text('kind = "command"\ncommand = ["x"]\n', encoding="utf-8")

    done = CliRunner().invoke(main, ["run", "mcpproxy", "--binary", "/no/such/proxy"])

    line = f"{FILE} is not used: it describes a target of kind 'command'"
    assert done.output.splitlines()[0] == line
    assert "/no/such/proxy does not exist" in done.output
    assert done.exit_code == 2


@pytest.mark.parametrize(
    ("place", "url", "command"),
    [
        (UpstreamPlace(host="upstreams.test"), "http://upstreams.test:", None),
        (UpstreamPlace(bind="127.0.0.2"), "http://127.0.0.2:", None),
        (UpstreamPlace(transport="stdio"), None, sys.executable),
        (UpstreamPlace(transport="http"), "http://127.0.0.1:", None),
    ],
)
def test_upstreams_are_where_the_file_says(
    tmp_path: Path, place: UpstreamPlace, url: str | None, command: str | None
) -> None:
    """An adapter is given its upstreams at the host or bind address of the target file.

    With transport `stdio` it is given a command; `http` overrides a server's own stdio.
    """
    received: dict[str, Any] = {}

    class Listening:
        """An adapter that only keeps the addresses of its upstreams."""

        def start(self, _world: object, upstreams: dict[str, Any], _folder: Path) -> None:
            """Keep the upstreams' addresses in `received`; return no access."""
            received.update(upstreams)

        def stop(self) -> None:
            """Do nothing, as nothing was started."""

    target = target_of(ProxyDescription(kind="command", command=("x",), upstreams=place))
    quiet: Any = Listening
    (forge_server,) = world(server("forge", tool("zorvik_list"))).servers
    if place.transport == "http":
        forge_server = msgspec.structs.replace(forge_server, transport="stdio")
    aside = msgspec.structs.replace(world(), servers=(forge_server,), id="aside")
    Started(
        type(target)(kind="command", make=quiet, upstreams=target.upstreams), aside, tmp_path
    ).close()

    forge = received["forge"]
    assert (forge.url or "").startswith(url or "")
    assert (forge.url is None, forge.command is None) == (url is None, command is None)
    assert forge.command is None or forge.command[0] == command


def test_a_target_that_is_closed_while_it_starts_is_ended(tmp_path: Path) -> None:
    """If a target is closed during its start, Started raises AdapterError.

    The adapter is stopped and the folder is left empty.
    """
    opened = list[Started]()

    class Starting:
        """An adapter whose target the test closes in the middle of its start."""

        running = False

        def start(self, *_: object) -> None:
            """Close the target from within its start, then note that the adapter runs."""
            opened[0].close()
            Starting.running = True

        def stop(self) -> None:
            """Note that the adapter does not run."""
            Starting.running = False

    starting: Any = Starting
    target = target_of(ProxyDescription(kind="command", command=("x",)))
    with pytest.raises(AdapterError, match="closed while it started"):
        Started(replace(target, make=starting), world(), tmp_path, register=opened.append)

    assert (Starting.running, list(tmp_path.iterdir())) == (False, [])


def test_an_address_that_is_not_there_is_named(tmp_path: Path) -> None:
    """A bind address that this machine lacks ends the run with exit 3; the last line names it."""
    out = ("--out", str(tmp_path), "--check", CHECK)
    done = CliRunner().invoke(main, ["run", "--upstream-bind", "203.0.113.1", *out, "reference"])

    assert done.exit_code == 3
    assert "cannot listen on '203.0.113.1'" in done.output.splitlines()[-1]


def test_what_is_shown_though_undeclared_is_a_fault_of_the_declaration(tmp_path: Path) -> None:
    """A target that quarantines a server, and does not declare the capability, exits with 2.

    The output says to add quarantine.
    """
    script = tmp_path / "adapter.py"
    script.write_text(QUARANTINING, encoding="utf-8")
    named = next(s.id for s in scenarios() if any(r.get("name") == "twins" for r in s.rows))
    done = CliRunner().invoke(
        main,
        [
            "run", "command", "--ready", "2", "--out", str(tmp_path / "out"), "--check",
            f"test_scenario[{named}]", "--", sys.executable, str(script),
        ],
    )  # fmt: skip

    assert "quarantine is not declared; add quarantine" in done.output
    assert done.exit_code == 2


QUARANTINING = """
import mcp_proxy_reference.adapter as adapter
plain = adapter.Target.__init__
def quarantined(self, folder, world):
    plain(self, folder, world)
    last = world["servers"][-1]["name"]
    self.switch({"kind": "quarantine", "server": last, "tools": []}, locked=True)
adapter.Target.__init__ = quarantined
adapter.main()
"""


@pytest.mark.parametrize(
    ("can", "lists"),
    [
        ({"config", "allow_list"}, (("wipe",), ())),
        ({"config"}, (None, ("list", "drop"))),
        ({"user"}, (None, ())),
    ],
)
def test_what_an_allow_list_leaves_out_is_denied_where_there_are_none(
    can: set[str], lists: tuple[tuple[str, ...] | None, tuple[str, ...]]
) -> None:
    """A target without allow lists gets a deny list of all other tools, also of those added later.

    One without lists gets neither.
    """
    added = Step(add=tool("drop")[0], server="forge")
    given = world(server("forge", tool("list"), tool("wipe"), allow=("wipe",)))
    given = msgspec.structs.replace(given, steps=(added,))
    target = replace(target_of(ProxyDescription(kind="reference")), capabilities=frozenset(can))

    (forge,) = declared_part(given, target).servers

    assert (forge.allow, forge.deny) == lists
