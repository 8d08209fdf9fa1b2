"""Rejections of calls: compared by their wording, names masked, and judged by class of lock."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from mcp_proxy_conformance.catalogue.surface import STATUSES
from mcp_proxy_conformance.catalogue.world import ToolKey, ToolState
from mcp_proxy_conformance.discovery.bench import Bench, Called
from mcp_proxy_conformance.discovery.contents import masked
from mcp_proxy_conformance.discovery.remediation import (
    Judgement,
    claims_operator_policy,
    judge,
    names_server,
    tells_user_act,
)
from mcp_proxy_conformance.discovery.remediation_words import is_english
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import MASKED_NAME, Unread

CONFIG_WORD = "disabled_by_config"
USERS_WORDS = ("disabled_by_user", "pending_approval")
OWN_OF_USERS = "the target's own text for a lock that the user lifts"
ACT_OF_USERS = "an act of the user or the agent"


def rejection(bench: Bench, key: ToolKey, *, surface: int = 0) -> Called:
    """Call a tool that is expected to be refused; raise Inconclusive if the call gets through.

    It has no arguments, whatever the tool requires. A call of a tool that the world lacks may reach
    the upstream, as either side may refuse it. `surface` is the number of the declared way to call
    a tool, from 0.
    """
    called = bench.call(key, {}, surface=surface)
    bench.require(
        key not in bench.tools or not called.reached, f"the call of {key} was not refused"
    )
    return called


def own_words(bench: Bench, key: ToolKey, *, surface: int = 0) -> str:
    """Call a locked tool twice; return the words that both refusals have at the same place.

    So ids and times, which differ, are left out; the tool's names are masked. `surface` is the
    number of the declared way to call a tool, from 0. Inconclusive if a call is not refused.
    """
    calls = [rejection(bench, key, surface=surface) for _ in range(2)]
    first, second = (_nameless(bench, called).split() for called in calls)
    return " ".join(a for a, b in zip(first, second, strict=False) if a == b)


def read_as(bench: Bench, key: ToolKey, status: str, *, surface: int = 0) -> Judgement:
    """Judge the refusal of a tool's call, names masked, as a text for a lock with this status.

    Return `conveys`, `convicted` (wrong) or `unrecognised`; a text that the target pins is
    judged by that. `surface` is the number of the declared way to call. Inconclusive if the call is
    not refused.
    """
    pins = bench.started.target.pins.items()
    refusal = masked(bench, rejection(bench, key, surface=surface).text, key)
    known = {masked(bench, text, key): word for text, word in pins}
    return judge(refusal, status, pins=known)


def read_as_policy(bench: Bench, keys: Iterable[ToolKey], *, surface: int = 0) -> dict[str, str]:
    """Judge each tool's refusal as a text for a config lock; return the outcome by SERVER:TOOL.

    `conveys` is right. An unrecognised text is wrong if it is the target's own for a user lock or
    an approval, or if it says that the reason is unknown. Raises Unread, with the first such text,
    if some are unrecognised and none is wrong. `surface` is the number of the declared way to call.
    """
    pure: list[dict[str, Any]] = [{"user": True}, {"approval": "pending"}, {"approval": "changed"}]
    theirs = {own_words(bench, key) for lock in pure for key in bench.locked(**lock)[:1]}
    outcomes: dict[ToolKey, str] = {
        key: read_as(bench, key, CONFIG_WORD, surface=surface) for key in keys
    }
    for key in [key for key, outcome in outcomes.items() if outcome == "unrecognised"]:
        if own_words(bench, key) in theirs:
            outcomes[key] = "the text of a lock that the user can lift"
        elif _says_unknown(bench, key, surface=surface):
            outcomes[key] = "a reason that is not known"
    unread = [key for key, outcome in outcomes.items() if outcome == "unrecognised"]
    if unread and set(outcomes.values()) <= {"conveys", "unrecognised"}:
        text = rejection(bench, unread[0], surface=surface).text
        raise Unread(text)
    return {str(key): outcome for key, outcome in outcomes.items()}


def _says_unknown(bench: Bench, key: ToolKey, *, surface: int) -> bool:
    """Whether the tool's refusal says that the reason is unknown, and names no operator policy.

    `surface` is the number of the declared way to call, from 0.
    """
    is_read = read_as(bench, key, "disabled_unknown", surface=surface) == "conveys"
    return is_read and not claims_operator_policy(rejection(bench, key, surface=surface).text)


def is_policy_first(state: ToolState) -> bool:
    """Whether a refusal must name operator policy: config, and at most the user too, lock the tool.

    Approval, quarantine or a server that is off may be checked, and named, before config.
    """
    others = state.approval is not None or state.quarantined or state.server_off
    return state.config and not others


def texts_of_server(bench: Bench) -> set[str]:
    """Return the refusals, masked, of tools that only quarantine or a server that is off locks.

    Inconclusive if such a call is not refused.
    """
    keys = (*bench.locked(quarantined=True), *bench.locked(server_off=True))
    return {masked(bench, bench.refusal(key), key) for key in keys}


def remedy_of_users(
    text: str, state: ToolState, *, users: Iterable[str], servers: Collection[str],
    pins: Mapping[str, frozenset[str]],
) -> str | None:  # fmt: skip
    """Return how a refusal of a config-denied tool asks for an act of the user; "" if it does not.

    None if it cannot be read. `users` and `servers` are the target's own texts for locks of users
    and of servers, `pins` the classes of texts that it declares. If another lock may be told first,
    only an act on the tool is wrong.
    """
    outcome = judge(text, CONFIG_WORD, pins=pins)
    own = [theirs for theirs in users if has_sentence(text, theirs)]
    if is_policy_first(state):
        wrong = OWN_OF_USERS if own else ACT_OF_USERS if outcome == "convicted" else ""
        return wrong or ("" if outcome == "conveys" else None)
    of_server = state.quarantined or state.server_off
    if outcome == "conveys" or (of_server and text in servers):
        return ""
    if any(tells_user_act(theirs) or pins.get(theirs, frozenset()) & {*USERS_WORDS}
           for theirs in own):  # fmt: skip
        return OWN_OF_USERS
    if outcome == "convicted" and not (of_server and names_server(text)):
        return ACT_OF_USERS
    unread = not is_english(text) or (tells_user_act(text) and not of_server)
    return None if unread else ""


def compare_with_policy(
    compared: Comparison, tool: ToolKey, text: str, state: ToolState, *,
    theirs: Mapping[str, Collection[str]], users: Iterable[str] = (), servers: Collection[str],
    pins: Mapping[str, frozenset[str]],
) -> None:  # fmt: skip
    """Compare the refusal of a config-denied tool: it must ask for no act of the user (SC-003).

    The result is added to `compared`. `theirs` maps statuses of users' locks to the target's own
    refusals for them; `users` are other texts for such locks, `servers` those for locks of servers,
    `pins` the classes of texts that the target declares. An unreadable text leaves the clause
    open.
    """
    known = [*users, *(own for texts in theirs.values() for own in texts)]
    wrong = remedy_of_users(text, state, users=known, servers=servers, pins=pins)
    if wrong is None:
        compared.unread(f"rejection of {tool}", text, ["SC-003.rejection"])
        return
    compared.truth(f"rejection of {tool}", text, holds=not wrong,
                   allowed="no act of the user on the tool", breaks=["SC-003.rejection"],
                   due=CONFIG_WORD, taken_for=of_status(text, theirs))  # fmt: skip


def has_sentence(text: str, own: str) -> bool:
    """Whether the text equals `own` or contains it as whole sentences.

    The latter only if `own` ends with `.`, `!` or `?`, and begins the text, a line or a sentence.
    """
    inside = rf"(?:^|[.!?]\s+|\n){re.escape(own)}(?=$|\s)"
    whole = own.rstrip().endswith((".", "!", "?")) and re.search(inside, text) is not None
    return text == own or whole


def of_status(text: str, by_status: Mapping[str, Iterable[str]]) -> str:
    """Return the only status for whose lock the target gives this text; "" for none or several.

    `by_status` maps each status to the target's own texts for its lock alone.
    """
    statuses = [
        status
        for status, texts in by_status.items()
        if any(has_sentence(text, own) for own in texts)
    ]
    return statuses[0] if len(statuses) == 1 else ""


def status_of_lock(state: ToolState) -> str:
    """Return the status word of a locked tool's first lock: config, quarantine, user, approval.

    Its server is taken to be on.
    """
    if state.config:
        return CONFIG_WORD
    if state.quarantined:
        return "server_quarantined"
    return "disabled_by_user" if state.user else "pending_approval"


def reason_given_away(bench: Bench, key: ToolKey, text: str, open_text: str) -> str:
    """Return which part of a caller's refusal gives away why the tool is locked; "" if none.

    `open_text` is the same caller's refusal for an unlocked tool of that server, to which an
    equal text reveals nothing. Both have masked names, and only words that two refusals share.
    """
    if text == open_text:
        return ""
    status = status_of_lock(bench.states[key])
    shown = bench.widest(key.tool, include_disabled=True).remediation or {}
    remedy = " ".join(str(shown.get(status, "")).split())
    if text == own_words(bench, key):
        return "the text of its lock"
    if any(word in text and word not in open_text for word in STATUSES):
        return "a status word"
    if remedy and remedy in text:
        return "the remediation of its lock"
    claimed = claims_operator_policy(text) and not claims_operator_policy(open_text)
    return "operator policy" if claimed else ""


def _nameless(bench: Bench, called: Called) -> str:
    """Return a refusal's text; the tool's name, word, server and texts masked, ignoring case."""
    key = called.key
    if key not in bench.tools:
        names = [key.tool, key.server]
        text = called.text
    else:
        names = [key.tool, bench.tools[key].word or key.tool, key.server]
        text = masked(bench, called.text, key)
    return re.sub("|".join(map(re.escape, names)), MASKED_NAME, text, flags=re.IGNORECASE)
