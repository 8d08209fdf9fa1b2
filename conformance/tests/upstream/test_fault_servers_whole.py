"""Faults of whole fault servers, below HTTP and before it, seen by a raw client, unprivileged."""

from __future__ import annotations

import socket
import ssl
import subprocess
import sys
from typing import Any
from urllib.parse import urlsplit

import pytest

from mcp_proxy_conformance.upstream.faults import FaultServers, read_scripts, reserved_name

LINUX_ONLY = pytest.mark.skipif(
    sys.platform != "linux", reason="a queue of length 0 is filled for certain on Linux only"
)


def server_of(word: str, **more: Any) -> FaultServers:
    """Return a load, not started, of a server `a` with this behaviour and a timeout of 2.5 s.

    `word` is the behaviour's name, `more` are its other members.
    """
    script = [{"do": word, **more}]
    return FaultServers(read_scripts([{"server_id": "a", "timeout_s": 2.5, "script": script}]))


def dial(servers: FaultServers, patience: float = 5.0) -> socket.socket:
    """Connect to the port of server `a`, within `patience` seconds, and return the socket."""
    place = urlsplit(servers.url("a"))
    return socket.create_connection((place.hostname, place.port), timeout=patience)


def test_a_refused_port_refuses_and_belongs_to_nobody_else() -> None:
    """The port of a `refused` server refuses connections, and no other socket can bind it.

    Its attempts are None, not countable; after `heal` it accepts.
    """
    with server_of("refused") as servers:
        port = urlsplit(servers.url("a")).port
        with pytest.raises(ConnectionRefusedError):
            dial(servers)
        with socket.socket() as rival, pytest.raises(OSError, match="in use"):
            rival.bind(("127.0.0.1", port))
        counted = servers.attempts("a")
        servers.heal("a")
        dial(servers).close()

    assert counted is None


@LINUX_ONLY
def test_a_full_backlog_takes_no_connection() -> None:
    """To connect to a `backlog` server times out; after `heal` it succeeds.

    Its attempts are None, not countable.
    """
    with server_of("backlog") as servers:
        for _ in range(3):
            with pytest.raises(TimeoutError):
                dial(servers, patience=0.2)
        counted, unmet = servers.attempts("a"), servers.unmet("a")
        servers.heal("a")
        dial(servers).close()

    assert (counted, unmet) == (None, None)


def test_a_banner_greets_on_accept_and_waits() -> None:
    """A `banner` server sends its greeting at once, and then nothing for 0.2 s.

    Each connection is logged as an attempt, but `attempts` is None, not countable.
    """
    with server_of("banner") as servers:
        for _ in range(2):
            with dial(servers, patience=0.2) as sock:
                greeting = sock.recv(100)
                with pytest.raises(TimeoutError):
                    sock.recv(1)
        entries, counted = servers.log("a"), servers.attempts("a")

    assert greeting.startswith(b"220 ")
    assert counted is None
    assert [(entry.attempt, entry.verb, entry.played) for entry in entries] == [
        (1, "", "banner"),
        (2, "", "banner"),
    ]


def test_a_plain_port_answers_a_tls_greeting_in_plain_text() -> None:
    """The https URL of `plain_for_tls` leads to a port where a TLS handshake fails.

    The connection is logged.
    """
    with server_of("plain_for_tls") as servers:
        with dial(servers) as sock, pytest.raises(ssl.SSLError):
            ssl.create_default_context().wrap_socket(sock, server_hostname="localhost")
        url, entries = servers.url("a"), servers.log("a")

    assert (url.partition("://")[0], len(entries)) == ("https", 1)


def test_an_unresolvable_name_is_unknown_to_this_machine() -> None:
    """The host of an `unresolvable` server, nobody.invalid, does not resolve.

    Its attempts are None. Skipped where the name might resolve.
    """
    with server_of("unresolvable") as servers:
        if unmet := servers.unmet("a"):
            pytest.skip(unmet)
        host = urlsplit(servers.url("a")).hostname
        with pytest.raises(socket.gaierror):
            socket.getaddrinfo(host, 80)
        counted = servers.attempts("a")

    assert (host, counted) == ("nobody.invalid", None)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (None, "resolves the name nobody.invalid"),
        (socket.gaierror(socket.EAI_AGAIN, "try again"), "cannot find out whether nobody.invalid"),
        (socket.gaierror(socket.EAI_NONAME, "unknown"), "None"),
    ],
)
def test_the_precondition_of_an_unknown_name_is_no_such_name(
    monkeypatch: pytest.MonkeyPatch, answer: Exception | None, sentence: str
) -> None:
    """`why_resolvable` is None only if the resolver says that there is no such name.

    An address, or a resolver that cannot answer, gives a sentence with the reason.
    """

    def resolve(*_: object, **__: object) -> list[object]:
        """Raise the scripted error, or return no address."""
        if answer is not None:
            raise answer
        return []

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    assert sentence in str(reserved_name.why_resolvable.__wrapped__())


@pytest.mark.parametrize("given", [{}, {"url": "http://"}, {"url": "x", "transport": "pigeon"}])
def test_a_malformed_connection_is_handed_on_as_it_is(given: dict[str, Any]) -> None:
    """A `malformed` connection reaches the loader unchanged, beside the id and the timeout.

    It has no URL, no countable attempts, and `heal` raises ValueError.
    """
    with server_of("malformed", connection=given) as servers:
        connections, counted = servers.connections(), servers.attempts("a")
        with pytest.raises(LookupError, match="'a' has no URL"):
            servers.url("a")
        with pytest.raises(ValueError, match="its connection is the fault"):
            servers.heal("a")

    assert connections == [{"server_id": "a", "timeout_s": 2.5, **given}]
    assert counted is None


def test_a_connection_says_where_and_how_long() -> None:
    """A healthy server's connection has its id, timeout in seconds, URL, transport, no headers."""
    with server_of("healthy") as servers:
        assert servers.connections() == [
            {
                "server_id": "a",
                "timeout_s": 2.5,
                "url": servers.url("a"),
                "transport": "streamable-http",
                "headers": {},
            }
        ]


def test_a_missing_program_cannot_be_started() -> None:
    """The command of `stdio_missing` names a program that does not exist; its attempts are None."""
    with server_of("stdio_missing") as servers:
        connection = servers.connection("a")
        with pytest.raises(FileNotFoundError):
            subprocess.run(connection["command"], check=False)
        assert (connection["transport"], servers.attempts("a")) == ("stdio", None)


def test_a_process_that_exits_does_so_at_once() -> None:
    """The command of `stdio_exits` prints nothing and ends with 0; two runs are two attempts."""
    with server_of("stdio_exits") as servers:
        command = servers.connection("a")["command"]
        ended = [subprocess.run(command, capture_output=True, check=False) for _ in range(2)]
        counted = servers.attempts("a")

    assert [(end.returncode, end.stdout, end.stderr) for end in ended] == [(0, b"", b"")] * 2
    assert counted == 2


def test_a_process_that_prints_garbage_lives_on() -> None:
    """The command of `stdio_garbage` prints three lines, one not JSON, and answers nothing.

    It runs until its input ends, and counts as an attempt.
    """
    with server_of("stdio_garbage") as servers:
        command = servers.connection("a")["command"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(3)]
            process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"initialize"}\n')
            process.stdin.flush()
            alive = process.poll() is None
            process.stdin.close()
            rest = process.stdout.read()
        counted = servers.attempts("a")

    assert (lines[1], alive, rest, counted) == (b"{not json\n", True, b"", 1)


def test_questions_to_nobody_name_who_is_there() -> None:
    """An unknown server id raises LookupError with the known ones.

    `heal` before the start raises RuntimeError.
    """
    servers = server_of("healthy")
    with pytest.raises(LookupError, match=r"no server 'b'; the servers are a"):
        servers.attempts("b")
    with pytest.raises(RuntimeError, match="not started"):
        servers.heal("a")
