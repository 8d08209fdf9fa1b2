"""Texts of refused calls: FR-008."""

from __future__ import annotations

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


@requirement("FR-008.config")
@on(MIXED)
def test_a_config_denied_call_is_refused_as_operator_policy(bench: Bench) -> None:
    """The refusal says that it is operator policy and not the user's to lift."""
    denied = [*bench.locked(config=True), *bench.locked(config=True, user=True)]
    bench.require(len(denied) > 1, "no two config locks were proven")
    unknown = own_words(bench, ToolKey(denied[0].server, "no_such_tool"))
    bench.require(own_words(bench, denied[0]) != unknown, "an unknown tool is told the same")

    readings = read_as_policy(bench, denied)

    assert readings == dict.fromkeys(readings, "conveys")


@requirement("FR-008.config")
@on(COMBOS, needs=("approval",))
def test_config_comes_first_in_what_a_refused_call_says(bench: Bench) -> None:
    """A user lock or a pending approval on a config-denied tool does not hide the policy."""
    denied = [key for key in _config_denied(bench) if not bench.states[key].quarantined]
    bench.require(len(denied) > 1, "no config lock beside others was proven")

    readings = read_as_policy(bench, denied)

    assert readings == dict.fromkeys(readings, "conveys")


@requirement("FR-008.config")
@on(MIXED)
def test_every_way_of_calling_is_refused_as_operator_policy(bench: Bench) -> None:
    """Each call surface that reaches a callable tool refuses a denied one as operator policy."""
    denied = bench.locked(config=True)[:1]
    bench.require(denied, "no config lock was proven")
    beside = next(k for k in sorted(bench.armed.called) if _free_beside(bench, k, denied[0]))
    ways = range(len(bench.surface.calls))
    proven = [way for way in ways if bench.call(beside, surface=way).reached]
    bench.require(proven, "no call surface reaches a callable tool")

    readings = {way: read_as_policy(bench, denied, surface=way) for way in proven}

    assert readings == {way: dict.fromkeys(texts, "conveys") for way, texts in readings.items()}


@requirement("FR-008.config~quarantined")
@on(COMBOS, needs=("quarantine",))
def test_policy_is_told_on_a_quarantined_server_too(bench: Bench) -> None:
    """The refusal of a config-denied tool of a quarantined server says operator policy."""
    denied = [key for key in _config_denied(bench) if bench.states[key].quarantined]
    bench.require(denied, "no config lock on a quarantined server was proven")

    readings = read_as_policy(bench, denied)

    assert readings == dict.fromkeys(readings, "conveys")


@requirement("FR-008.distinct")
@on(MIXED)
def test_no_other_refusal_says_the_same_as_that_of_a_config_lock(bench: Bench) -> None:
    """The refusals of user-locked, pending, changed and quarantined tools have their own words."""
    config = bench.locked(config=True)
    bench.require(config, "no config lock was proven")
    bench.require(bench.locked(user=True), "no user lock was proven")

    same: dict[tuple[str, str], str] = {}
    for place, (view, way) in _callers(bench, config[0]).items():
        policy = {own_words(view, key, surface=way) for key in config}
        words = {key: own_words(view, key, surface=way) for key in _not_by_config(bench)}
        same |= {(place, str(key)): text for key, text in words.items() if text in policy}

    assert same == {}


@requirement("FR-008.distinct~no-policy")
@on(MIXED)
def test_no_other_refusal_claims_operator_policy(bench: Bench) -> None:
    """Refusals of tools that config does not deny claim no operator policy."""
    bench.require(_not_by_config(bench), "no lock other than by config was proven")

    texts = {str(key): rejection(bench, key).text for key in _not_by_config(bench)}

    claims = {name: text for name, text in texts.items() if claims_operator_policy(text)}
    assert claims == {}


@requirement("FR-008.distinct~wording")
@on(MIXED)
def test_every_other_refusal_says_what_lifts_it(bench: Bench) -> None:
    """Refusals say to enable user-locked, approve pending and review quarantined tools."""
    classes = {key: status_of_lock(bench.states[key]) for key in _not_by_config(bench)}
    bench.require(classes, "no lock other than by config was proven")

    outcomes = {key: read_as(bench, key, word) for key, word in classes.items()}

    assert [f"{key} ({classes[key]})" for key in classes if outcomes[key] == "convicted"] == []
    expect_read({rejection(bench, key).text: outcome for key, outcome in outcomes.items()})


@requirement("FR-008.pointer")
@on(MIXED)
def test_refusals_of_config_and_user_locks_point_to_discovery(bench: Bench) -> None:
    """Refusals of config and user locks name the flag or the discovery tool."""
    pure = [bench.locked(config=True), bench.locked(user=True)]
    bench.require(all(pure), "config and user locks were not both proven")
    keys = [*pure[0], *pure[1], *bench.locked(config=True, user=True)]

    texts = {str(key): rejection(bench, key).text for key in keys}

    assert {name: text for name, text in texts.items() if not _points(bench, text)} == {}


@requirement("FR-008.pointer~others")
@on(MIXED)
def test_refusals_of_other_locks_point_to_discovery(bench: Bench) -> None:
    """Refusals of pending, changed, quarantined and switched-off tools point to discovery."""
    bench.needs_one_of("approval", "quarantine", "server_off")
    user = bench.locked(user=True)
    keys = [k for k in _not_by_config(bench) if k not in user] + list(bench.locked(server_off=True))
    bench.require(keys, "no such lock was proven")

    texts = {str(key): rejection(bench, key).text for key in keys}

    assert {name: text for name, text in texts.items() if not _points(bench, text)} == {}


@requirement("FR-008.is-error")
@on(MIXED)
def test_a_refusal_is_flagged_as_an_error(bench: Bench) -> None:
    """The answer to a refused call is an error result or a protocol error."""
    bench.require(bench.armed.refused, "no lock was proven")

    replies = {str(key): rejection(bench, key).reply for key in bench.armed.refused}

    flagged = {name: r.error is not None or r.is_error for name, r in replies.items()}
    assert flagged == dict.fromkeys(replies, True)


def _config_denied(bench: Bench) -> list[ToolKey]:
    """The config-denied tools of servers that are on, whatever else locks them."""
    states = {key: bench.states[key] for key in bench.armed.refused}
    return [key for key, state in states.items() if state.config and not state.server_off]


def _not_by_config(bench: Bench) -> list[ToolKey]:
    """The tools refused by one other lock alone, on servers that are on."""
    approvals = [*bench.locked(approval="pending"), *bench.locked(approval="changed")]
    return [*bench.locked(user=True), *approvals, *bench.locked(quarantined=True)]


def _callers(bench: Bench, denied: ToolKey) -> dict[str, tuple[Bench, int]]:
    """Callers and surfaces: the administrator by the first, by one more, and an agent."""
    free = [k for k in sorted(bench.armed.called) if _free_beside(bench, k, denied)]
    ways = range(len(bench.surface.calls) - 1, 0, -1)
    proven = [way for way in ways if free and bench.call(free[0], surface=way).reached]
    callers = {"first": (bench, 0)} | {
        f"call surface {way + 1}": (bench, way) for way in proven[:1]
    }
    return callers | {f"agent {view.agent}": (view, 0) for view in everywhere(bench)[:1]}


def _free_beside(bench: Bench, key: ToolKey, other: ToolKey) -> bool:
    return key.server == other.server and bench.states[key].callable


def _points(bench: Bench, text: str) -> bool:
    return FLAG in text or bench.surface.discovery_tool in text
