"""Checks of live endpoints, each of which kills the mutant that it is listed with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.live.endpoint import Endpoint
from mcp_proxy_conformance.selftest.live_trial import endpoint_of, started_with_locks, tried_live
from mcp_proxy_conformance.selftest.proofs import live_proofs
from mcp_proxy_conformance.selftest.rewriting_server import RewritingAdapter
from mcp_proxy_conformance.selftest.wire import WIRE_FAULTS
from mcp_proxy_conformance.targets.embedded import embedded
from mcp_proxy_conformance.targets.started import Started
from mcp_proxy_mutants.proxy.changed import Changed
from mcp_proxy_mutants.proxy.mutants import mutants

WIRE = {fault.id: fault for fault in WIRE_FAULTS}
PROOFS = live_proofs()
ALWAYS = [*PROOFS][::4]
"""The checks that every call of pytest tries; the others are parts of the proof."""


def each_check(*, on_the_wire: bool) -> pytest.MarkDecorator:
    """Return a decorator that gives a test, as `check`, each check with a mutant of that kind."""
    names = [name for name, fault in PROOFS.items() if (fault in WIRE) is on_the_wire]
    proof = pytest.mark.proof(parts=3)
    params = [pytest.param(name, marks=() if name in ALWAYS else proof) for name in names]
    return pytest.mark.parametrize("check", params)


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    """Yield the reference, started with locks of every kind, once for this file's tests."""
    target = embedded(Changed(id="itself", text="The reference itself."), settle_s=0.1)
    with started_with_locks(target, tmp_path_factory.mktemp("live")) as running:
        yield running
    target.close()


@contextmanager
def behind(started: Started, fault: str) -> Iterator[Endpoint]:
    """Yield the endpoint behind a server that rewrites its answers as this wire mutant does.

    `fault` is the mutant's id. The server in between ends with the block.
    """
    before = RewritingAdapter(started.adapter, WIRE[fault], started.target.surface)
    access = before._behind(started.access)
    try:
        yield replace(endpoint_of(started), url=access.url)
    finally:
        for server in before._servers:
            server.shutdown()
            server.server_close()


def calls(started: Started) -> dict[str, int]:
    """Return {upstream server: number of calls that it received}."""
    return {name: server.calls() for name, server in started.servers.items()}


@each_check(on_the_wire=True)
def test_a_live_check_kills_its_fault_of_the_wire(
    started: Started, check: str, tmp_path: Path
) -> None:
    """A live check fails on the wire mutant that proofs.toml lists for it, as the only result.

    No call reaches an upstream server.
    """
    with behind(started, PROOFS[check]) as endpoint:
        report = tried_live(endpoint, tmp_path, check)

    assert [(result["check"], result["verdict"]) for result in report["results"]] == [
        (check, "fail")
    ]
    assert calls(started) == dict.fromkeys(started.servers, 0)


@each_check(on_the_wire=False)
def test_a_live_check_kills_its_fault_of_the_reference(check: str, tmp_path: Path) -> None:
    """A live check fails on the mutant of the reference that proofs.toml lists for it.

    Of five calls of one locked tool, some reach its upstream server, none another.
    """
    (fault,) = (mutant for mutant in mutants() if mutant.id == PROOFS[check])
    target = embedded(fault, settle_s=0.1)
    named = ToolKey("forge", "create_token")
    try:
        with started_with_locks(target, tmp_path / "live") as started:
            report = tried_live(endpoint_of(started, call=(named,) * 5), tmp_path / "out", check)
            reached = calls(started)
    finally:
        target.close()

    assert [(result["check"], result["verdict"]) for result in report["results"]] == [
        (check, "fail")
    ]
    assert {name for name, number in reached.items() if number} == {named.server}


def test_ten_faults_and_more_stand_on_the_wire() -> None:
    """At least 30 live checks are proven by mutants that rewrite answers on the wire."""
    assert sum(fault in WIRE for fault in PROOFS.values()) >= 30
