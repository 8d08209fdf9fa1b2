"""Clean answers to hostile input: refusals, silence, no stack traces, which prose is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.discovery.hostile.clean_answer import TRACE, readable, uncleanly
from mcp_proxy_conformance.discovery.hostile.hostile_tools import HOSTILE
from mcp_proxy_conformance.discovery.hostile.payloads import BODIES, FLAGS, NAMES, TEXTS
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable
from mcp_proxy_conformance.wire.http import HttpResponse
from mcp_proxy_conformance.wire.transcript import Transcript

TRACES = (
    'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g()\nKeyError: 1',
    "TypeError: x is not a function\n    at find (/srv/find.js:41:7)\n    at main (/srv/a.js:1:2)",
    "java.lang.NullPointerException\n\tat com.acme.Search.find(Search.java:41)",
    "panic: oops\n\ngoroutine 17 [running]:\nmain.find()\n\t/srv/find.go:41 +0x1d",
    "thread 'main' panicked at src/main.rs:4:5:\nindex out of bounds",
    "thread 'tokio-runtime-worker' (12345) panicked at src/main.rs:4:5:",
    "#0 /srv/index.php(12): find()\n#1 /srv/search.php(41): main()",
)
FAIR = (
    "Unknown tool.",
    "Parse error: unexpected end of input at line 1, column 5",
    "The tool 'x' on line 3 was not found (at position 7:2).",
    "Traceback is the name of a tool.",
    'The file "a.py", line 3, is not allowed.',
    "Look at the docs (https://example.com:8080/).",
    "a goroutine is running; nothing panicked",
    "Use these steps:\n  at first, open the lid\n  at last, close it (slowly)",
)


def answer(status: int, body: bytes, media: str = "application/json") -> HttpResponse:
    """Return a response of that status, body and media type, without events."""
    none: Any = None
    return HttpResponse(
        status=status, headers=(("content-type", media),), body=body, events=(),
        seconds=0.0, sent=none, received=none,
    )  # fmt: skip


def bench() -> Any:
    """Return a stand-in for a Bench, with an empty transcript."""
    started = SimpleNamespace(transcript=Transcript(), forget_clients=lambda: None)
    return SimpleNamespace(started=started)


@pytest.mark.parametrize("text", TRACES)
def test_stack_traces_are_known(text: str) -> None:
    """TRACE matches a stack trace of any of six languages, after another line of text."""
    assert TRACE.search(f"Something failed.\n{text}")


@pytest.mark.parametrize("text", FAIR)
def test_ordinary_sentences_are_no_stack_traces(text: str) -> None:
    """TRACE does not match an ordinary sentence with words of stack traces."""
    assert TRACE.search(text) is None


def test_nothing_that_is_sent_looks_like_a_stack_trace() -> None:
    """TRACE matches no text, name, flag, body or description that the suite sends."""
    sent = [*TEXTS.values(), *NAMES.values(), *map(json.dumps, FLAGS.values())]
    sent += [body.decode("utf-8", "replace") for body in BODIES.values()]
    sent += [tool.description for tool in HOSTILE.tools().values()]

    assert [text for text in sent if TRACE.search(text)] == []


@pytest.mark.parametrize(
    ("status", "body", "complaint"),
    [
        (202, b"", ""),
        (400, b"Bad Request", ""),
        (404, b"", ""),
        (413, b"<html>", ""),
        (200, b'{"jsonrpc":"2.0","id":1,"result":{}}', ""),
        (200, b'[{"jsonrpc":"2.0","id":1,"result":{}}]', ""),
        (500, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}', ""),
        (500, b"<h1>Internal Server Error</h1>", "HTTP 500 with a body that is not JSON"),
        (500, b"", "HTTP 500"),
        (502, b'{"result":{}}', "HTTP 502"),
        (200, b'{"half":', "HTTP 200 with a body that is not JSON"),
    ],
)
def test_a_refusal_may_have_many_forms(status: int, body: bytes, complaint: str) -> None:
    """`readable` returns "" for a refusal by HTTP or JSON-RPC, else a complaint.

    That is for a 5xx without a JSON-RPC error, and for a 200 whose body is not JSON.
    """
    assert readable(answer(status, body)).startswith(complaint)
    assert bool(readable(answer(status, body))) == bool(complaint)


def refuse(error: Exception) -> Callable[[], object]:
    """Return a function, in the place of a request, that raises this error."""

    def ask() -> object:
        """Raise the error that was given."""
        raise error

    return ask


def test_what_is_refused_is_clean_and_silence_is_not() -> None:
    """`uncleanly` reports a 5xx, silence and a complaint, each by (request's name, kind).

    A 4xx and an ordinary answer are clean.
    """
    asks = {
        "refused": refuse(ProtocolFault("http", "HTTP 200", "HTTP 422", status=422)),
        "broken": refuse(ProtocolFault("http", "HTTP 200", "HTTP 500", status=500)),
        "silent": refuse(Unreachable("it", "wait", "no answer in time", 5.0)),
        "fine": lambda: None,
        "wrong": lambda: "HTTP 500",
    }

    failures = uncleanly(bench(), asks, lambda: True)

    assert failures == {
        ("broken", "answer"): "HTTP 500",
        ("silent", "connection"): "no answer in time",
        ("wrong", "answer"): "HTTP 500",
    }


def test_a_target_that_keeps_silent_is_not_asked_for_ever() -> None:
    """After two requests without an answer `uncleanly` makes no more; both are reported."""
    silent = refuse(Unreachable("it", "wait", "no answer in time", 5.0))
    calls: list[int] = []

    failures = uncleanly(
        bench(), {"a": silent, "b": silent, "c": lambda: calls.append(1)}, lambda: True
    )

    assert (list(failures), calls) == ([("a", "connection"), ("b", "connection")], [])


def test_the_call_after_it_may_need_a_new_session() -> None:
    """The ordinary call after a request may fail once, if the next try works.

    If both fail it is reported as `next call`.
    """
    tries = iter([False, True, False, False])

    failures = uncleanly(bench(), {"a": lambda: None, "b": lambda: None}, lambda: next(tries))

    assert failures == {("b", "next call"): "fails"}


def test_a_stack_trace_in_an_answer_is_reported() -> None:
    """A stack trace inside of a JSON answer is reported by its first frame."""
    traced = bench()

    def ask() -> None:
        """Record in the transcript an answer that contains a stack trace."""
        raw = json.dumps({"error": {"message": TRACES[1]}}).encode()
        traced.started.transcript.record(
            edge="client", direction="received", peer="it", raw=raw, headers=(), note=""
        )

    failures = uncleanly(traced, {"a": ask}, lambda: True)

    assert failures == {("a", "stack trace"): "at find (/srv/find.js:41:7)"}


def test_the_reference_is_robust(tmp_path: Path) -> None:
    """`run reference --profile=robustness` exits with 0.

    Seven required and two advisory clauses pass.
    """
    arguments = ["run", "reference", "--profile=robustness", f"--out={tmp_path}"]
    done = CliRunner().invoke(main, arguments)

    assert done.exit_code == 0
    assert "9 in " in done.output
    assert "7 pass; advisory: 2 pass" in done.output


def test_what_has_no_locks_of_a_kind_is_not_accused_of_their_absence(tmp_path: Path) -> None:
    """`run reference --profile=robustness --capabilities=` exits with 0."""
    arguments = ["run", "reference", "--profile=robustness", "--capabilities=", f"--out={tmp_path}"]
    done = CliRunner().invoke(main, arguments)

    assert done.exit_code == 0, done.output
