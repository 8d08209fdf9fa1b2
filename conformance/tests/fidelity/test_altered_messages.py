"""Messages of a relay altered in any way: read or refused, never a fault of the suite."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.fidelity import exact_json
from mcp_proxy_conformance.fidelity.listening_client import Received
from mcp_proxy_conformance.upstream import stateless_rules
from mcp_proxy_conformance.upstream.journal import Arrival
from mcp_proxy_conformance.wire.jsonrpc import message_of, result_of
from mcp_proxy_conformance.wire.spans import MAX_DEPTH

RELAY = "from mcp_proxy_mutants.fidelity.altering import main; main()"
DROPPING = """
import sys
from mcp_proxy_mutants.fidelity.changed import ChangedRemote, by_message
from mcp_proxy_mutants.fidelity.places import called, without
from mcp_relay_reference.__main__ import serve
from mcp_relay_reference.front import Front

drop = by_message(up=called(lambda params: without(params, "arguments")))
serve(Front(ChangedRemote(sys.argv[2], {}, drop)), int(sys.argv[1]))
"""
"""A relay that loses the arguments of calls."""
NAMES = st.sampled_from(
    ["jsonrpc", "id", "method", "params", "result", "error", "_meta", "arguments", "code", "x"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=15,
)
AREAS = ("RLY.back", "RLY.apart", "RLY.era", "RLY.features", "RLY.tools", "RLY.cred", "RLY.down")
ALTERED = [(area, rate) for rate in ("0.06", "0.2") for area in AREAS]


def read(raw: bytes) -> None:
    """Read a message as checks read what arrived at the upstream, or at a client."""
    headers = (("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"))
    arrival = Arrival(session="1", method="tools/call", raw=raw, headers=headers)
    _ = arrival.id, arrival.params(), arrival.arguments().get("x"), arrival.meta().get("x")
    stateless_rules.http_fault(headers, arrival.message, {"a": ("x",)})
    received = Received(raw=raw, message=message_of(raw), stream=0)
    _ = received.method, received.params.get("x"), result_of(received.message).get("x")
    for path in ((), ("params",), ("params", "arguments"), ("result", 0)):
        value = exact_json.sent(raw, *path)
        exact_json.plain(value), exact_json.python(value)
        [*exact_json.differences(value, received.exact)]


@hypothesis.seed(20)
@hypothesis.settings(max_examples=300)
@given(VALUES)
def test_any_message_is_read(value: Any) -> None:
    """Reading any of 300 generated messages raises nothing."""
    read(json.dumps(value).encode())


@pytest.mark.parametrize(
    "raw",
    [b"", b"\xff", b"{", b'{"params":NaN}', b'{"id":%s}' % (b"9" * 5000), b'{"params":1e999999}',
     b'{"params":%s}' % (b"[" * MAX_DEPTH + b"]" * MAX_DEPTH), b"[" * 10**5],
    ids=["empty", "no UTF-8", "no JSON", "NaN", "5000 digits", "a large exponent", "deep", "open"],
)  # fmt: skip
def test_neither_does_one_that_is_none(raw: bytes) -> None:
    """Nor does reading what is not JSON, or nested too deeply."""
    read(raw)


def test_a_relay_that_loses_arguments_is_accused_of_that_alone(tmp_path: Path) -> None:
    """What the upstream does by an argument is open if none arrives: cancellations, pings."""
    command = [sys.executable, "-c", DROPPING, "{port}", "{upstream_url}"]
    only = ["RLY.apart.cancel.reference", "RLY.features.ping", "RLY.up.arguments.kinds"]

    code, report = judged(tmp_path, only, command)

    verdicts = {clause["id"]: clause["verdict"] for clause in report["clauses"]}
    assert code == 1
    assert [verdicts[each] for each in only] == ["inconclusive", "inconclusive", "fail"]


@pytest.mark.proof(parts=2 * len(ALTERED))
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("area", "rate"), ALTERED)
def test_no_altered_message_is_a_fault_of_the_suite(area: str, rate: str, tmp_path: Path) -> None:
    """A run on a relay that alters messages at random has no error that blames the suite."""
    seed = str(ALTERED.index((area, rate)))
    command = [sys.executable, "-c", RELAY, "--port", "{port}", "--upstream-url", "{upstream_url}"]

    code, report = judged(tmp_path, [area], [*command, "--seed", seed, "--rate", rate])

    own = [result["reason"] for result in report["results"] if result["blame"] == "suite"]
    assert (code != 70, own) == (True, [])


def judged(folder: Path, only: list[str], command: list[str]) -> tuple[int, dict[str, Any]]:
    """Judge the relay of a command by these clauses; return (exit code, report)."""
    options = [f"--only={clause}" for clause in only]
    words = ["run", "relay", "--out", str(folder), *options, "--", *command]
    ended = CliRunner().invoke(main, words)
    return ended.exit_code, json.loads((folder / "report.json").read_text(encoding="utf-8"))
