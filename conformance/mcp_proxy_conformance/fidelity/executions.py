"""Comparisons of executions: each call executed once at the upstream; no success without one."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor

from mcp_proxy_conformance.fidelity.bench import RelayBench
from mcp_proxy_conformance.fidelity.side import Outcome
from mcp_proxy_conformance.fidelity.stages import CURSORS
from mcp_proxy_conformance.targets.waits import poll
from mcp_proxy_conformance.upstream.journal import Arrival
from mcp_proxy_conformance.upstream.relayed import Answer, Refusing
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import Inconclusive, control
from mcp_proxy_conformance.wire.conversation import Conversation
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable
from mcp_proxy_conformance.wire.jsonrpc import dumps

QUIET, EQUAL = "RLY.up.once.quiet", "RLY.up.once.equal"
SLOW, DROPPED = "RLY.up.once.slow", "RLY.up.once.dropped"
STALE, NEW_SESSION = "RLY.up.once.stale", "RLY.up.once.new-session"
CALL, REFUSED = "RLY.down.no-empty-success.call", "RLY.down.no-empty-success.refused"
LIST, SILENCE = "RLY.down.no-empty-success.list", "RLY.down.no-empty-success.silence"
SLOW_S, PATIENCE_S, ARRIVES_S = 3.0, 20.0, 3.0
UNANSWERED = "a call that the upstream does not answer"
SETTLE_S, PAUSE_S = 1.5, 0.1
"""Seconds in which a second execution would arrive, and between two looks for it."""
CLOSING = {"Connection": "close"}
"""Headers of a client without kept connections: on these, a call that was cut off is sent again."""
REFUSALS = (
    Refusing(status=401),
    Refusing(status=403, body=b'{"error":"forbidden"}'),
    Refusing(status=404),
    Refusing(status=429),
    Refusing(status=500, body=b"<html><body>Oops</body></html>", media_type="text/html"),
    Refusing(status=503, body=b'{"jsonrpc":"2.0","id":null,"result":{"content":[]}}'),
)


def single_executions(bench: RelayBench) -> Comparison:
    """Call a tool, answered at once, then again, answered late; count the executions of each call.

    Raises Inconclusive if either call does not reach the upstream.
    """
    comparison = Comparison()
    bench.needs_tool("count")
    server = bench.through.server
    server.answers["late"] = Answer(result=b'{"content":[]}', delay_s=SLOW_S)
    mark, client = server.journal.mark(), bench.through.client(CLOSING)
    for case in ("at once", "late"):
        arguments = dumps({"case": case})
        outcome = bench.through.call("count", arguments, client=client, timeout=PATIENCE_S)
        if not _executions(server.journal.calls(mark, "count"), case):
            why = f"the call answered {case} did not reach the upstream: {outcome.value!r:.200}"
            raise Inconclusive(why)
    _settled(lambda: len(server.journal.calls(mark, "count")))
    for clause, case in ((QUIET, "at once"), (SLOW, "late")):
        number = _executions(server.journal.calls(mark, "count"), case)
        comparison.one_of(f"executions of a call answered {case}", number, [1], breaks=[clause])
    return comparison


def _executions(calls: Sequence[Arrival], case: str) -> int:
    given = [call.params().get("arguments") for call in calls]
    return sum(isinstance(each, dict) and each.get("case") == case for each in given)


def dropped_call(bench: RelayBench) -> Comparison:
    """Call a tool, cut the upstream's connection once it is executed, and count its executions.

    It must not come out as a success. Raises Inconclusive if it does not reach the upstream.
    """
    comparison = Comparison()
    bench.needs_tool("count")
    server = bench.through.server
    server.answers["count"] = Answer(act="drop")
    mark, client = server.journal.mark(), bench.through.client(CLOSING)
    outcome = bench.through.call("count", b'{"step":1}', client=client, timeout=PATIENCE_S)
    number = _settled(lambda: len(server.journal.calls(mark, "count")))
    control(number, f"the call did not reach the upstream: {outcome.value!r:.200}")
    comparison.one_of("executions of one call", number, [1], breaks=[DROPPED])
    _expect_no_success(comparison, "a call that was cut off", outcome, clause=CALL)
    return comparison


def equal_calls(bench: RelayBench) -> Comparison:
    """Call a tool twice with equal arguments; each call is an execution of its own.

    Raises Inconclusive unless both have results.
    """
    comparison = Comparison()
    bench.needs_tool("count")
    mark = bench.through.server.journal.mark()
    kinds = [bench.through.call("count", b'{"equal":true}').kind for _ in range(2)]
    number = len(bench.through.server.journal.calls(mark, "count"))
    control(kinds == ["result", "result"], f"the calls are not answered, but end as {kinds}")
    comparison.one_of("executions of two equal calls", number, [2], breaks=[EQUAL])
    return comparison


def stale_session(bench: RelayBench) -> Comparison:
    """Have the upstream forget its sessions between two calls, and compare what follows.

    The second call must be executed once, or fail, and the ended session not be used again. Raises
    NotApplicable if the relay reaches the upstream over stdio.
    """
    comparison = Comparison()
    bench.needs_tool("count")
    server = bench.through.server
    bench.needs_http()
    comparison.origin = "a session that the upstream has ended"
    client = bench.through.client(CLOSING)
    bench.through.call("count", b'{"step":1}', client=client)
    old = {arrival.session for arrival in server.journal.since() if arrival.session}
    server.forget_sessions()
    mark = server.journal.mark()
    outcome = bench.through.call("count", b'{"step":2}', client=client, timeout=PATIENCE_S)
    number = _settled(lambda: len(server.journal.calls(mark, "count")))
    shown = f"{number} executions, and the outcome: {outcome.kind}"
    holds = number == 1 if outcome.kind == "result" else number <= 1
    comparison.truth(
        "a call in a session that the upstream has ended", shown, holds=holds,
        allowed="one execution, or a failure and none", breaks=[STALE],
    )  # fmt: skip
    if outcome.kind != "none":  # its session with the relay goes on
        bench.through.call("count", b'{"step":3}', client=client, timeout=PATIENCE_S)
    later = bench.through.client()
    try:
        later.open()
        bench.through.call("count", b'{"step":4}', client=later)
    except (Unreachable, ProtocolFault):
        pass  # the next session is no better: what follows is judged all the same
    _judge_sessions(comparison, server.journal.since(mark), old)
    return comparison


def _judge_sessions(comparison: Comparison, later: Sequence[Arrival], old: Collection[str]) -> None:
    """Compare what comes in an ended session after its first 404: only DELETE and GET may come.

    `later` is what has arrived since its end, `old` the ids of ended sessions. Nothing is recorded
    without a 404.
    """
    refused = [number for number, each in enumerate(later) if not each.taken and each.session]
    if not refused:
        return
    again = [
        each.method for each in later[refused[0] + 1 :]
        if each.session in old and each.method not in ("DELETE", "GET")
    ]  # fmt: skip
    comparison.one_of(
        "requests in the ended session, after its 404", again, [[]], breaks=[NEW_SESSION]
    )


def unanswered_call(bench: RelayBench) -> Comparison:
    """End the upstream, and call a tool; nothing may come out as a success.

    Raises Inconclusive if the relay does not list `echo`, the tool.
    """
    comparison = Comparison()
    bench.needs_tool("echo")
    bench.relay.stop_upstream()
    outcome = bench.through.call("echo", b'{"x":1}', timeout=PATIENCE_S)
    _expect_no_success(comparison, "a call of an upstream that has ended", outcome, clause=CALL)
    return comparison


def interrupted_call(bench: RelayBench) -> Comparison:
    """End the upstream while it works on a call; the client is answered, or cut off, within 17 s.

    Raises Inconclusive if the call does not reach the upstream.
    """
    comparison = Comparison()
    bench.needs_tool("echo")
    server = bench.through.server
    server.answers["working"] = Answer(act="hang")
    mark, arguments = server.journal.mark(), b'{"case":"working"}'
    with ThreadPoolExecutor(1) as crew:
        due = crew.submit(bench.through.call, "echo", arguments, timeout=PATIENCE_S)
        arrives = poll(lambda: server.journal.calls(mark, "echo"), bool, ARRIVES_S)
        bench.relay.stop_upstream()
        began = time.monotonic()
        outcome = due.result()
    control(arrives, "the call did not reach the upstream")
    comparison.truth(
        "the end of a call whose upstream ends", f"{outcome.kind}: {outcome.value!r:.200}",
        holds=time.monotonic() - began < PATIENCE_S - ARRIVES_S, allowed="one within 17 s",
        breaks=[SILENCE],
    )  # fmt: skip
    return comparison


def refused_calls(bench: RelayBench) -> Comparison:
    """Have the upstream refuse by HTTP, in six ways, and call a tool; none may come out a success.

    A call that fails without reaching the upstream is not compared. Raises NotApplicable if the
    relay reaches the upstream over stdio.
    """
    comparison = Comparison()
    bench.needs_tool("echo")
    bench.needs_http()
    for refusing in REFUSALS:
        bench.through.server.refusing = refusing
        mark = bench.through.server.journal.mark()
        outcome = bench.through.call("echo", b'{"x":1}', timeout=PATIENCE_S)
        if bench.through.server.journal.mark() > mark or outcome.kind == "result":
            place = f"a call that the upstream refuses with {refusing.status}"
            _expect_no_success(comparison, place, outcome, clause=REFUSED)
    bench.through.server.refusing = None
    return comparison


def unanswered_list(bench: RelayBench) -> Comparison:
    """Refuse lists, then end the upstream, and list tools; fewer than before are a breach.

    Once it has ended, an old and a new session are tried. Refusals by HTTP are left out if the
    relay reaches the upstream over stdio. Raises Inconclusive if the relay does not list `echo`.
    """
    comparison = Comparison()
    bench.needs_tool("echo")
    before = len(bench.through.listing().names)
    if bench.reaches_by_http:
        bench.through.server.refusing = Refusing(status=500)
        _judge_list(comparison, bench, "tools of an upstream that refuses", before)
        bench.through.server.refusing = None
    bench.relay.stop_upstream()
    _judge_list(comparison, bench, "tools of an upstream that has ended", before)
    another = bench.through.client()
    _judge_list(comparison, bench, "tools in a new session of it", before, another)
    return comparison


def unanswered_page(bench: RelayBench) -> Comparison:
    """Have a later page of the upstream fail, and list tools; fewer than before are a breach.

    Raises Inconclusive if the relay does not list every tool before.
    """
    comparison = Comparison()
    for name in bench.direct.listing().names:
        if name not in bench.facts.filters:
            bench.needs_tool(name)
    before = len(bench.through.listing().names)
    bench.through.server.broken_cursors = CURSORS[1:2]
    _judge_list(comparison, bench, "tools while a page fails", before)
    return comparison


def _judge_list(
    comparison: Comparison, bench: RelayBench, place: str, before: int,
    client: Conversation | None = None,
) -> None:  # fmt: skip
    """List tools; record a finding if that succeeds with fewer than `before` of them.

    By default the client is the one that checks share.
    """
    allowed = "an error, or all tools"
    try:
        after = len(bench.through.list_anew(client).names)
    except (Unreachable, ProtocolFault) as fault:
        comparison.truth(place, str(fault), holds=True, allowed=allowed, breaks=[LIST])
        return
    comparison.truth(place, after, holds=after >= before, allowed=allowed, breaks=[LIST])


def _expect_no_success(
    comparison: Comparison, place: str, outcome: Outcome, *, clause: str
) -> None:
    """Record a finding if an outcome is a success; a tool's error, or no answer, is not."""
    comparison.origin = UNANSWERED
    comparison.truth(
        f"the outcome of {place}", outcome.kind, holds=outcome.kind != "result",
        allowed="an error", breaks=[clause],
    )  # fmt: skip


def _settled(number: Callable[[], int]) -> int:
    """Poll `number` until it has not changed for 1.5 s, and return its last value."""
    value, until = number(), time.monotonic() + SETTLE_S
    while time.monotonic() < until:
        time.sleep(PAUSE_S)
        if (later := number()) != value:
            value, until = later, time.monotonic() + SETTLE_S
    return value
