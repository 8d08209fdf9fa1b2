"""Proof of a lock: a refusal that lasts while others are reached; refreshes; shown tools."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from mcp_proxy_conformance.catalogue.world import Step, ToolState, World, key, server, tool, world
from mcp_proxy_conformance.discovery.answer import Answer, Entry
from mcp_proxy_conformance.discovery.arming import Prover, Stepper
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.lacks import lacks_of
from mcp_proxy_conformance.discovery.requests import Called
from mcp_proxy_conformance.discovery.targets.adapter import CAPABILITIES
from mcp_proxy_conformance.discovery.targets.effects import Act, Effects, Lag
from mcp_proxy_conformance.discovery.targets.started import Started
from mcp_proxy_conformance.targets.target import Refused
from mcp_proxy_conformance.upstream import UpstreamServer

WORLD = world(server("forge", tool("zorvik_list"), tool("mobel_drop")))
FREE, LOCKED = key("forge:zorvik_list"), key("forge:mobel_drop")


@dataclass
class FakeTarget:
    """A target of all capabilities that waits 0.1 s for a lock and for readiness."""

    enforce_s: float = 0.1
    ready_s: float = 0.1
    capabilities: frozenset[str] = CAPABILITIES


@dataclass
class FakeStarted:
    """A started target whose calls are reached as scripted; a script's last item repeats."""

    scripts: dict[Any, list[bool]]
    world: World = WORLD
    target: FakeTarget = field(default_factory=FakeTarget)
    started_at: float = 0.0
    servers: dict[str, UpstreamServer] = field(
        default_factory=lambda: {"forge": UpstreamServer("forge")}
    )

    def call(self, tool_key: Any) -> Called:
        """Return a Called of the tool, reached if the next item of its script says so.

        The last stays.
        """
        script = self.scripts[tool_key]
        reached = script.pop(0) if len(script) > 1 else script[0]
        return Called(key=tool_key, reply=cast("Any", None), reached=reached)


@pytest.fixture(autouse=True)
def _scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the module's `call` by the fake target's own, in each test."""
    name = "mcp_proxy_conformance.discovery.arming.call"
    monkeypatch.setattr(name, lambda started, tool_key: started.call(tool_key))


@pytest.mark.parametrize(
    ("locked", "free", "proven"),
    [
        ([True, False], [True], True),
        ([False, True], [False, False, True], False),  # the target was down, and came back
        ([False], [False], False),  # the target is down
    ],
)
def test_an_outage_is_no_lock(locked: list[bool], free: list[bool], *, proven: bool) -> None:
    """A locked tool is proven refused only if a free one is reached between two refusals.

    If the target is down meanwhile, it is unproven.
    """
    prover = Prover(cast("Started", FakeStarted({LOCKED: locked, FREE: free})))
    prover.armed.called.update({LOCKED, FREE})
    prover.armed.states[LOCKED] = ToolState(config=True)

    prover.expect_lasting_refusal(LOCKED)

    assert (LOCKED in prover.armed.refused, LOCKED in prover.armed.unproven) == (proven, not proven)


def test_a_new_tool_is_refused_once_the_target_has_looked() -> None:
    """A new tool's server is refreshed until calls of the tool are refused: here, twice."""

    class Overlooking(FakeStarted):
        """A target that refuses calls of a new tool only from the second refresh on."""

        looks = 0
        effects = Effects(Lag(), 5.0)

        def change_upstream(self, step: Step) -> None:
            """Do nothing: this target does not see the change by itself."""

        def refresh(self, server_name: str) -> None:
            """Let calls of the tool through after the first refresh.

            Refuse them from the second on.
            """
            assert server_name == "forge"
            self.looks += 1
            self.scripts[LOCKED] = [self.looks == 1]

    untrusted = world(server("forge", trusted=False))
    started = Overlooking({LOCKED: [True]}, untrusted, FakeTarget(ready_s=5.0))
    stepper = Stepper(Prover(cast("Started", started)))

    stepper.take(Step(add=tool("mobel_drop")[0], server="forge"))
    stepper.take(Step(refresh="forge"))

    assert (started.looks, started.call(LOCKED).reached) == (2, False)


def test_a_change_that_a_target_overlooks_is_not_waited_for_as_long_as_a_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A changed tool that a target never refuses is waited for 0.4 s, if a new one was refused.

    Without such an earlier refresh it is waited for the whole ready time, 1.5 s.
    """

    class HalfBlind(FakeStarted):
        """A target that sees new tools, but no changes."""

        effects: Effects

        def change_upstream(self, step: Step) -> None:
            """Refuse calls of an added tool from now on; let those of a changed one through."""
            self.scripts[key(f"forge:{step.add.name if step.add else step.change}")] = [
                step.add is None
            ]

        def refresh(self, server_name: str) -> None:
            """Do nothing: this target sees additions at once."""

    monkeypatch.setattr("mcp_proxy_conformance.discovery.arming.FOLLOWS_S", 0.4)
    untrusted = world(server("forge", tool("zorvik_list"), tool("mobel_drop"), trusted=False))
    seconds = []
    for first in ([Step(add=tool("kestrel_read")[0], server="forge"), Step(refresh="forge")], []):
        started = HalfBlind({FREE: [True]}, untrusted, FakeTarget(ready_s=1.5))
        started.effects = Effects(Lag(), 5.0)
        stepper = Stepper(Prover(cast("Started", started)))
        stepper.armed.called.add(FREE)
        stepper.armed.states[FREE] = ToolState()
        began = time.monotonic()
        for step in (*first, Step(change="zorvik_list", server="forge"), Step(refresh="forge")):
            stepper.take(step)
        seconds.append(time.monotonic() - began)

    assert 0.4 <= seconds[0] < 1.5 <= seconds[1]


def test_a_tool_that_has_to_be_looked_for_again_stays_relevant() -> None:
    """A tool that the first answer to a query listed, and a later one did not, stays in `shown`."""
    prover = Prover(cast("Started", FakeStarted({})))

    for listed in ((FREE, LOCKED), (FREE,)):
        entries = tuple(Entry(key=tool_key, name=str(tool_key), members={}) for tool_key in listed)
        answer = Answer(reply=cast("Any", None), query="zorvik", tools=entries, body={})
        prover.note_shown("zorvik", answer)

    assert prover.armed.shown == {"zorvik": (FREE, LOCKED)}


class Refusing(FakeStarted):
    """A started target whose operator refuses every lock."""

    effects = Effects(Lag(), 5.0)

    def lock(self, *_: object) -> None:
        """Refuse the lock."""
        raise Refused("not today")


def locked_in_vain(can: frozenset[str], *, proven: bool = True) -> Bench:
    """Return a bench on a target of these capabilities that refuses to quarantine a server.

    Unless `proven`, a config lock of one of its tools had no effect before.
    """
    started = Refusing({LOCKED: [True]}, target=FakeTarget(capabilities=can))
    stepper = Stepper(Prover(cast("Started", started)))
    if not proven:
        stepper.armed.states[LOCKED] = ToolState(config=True)
        stepper.prover.expect_refusal(LOCKED)
    stepper.take(Step(lock="quarantine", server="forge"))
    return Bench(stepper.started, stepper.armed)


def test_what_is_not_declared_leaves_no_doubt_of_a_server() -> None:
    """A server is doubtful if the operator refuses a lock of it, and not if it is not declared."""
    benches = [locked_in_vain(can) for can in (CAPABILITIES, CAPABILITIES - {"quarantine"})]

    assert [bench.armed.doubtful for bench in benches] == [{"forge"}, set()]


def test_an_open_result_names_the_locks_and_acts_that_it_lacks() -> None:
    """It names an unproven lock, a refused or undeclared one, and the check's own act in vain."""
    tools = ("forge:zorvik_list", "forge:mobel_drop")
    refused = locked_in_vain(CAPABILITIES, proven=False)
    narrow = locked_in_vain(CAPABILITIES - {"quarantine"})
    refused.started.effects.tried = Act("unlock user", "user", "forge", (FREE.tool,))

    lacks = [
        lacks_of(refused, "no_effect"),
        lacks_of(refused, "control"),
        lacks_of(narrow, "control"),
    ]

    described = [
        [(lack.operation, lack.capability, lack.cause, lack.reason, lack.on) for lack in each]
        for each in lacks
    ]
    act = ("unlock user", "user", "no_effect", "it had no effect", tools[:1])
    config = ("lock config", "config", "no_effect", "the lock had no effect", tools[1:])
    refusal = ("lock quarantine", "quarantine", "refused", "not today", tools)
    missing = (*refusal[:2], "not_declared", "quarantine is not declared", tools)
    assert described == [[act, config, refusal], [config, refusal], [missing]]
