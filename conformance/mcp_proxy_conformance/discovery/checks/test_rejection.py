"""Texts of refused calls: operator policy for config locks alone, pointer to the flag: FR-008."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on, stage
from mcp_proxy_conformance.catalogue.surface import FLAG
from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.agents import everywhere
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.rejections import (
    own_words,
    read_as,
    read_as_policy,
    rejection,
    status_of_lock,
)
from mcp_proxy_conformance.discovery.remediation import claims_operator_policy, expect_read

MIXED, COMBOS = stage("mixed"), stage("combos")


@requirement("FR-008.config~approval")
@on(COMBOS, needs=("approval",))
def test_policy_is_told_before_a_missing_approval(bench: Bench) -> None:
    """The refusal of a config-denied tool that waits for approval says operator policy.

    Inconclusive if no such call was refused, or if none is wrong but one cannot be read.
    """
    denied = [key for key in _config_denied(bench) if _waits_alone(bench, key)]
    bench.require(denied, "no call of a config-locked tool that waits for approval was refused")

    wrong = _without_policy(bench, denied)

    assert wrong == {}


@requirement("FR-008.config~quarantined")
@on(COMBOS, needs=("quarantine",))
def test_policy_is_told_on_a_quarantined_server_too(bench: Bench) -> None:
    """The refusal of a config-denied tool on a quarantined server says operator policy.

    Servers that are off are left out. Inconclusive if no such call was refused, or if none is
    wrong but one cannot be read.
    """
    denied = [key for key in _config_denied(bench) if bench.states[key].quarantined]
    bench.require(denied, "no call of a config-locked tool of a quarantined server was refused")

    wrong = _without_policy(bench, denied)

    assert wrong == {}


@requirement("FR-008.distinct")
@on(MIXED)
def test_no_other_refusal_says_the_same_as_that_of_a_config_lock(bench: Bench) -> None:
    """Refusals of user-locked, pending, changed and quarantined tools differ from config's.

    The same holds over another surface, without a session, and to an agent, each compared with
    its own refusals for config. Inconclusive unless calls of config- and user-locked tools were
    refused.
    """
    config = bench.locked(config=True)
    bench.require(config, "no call of a config-locked tool was refused")
    bench.require(bench.locked(user=True), "no call of a user-locked tool was refused")

    callers, same = _callers(bench, config[0]), list[tuple[ToolKey, str]]()
    for place, (view, way) in callers.items():
        policy = {own_words(view, key, surface=way) for key in config}
        words = {key: own_words(view, key, surface=way) for key in _locked_otherwise(bench)}
        same += [(key, place) for key, text in words.items() if text in policy]

    texts = {(str(key), place): _refusal(key, *callers[place]) for key, place in same}
    assert texts == {}


@requirement("FR-008.distinct~no-policy")
@on(MIXED)
def test_no_other_refusal_claims_operator_policy(bench: Bench) -> None:
    """Refusals of tools that config does not deny do not claim operator policy.

    Tools have one lock each: by the user, pending, changed or quarantined. Inconclusive if no
    such call was refused.
    """
    bench.require(
        _locked_otherwise(bench), "no call of a tool with a lock other than config was refused"
    )

    texts = {str(key): rejection(bench, key).text for key in _locked_otherwise(bench)}

    claims = {name: text for name, text in texts.items() if claims_operator_policy(text)}
    assert claims == {}


@requirement("FR-008.distinct~wording")
@on(MIXED)
def test_every_other_refusal_says_what_lifts_it(bench: Bench) -> None:
    """No refusal names the remedy of another lock than its own: enable, approve, or review.

    Tools have one lock each, not config's. Inconclusive if no such call was refused, or if none
    is wrong but one cannot be read.
    """
    classes = {key: status_of_lock(bench.states[key]) for key in _locked_otherwise(bench)}
    bench.require(classes, "no call of a tool with a lock other than config was refused")

    outcomes = {key: read_as(bench, key, word) for key, word in classes.items()}

    convicted = [key for key, outcome in outcomes.items() if outcome == "convicted"]
    wrong = {(str(key), classes[key]): _refusal(key, bench) for key in convicted}
    assert wrong == {}
    for key, outcome in outcomes.items():
        expect_read({rejection(bench, key).text: outcome})


@requirement("FR-008.pointer~others")
@on(MIXED)
def test_refusals_of_other_locks_point_to_discovery(bench: Bench) -> None:
    """Refusals of tools with other locks name the flag or the discovery tool.

    The locks, each alone, are a pending or changed text, a quarantine, or a server that is off.
    Inconclusive if no such call was refused, or if one reaches its upstream now.
    """
    bench.needs_one_of("approval", "quarantine", "server_off")
    user = bench.locked(user=True)
    keys = [k for k in _locked_otherwise(bench) if k not in user] + list(
        bench.locked(server_off=True)
    )
    bench.require(keys, "no call of a pending, quarantined or switched-off tool was refused")

    texts = {str(key): rejection(bench, key).text for key in keys}

    pointless = {name: text for name, text in texts.items() if not _points(bench, text)}
    assert pointless == {}


@requirement("FR-008.is-error")
@on(MIXED)
def test_a_refusal_is_flagged_as_an_error(bench: Bench) -> None:
    """The answer to a refused call is an error result or a protocol error.

    Inconclusive if no call of a locked tool was refused.
    """
    bench.require(bench.armed.refused, "no call of a locked tool was refused")

    replies = {str(key): rejection(bench, key).reply for key in bench.armed.refused}

    flagged = {name: r.error is not None or r.is_error for name, r in replies.items()}
    assert flagged == dict.fromkeys(replies, True)


def _without_policy(bench: Bench, denied: Sequence[ToolKey], way: int = 0) -> dict[str, str]:
    """Return, by tool, the refusals of these denied tools that do not say operator policy.

    `way` is the number of the declared way of calling tools, from 0. Inconclusive if none is wrong
    but a text cannot be read.
    """
    readings = read_as_policy(bench, denied, surface=way)
    wrong = [key for key in denied if readings[str(key)] != "conveys"]
    return {str(key): _refusal(key, bench, way) for key in wrong}


def _refusal(key: ToolKey, view: Bench, way: int = 0) -> str:
    """Call the tool by that view, in the declared way of that number; return the text it gets."""
    return view.call(key, surface=way).text


def _config_denied(bench: Bench) -> list[ToolKey]:
    """Return the config-denied tools of servers that are on, whatever else locks them."""
    states = {key: bench.states[key] for key in bench.armed.refused}
    return [key for key, state in states.items() if state.config and not state.server_off]


def _waits_alone(bench: Bench, key: ToolKey) -> bool:
    """Whether the tool lacks approval and is not quarantined, its server's locks all proven."""
    state, sure = bench.states[key], key.server not in bench.armed.doubtful
    return sure and state.approval is not None and not state.quarantined


def _locked_otherwise(bench: Bench) -> list[ToolKey]:
    """Return the tools refused by one lock alone, which is not config's."""
    approvals = [*bench.locked(approval="pending"), *bench.locked(approval="changed")]
    return [*bench.locked(user=True), *approvals, *bench.locked(quarantined=True)]


def _callers(bench: Bench, denied: ToolKey) -> dict[str, tuple[Bench, int]]:
    """Map a caller's name to (its view of the target, the number of its way of calling tools).

    They are the administrator in the first declared way (no name), in one more that works, and in
    the stateless revision where it is spoken, and one agent that may see every server. A way works
    if it reaches a callable tool on the server of `denied`.
    """
    free = [k for k in sorted(bench.armed.called) if _free_beside(bench, k, denied)]
    ways = range(len(bench.surface.calls) - 1, 0, -1)
    proven = [way for way in ways if free and bench.call(free[0], surface=way).reached]
    callers = {"": (bench, 0)} | {
        f"over call surface {way + 1}": (bench, way) for way in proven[:1]
    }
    if bench.is_stateless:
        callers["without a session"] = (bench.over("stateless"), 0)
    return callers | {f"as agent {view.agent}": (view, 0) for view in everywhere(bench)[:1]}


def _free_beside(bench: Bench, key: ToolKey, other: ToolKey) -> bool:
    return key.server == other.server and bench.states[key].callable


def _points(bench: Bench, text: str) -> bool:
    return FLAG in text or bench.surface.discovery_tool in text
