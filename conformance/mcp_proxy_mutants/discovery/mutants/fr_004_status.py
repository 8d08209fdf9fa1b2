"""Mutants of a locked tool's status (wrong, stale, unsteady), of double entries, of search."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import count, cycle

from mcp_proxy_mutants.discovery.changed_parts import Request
from mcp_proxy_mutants.discovery.gateway_changes import decide, own, put
from mcp_proxy_mutants.discovery.mutant import Fresh, Mutant, mutant
from mcp_proxy_mutants.discovery.pieces import (
    CONFIG,
    OFF,
    PENDING,
    QUARANTINED,
    UNKNOWN,
    USER,
    Windows,
    by_allow_list,
    crowded,
    is_call,
    ordered,
    viewed_as,
)
from mcp_proxy_mutants.discovery.variants.delays import shown_late
from mcp_proxy_reference import policy as std
from mcp_proxy_reference.facts import Facts, Json, Match, Status
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.search import terms

OFTEN = 5


def _found_by_each_word(*statuses: str) -> Callable[[Json, Request], Json]:
    """Return an `answer` decision: entries of these statuses come once for each word in their name.

    The words are those of the query.
    """

    def answer(document: Json, request: Request) -> Json:
        words = request.query.split()
        again = [
            entry
            for entry in document.get("disabled", [])
            for word in words[1:]
            if entry["status"] in statuses and all(part in entry["name"] for part in words)
        ]
        return document | {"disabled": [*document["disabled"], *again]} if again else document

    return answer


def _named_again(document: Json, request: Request) -> Json:
    """Return the answer with locked tools whose bare name is the query listed first, and again.

    The cap on locked entries still holds.
    """
    entries = document.get("disabled", [])
    named = [entry for entry in entries if request.query == entry["name"].partition(":")[2]]
    more = [*named, *entries][: min(request.limit, std.LOCKED_CAP)]
    return document | {"disabled": more} if named else document


def _unknown_after_unlock(gateway: Gateway) -> None:
    """Report a tool that both config and user locked as `disabled_unknown` once it lacks a lock."""
    twice: set[str] = set()

    def status(facts: Facts) -> Status:
        if facts.denied and facts.disabled_by_user:
            twice.add(facts.tool.key)
        elif facts.tool.key in twice:
            return "disabled_unknown"
        return std.classify(facts)

    decide(gateway, classify=status)


def _seventh_word(gateway: Gateway) -> None:
    """Give denied tools of servers with an allow list the status `not_in_allow_list`.

    No such status exists.
    """

    def entry(facts: Facts, status: Status, withheld: bool) -> Json:
        server = gateway.config.servers[facts.tool.server]
        listed = std.locked_entry(facts, status, withheld)
        left_out = status == "disabled_by_config" and server.enabled_tools is not None
        return listed | {"status": "not_in_allow_list"} if left_out else listed

    decide(gateway, locked_entry=entry)


def _pending_before_quarantine(facts: Facts) -> Status | None:
    """Return a withheld tool's status, missing approval before quarantine; None: not listed."""
    status = std.withheld_status(facts)
    unapproved = facts.approval in {"pending", "changed"}
    return "pending_approval" if status == "server_quarantined" and unapproved else status


def _each_lock_a_count(tools: Sequence[tuple[Facts, Status | None]]) -> Json | None:
    """Return a server's counts, with a tool that config and user lock under both statuses.

    None if nothing is locked.
    """
    block = std.counts(tools)
    twice = sum(facts.denied and facts.disabled_by_user for facts, _ in tools)
    if block is None or not twice:
        return block
    return block | {"disabled_by_user": block.get("disabled_by_user", 0) + twice}


def _denied_too(of: Callable[[Facts], bool]) -> Callable[[Facts], Status | None]:
    """Return a `withheld_status` decision that ignores the config lock of tools that `of` selects.

    The reference lists no denied tool as quarantined or pending; this lists those.
    """
    return lambda facts: std.withheld_status(replace(facts, denied=False) if of(facts) else facts)


def _stays_listed() -> Callable[[Sequence[Match], int], Windows]:
    """Return a `window` decision that keeps a tool among the locked hits once config denied it."""
    locked: set[str] = set()

    def lingering(hits: Sequence[Match], limit: int) -> Windows:
        callables, rest = std.window(hits, limit)
        stale = [hit for hit in callables if hit.facts.tool.key in locked]
        locked.update(hit.facts.tool.key for hit in rest if hit.facts.denied)
        return [hit for hit in callables if hit not in stale], [*rest, *stale]

    return lingering


def _second_lock_unseen() -> Callable[[Facts, str], bool]:
    """Return a `may_call` decision: discovery overlooks a user lock after an earlier lock ended.

    Calls are still refused.
    """
    locked: set[str] = set()
    freed: set[str] = set()

    def discovered(facts: Facts, surface: str) -> bool:
        free, key = std.may_call(facts, surface), facts.tool.key
        if surface != "discovery":
            return free
        (freed.add(key) if free and key in locked else locked.add(key) if not free else None)
        return free or (key in freed and facts.disabled_by_user)

    return discovered


def _user_lock_seldom_read() -> Callable[[Facts, str], bool]:
    """Return a `may_call` decision: discovery re-reads a tool's user lock after six lookups only.

    Between two readings it decides by the old one; calls and listings read it each time.
    """
    kept: dict[str, tuple[bool, int]] = {}

    def discovered(facts: Facts, surface: str) -> bool:
        if surface != "discovery":
            return std.may_call(facts, surface)
        locked, looks = kept.get(facts.tool.key, (facts.disabled_by_user, 0))
        fresh = facts.disabled_by_user if looks > OFTEN else locked
        kept[facts.tool.key] = fresh, 0 if looks > OFTEN else looks + 1
        return std.may_call(replace(facts, disabled_by_user=fresh), surface)

    return discovered


def _user_locks_of_start(gateway: Gateway) -> None:
    """In discovery, keep tools locked that the user had locked when the proxy started."""
    start = {key for key, record in gateway.store.records().items() if record.disabled}

    def discovered(facts: Facts, surface: str) -> bool:
        key = facts.tool.server, facts.tool.name
        held = key in start and not facts.disabled_by_user
        return (
            std.may_call(replace(facts, disabled_by_user=True), surface)
            if (held and surface == "discovery")
            else std.may_call(facts, surface)
        )

    decide(gateway, may_call=discovered)


def _now_and_then() -> Callable[[Facts], Status]:
    """Return a `classify` decision: every fifth lookup of a user lock is `disabled_unknown`."""
    looks: Counter[str] = Counter()

    def status(facts: Facts) -> Status:
        looks[facts.tool.key] += 1
        slow = looks[facts.tool.key] % OFTEN == 0 and facts.disabled_by_user
        return "disabled_unknown" if slow else std.classify(facts)

    return status


def _after_another_agent() -> Callable[[Json, Request], Json]:
    """Return an `answer` change: after another agent's request, all entries are `disabled_unknown`.

    The first such change of agents is answered as usual.
    """
    last = [""]
    turns = count()

    def answer(document: Json, request: Request) -> Json:
        other = last[0] not in {"", request.agent.name}
        last[0] = request.agent.name
        if not other or not next(turns) or "disabled" not in document:
            return document
        entries = [entry | {"status": "disabled_unknown"} for entry in document["disabled"]]
        texts = {"disabled_unknown": std.REMEDIATION["disabled_unknown"]}
        return document | {"disabled": entries, "remediation": texts}

    return answer


def _allow_unknown(gateway: Gateway) -> None:
    """Report a tool that its server's allow list leaves out as `disabled_unknown`.

    Not on a server that is off.
    """
    decide(
        gateway,
        classify=lambda facts: (
            "disabled_unknown"
            if facts.enabled and by_allow_list(gateway, facts)
            else std.classify(facts)
        ),
    )


def _allow_in_pass(gateway: Gateway) -> None:
    """List withheld tools as quarantined or pending even if an allow list leaves them out.

    The reference does not list them, as config denies them.
    """
    decide(
        gateway,
        withheld_status=lambda facts: std.withheld_status(
            replace(facts, denied=facts.denied and not by_allow_list(gateway, facts))
        ),
    )


def _config_of_start(gateway: Gateway) -> None:
    """Show config's denials as they were at the start; calls follow the present ones."""
    first = gateway.config.servers

    def read(_: Gateway, facts: Facts) -> bool:
        server = first.get(facts.tool.server)
        return facts.denied if server is None else server.denies(facts.tool.name)

    viewed_as(read)(gateway)


def _config_before_last(gateway: Gateway) -> None:
    """Show config's denials as they were before its last change; calls follow the present ones."""
    configs = [gateway.config, gateway.config]

    def read(now: Gateway, facts: Facts) -> bool:
        if now.config.document != configs[1].document:
            configs[:] = [configs[1], now.config]
        server = configs[0].servers.get(facts.tool.server)
        return facts.denied if server is None else server.denies(facts.tool.name)

    viewed_as(read)(gateway)


def _ignoring_config(when: Callable[[Facts], bool]) -> Callable[[Facts], Status | None]:
    """Return a `withheld_status` decision that ignores config's denial where `when` is true."""
    return lambda facts: std.withheld_status(
        replace(facts, denied=facts.denied and not when(facts))
    )


def _once_per_reason(hits: Sequence[Match], limit: int) -> tuple[Sequence[Match], Sequence[Match]]:
    """Split the hits as usual, but add each tool that config and user lock again, as not denied.

    Return the callable ones, up to the limit, and the locked ones.
    """
    callables, rest = std.window(hits, limit)
    again = [
        replace(hit, facts=replace(hit.facts, denied=False))
        for hit in rest
        if hit.facts.denied and hit.facts.disabled_by_user
    ]
    return callables, [*rest, *again]


def _known_reasons(hits: Sequence[Match], limit: int) -> tuple[Sequence[Match], Sequence[Match]]:
    """Split the hits as usual, but drop locked ones whose approval cannot be read.

    Return the callable ones, up to the limit, and the locked ones.
    """
    callables, rest = std.window(hits, limit)
    return callables, [hit for hit in rest if hit.facts.approval is not None]


def _callable_and_locked(
    hits: Sequence[Match], limit: int
) -> tuple[Sequence[Match], Sequence[Match]]:
    """Split the hits as usual, but put user-locked ones among the callable ones too.

    Return the callable ones, up to the limit, and the locked ones.
    """
    callables, rest = std.window(hits, limit)
    users = [hit for hit in hits if std.classify(hit.facts) == USER and not hit.may_call]
    return [*callables, *users][:limit], rest


def _by_turns() -> Callable[[Facts], str]:
    """Return a `classify` decision: of config and user lock on one tool, each wins in turns."""
    order = cycle([(OFF, CONFIG, USER, PENDING), (OFF, USER, CONFIG, PENDING)])
    return lambda facts: ordered(*next(order))(facts) if facts.denied else std.classify(facts)


def _first_in_discovery(kept: dict[str, bool]) -> Callable[[Facts, str], bool]:
    """Return a `may_call` decision: discovery repeats what it first decided about a tool.

    `kept` maps the tool's address to that; calls and listings decide anew.
    """

    def may_call(facts: Facts, surface: str) -> bool:
        may = std.may_call(facts, surface)
        return kept.setdefault(facts.tool.key, may) if surface == "discovery" else may

    return may_call


def _kept_status() -> Callable[[Facts], Status]:
    """Return a `classify` decision that computes a tool's status once and keeps it."""
    kept: dict[str, Status] = {}
    return lambda facts: kept.setdefault(facts.tool.key, std.classify(facts))


def _kept_answers() -> Callable[[Json, Request], Json]:
    """Return an `answer` change: flagged answers are cached by agent, query and limit for ever."""
    kept: dict[tuple[str, str, int], Json] = {}

    def answer(document: Json, request: Request) -> Json:
        key = request.agent.name, request.query, request.limit
        return kept.setdefault(key, document) if request.flag else document

    return answer


def _until_refresh(gateway: Gateway) -> None:
    """Let discovery decide by the locks as they were when the tool's server was last read.

    Calls and listings decide by the present ones.
    """
    view: dict[str, Facts] = {}
    record = own(gateway, "_record")

    def recorded(name: str) -> None:
        record(name)
        for key in [key for key, facts in view.items() if facts.tool.server == name]:
            del view[key]
        view.update({facts.tool.key: facts for facts in gateway.known().get(name, ())})

    def may_call(facts: Facts, surface: str) -> bool:
        known = view.get(facts.tool.key, facts) if surface == "discovery" else facts
        return std.may_call(known, surface)

    put(gateway, _record=recorded)
    decide(gateway, may_call=may_call)


def _gone_stay_listed(gateway: Gateway) -> None:
    """Keep showing tools locked by config or user after their server dropped them.

    Their locks are those that were last seen.
    """
    remembered: dict[str, Facts] = {}

    def shown() -> dict[str, list[Facts]]:
        known = {name: list(tools) for name, tools in gateway.known().items()}
        keys = {facts.tool.key for tools in known.values() for facts in tools}
        for facts in [facts for tools in known.values() for facts in tools]:
            if facts.denied or facts.disabled_by_user:
                remembered[facts.tool.key] = facts
        for key, facts in remembered.items():
            if key not in keys:
                known[facts.tool.server].append(facts)
        return known

    put(gateway, shown=shown)


def _named_by_the_records(gateway: Gateway) -> None:
    """With the flag, list a user-locked tool that its server dropped, if the query is its name.

    The store's records name it; its description is empty.
    """

    def answer(document: Json, request: Request) -> Json:
        if not request.flag:
            return document
        gone = [
            {"name": f"{server}:{name}", "server": server, "description": "", "status": USER}
            for (server, name), record in (gateway.records() or {}).items()
            if record.disabled and not gateway.facts(server, name) and name == request.query
        ]
        texts = document.get("remediation", {}) | ({USER: std.REMEDIATION[USER]} if gone else {})
        return document | (
            {"disabled": [*document.get("disabled", []), *gone], "remediation": texts}
            if texts
            else {}
        )

    decide(gateway, answer=answer)


def _came_back(gateway: Gateway) -> set[str]:
    """Change the gateway to track relisted tools, and return the set of their addresses.

    The set grows while the proxy runs, as servers list tools again that they had dropped.
    """
    record = own(gateway, "_record")
    known: dict[str, set[str]] = {}
    present: dict[str, set[str]] = {}
    back: set[str] = set()

    def recorded(name: str) -> None:
        record(name)
        now = {tool.key for tool in gateway.tools(name).values()}
        back.update((now - present.get(name, set())) & known.get(name, set()))
        known[name], present[name] = known.get(name, set()) | now, now

    put(gateway, _record=recorded)
    return back


def _back_and_open(gateway: Gateway) -> None:
    """List a locked tool as callable (calls stay refused) once it was dropped and relisted."""
    back = _came_back(gateway)

    decide(
        gateway,
        may_call=lambda facts, surface: (
            std.may_call(facts, surface) or (surface == "discovery" and facts.tool.key in back)
        ),
    )


def _back_and_undenied(gateway: Gateway) -> None:
    """Let calls of a config-denied tool pass once its server dropped and relisted it."""
    back = _came_back(gateway)

    def may_call(facts: Facts, surface: str) -> bool:
        passes = is_call(surface) and facts.tool.key in back
        return std.may_call(replace(facts, denied=False) if passes else facts, surface)

    decide(gateway, may_call=may_call)


def _back_twice(gateway: Gateway) -> None:
    """Give a locked tool two entries once its server dropped and relisted it."""
    back = _came_back(gateway)

    def window(hits: Sequence[Match], limit: int) -> Windows:
        callables, rest = std.window(hits, limit)
        return callables, [*rest, *(hit for hit in rest if hit.facts.tool.key in back)]

    decide(gateway, window=window)


def _descriptions_searched(query: str, facts: Facts) -> float:
    """Return how well a withheld tool matches by name, else by its name and description together.

    That is the number of query words in them; 0 for no match.
    """
    text = f"{facts.tool.name} {facts.tool.description}"
    return std.matches(query, facts) or len({*terms(query)} & {*terms(text)})


def _schemas_searched(query: str, facts: Facts) -> float:
    """Return how well a withheld tool matches by name, else 1 if its schema or annotations do.

    The whole query must occur in the JSON of these; 0 for no match.
    """
    texts = json.dumps([facts.tool.schema, facts.tool.annotations])
    return std.matches(query, facts) or float(query.strip() in texts and bool(query.strip()))


def _descriptions_rank(query: str, facts: Facts) -> float:
    """Return how well a withheld tool's name matches, plus 0.1 for each query word described.

    0 if the name does not match.
    """
    relevance = std.matches(query, facts)
    beside = len({*terms(query)} & {*terms(facts.tool.description)})
    return relevance and relevance + beside / 10


def _longest_first(query: str, facts: Facts) -> float:
    """Return how well a withheld tool's name matches, plus 0.01 for each letter described.

    Those are the letters of query words that its description contains; 0 if the name does not
    match.
    """
    relevance = std.matches(query, facts)
    covered = sum(len(term) for term in terms(query) if term in facts.tool.description.lower())
    return relevance and relevance + covered / 100


MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "withheld-descriptions-searched",
        "A word of a withheld description finds its tool.",
        "FR-004.unsearched",
        matches=_descriptions_searched,
    ),
    mutant(
        "withheld-schemas-searched",
        "A text that occurs in a withheld schema or annotation finds its tool.",
        "FR-004.unsearched",
        matches=_schemas_searched,
    ),
    mutant(
        "withheld-descriptions-rank",
        "Withheld tools that match by name are ordered by words of their descriptions.",
        "FR-004.unsearched",
        matches=_descriptions_rank,
    ),
    mutant(
        "withheld-coverage-ranks",
        "Withheld tools come in the order in which their descriptions cover the query.",
        "FR-004.unsearched",
        matches=_longest_first,
    ),
    mutant(
        "gone-tools-stay-locked",
        "A locked tool stays listed after its server no longer lists it.",
        "FR-004.follows-state",
        swap=_gone_stay_listed,
    ),
    mutant(
        "records-name-the-gone",
        "A stored user lock is listed although its server no longer lists the tool.",
        "FR-004.follows-state",
        swap=_named_by_the_records,
    ),
    mutant(
        "back-as-callable",
        "A locked tool that its server lists again is listed as callable.",
        "FR-004.follows-state",
        "FR-001.reveals-config",
        "FR-001.reveals-user",
        swap=_back_and_open,
    ),
    mutant(
        "back-and-undenied",
        "A denied tool that its server lists again may be called.",
        "FR-011.never-reaches",
        swap=_back_and_undenied,
    ),
    mutant(
        "back-twice",
        "A locked tool that its server lists again is listed twice.",
        "FR-004.once",
        swap=_back_twice,
    ),
    mutant(
        "denied-in-quarantine-listed",
        "Denied tools of a quarantined server are listed as quarantined.",
        "FR-004.config-skips-quarantine",
        withheld_status=_denied_too(lambda facts: facts.quarantined),
    ),
    mutant(
        "denied-changed-listed",
        "Changed tools are listed as pending although config denies them.",
        "FR-004.config-skips-quarantine",
        withheld_status=_denied_too(lambda facts: facts.approval == "changed"),
    ),
    mutant(
        "pass-reads-deny-only",
        "Withheld tools missing from an allow list are listed as pending or quarantined.",
        "FR-004.config-skips-quarantine",
        swap=_allow_in_pass,
    ),
    mutant(
        "pass-lists-denied-pending",
        "A denied tool that awaits approval is listed as pending.",
        "FR-004.config-skips-quarantine",
        withheld_status=_ignoring_config(lambda facts: not facts.quarantined),
    ),
    mutant(
        "fifth-look-is-unknown",
        "Every fifth lookup of a user lock gives disabled_unknown.",
        "FR-004.deterministic",
        classify=Fresh(_now_and_then),
    ),
    mutant(
        "unknown-after-another-agent",
        "An agent that asks after another one gets only disabled_unknown.",
        "FR-004.deterministic",
        answer=Fresh(_after_another_agent),
    ),
    mutant(
        "by-turns",
        "Which of two locks is named changes from answer to answer.",
        "FR-004.precedence",
        "FR-004.deterministic",
        classify=Fresh(_by_turns),
    ),
    mutant(
        "crowded-status",
        "While another request is served, locked tools are listed as disabled_unknown.",
        "FR-004.deterministic",
        classify=lambda facts: UNKNOWN if crowded() else std.classify(facts),
    ),
    mutant(
        "allow-lists-have-a-word",
        "Tools missing from an allow list have a seventh status.",
        "FR-004.enum",
        swap=_seventh_word,
    ),
    mutant(
        "lifted-denial-stays-listed",
        "A tool stays listed as locked after its config lock is lifted.",
        "FR-004.follows-state",
        window=Fresh(_stays_listed),
    ),
    mutant(
        "second-user-lock-unseen",
        "Search does not see a user lock that is set a second time.",
        "FR-004.follows-state",
        may_call=Fresh(_second_lock_unseen),
    ),
    mutant(
        "user-locks-seen-late",
        "Search caches the state of a user lock for five searches.",
        "FR-004.follows-state",
        may_call=Fresh(_user_lock_seldom_read),
    ),
    mutant(
        "locks-of-the-start-stay",
        "Search still applies user locks that were set when the proxy started.",
        "FR-004.follows-state",
        swap=_user_locks_of_start,
    ),
    mutant(
        "config-of-start",
        "Discovery uses the operator's lists from the start of the proxy.",
        "FR-004.follows-state",
        "FR-001.reveals-config",
        swap=_config_of_start,
    ),
    mutant(
        "config-before-last",
        "Discovery uses the config from before its last change.",
        "FR-004.follows-state",
        "FR-001.reveals-config",
        swap=_config_before_last,
    ),
    mutant(
        "kept-decision",
        "Discovery keeps its first decision about each tool until a restart.",
        "FR-004.follows-state",
        "FR-001.reveals-user",
        may_call=Fresh(lambda: _first_in_discovery({})),
    ),
    mutant(
        "kept-answers",
        "A repeated query with the flag is answered from a cache.",
        "FR-004.follows-state",
        answer=Fresh(_kept_answers),
    ),
    mutant(
        "shown-long-after-calls",
        "Discovery and listing show a change 2.5 s after calls follow it.",
        "FR-004.follows-state",
        swap=partial(shown_late, seconds=2.5),
    ),
    mutant(
        "kept-until-refresh",
        "Discovery notices a set or lifted lock only after a refresh of the server.",
        "FR-004.follows-state",
        "FR-001.reveals-user",
        "FR-001.reveals-config",
        swap=_until_refresh,
    ),
    mutant(
        "exact-name-listed-again",
        "A locked tool is listed twice if the query is its exact name.",
        "FR-004.once",
        answer=_named_again,
    ),
    mutant(
        "pending-found-by-each-word",
        "A pending tool is listed once for each word of the query in its name.",
        "FR-004.once",
        answer=_found_by_each_word(PENDING),
    ),
    mutant(
        "quarantined-found-by-each-word",
        "A quarantined tool is listed once for each word of the query in its name.",
        "FR-004.once",
        answer=_found_by_each_word(QUARANTINED),
    ),
    mutant(
        "each-lock-a-count",
        "A tool locked by config and user is counted under both reasons.",
        "FR-004.once",
        "FR-010.sum",
        counts=_each_lock_a_count,
    ),
    mutant(
        "once-per-reason",
        "A tool is listed once for each of its locks.",
        "FR-004.once",
        window=_once_per_reason,
    ),
    mutant(
        "locked-twice",
        "A tool turned off by the user is listed as callable and as locked.",
        "FR-004.once",
        "FR-004.follows-state",
        "FR-001.default-off",
        window=_callable_and_locked,
    ),
    mutant(
        "unknown-once-a-lock-is-lifted",
        "A tool with two locks is listed as disabled_unknown after one is lifted.",
        "FR-004.precedence",
        "FR-004.deterministic",
        swap=_unknown_after_unlock,
    ),
    mutant(
        "config-before-server-off",
        "A denied tool of a switched-off server is listed as disabled_by_config.",
        "FR-004.precedence",
        classify=lambda facts: std.classify(replace(facts, enabled=facts.enabled or facts.denied)),
    ),
    mutant(
        "user-before-config",
        "A tool locked by config and user is listed as disabled_by_user.",
        "FR-004.precedence",
        classify=lambda facts: std.classify(
            replace(facts, denied=facts.denied and not facts.disabled_by_user)
        ),
    ),
    mutant(
        "unapproved-before-quarantine",
        "A pending tool of a quarantined server is listed as pending_approval.",
        "FR-004.precedence",
        withheld_status=_pending_before_quarantine,
    ),
    mutant(
        "allow-unknown",
        "A tool missing from an allow list is listed as disabled_unknown.",
        "FR-004.precedence",
        swap=_allow_unknown,
    ),
    mutant(
        "user-reason-first",
        "A user lock takes precedence over a config lock.",
        "FR-004.precedence",
        "SC-003.listing",
        classify=ordered(OFF, USER, CONFIG, QUARANTINED, PENDING),
    ),
    mutant(
        "user-before-off",
        "A user lock takes precedence over a switched-off server.",
        "FR-004.precedence",
        classify=lambda facts: (
            USER if facts.disabled_by_user and not facts.denied else std.classify(facts)
        ),
    ),
    mutant(
        "user-is-unknown",
        "A user-locked tool is listed as disabled_unknown.",
        "FR-004.precedence",
        "FR-010.sum",
        classify=ordered(OFF, CONFIG, QUARANTINED, PENDING),
    ),
    mutant(
        "config-and-user-is-unknown",
        "A tool locked by config and user is listed as disabled_unknown.",
        "FR-004.precedence",
        "FR-010.sum",
        classify=lambda facts: (
            UNKNOWN if facts.denied and facts.disabled_by_user else std.classify(facts)
        ),
    ),
    mutant(
        "quarantined-is-pending",
        "A tool of a quarantined server is listed as pending_approval.",
        "FR-004.precedence",
        classify=lambda facts: (
            PENDING if std.classify(facts) == QUARANTINED else std.classify(facts)
        ),
        withheld_status=lambda facts: std.withheld_status(facts) and PENDING,
    ),
    mutant(
        "pending-is-quarantined",
        "A new tool of a trusted server is listed as server_quarantined.",
        "FR-004.precedence",
        withheld_status=lambda facts: std.withheld_status(facts) and QUARANTINED,
    ),
    mutant(
        "kept-status",
        "A tool's status is computed once and kept until a restart.",
        "FR-004.precedence",
        classify=Fresh(_kept_status),
    ),
    mutant(
        "unreadable-means-user",
        "A tool whose approval cannot be read is listed as disabled_by_user.",
        "FR-004.unknown",
        classify=lambda facts: (
            "disabled_by_user" if facts.approval is None else std.classify(facts)
        ),
    ),
    mutant(
        "unreadable-opens",
        "A tool whose approval cannot be read is listed as locked, but can be called.",
        "FR-004.unknown",
        "FR-011.never-reaches",
        may_call=lambda facts, surface: std.may_call(
            replace(facts, approval=facts.approval or "approved")
            if surface != "discovery"
            else facts,
            surface,
        ),
    ),
    mutant(
        "unknown-asks-for-a-toggle",
        "The text for disabled_unknown says to turn the tool on in the UI.",
        "FR-004.unknown",
        "FR-005.class",
        remediation={
            **std.REMEDIATION,
            "disabled_unknown": "Ask the user to turn the tool on in the UI.",
        },
    ),
    mutant(
        "unknown-is-open",
        "A tool whose approval cannot be read may be called.",
        "FR-004.unknown",
        may_call=lambda facts, surface: std.may_call(
            replace(facts, approval=facts.approval or "approved"), surface
        ),
    ),
    mutant(
        "unknown-is-hidden",
        "A tool whose reason cannot be determined is left out.",
        "FR-004.unknown",
        window=_known_reasons,
    ),
)
