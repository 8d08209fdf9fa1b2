"""Comparison of a case's expectation with a target's answer: a discovery, a listing or a call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import msgspec

from mcp_proxy_conformance.catalogue.bounds import Bounds
from mcp_proxy_conformance.catalogue.surface import FLAG
from mcp_proxy_conformance.catalogue.world import ToolKey, ToolState, key
from mcp_proxy_conformance.discovery.agents import beyond
from mcp_proxy_conformance.discovery.answer import Answer, ServerEntry, as_json
from mcp_proxy_conformance.discovery.arming import SHOW_LIMIT
from mcp_proxy_conformance.discovery.bench import ABSENT, Bench, Called
from mcp_proxy_conformance.discovery.case import Case, Then
from mcp_proxy_conformance.discovery.contents import masked, schemas
from mcp_proxy_conformance.discovery.counts import KEYS, REASONS, integral
from mcp_proxy_conformance.discovery.grounds import (
    OF_USERS,
    REVEALS,
    as_callable,
    broken_by,
    reveals,
    shown_by,
)
from mcp_proxy_conformance.discovery.locked_entries import own_entries
from mcp_proxy_conformance.discovery.note import most_matches
from mcp_proxy_conformance.discovery.numbers import numbers_in
from mcp_proxy_conformance.discovery.oracle import ABSENT as NOWHERE
from mcp_proxy_conformance.discovery.oracle import BY_APPROVAL, cap, counted_as, is_hidden
from mcp_proxy_conformance.discovery.rejections import compare_with_policy, is_policy_first
from mcp_proxy_conformance.discovery.remediation import judge, mask
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import Inconclusive, NotApplicable

POLICY = "disabled_by_config"
MEMBERS = 12
"""Names of an answer's members that a hint shows."""


def compare_answer(case: Case, bench: Bench, *, way: int = 0) -> Comparison:
    """Send a case's request, as its agent, and compare the answer with what the case expects.

    Breaches are in the comparison, not raised. `way` is the number of the declared way to call
    a tool, from 0. Raises Inconclusive if a control fails, NotApplicable if the target lacks
    what the case is about.
    """
    if case.when.agent is not None:
        bench.needs("agents")
        bench = bench.as_agent(case.when.agent)
    handlers: dict[str, Callable[[Case, Bench], Comparison]] = {
        "discover": _compare_discovery,
        "list": _compare_listing,
        "call": partial(_compare_call, way=way),
    }
    compared = handlers[case.when.do](case, bench)
    if compared.is_empty:
        raise NotApplicable("what the case looks at is not part of this target's answer")
    return compared


def _compare_discovery(case: Case, bench: Bench) -> Comparison:
    """Send a case's discovery request and compare all that the case expects of the answer.

    A refused request with an odd limit is a lawful answer; any other error is inconclusive.
    NotApplicable if the target's own lower cap or other tools explain missing entries.
    """
    when, then, compared = case.when, case.then, Comparison()
    query = when.query or ""
    _controls(case, bench, query)
    sent = when.limit if isinstance(when.limit, (int, float, str)) else ABSENT
    sent_flag = ABSENT if when.include_disabled is None else when.include_disabled
    answer = bench.asked(query, include_disabled=sent_flag, limit=sent)
    odd = when.limit not in (msgspec.UNSET, *range(1, 101))
    if answer.error is not None and odd:
        compared.observed["FR-006.odd-limits"] += 1  # it may be refused
        return compared
    bench.require(answer.error is None, f"discovery answered with an error: {answer.error}")
    compared.messages = answer.reply.messages
    flag = bool(when.include_disabled)
    limit = when.limit if isinstance(when.limit, (int, float)) else None
    _not_cut(then, answer, bench, limit=sent)
    _not_crowded_out(then, answer, cap(limit))
    _tools(then, answer, bench, compared, flag=flag, limit=sent)
    for name, allowed in (then.disabled or {}).items():
        _placed(key(name), allowed, answer, bench, compared, flag=flag)
    if then.disabled_only:
        for other in sorted(answer.statuses().keys() - set(map(key, then.disabled or {}))):
            _placed(other, (NOWHERE,), answer, bench, compared, flag=flag)
    if then.disabled_count is not None:
        _counted(then.disabled_count, answer, bench, compared, flag=flag, odd=odd, limit=limit)
    listed = {"answer": [("the answer", answer.body)]} | {
        place: [(f"{entry.key}", entry.members) for entry in entries]
        for place, entries in (("tools", answer.tools), ("disabled", answer.disabled))
    }
    _members(case, listed, compared)
    _texts(then, answer, bench, compared, flag=flag)
    _note(then, answer, bench, compared, limit=limit)
    return compared


_KINDS: Mapping[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,),
    "array": (list,), "object": (dict,), "null": (type(None),),
}  # fmt: skip


def _members(
    case: Case, listed: Mapping[str, list[tuple[str, Mapping[str, Any]]]], compared: Comparison
) -> None:
    """Compare the members at each place with the kinds that the case expects of them.

    `listed` maps a place to (name, members) of all that is there. Breaches are of all the
    case's clauses. Inconclusive if nothing is at the place.
    """
    for place, kinds in (case.then.members or {}).items():
        if not listed[place]:
            raise Inconclusive(f"nothing is listed under {place}", cause="control")
        for name, members in listed[place]:
            for member, kind in kinds.items():
                compared.truth(f"{member} of {name}", members.get(member, NOWHERE),
                               holds=_is_of(kind, member, members), allowed=kind,
                               breaks=case.clauses)  # fmt: skip


def _is_of(kind: str, member: str, members: Mapping[str, Any]) -> bool:
    """Whether this member is of the expected kind; for `absent` it must be missing, null or empty.

    A boolean is not a number.
    """
    if kind == NOWHERE:
        return members.get(member) in (None, "", {}, [])
    if member not in members:
        return False
    value = members[member]
    return isinstance(value, _KINDS[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _placed(
    tool: ToolKey, allowed: Iterable[str], answer: Answer, bench: Bench, compared: Comparison,
    *, flag: bool,
) -> None:  # fmt: skip
    """Compare a tool's place in an answer, a status, `callable` or `absent`, with those allowed.

    A tool that nothing locks is absent unless it has a locked entry. Compared too are the number of
    a tool's entries, and whether an answer without the flag that has a note and no tools names it.
    An absent tool is not judged if the flagged answer has an entry of an unknown name; of a tool
    beyond the agent's scope only FR-007.hidden is.
    """
    state = bench.states.get(tool, ToolState())
    listed = str(answer.statuses().get(tool, NOWHERE))
    place = listed if state.callable else answer.status(tool)
    inside = _in_scope(bench, tool)
    _once(tool, answer, compared)
    if place == NOWHERE and flag and not answer.statuses().keys() <= bench.tools.keys():
        return  # it may be there by a name that no tool has (FR-003.name)
    if not inside:
        shows = ["FR-007.hidden"] if flag and _others_see(bench, tool, answer.query) else []
        compared.one_of(f"status of {tool}", place, tuple(allowed), breaks=["FR-007.hidden"],
                        shows=shows)  # fmt: skip
        return
    alone = bench.tools.get(tool)
    by_description = alone is not None and answer.query not in (alone.name, alone.word, tool.tool)
    breaks: Iterable[str]
    if flag and bench.agent is not None and place == NOWHERE and _is_crowded(bench, answer.query):
        breaks = ["FR-007.before-cap"]
    else:
        breaks = broken_by(state, place, flag=flag, by_description=by_description)
    shows = [*shown_by(state, place, flag=flag, by_description=by_description)]
    if flag and state.callable and not _locked_matches(bench, answer.query):
        breaks, shows = (
            [*breaks, "FR-002.no-locks-no-change"],
            [*shows, "FR-002.no-locks-no-change"],
        )
    if flag and bench.agent is not None and _is_crowded(bench, answer.query):
        shows += ["FR-007.before-cap"]
    if not flag and not answer.tools and answer.note:
        named = tool.tool in answer.text_without_echo() and tool.tool != answer.query
        compared.one_of(f"name of {tool} without the flag", named, (False,),
                        breaks=["FR-009.no-entries", "FR-002.no-locked-names"])  # fmt: skip
    compared.one_of(f"status of {tool}", place, tuple(allowed), breaks=breaks, shows=shows)


def _locked_matches(bench: Bench, query: str) -> list[ToolKey]:
    """Return the locked tools in the caller's scope whose name, word or group is the query."""
    return [k for k, state in bench.states.items() if not state.callable
            and bench.tools[k].holds(query) and _in_scope(bench, k)]  # fmt: skip


def _once(tool: ToolKey, answer: Answer, compared: Comparison) -> None:
    """Compare the number of a tool's entries in an answer with 1; nothing if it has none."""
    entries = [*answer.callables(), *(entry.key for entry in answer.disabled)]
    if tool in entries:
        compared.one_of(f"entries of {tool}", entries.count(tool), (1,), breaks=["FR-004.once"])


def _in_scope(bench: Bench, tool: ToolKey) -> bool:
    """Whether the bench's caller may know of the tool: the administrator may of any.

    An agent may if the tool's server is in its scope.
    """
    return bench.agent is None or tool.server in bench.world.agents[bench.agent]


def _others_see(bench: Bench, tool: ToolKey, query: str) -> bool:
    """Whether the administrator, with the flag, finds the tool by that query, callable or locked.

    If the answer is full of locked entries, it may be found as locked by its name instead. If it is
    not found, an agent's not seeing it proves nothing.
    """
    admin = _as_admin(bench)
    flagged = admin.asked(query, include_disabled=True, limit=SHOW_LIMIT)
    if tool in (*flagged.callables(), *flagged.statuses()):
        return True
    own = admin.asked(tool.tool, include_disabled=True, limit=SHOW_LIMIT)
    return tool in own.statuses() and len(flagged.disabled) >= cap(SHOW_LIMIT)


def _is_crowded(bench: Bench, query: str) -> bool:
    """Whether the query matches more locked tools than fit an answer, some beyond the scope.

    Only tools whose calls were refused count, and the flag must reveal one beyond the scope to the
    administrator. False if that is the caller.
    """
    if not _matches_beyond(bench, query):
        return False
    matches = [k for k in bench.states if bench.tools[k].holds(query) and k in bench.armed.refused]
    outside = [k for k in matches if not _in_scope(bench, k)]
    return bool(outside) and len(matches) > cap(None)


def _counted(
    bounds: Bounds, answer: Answer, bench: Bench, compared: Comparison,
    *, flag: bool, odd: bool, limit: float | None,
) -> None:  # fmt: skip
    """Compare the number of locked entries in an answer with its bounds.

    Too few break the clauses that reveal the missing kinds of locks. Too many break the cap or,
    if `odd` (a limit other than 1 to 100), the clause on odd limits; without the flag those of
    default answers.
    """
    count = len(answer.disabled)
    least = bounds.min if bounds.equals is None else bounds.equals
    matches = [k for k in _locked_matches(bench, answer.query) if not bench.states[k].server_off]
    if count < least:
        kinds = {clause for k in matches for clause in reveals(bench.states[k])}
        listed = [k for k in answer.statuses() if k in bench.states]
        shown = {clause for k in listed for clause in reveals(bench.states[k])}
        missing = kinds - shown
        compared.truth("locked entries", count, holds=False, allowed=str(bounds),
                       breaks=sorted(missing or kinds))  # fmt: skip
        return
    most = min(cap(limit), bounds.max if bounds.max is not None else least)
    breaks = ["FR-006.odd-limits" if odd else "FR-006.cap"]
    if flag and least <= count <= cap(limit) and not bounds.holds(count):
        breaks = ["FR-002.no-locks-no-change"]
    if not flag:
        breaks = ["FR-001.default-off", "FR-002.no-section"]
    bound = len(matches) > most
    shows = (breaks if bound else []) if flag else ["FR-001.default-off", "FR-002.no-section"]
    if flag and least:
        alone = {reveals(bench.states[k]) for k in matches}
        shows = [*shows, *(next(iter(alone)) if len(alone) == 1 else ())]
    compared.truth("locked entries", count, holds=bounds.holds(count), allowed=str(bounds),
                   breaks=breaks, shows=shows)  # fmt: skip


def _not_crowded_out(then: Then, answer: Answer, most: int) -> None:
    """Raise NotApplicable if tools outside the case leave no room for one that it expects.

    That is so if the answer has `most` entries, and pending or quarantined tools not of the
    case.
    """
    statuses = answer.statuses()
    others = [word for tool, word in statuses.items() if str(tool) not in (then.disabled or {})]
    missing = any(
        key(n) not in statuses and "absent" not in a for n, a in (then.disabled or {}).items()
    )
    withheld = sum(word in BY_APPROVAL for word in others)
    if missing and len(statuses) >= most and withheld:
        raise NotApplicable(
            "withheld tools beside those of the case fill the locked part to its cap"
        )


def _not_cut(then: Then, answer: Answer, bench: Bench, *, limit: Any) -> None:
    """Raise NotApplicable if the target's own cap or default limit explains missing locked entries.

    That is so if no query of the world lists more than this answer, all at limit 100 or, if the
    request has no limit, without one. With a limit, one entry alone is always owed.
    """
    bounds = then.disabled_count or Bounds()
    least = bounds.min if bounds.equals is None else bounds.equals
    owed = {key(n) for n, allowed in (then.disabled or {}).items() if "absent" not in allowed}
    complete = owed <= answer.statuses().keys() and len(answer.disabled) >= least
    if complete or (limit is not ABSENT and max(len(owed), least) < 2):  # noqa: PLR2004
        return
    admin, at = _as_admin(bench), ABSENT if limit is ABSENT else SHOW_LIMIT
    fullest = max(len(admin.revealed(word, limit=at)) for word in bench.world.queries())
    if 0 < fullest == len(answer.disabled):
        unsaid = " by default" if limit is ABSENT else ""
        raise NotApplicable(f"this target never lists more than {fullest} locked tools{unsaid}")


def _controls(case: Case, bench: Bench, query: str) -> None:
    """Raise unless what is observed of a case can prove anything.

    NotApplicable if a lock that the query concerns was skipped; Inconclusive if a lock is
    unproven, a tool was never listed for the query, or the feature works nowhere in this world.
    """
    then = case.then
    for left_out, why in bench.armed.skipped.items():
        if bench.tools[left_out].holds(query):
            raise why.error(left_out)
    for name, allowed in (then.disabled or {}).items():
        _expect_proven(bench, key(name))
        if "absent" not in allowed and not bench.states[key(name)].callable:
            relevant = bench.relevant(key(name), query)
            bench.require(relevant, f"{name} was not listed for {query!r} while it was callable")
            revealed = bench.agent is None or key(name) in own_entries(
                _as_admin(bench), [key(name)]
            )
            bench.require(
                revealed,
                f"the flag reveals {name} to no caller; see FR-001",
                "other_clause",
                needs=reveals(bench.states[key(name)]),
            )
    for name in (then.tools.has or ()) if then.tools else ():
        relevant = key(name) in bench.armed.shown.get(query, ())
        bench.require(
            relevant, f"{name} was not listed for {query!r} while all tools were callable"
        )
    if then.disabled or then.disabled_count is not None or not case.when.include_disabled:
        _expect_revealing(_as_admin(bench), query)
    if then.note == "absent":
        bench.require_note(_as_admin(bench).note_alive)
    if then.note == "due":
        owed = [bench.states[tool] for tool in _locked_matches(bench, query)]
        bench.require(
            bench.revealed(query),
            "the flag reveals nothing for this query",
            needs=[clause for state in owed for clause in reveals(state)],
        )


def _expect_revealing(bench: Bench, query: str) -> None:
    """Raise Inconclusive, with a hint on the members that came, unless the flag reveals a tool."""
    if bench.flag_alive:
        return
    body, name = bench.asked(query, include_disabled=True).body, bench.surface.members.disabled
    came = ", ".join(sorted(map(as_json, body))[:MEMBERS]) or "none"
    raise Inconclusive(
        "the flag revealed no locked tool on this stage",
        needs=REVEALS.values(),
        hint=f"make the flag reveal one under {as_json(name)}; the members that came are {came}:"
        " if one of them holds locked tools, set surface.members.disabled in the target file",
    )


def _as_admin(bench: Bench) -> Bench:
    return bench if bench.agent is None else Bench(bench.started, bench.armed)


def _expect_proven(bench: Bench, tool: ToolKey) -> None:
    if why := bench.armed.skipped.get(tool) or bench.armed.unproven.get(tool):
        raise why.error(tool)
    if tool not in bench.states:
        raise NotApplicable(
            f"{tool} needs a capability that the target does not declare", cause="not_declared"
        )


def _tools(
    then: Then, answer: Answer, bench: Bench, compared: Comparison, *, flag: bool, limit: Any
) -> None:
    """Compare the callable tools of an answer with those that the case wants there, or not there.

    One that is not wanted is judged only if it is locked or beyond the agent's scope. Inconclusive
    if one wanted there is not listed without the flag either, NotApplicable if for want of room.
    """
    if then.tools is None:
        return
    callables = set(answer.callables())
    for name in {*(then.tools.has or ()), *(then.tools.only or ())}:
        _expect_room(key(name), answer, bench, limit=limit)
    for name in then.tools.has or ():
        tool = key(name)
        _once(tool, answer, compared)
        if not flag:
            bench.require(tool in callables, f"{name} is not listed without the flag")
            continue
        usual = answer if tool in callables else bench.asked(answer.query, limit=limit)
        bench.require(tool in usual.callables(), f"{name} is not listed without the flag either")
        compared.one_of(f"{name} among the callable tools", tool in callables, (True,),
                        breaks=["FR-006.callables"])  # fmt: skip
    for name in then.tools.lacks or ():
        tool = key(name)
        state = bench.states.get(tool, ToolState())
        seen_as = "callable" if tool in callables else NOWHERE
        if not _in_scope(bench, tool):
            breaks: tuple[str, ...] = ("FR-007.hidden",)
            shows = breaks if flag and _others_see(bench, tool, answer.query) else ()
        elif state.callable:
            continue  # whether a search finds it is the search's own affair
        else:
            breaks = as_callable(state, flag=flag)
            shows = ("FR-004.follows-state",) if flag else ()
        compared.one_of(f"{name} among the callable tools", seen_as, (NOWHERE,), breaks=breaks,
                        shows=shows)  # fmt: skip
    if then.tools.only is not None:
        names = sorted(map(str, callables))
        compared.one_of("the callable tools", names, [sorted(then.tools.only)],
                        breaks=["FR-006.callables" if flag else "FR-001.default-off"])  # fmt: skip


def _expect_room(tool: ToolKey, answer: Answer, bench: Bench, *, limit: Any) -> None:
    """Raise NotApplicable if only the request's limit, or the default one, leaves the tool out."""
    if tool in answer.callables():
        return
    usual = bench.asked(answer.query, limit=limit)
    if usual.tools and tool not in usual.callables():
        widest = bench.asked(answer.query, limit=SHOW_LIMIT)
        if tool in widest.callables():
            raise NotApplicable(f"the limit leaves no room for {tool}")


def _texts(then: Then, answer: Answer, bench: Bench, compared: Comparison, *, flag: bool) -> None:
    """Compare what an answer says: descriptions, schemas, planted canaries and remediations.

    Of the remediation map the keys are compared, and each text of an expected class is judged.
    """
    entries = {str(entry.key): entry for entry in answer.disabled}
    for name in then.withheld:
        tool = key(name)
        if name in entries and flag:
            words = entries[name].description or None
            allowed = _withheld_forms(bench, tool)
            compared.one_of(f"description of {name}", words, allowed, breaks=["FR-003.withheld"])
            schema = list(schemas(entries[name].members))
            compared.one_of(f"schema of {name}", schema, ([],), breaks=["FR-003.withheld"])
        planted = bench.tools[tool].canaries if is_hidden(bench.states[tool]) else ()
        if planted:
            leaked = sorted(word for word in planted if word in answer.text_without_echo())
            compared.one_of(f"canaries of {name}", leaked, ([],), breaks=["FR-003.canary"])
    for name in then.described:
        own = bench.armed.entries.get(key(name))
        if name in entries and own is not None:
            words = entries[name].description
            compared.one_of(f"description of {name}", words, (own.description,),
                            breaks=["FR-003.description"])  # fmt: skip
    told_map = answer.remediation or {}
    if then.remediation_keys is not None:
        statuses = set(map(str, answer.statuses().values()))
        wanted = statuses if then.remediation_keys == "as statuses" else set(then.remediation_keys)
        breaks = ["FR-005.keys"] if flag else ["FR-002.no-section", "FR-001.default-off"]
        only = _only_beyond(bench, answer.query, set(told_map) - statuses)
        compared.one_of("keys of the remediation map", sorted(told_map), (sorted(wanted),),
                        breaks=[*breaks, *(["FR-007.hidden"] if only else [])],
                        shows=breaks if wanted or not flag else ())  # fmt: skip
    for status in then.remediation_class:
        if status in told_map:
            clauses = ["FR-005.class", *(["SC-003.discovery"] if status == POLICY else [])]
            _text(f"remediation of {status}", str(told_map[status]), status, bench=bench,
                  compared=compared, clauses=clauses)  # fmt: skip


def _only_beyond(bench: Bench, query: str, more: set[str]) -> bool:
    if bench.agent is None or not more:
        return False
    revealed = _as_admin(bench).revealed(query)
    outside = beyond(bench.world, bench.agent)
    return any(str(status) in more for tool, status in revealed.items() if tool.server in outside)


def _withheld_forms(bench: Bench, tool: ToolKey) -> list[str | None]:
    """Return the allowed descriptions of a withheld tool: None; of a changed one also the old.

    The old one is that which was approved.
    """
    state, own = bench.states[tool], bench.armed.entries.get(tool)
    approved = state.approval == "changed" and not state.quarantined and own is not None
    return [None, own.description] if approved and own is not None else [None]


def _text(
    path: str, text: str, status: str, *, bench: Bench, compared: Comparison, clauses: list[str]
) -> None:
    """Judge a remediation or refusal as one for a lock with this status; a wrong one is a finding.

    It breaks `clauses`, which stay open if the text cannot be read; `path` names it in the report.
    """
    outcome = judge(text, status, pins=bench.started.target.pins)
    if outcome == "unrecognised":
        compared.unread(path, text, clauses)
        return
    wanted = "no instruction for another kind of lock"
    compared.truth(path, text, holds=outcome != "convicted", allowed=wanted, breaks=clauses)


def _note(
    then: Then, answer: Answer, bench: Bench, compared: Comparison, *, limit: float | None
) -> None:
    """Compare the note of an answer, and its number, with what the case expects.

    A note that must be absent is judged where none may be; one that is due, and its number,
    only where no callable tool is listed.
    """
    crosses = _matches_beyond(bench, answer.query)
    own = bench.revealed(answer.query) if then.note != "any" else {}
    if then.note == "absent" and (answer.tools or not own):
        clauses = ["FR-009.silent"]
        clauses += ["FR-007.note"] if crosses and not answer.tools else []
        compared.one_of("note", answer.note or None, (None,), breaks=clauses)
    if then.note == "due" and not answer.tools:
        named = answer.note is not None and FLAG in answer.note
        clauses = ["FR-009.note", "SC-006.every-kind"]
        clauses += ["FR-009.tight-limit"] if limit == 1 else []
        breaks = ["FR-009.note"] if answer.note else clauses
        compared.truth("note", answer.note, holds=named, allowed=f"a note that names {FLAG}",
                       breaks=breaks, shows=clauses)  # fmt: skip
    if then.note_count is not None and answer.note is not None and not answer.tools:
        shown, least = (
            sum(_in_scope(bench, tool) for tool in bench.revealed(answer.query, limit=at))
            for at in (SHOW_LIMIT, ABSENT if limit is None else limit)
        )
        revealed = bench.revealed(answer.query)
        relevant = sum(bench.relevant(key, answer.query) for key in revealed)
        numbers = numbers_in(answer.note)
        exact = then.note_count.equals == shown
        least = min(shown, least, relevant or shown)  # some list withheld tools for any query
        allowed = Bounds(min=least, max=most_matches(bench, answer.query))
        holds = shown in numbers if exact else any(map(allowed.holds, numbers))
        wanted = f"the number {shown}" if exact else f"a number: {allowed}"
        beside = ["FR-007.note"] if crosses and exact else []
        more = beside if any(number > shown for number in numbers) else []
        compared.truth("number in the note", answer.note, holds=holds, allowed=wanted,
                       breaks=["FR-009.count", *more] if numbers else ["FR-009.note"],
                       shows=["FR-009.count", *beside])  # fmt: skip


def _matches_beyond(bench: Bench, query: str) -> bool:
    """Whether the flag reveals a match beyond the agent's scope to the administrator.

    False if the caller is the administrator.
    """
    if bench.agent is None:
        return False
    revealed = _as_admin(bench).revealed(query)
    return any(tool.server in beyond(bench.world, bench.agent) for tool in revealed)


def _compare_listing(case: Case, bench: Bench) -> Comparison:
    """List the servers; compare their members, and counts, with what the case expects.

    Inconclusive if no server has counts, one is not listed or a lock unproven; NotApplicable if
    a lock was skipped or none is declared.
    """
    compared = Comparison()
    _as_admin(bench).expect_block()
    listing = bench.list()
    compared.messages = listing.reply.messages
    named = [(server.name, server.members) for server in listing.servers.values()]
    _members(case, {"servers": named}, compared)
    for server, wanted in (case.then.counts or {}).items():
        for tool, why in (*bench.armed.skipped.items(), *bench.armed.unproven.items()):
            if tool.server == server:
                raise why.error(tool)
        own = [state for tool, state in bench.states.items() if tool.server == server]
        if wanted is not None and all(state.callable for state in own):
            raise NotApplicable(f"no declared capability locks a tool of {server}")
        shown = server in listing.servers
        bench.require(shown, f"the listing does not show {server}", "not_listed")
        entry = listing.servers[server]
        if wanted is None:
            counts = entry.counts if entry.has_counts else "no member"
            compared.one_of(f"counts of {server}", counts, ("no member",),
                            breaks=["SC-005.absent"])  # fmt: skip
        else:
            _block(entry, wanted, bench, compared)
    return compared


def _block(
    entry: ServerEntry, wanted: Mapping[str, Any], bench: Bench, compared: Comparison
) -> None:
    block = entry.counts if isinstance(entry.counts, dict) else {}
    compared.truth(f"counts of {entry.name}", entry.counts, holds=bool(block),
                   allowed="a block of counts", breaks=["FR-010.block"])  # fmt: skip
    if not block:
        return
    odd = {word: value for word, value in block.items() if word in KEYS and not integral(value)}
    compared.one_of(f"numbers of {entry.name} that are not integers", odd, ({},),
                    breaks=["FR-010.block"])  # fmt: skip
    if odd:
        return
    due = {name: n if isinstance(n, tuple) else (n,) for name, n in wanted.items()}
    counts = {name: int(block.get(name, 0)) for name in KEYS if name in due or name in block}
    holds = all(number in due.get(name, (0,)) for name, number in counts.items())
    states = [s for tool, s in bench.states.items() if tool.server == entry.name]
    surplus = [word for word in OF_USERS
               if block.get(word, 0) > sum(word in counted_as(s) for s in states)]  # fmt: skip
    has_config = any(state.config for state in states)
    more = ["FR-004.once"] if sum(counts.values()) > len(states) else []
    compared.truth(
        f"counts of {entry.name}", counts, holds=holds,
        allowed={name: n[0] if len(n) == 1 else list(n) for name, n in due.items()},
        breaks=["FR-010.sum", *more, *(["SC-003.listing"] if surplus and has_config else [])],
        shows=["FR-010.sum", *(["SC-003.listing"] if has_config else [])],
    )  # fmt: skip
    zero = sorted(word for word in REASONS if word in block and not block[word])
    left_out = any(word not in block for word in REASONS)
    compared.one_of(f"reasons of {entry.name} with the value 0", zero, ([],),
                    breaks=["FR-010.zero-omitted"],
                    shows=["FR-010.zero-omitted"] if left_out else [])  # fmt: skip


def _compare_call(case: Case, bench: Bench, *, way: int) -> Comparison:
    """Call the case's tool; compare whether its upstream saw it, and the refusal's text.

    The text is compared for its class, for its pointer to the flag, and with texts of another
    class. Inconclusive if another class's text is needed and no tool is locked so alone.
    """
    compared, then = Comparison(), case.then.rejection
    tool = key(case.when.tool or "")
    _expect_proven(bench, tool)
    called = bench.call(tool, surface=way)
    compared.messages = called.reply.messages
    if then is None:
        return compared
    if then.reaches_upstream is not None:
        compared.one_of(f"call of {tool}", called.reached, (then.reaches_upstream,),
                        breaks=["FR-011.never-reaches"])  # fmt: skip
    if called.reached:
        return compared  # no text of it is a rejection
    text = mask(called.text, [str(tool), tool.server, tool.tool])
    if then.points_to_flag is not None:
        _pointer(called, bench, compared)
    if then.is_class is not None:
        _class(text, tool, then.is_class, bench, compared)
    if then.not_class is not None:
        own = _own_rejections(bench, then.not_class)
        bench.require(own, f"no tool is locked only as {then.not_class}")
        clause = "FR-008.distinct" if _in_scope(bench, tool) else "FR-007.rejection"
        compared.truth(f"rejection of {tool}", text, holds=text not in own,
                       allowed=f"a text other than that for {then.not_class}",
                       breaks=[clause])  # fmt: skip
    return compared


def _class(text: str, tool: ToolKey, status: str, bench: Bench, compared: Comparison) -> None:
    """Judge whether a refusal is written for the class of lock `status`.

    A text equal to the target's own for another lock, one that users lift, is wrong without being
    read. Where another lock of a
    denied tool may be checked first, only an act of the user is wrong.
    """
    state = bench.states.get(tool, ToolState())
    if state.config and not is_policy_first(state):
        _no_remedy_of_users(text, tool, state, bench, compared)
        return
    clauses = ["FR-008.config", "SC-003.rejection"]
    for other in OF_USERS:
        if other != status and text in _own_rejections(bench, other):
            alone = ["FR-008.distinct"] if bench.states[tool] == ToolState(config=True) else []
            compared.truth(f"rejection of {tool}", text, holds=False,
                           allowed=f"a text other than that for {other}",
                           breaks=[*clauses, *alone], due=status, taken_for=other)  # fmt: skip
            return
    own = masked(bench, text, tool) if tool in bench.tools else text
    _text(f"rejection of {tool}", own, status, bench=bench, compared=compared, clauses=clauses)


def _no_remedy_of_users(
    text: str, tool: ToolKey, state: ToolState, bench: Bench, compared: Comparison
) -> None:
    """Judge the refusal of a config-denied tool that another lock may explain, if checked first.

    It must not tell a user to act on the tool.
    """
    servers = {
        own
        for status in ("server_quarantined", "server_disabled")
        for own in _own_rejections(bench, status)
    }
    theirs = {status: _own_rejections(bench, status) for status in OF_USERS}
    pins = bench.started.target.pins
    compare_with_policy(compared, tool, text, state, theirs=theirs, servers=servers, pins=pins)


def _own_rejections(bench: Bench, status: str) -> list[str]:
    """Return this target's refusals, names masked, for tools with that status's lock alone.

    Empty for a status that no single lock gives.
    """
    pure: dict[str, tuple[dict[str, Any], ...]] = {
        "disabled_by_config": ({"config": True},),
        "disabled_by_user": ({"user": True},),
        "pending_approval": ({"approval": "pending"}, {"approval": "changed"}),
        "server_quarantined": ({"quarantined": True},),
        "server_disabled": ({"server_off": True},),
    }
    tools = [tool for state in pure.get(status, ()) for tool in bench.locked(**state)]
    return [mask(bench.refusal(tool), [str(tool), tool.server, tool.tool]) for tool in tools]


def _pointer(called: Called, bench: Bench, compared: Comparison) -> None:
    words = (FLAG, bench.surface.discovery_tool)
    points = any(word in called.text for word in words)
    compared.truth(f"rejection of {called.key}", called.text, holds=points,
                   allowed=f"a text with {' or '.join(words)}",
                   breaks=["FR-008.pointer"])  # fmt: skip
