"""Checks of a live endpoint by a user's options: --expect (locks), --as (credential), --call."""

from __future__ import annotations

from difflib import get_close_matches

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.catalogue.surface import FLAG
from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.live.live_bench import ONE_ANSWER, SEVERAL_ANSWERS, LiveBench
from mcp_proxy_conformance.discovery.live.talk import Rejected
from mcp_proxy_conformance.discovery.live.words import is_of
from mcp_proxy_conformance.discovery.oracle import ABSENT
from mcp_proxy_conformance.discovery.remediation import expect_read, judge, mask
from mcp_proxy_conformance.verdict.result import NotApplicable

CONFIG, USER, PENDING = "disabled_by_config", "disabled_by_user", "pending_approval"
QUARANTINED, OFF, UNKNOWN = "server_quarantined", "server_disabled", "disabled_unknown"
BESIDE = {
    CONFIG: frozenset({OFF}),
    USER: frozenset({OFF, PENDING, QUARANTINED}),
    PENDING: frozenset({OFF, QUARANTINED}),
    QUARANTINED: frozenset({OFF, USER, PENDING}),
    OFF: frozenset({QUARANTINED, PENDING}),
}
"""Other statuses that the source allows for a tool with a further lock than the expected one."""
ALIKE = 0.85


@requirement("FR-001.reveals-config")
@on(SEVERAL_ANSWERS, needs=("expect",))
def test_an_expected_config_lock_is_revealed(bench: LiveBench) -> None:
    """A tool that --expect says config denies is listed as locked when queried by name.

    Its status may be another. Inconclusive where something else explains its absence, such as a
    full section. Not applicable if --expect names none.
    """
    missing = _missing(bench, CONFIG)

    assert missing == dict.fromkeys(missing, CONFIG)


@requirement("FR-001.reveals-user")
@on(SEVERAL_ANSWERS, needs=("expect",))
def test_an_expected_user_lock_is_revealed(bench: LiveBench) -> None:
    """A tool that --expect says the user disabled is listed as locked when queried by name.

    Its status may be another. Inconclusive where something else explains its absence, such as a
    full section. Not applicable if --expect names none.
    """
    missing = _missing(bench, USER)

    assert missing == dict.fromkeys(missing, USER)


@requirement("FR-001.reveals-pending")
@on(SEVERAL_ANSWERS, needs=("expect",))
def test_an_expected_pending_tool_is_revealed(bench: LiveBench) -> None:
    """A tool that --expect says awaits approval is listed as locked when queried by name.

    Its status may be another. Inconclusive where something else explains its absence, such as a
    full section. Not applicable if --expect names none.
    """
    missing = _missing(bench, PENDING)

    assert missing == dict.fromkeys(missing, PENDING)


@requirement("FR-004.precedence")
@on(SEVERAL_ANSWERS, needs=("expect",))
def test_an_expected_lock_has_its_status(bench: LiveBench) -> None:
    """A tool of --expect is listed with the expected status, or one that a further lock explains.

    Inconclusive if a tool has such another status, alone or besides the expected one, or is unknown
    in some answers and as expected in others; also if no tool has its expected status alone.
    """
    wrong: dict[str, str] = {}
    due: dict[str, str] = {}
    doubtful: dict[str, str] = {}
    right = 0
    for key, status in bench.endpoint.expect.items():
        statuses = _statuses_by_name(bench, key)
        right += statuses == {status}
        if wrongly := statuses - {status}:
            at_times = frozenset({UNKNOWN} if status in statuses else ())
            if wrongly <= BESIDE.get(status, frozenset()) | at_times:
                doubtful[str(key)] = f"{', '.join(sorted(wrongly))}, not {status}"
            else:
                wrong[str(key)], due[str(key)] = ", ".join(sorted(statuses)), status

    assert wrong == due
    others = "; ".join(f"{name} is {words}" for name, words in doubtful.items())
    bench.require(not doubtful, f"a further lock may explain another status: {others}")
    bench.require(right, "no tool of --expect was listed as locked")


@requirement("FR-007.hidden")
@on(SEVERAL_ANSWERS, needs=("as",))
def test_a_narrower_credential_sees_no_more_locked_tools(bench: LiveBench) -> None:
    """A narrower credential sees only locked tools that the main one sees, of servers in its scope.

    Inconclusive unless a locked tool is hidden from it. In answers that may be cut off, as no other
    lists more locked tools, only servers beyond its scope are looked for.
    """
    more, judged = {}, 0
    servers = {name for listing in bench.survey.listings for name in listing.servers}
    for name, triples in bench.survey.shared.items():
        for looks in triples:
            answers = [look.answer for look in looks if look.answer is not None]
            if len(answers) != 3:
                continue
            ours, shown = (answers[0], answers[-1]), bench.statuses(answers[1])
            if not bench.is_full(answers[1]):
                judged += any(set(bench.statuses(answer)) - set(shown) for answer in ours)
            known = {k for a in ours for k in (*bench.statuses(a), *bench.callables(a))}
            known |= {*shown} if any(map(bench.is_full, ours)) else set()
            beyond = servers - _scope(bench, name, servers)
            if extra := sorted(str(k) for k in shown if k not in known or k.server in beyond):
                more[looks[1].label] = extra
    bench.require(
        judged or more,
        "no locked tool was hidden from the credential; name a narrower one with --as",
    )

    assert more == {}


@requirement("FR-011.never-reaches")
@on(ONE_ANSWER, needs=("call",))
def test_a_named_call_of_a_locked_tool_is_rejected(bench: LiveBench) -> None:
    """The answer to a call that --call names is an error, or names discovery or the lock's remedy.

    Judged are calls of config- and user-locked tools; to name discovery is to name the flag or the
    discovery tool. Not applicable if --call names none, inconclusive if no call was made.
    """
    judged = _rejections_owing_pointer(bench)

    done = {
        f"call of {key}": rejection.text
        for key, rejection in judged.items()
        if not rejection.is_error
        and not _points_to_discovery(bench, rejection)
        and judge(rejection.text, rejection.status, pins=bench.endpoint.pins) != "conveys"
    }

    assert done == {}


@requirement("FR-008.pointer")
@on(ONE_ANSWER, needs=("call",))
def test_a_named_calls_rejection_leads_on(bench: LiveBench) -> None:
    """The rejection of a config- or user-locked tool names the flag or the discovery tool.

    Not applicable if --call names none, inconclusive if no call was made.
    """
    judged = _rejections_owing_pointer(bench)

    poor = {
        f"call of {key}": rejection.text
        for key, rejection in judged.items()
        if not _points_to_discovery(bench, rejection)
    }

    assert poor == {}


@requirement("SC-003.rejection")
@on(ONE_ANSWER, needs=("call",))
def test_a_named_call_of_a_config_denied_tool_is_not_told_to_be_enabled(bench: LiveBench) -> None:
    """The rejection does not ask the user to toggle, enable or approve the tool.

    Not applicable if --call names no config-denied tool, inconclusive if none is wrong but one
    cannot be read.
    """
    texts = {
        f"call of {key}": mask(rejection.text, [str(key), key.tool, key.server])
        for key, rejection in _rejections(bench)
        if rejection.status == CONFIG
    }
    if not texts:
        raise NotApplicable(f"--call names no {CONFIG} tool")

    read = {k: judge(t, CONFIG, pins=bench.endpoint.pins) for k, t in texts.items()}

    assert {key: texts[key] for key, word in read.items() if word == "convicted"} == {}
    expect_read({texts[key]: word for key, word in read.items()})


def _scope(bench: LiveBench, name: str, servers: set[str]) -> set[str]:
    """Return those of `servers` that the credential of this name may see, by its own listing.

    All of them if it has no listing, or is shown callable tools of servers not listed.
    """
    listing = bench.survey.scopes.get(name)
    listed = listing.servers.keys() if listing is not None else set[str]()
    answers = [
        look.answer for looks in bench.survey.shared[name] for look in looks if look.who == name
    ]
    shown = {
        key.server for answer in answers if answer is not None for key in bench.callables(answer)
    }
    return set(listed) if listed and shown <= listed else servers


def _rejections_owing_pointer(bench: LiveBench) -> dict[ToolKey, Rejected]:
    """Return, by tool, the rejections of config- and user-locked tools: these owe a pointer.

    Not applicable if there are none.
    """
    rejections = {
        key: rejection
        for key, rejection in _rejections(bench)
        if rejection.status in (CONFIG, USER)
    }
    if not rejections:
        raise NotApplicable(f"--call names no {CONFIG} or {USER} tool")
    return rejections


def _points_to_discovery(bench: LiveBench, rejection: Rejected) -> bool:
    """Whether the rejection names the flag or the discovery tool."""
    return FLAG in rejection.text or bench.surface.discovery_tool in rejection.text


def _rejections(bench: LiveBench) -> list[tuple[ToolKey, Rejected]]:
    """Return (tool, rejection) for the calls that the user named; inconclusive if none was made."""
    made = [(key, rejection) for key, rejection in bench.rejected.items() if not rejection.left_out]
    bench.require(made, "; ".join(rejection.left_out for rejection in bench.rejected.values()))
    return made


def _statuses_by_name(bench: LiveBench, key: ToolKey) -> set[str]:
    """Return the statuses of the tool in flagged answers to its name, for the main credential."""
    answers = [a for look, a in bench.flagged() if look.query == key.tool and not look.who]
    return {entry.status for answer in answers for entry in answer.disabled if is_of(entry, key)}


def _missing(bench: LiveBench, status: str) -> dict[str, str]:
    """Map tools that --expect has with this status, but no answer lists as locked, to ABSENT.

    Not applicable if --expect has none. Inconclusive where something else explains it: no answer to
    the query for its name, a full section, a misspelt name, a tool listed as callable.
    """
    wanted = [key for key, word in bench.endpoint.expect.items() if word == status]
    if not wanted:
        raise NotApplicable(f"--expect names no tool as {status}", cause="not_named")
    locked = bench.survey.locked()
    missing = {}
    for key in wanted:
        answers = [a for look, a in bench.flagged() if look.query == key.tool and not look.who]
        bench.require(
            answers,
            ": ".join(filter(None, (f"no query for {key} was answered", bench.survey.short))),
        )
        if _statuses_by_name(bench, key):
            continue
        full = any(map(bench.is_full, answers))
        bench.require(not full, f"{key} may be cut off: no answer lists more locked tools")
        free = any(is_of(entry, key) for answer in answers for entry in answer.tools)
        bench.require(not free, f"{key} is listed as callable; lock it, or remove it from --expect")
        near = get_close_matches(str(key), map(str, locked), 1, ALIKE)
        bench.require(not near, f"no answer lists {key}; did you mean {near[0] if near else ''}?")
        missing[str(key)] = ABSENT
    return missing
