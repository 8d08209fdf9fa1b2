"""Laws that call tools: locked ones stay unreached and locked; refusals set config's lock apart.

Each makes its calls on the running target of a Look, and records in Findings what it sees.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from mcp_proxy_conformance.catalogue.surface import FLAG
from mcp_proxy_conformance.catalogue.world import ToolKey, ToolState
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.case import When
from mcp_proxy_conformance.discovery.contents import masked
from mcp_proxy_conformance.discovery.laws.look import DiscoveryExchange, Findings, Look
from mcp_proxy_conformance.discovery.oracle import UNKNOWN, allowed_statuses
from mcp_proxy_conformance.discovery.rejections import (
    is_policy_first,
    own_words,
    read_as_policy,
    rejection,
    remedy_of_users,
    texts_of_server,
)
from mcp_proxy_conformance.discovery.remediation import (
    claims_operator_policy,
    judge,
    tells_user_act,
)
from mcp_proxy_conformance.discovery.remediation_words import is_english
from mcp_proxy_conformance.verdict.result import Inconclusive

IN_A_ROW = 3
CONFIG, USER = ToolState(config=True), ToolState(user=True)
POINTING = (CONFIG, USER, ToolState(config=True, user=True))
OF_USERS = (USER, ToolState(approval="pending"), ToolState(approval="changed"))


def _calling(key: ToolKey, agent: str | None = None) -> When:
    """Return the request, for findings, that calls this tool."""
    return When(do="call", tool=str(key), agent=agent)


def refused(look: Look, findings: Findings) -> None:
    """Law: a locked tool stays locked however it is called: its upstream counts no call.

    Its status stays, too; it is asked for once more if it differs. Each tool is called in one of
    the declared ways, of which some are called twice before, or asked for with the flag, and by
    one agent that may not see every server. Up to three callable tools must be reached.
    """
    bench, ways, narrow = look.bench, len(look.bench.surface.calls), look.narrow
    before = {key: exchange.answer.status(key) for key in look.keys
              if (exchange := look.own(key)) and exchange.answer.error is None
              and exchange.answer.status(key) in allowed_statuses(bench.states[key])
              }  # fmt: skip
    for at, key in enumerate(look.keys, look.number):
        first: list[list[Callable[[], object]]] = [
            [], [partial(_call_beside, look, key), partial(bench.call, key)],
            [partial(look.ask, key.tool, flag=True, anew=True)],
        ]  # fmt: skip
        last = partial(bench.call, key, surface=at % ways)
        _count(bench, findings, key, None, [*first[at // ways % len(first)], last])
        if narrow:
            agent = narrow[at % len(narrow)]
            _count(bench, findings, key, agent, [partial(bench.as_agent(agent).call, key)])
    for key, status in before.items():
        again = _again(look, key)
        if again and again.answer.status(key) != status:
            again = _again(look, key)  # a status may waver, see FR-004.deterministic
        if again is None:
            continue
        after, request = again.answer.status(key), again.request
        findings.truth(["FR-011.not-unlocked"], request, after, holds=after == status,
                       wanted=f"{status}, as before the call", topic=str(key))  # fmt: skip
    for key in look.free[:IN_A_ROW]:
        reached = look.bench.call(key).reached
        findings.truth(["FR-011.not-unlocked"], _calling(key), "refused", holds=reached,
                       wanted="a call that reaches its upstream",
                       counts=bool(look.keys))  # fmt: skip


def unlifted(look: Look, findings: Findings) -> None:
    """Law: a tool whose calls its locks once refused, or that is listed as locked, is refused.

    Judged are tools whose locks could not be proven in this look. The memory `held` has the
    locks proven of a tool in earlier looks since it was last callable.
    """
    bench, held = look.bench, look.memory["held"]
    for key in bench.armed.unproven:
        state = bench.states.get(key)
        if state is None or state.callable or key in look.unsure:
            continue
        exchange = look.own(key)
        if exchange is not None and key in exchange.answer.statuses():
            wanted = "refused, as it is listed as locked"
        elif state in held.get(key, ()):
            wanted = "refused, as with these locks before"
        else:
            continue
        reached = bench.call(key).reached
        findings.truth(["FR-011.never-reaches"], _calling(key), "reached its upstream",
                       holds=not reached, wanted=wanted, topic="locks that are left")  # fmt: skip


def _call_beside(look: Look, key: ToolKey) -> None:
    """Call a callable tool of the tool's server, if there is one."""
    for sibling in [each for each in look.free if each.server == key.server][:1]:
        look.bench.call(sibling)


def _count(
    bench: Bench, findings: Findings, key: ToolKey, agent: str | None,
    acts: list[Callable[[], object]],
) -> None:  # fmt: skip
    """Do all acts; a call of the tool that its upstream counted meanwhile breaks the law.

    `agent` is only the caller that a finding names.
    """
    before = bench.upstream_calls(key)
    for act in acts:
        act()
    reached = bench.upstream_calls(key) - before
    findings.truth(["FR-011.never-reaches"], _calling(key, agent), reached, holds=not reached,
                   wanted="0", topic="calls at the upstream")  # fmt: skip


def _again(look: Look, key: ToolKey) -> DiscoveryExchange | None:
    """Ask for the tool once more by its own query with the flag; None on an error."""
    exchange = look.own(key, anew=True)
    return exchange if exchange is not None and exchange.answer.error is None else None


def policy(look: Look, findings: Findings) -> None:
    """Law: the refusal of a denied tool names operator policy, and no remedy of other locks.

    Judged are tools that only config, or config and the user, lock; unrecognised texts are not.
    """
    denied = [key for key in look.keys if is_policy_first(look.bench.states[key])]
    try:
        outcomes = read_as_policy(look.bench, denied) if denied else {}
    except Inconclusive:
        return
    for key in denied:
        outcome = outcomes[str(key)]
        if outcome != "unrecognised":
            conveys = outcome == "conveys"
            findings.truth(
                ["FR-008.config", "SC-003.rejection"], _calling(key),
                outcome if conveys else look.bench.call(key).text,
                holds=conveys, wanted="a text that names operator policy",
            )  # fmt: skip


def unlike_users(look: Look, findings: Findings) -> None:
    """Law: the refusal of a denied tool asks for no act of the user, whatever else locks it.

    Judged are tools with a second lock that may be named first. Unrecognised texts are not, nor
    one under a server's lock unless the target's text for that lock alone is known.
    """
    bench = look.bench
    states = {key: bench.states[key] for key in look.keys}
    sure = {key: s for key, s in states.items() if key.server not in bench.armed.doubtful}
    denied = [key for key, s in sure.items() if s.config and not is_policy_first(s)]
    try:
        pure = [key for key in look.proven if bench.states[key] in OF_USERS]
        users = {masked(bench, bench.refusal(key), key) for key in pure}
        servers, pins = texts_of_server(bench), bench.started.target.pins
        for key in denied:
            if not _is_of_known_server(bench, states[key]):
                continue
            text = masked(bench, bench.refusal(key), key)
            wrong = remedy_of_users(text, states[key], users=users, servers=servers, pins=pins)
            if wrong is not None:
                findings.truth(["SC-003.rejection"], _calling(key), text, holds=not wrong,
                               wanted="no act of the user on the tool", topic="text")  # fmt: skip
    except Inconclusive:
        return


def _is_of_known_server(bench: Bench, state: ToolState) -> bool:
    """Whether for each lock of the tool's server some tool has that lock alone."""
    quarantined = not state.quarantined or bool(bench.locked(quarantined=True))
    return quarantined and (not state.server_off or bool(bench.locked(server_off=True)))


def distinct(look: Look, findings: Findings) -> None:
    """Law: no refusal of a tool that config does not deny has the words of one for config alone.

    Judged if some tool is locked by config alone and one by the user alone; servers that are
    off are left out.
    """
    pure = [key for key in look.keys if look.bench.states[key] == CONFIG]
    states = {key: look.bench.states[key] for key in look.keys}
    others = [key for key, state in states.items() if not (state.config or state.server_off)]
    if not pure or USER not in states.values():
        return
    try:
        words = {own_words(look.bench, key) for key in pure}
        for key in others:
            text = own_words(look.bench, key)
            findings.truth(["FR-008.distinct"], _calling(key), text, holds=text not in words,
                           wanted="a text other than that for a config lock",
                           topic="text")  # fmt: skip
    except Inconclusive:
        return


def while_lost(look: Look, findings: Findings) -> None:
    """Law: while reasons are lost no refusal has the remedy of another lock, and policy is told.

    The memory `told` has the refusals of earlier looks, at which no reason was lost.
    """
    bench, told = look.bench, look.memory["told"]
    pure = [key for key in look.proven if bench.states[key] == CONFIG][:1]
    texts = {key: masked(bench, bench.refusal(key), key) for key in (*look.keys, *pure)}
    if not any(state.lost for state in bench.states.values()):
        told |= texts
        return
    pins, kinds = bench.started.target.pins, {key: bench.states[key] for key in told}
    users = [told[key] for key, state in kinds.items() if replace(state, lost=False) in OF_USERS]
    servers = {told[key] for key, s in kinds.items() if s.quarantined or s.server_off}
    others = {text for text in users if tells_user_act(text)}
    others |= {told[key] for key, state in kinds.items() if state == CONFIG}
    for key, text in texts.items():
        state = bench.states[key]
        if state == replace(USER, lost=True):
            wrong = text in others or judge(text, UNKNOWN, pins=pins) == "convicted"
            findings.truth(["FR-004.unknown"], _calling(key), text, holds=not wrong,
                           wanted="no remedy of another lock", topic="text")  # fmt: skip
        if not state.config:
            continue
        act = remedy_of_users(text, state, users=users, servers=servers, pins=pins)
        if act is not None:
            findings.truth(["SC-003.rejection"], _calling(key), text, holds=not act,
                           wanted="no act of the user on the tool", topic="text")  # fmt: skip
        if (
            is_policy_first(state)
            and claims_operator_policy(told.get(key, ""))
            and is_english(text)
        ):
            findings.truth(["FR-008.config"], _calling(key), text, wanted="operator policy",
                           holds=claims_operator_policy(text), topic="text")  # fmt: skip


def pointing(look: Look, findings: Findings) -> None:
    """Law: the refusal of a tool locked by config or user names the flag or the discovery tool.

    Each, also one locked by both, is called twice, and both texts must. Tools with any other lock,
    or whose call is not refused, are left out.
    """
    words = (FLAG, look.bench.surface.discovery_tool)
    for key in look.keys:
        if look.bench.states[key] in POINTING:
            try:
                texts = [rejection(look.bench, key).text for _ in range(2)]
            except Inconclusive:
                continue
            mute = [text for text in texts if not any(word in text for word in words)]
            findings.truth(["FR-008.pointer"], _calling(key), mute, holds=not mute,
                           wanted=f"a text with {' or '.join(words)}", topic="text")  # fmt: skip
