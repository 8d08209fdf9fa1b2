"""Mutants of the note, the hint at locked matches in an answer without callable tools."""

from collections.abc import Awaitable, Callable, Sequence

from mcp_proxy_mutants.discovery.changed_parts import Request
from mcp_proxy_mutants.discovery.gateway_changes import decide
from mcp_proxy_mutants.discovery.mutant import Fresh, Mutant, mutant
from mcp_proxy_mutants.discovery.pieces import WITHHELD, crowded
from mcp_proxy_reference import policy as std
from mcp_proxy_reference.facts import Agent, Facts, Json, Match
from mcp_proxy_reference.gateway import Gateway

Note = Callable[[bool, int, Sequence[Facts]], str | None]
HOW = "search again with include_disabled=true to see why."


def _without_flag(flag: bool, callables: int, locked: Sequence[Facts]) -> str | None:
    """Return a note that does not name the flag that lists locked tools; None if none is due."""
    due = std.note(flag, callables, locked)
    return due and f"{len(locked)} locked tools match; ask for disabled tools to see them."


def _mute(document: Json) -> Json:
    """Return the answer without its note."""
    return {name: value for name, value in document.items() if name != "notice"}


def _servers_counted(flag: bool, callables: int, locked: Sequence[Facts]) -> str | None:
    """Return the note with the number of servers in place of that of locked tools.

    None if none is due.
    """
    servers = {facts.tool.server: facts for facts in locked}
    return std.note(flag, callables, list(servers.values()))


def _config_first(flag: bool, callables: int, locked: Sequence[Facts]) -> str | None:
    """Return the note, counting only denied tools if any match, else all locked ones.

    None if none is due.
    """
    denied = [facts for facts in locked if facts.denied]
    return std.note(flag, callables, denied or locked)


def _two_locks_twice(flag: bool, callables: int, locked: Sequence[Facts]) -> str | None:
    """Return the note, counting each tool that both config and user lock twice.

    None if none is due.
    """
    twice = [facts for facts in locked if facts.denied and facts.disabled_by_user]
    return std.note(flag, callables, [*locked, *twice])


def _each_pass_counts(flag: bool, callables: int, locked: Sequence[Facts]) -> str | None:
    """Return the note, counting a tool that is user-locked and unapproved twice.

    Tools that config denies are counted once. None if no note is due.
    """
    users = [facts for facts in locked if facts.disabled_by_user and not facts.denied]
    waiting = [facts for facts in locked if facts.approval != "approved" and not facts.denied]
    others = [facts for facts in locked if facts not in users and facts not in waiting]
    return std.note(flag, callables, [*users, *waiting, *others])


def _quarantine_counts_anew(gateway: Gateway) -> None:
    """Count in the note, too, each quarantined tool named like a match that config or user lock."""

    def note(flag: bool, callables: int, locked: Sequence[Facts]) -> str | None:
        names = {facts.tool.name for facts in locked if facts.denied or facts.disabled_by_user}
        known = [facts for tools in gateway.known().values() for facts in tools]
        held = [facts for facts in known if facts.quarantined and facts.tool.name in names]
        return std.note(flag, callables, [*locked, *held])

    decide(gateway, note=note)


def _ending(suffix: Callable[[Sequence[Facts]], str]) -> Note:
    """Return a `note` decision that appends `suffix` of the locked tools to a due note."""

    def ended(flag: bool, callables: int, locked: Sequence[Facts]) -> str | None:
        due = std.note(flag, callables, locked)
        return due and f"{due}{suffix(locked)}"

    return ended


def _description_of_one(locked: Sequence[Facts]) -> str:
    """Return the description of a single locked tool in brackets; else an empty text.

    It is empty too if the tool is not in the search index.
    """
    alone = len(locked) == 1 and std.indexed(locked[0])
    return f" ({locked[0].tool.description})" if alone else ""


def _beside_few(gateway: Gateway) -> None:
    """Add a note to unflagged answers that have exactly one callable tool.

    It counts the locked hits; without any there is no note.
    """
    locked_facts: list[Facts] = []

    def noting(hits: Sequence[Match], limit: int) -> tuple[Sequence[Match], Sequence[Match]]:
        callables, rest = std.window(hits, limit)
        locked_facts[:] = [hit.facts for hit in rest]
        return callables, rest

    def answer(document: Json, request: Request) -> Json:
        notice = std.note(request.flag, 0, locked_facts) if len(document["tools"]) == 1 else None
        return document | {"notice": notice} if notice else document

    decide(gateway, window=noting, answer=answer)


def _of_nothing(flag: bool, callables: int, locked: Sequence[Facts]) -> str | None:
    """Return the usual note, and one that counts 0 tools where nothing locked matches."""
    if flag or callables or locked:
        return std.note(flag, callables, locked)
    return "0 matching tools are locked; search again with include_disabled=true to see why."


def _of_freed(gateway: Gateway) -> None:
    """Repeat a query's last note in its later unflagged answers, even once nothing is locked."""
    due: dict[str, str] = {}

    def answer(document: Json, request: Request) -> Json:
        if request.flag:
            return document
        if notice := document.get("notice"):
            due[request.query] = notice
        return document | ({"notice": due[request.query]} if request.query in due else {})

    decide(gateway, answer=answer)


def _line_each(flag: bool, callables: int, locked: Sequence[Facts]) -> str | None:
    """Return the note; if the tools have several statuses, with a second line that lists these.

    None if none is due.
    """
    kinds = {std.classify(facts): facts for facts in locked}
    due = std.note(flag, callables, locked)
    if not due or len(kinds) == 1:
        return due
    return f"{due}\n" + ", ".join(sorted(kinds)) + "."


def _twice_when_many(document: Json, _request: Request) -> Json:
    """Return the answer; a note on a number other than one is a list with the text twice."""
    notice = document.get("notice", "1 ")
    return document if notice.startswith("1 ") else document | {"notice": [notice, notice]}


def _quoting(document: Json, request: Request) -> Json:
    """Return the answer with the query as it was sent in front of the note, if it has one."""
    notice = document.get("notice")
    return document | ({"notice": f"{request.query}: {notice}"} if notice else {})


def _line_each_of_query(document: Json, request: Request) -> Json:
    """Return the answer, the note repeated on a line of its own for each line of the query."""
    notice, lines = document.get("notice"), request.query.splitlines()
    return document | ({"notice": "\n".join([notice] * len(lines))} if notice and lines else {})


def _refused_at_one(gateway: Gateway) -> None:
    """Answer a request with limit 1 that owes the note with an error, which says no more."""

    async def reply(
        _agent: Agent, _session: str, message: Json, respond: Callable[[], Awaitable[Json]]
    ) -> Json:
        answer, params = await respond(), message.get("params") or {}
        limit = (params.get("arguments") or {}).get("limit")
        if limit != 1 or '"notice"' not in answer["result"]["content"][0]["text"]:
            return answer
        none = {"content": [{"type": "text", "text": "No tools found."}], "isError": True}
        return answer | {"result": none}

    decide(gateway, reply=reply)


def _one_of_one(document: Json, request: Request) -> Json:
    """Return the answer without a note on several tools if the limit is 1."""
    more = request.limit == 1 and not document.get("notice", "1 ").startswith("1 ")
    return _mute(document) if more else document


def _highest_note() -> Callable[[Json, Request], Json]:
    """Return an `answer` change: a query's note keeps the highest number that it ever had.

    An answer without a note stays so.
    """
    highest: dict[str, str] = {}

    def answer(document: Json, request: Request) -> Json:
        if "notice" not in document:
            return document
        due = highest.setdefault(request.query, document["notice"])
        notes = (due, document["notice"])
        highest[request.query] = max(notes, key=lambda note: int(note.partition(" ")[0]))
        return document | {"notice": highest[request.query]}

    return answer


def _numbered(number: Callable[[Sequence[Facts]], int]) -> Note:
    """Return a `note` decision that gives `number` of the locked tools; no note if that is 0.

    It appears, as usual, only without the flag and without a callable tool.
    """

    def note(flag: bool, callables: int, locked: Sequence[Facts]) -> str | None:
        if flag or callables or not locked or not (count := number(locked)):
            return None
        return f"{count} matching tools exist but cannot be called; {HOW}"

    return note


def _then(change: Callable[[str, Sequence[Facts]], str | None]) -> Note:
    """Return a `note` decision that passes a due note and the locked tools through `change`."""

    def note(flag: bool, callables: int, locked: Sequence[Facts]) -> str | None:
        text = std.note(flag, callables, locked)
        return text and change(text, locked)

    return note


def _for(when: Callable[[Facts], bool]) -> Note:
    """Return a `note` decision that counts only the locked tools that `when` selects.

    Without any of them, there is no note.
    """
    return lambda flag, callables, locked: std.note(
        flag, callables, [facts for facts in locked if when(facts)]
    )


def _less(when: Callable[[Request], bool]) -> Callable[[Json, Request], Json]:
    """Return an `answer` change that drops the note of requests for which `when` is true."""
    return lambda document, request: _mute(document) if when(request) else document


def _first_time() -> Callable[[Json, Request], Json]:
    """Return an `answer` change that gives a query its note the first time only.

    Flagged answers have none.
    """
    noted: set[str] = set()

    def answer(document: Json, request: Request) -> Json:
        if request.flag or request.query in noted:
            return _mute(document)
        if "notice" in document:
            noted.add(request.query)
        return document

    return answer


def _without_note(document: Json, request: Request) -> Json:
    """Return an agent's answer without the note; the administrator's as it is."""
    if request.agent.servers is None:
        return document
    return {name: document[name] for name in document if name != "notice"}


def _names_counted(flag: bool, callables: int, locked: Sequence[Facts]) -> str | None:
    """Return the note, counting tools of one name on several servers once.

    None if none is due.
    """
    names = {facts.tool.name: facts for facts in locked}
    return std.note(flag, callables, list(names.values()))


def _in_tens(flag: bool, callables: int, locked: Sequence[Facts]) -> str | None:
    """Return the note with a number above ten rounded up to the next ten; None if none is due."""
    more = -len(locked) % std.LOCKED_CAP if len(locked) > std.LOCKED_CAP else 0
    return std.note(flag, callables, [*locked, *locked[:more]])


def _all_when_full(gateway: Gateway) -> None:
    """Count every locked tool of the proxy in the note if more than ten locked tools match."""

    def note(flag: bool, callables: int, locked: Sequence[Facts]) -> str | None:
        known = [facts for tools in gateway.known().values() for facts in tools]
        every = [facts for facts in known if not std.may_call(facts, "note")]
        return std.note(flag, callables, every if len(locked) > std.LOCKED_CAP else locked)

    decide(gateway, note=note)


def _noted(left_out: Callable[[Facts], bool]) -> Note:
    """Return a `note` decision that does not count the locked tools that `left_out` selects."""
    return lambda flag, callables, locked: std.note(
        flag, callables, [facts for facts in locked if not left_out(facts)]
    )


def _first_note_after_restart_lost(gateway: Gateway) -> None:
    """After a restart, leave the note out of the first answer that should have one.

    A restart is a start with stored records.
    """
    left = [1 if gateway.store.records() else 0]

    def answer(document: Json, _request: Request) -> Json:
        if "notice" not in document or not left[0]:
            return document
        left[0] -= 1
        return _mute(document)

    decide(gateway, answer=answer)


def _mute_after_two_restarts(gateway: Gateway) -> None:
    """From the second restart on, leave out every note.

    A file beside the store counts the starts.
    """
    starts = gateway.store.path.with_name("starts")
    number = len(starts.read_text(encoding="utf-8")) if starts.exists() else 0
    starts.write_text("." * (number + 1), encoding="utf-8")
    decide(gateway, answer=lambda document, _: _mute(document) if number > 1 else document)


MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "first-note-after-restart-missing",
        "After a restart, the first answer that owes a note has none.",
        "FR-009.note",
        swap=_first_note_after_restart_lost,
    ),
    mutant(
        "no-note-after-two-restarts",
        "After the second restart, no answer has a note.",
        "FR-009.note",
        swap=_mute_after_two_restarts,
    ),
    mutant(
        "user-locked-in-quarantine-unnoted",
        "Quarantined tools that the user disabled, too, bring no note.",
        "FR-009.note",
        "SC-006.every-kind",
        note=_noted(lambda facts: facts.quarantined and facts.disabled_by_user),
    ),
    mutant(
        "unapproved-under-another-lock-unnoted",
        "Unapproved tools bring a note only if nothing else locks them or their server.",
        "FR-009.note",
        "SC-006.every-kind",
        note=_noted(
            lambda facts: (
                facts.approval in {"pending", "changed"}
                and (facts.quarantined or facts.disabled_by_user)
            )
        ),
    ),
    mutant(
        "note-counts-names",
        "The note counts tools of one name on several servers once.",
        "FR-009.count",
        note=_names_counted,
    ),
    mutant(
        "note-counts-in-tens",
        "The note rounds a number above ten up to the next ten.",
        "FR-009.count",
        note=_in_tens,
    ),
    mutant(
        "note-counts-all-when-full",
        "The note counts every locked tool if more than ten match.",
        "FR-009.count",
        swap=_all_when_full,
    ),
    mutant(
        "note-counts-servers",
        "The note counts servers with locked matches.",
        "FR-009.count",
        note=_servers_counted,
    ),
    mutant(
        "note-counts-config-first",
        "If any match is config-locked, the note counts only config-locked ones.",
        "FR-009.count",
        note=_config_first,
    ),
    mutant(
        "note-counts-two-locks-twice",
        "The note counts a tool once for each of its locks.",
        "FR-009.count",
        note=_two_locks_twice,
    ),
    mutant(
        "note-adds-passes",
        "The note adds the tools that the user disabled to those that wait for approval.",
        "FR-009.count",
        note=_each_pass_counts,
    ),
    mutant(
        "note-adds-the-quarantined",
        "The note counts a locked tool of a quarantined server once more if it has another lock.",
        "FR-009.count",
        swap=_quarantine_counts_anew,
    ),
    mutant(
        "note-never-counts-down",
        "The note keeps the highest number that was due for its query.",
        "FR-009.count",
        answer=Fresh(_highest_note),
    ),
    mutant(
        "note-one-more",
        "The note counts one tool too many.",
        "FR-009.count",
        note=_numbered(lambda locked: len(locked) + 1),
    ),
    mutant(
        "note-gives-an-example",
        "The note ends with the name of one of several matches.",
        "FR-009.no-entries",
        note=_ending(lambda locked: f" Try {locked[-1].tool.name}." if len(locked) > 1 else ""),
    ),
    mutant(
        "note-describes-the-one-match",
        "The note on a single match contains its description.",
        "FR-009.no-entries",
        note=_ending(_description_of_one),
    ),
    mutant(
        "note-names",
        "The note names the tools.",
        "FR-009.no-entries",
        "FR-002.no-locked-names",
        note=_then(
            lambda text, locked: f"{text} ({', '.join(facts.tool.name for facts in locked)})"
        ),
    ),
    mutant(
        "note-describes",
        "The note of a single match repeats its description.",
        "FR-009.no-entries",
        "FR-002.no-locked-names",
        note=_then(
            lambda text, locked: (
                f"{text} It says: {' '.join(locked[0].tool.description.split())}"
                if len(locked) == 1 and std.classify(locked[0]) not in WITHHELD
                else text
            )
        ),
    ),
    mutant(
        "note-without-the-flags-name",
        "The note does not say how to reveal the matches.",
        "FR-009.note",
        note=_without_flag,
    ),
    mutant(
        "note-only-without-the-flag",
        "A request with the flag false gets no note.",
        "FR-009.note",
        answer=lambda document, request: (
            _mute(document) if "include_disabled" in request.arguments else document
        ),
    ),
    mutant(
        "note-none",
        "Where only locked tools match, there is no note.",
        "FR-009.note",
        "SC-006.every-kind",
        note=lambda _flag, _callables, _locked: None,
    ),
    mutant(
        "note-no-number",
        "The note has no number.",
        "FR-009.note",
        note=_then(lambda _text, _: f"Some matching tools cannot be called; {HOW}"),
    ),
    mutant(
        "note-indexed-only",
        "The note leaves out tools that are not in the search index.",
        "FR-009.note",
        "FR-009.count",
        "SC-006.every-kind",
        note=_for(std.indexed),
    ),
    mutant(
        "note-not-for-config",
        "There is no note for denied tools.",
        "FR-009.note",
        "FR-009.count",
        "SC-006.every-kind",
        note=_for(lambda facts: not facts.denied),
    ),
    mutant(
        "note-not-for-user",
        "There is no note for tools turned off by the user.",
        "FR-009.note",
        "SC-006.every-kind",
        note=_for(lambda facts: facts.denied or not facts.disabled_by_user),
    ),
    mutant(
        "note-for-one",
        "The note appears only for a single match.",
        "FR-009.note",
        "SC-006.every-kind",
        note=_then(lambda text, locked: text if len(locked) == 1 else None),
    ),
    mutant(
        "note-up-to-ten",
        "The note appears for no more than ten matches.",
        "FR-009.note",
        "SC-006.every-kind",
        note=_then(lambda text, locked: text if len(locked) <= std.LOCKED_CAP else None),
    ),
    mutant(
        "note-once",
        "A repeated query gets no note.",
        "FR-009.note",
        answer=Fresh(_first_time),
    ),
    mutant(
        "note-not-crowded",
        "While another request is served, there is no note.",
        "FR-009.note",
        answer=_less(lambda _: crowded()),
    ),
    mutant(
        "note-no-flag",
        "The note does not say how to reveal the tools.",
        "FR-009.note",
        "SC-002.two-steps",
        note=_then(lambda text, _: f"{text.partition(';')[0]}."),
    ),
    mutant(
        "agents-no-note",
        "Agents with a limited scope get no note.",
        "FR-009.note",
        answer=_without_note,
    ),
    mutant(
        "note-with-a-line-of-kinds",
        "The note has a second line if there are several kinds of locks.",
        "FR-009.one-line",
        note=_line_each,
    ),
    mutant(
        "note-quotes-the-query",
        "The note begins with the query as it was sent, line breaks and all.",
        "FR-009.one-line",
        answer=_quoting,
    ),
    mutant(
        "note-for-each-line-of-the-query",
        "The note stands once for each line of the query.",
        "FR-009.one-line",
        answer=_line_each_of_query,
    ),
    mutant(
        "note-told-twice",
        "The note on several matches is a list with the text twice.",
        "FR-009.one-line",
        answer=_twice_when_many,
    ),
    mutant(
        "note-beside-one-result",
        "An answer with a single callable result has the note.",
        "FR-009.silent",
        swap=_beside_few,
    ),
    mutant(
        "note-of-no-match",
        "The note says that there are 0 matches.",
        "FR-009.silent",
        note=_of_nothing,
    ),
    mutant(
        "note-goes-on",
        "The note stays for its query after the locks are lifted.",
        "FR-009.silent",
        swap=_of_freed,
    ),
    mutant(
        "no-note-at-limit-one",
        "A request with limit 1 gets no note.",
        "FR-009.tight-limit",
        answer=lambda document, request: _mute(document) if request.limit == 1 else document,
    ),
    mutant(
        "error-at-limit-one",
        "At limit 1, an error says that there is no tool, in place of the note.",
        "FR-009.tight-limit",
        swap=_refused_at_one,
    ),
    mutant(
        "no-note-of-many-at-limit-one",
        "At limit 1, there is no note on several matches.",
        "FR-009.tight-limit",
        answer=_one_of_one,
    ),
    mutant(
        "note-not-with-limit",
        "A request with a limit gets no note.",
        "FR-009.tight-limit",
        "SC-006.every-kind",
        answer=_less(lambda request: "limit" in request.arguments),
    ),
    mutant(
        "note-of-the-index-only",
        "Unapproved and quarantined tools do not lead to the note.",
        "SC-006.every-kind",
        note=_for(std.indexed),
    ),
    mutant(
        "note-of-config-only",
        "Only config-locked matches lead to the note.",
        "SC-006.every-kind",
        "FR-009.note",
        note=_for(
            lambda facts: (
                (std.classify(facts) if std.indexed(facts) else std.withheld_status(facts))
                == "disabled_by_config"
            )
        ),
    ),
    mutant(
        "no-note-of-a-crowd",
        "There is no note for more matches than the cap.",
        "SC-006.every-kind",
        note=lambda flag, callables, locked: (
            None if len(locked) > std.LOCKED_CAP else std.note(flag, callables, locked)
        ),
    ),
    mutant(
        "note-not-for-changed",
        "There is no note for changed tools.",
        "SC-006.every-kind",
        "FR-009.note",
        note=_for(lambda facts: facts.approval != "changed" or facts.quarantined),
    ),
    mutant(
        "note-not-for-quarantined",
        "There is no note for tools of a quarantined server.",
        "SC-006.every-kind",
        "FR-009.note",
        note=_for(lambda facts: not facts.quarantined),
    ),
)
