"""Mutants that rewrite locked entries and both lists of tools in answers: FR-003 to FR-006."""

from __future__ import annotations

from collections.abc import Callable

from mcp_proxy_conformance.discovery.selftest.edits import (
    Document,
    Entry,
    each_locked,
    flagged,
    locked,
    restated,
    tools,
    wire,
    with_locked,
    with_tools,
)
from mcp_proxy_conformance.discovery.selftest.exchange import Json, WireExchange, WireFault, dump

CUT = 12
WITHHELD = ("server_quarantined", "pending_approval")
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}


def described(change: Callable[[str], str]) -> Callable[[WireExchange, Document], Document | None]:
    """Return an edit that has `change` rewrite the description of each locked entry with one.

    For an answer without locked entries, or without the flag, it returns None: unchanged.
    """

    def edit(_: WireExchange, entry: Entry) -> Entry:
        """Return the entry with its description changed, if that is a text."""
        text = entry.get("description")
        return entry | {"description": change(text)} if isinstance(text, str) else entry

    return each_locked(edit)


def _doubled(x: WireExchange, answer: Document) -> Document | None:
    """Append the first locked entry again, even beyond the cap; None (no change) without one."""
    entries = locked(x, answer)
    return with_locked(x, answer, [*entries, *entries[:1]]) if entries else None


def _once_more_up_to_ten(x: WireExchange, answer: Document) -> Document | None:
    """Append the first locked entry again if there are fewer than the limit and than ten.

    None (no change) otherwise, also without a whole-number limit.
    """
    entries = locked(x, answer)
    room = isinstance(x.limit, int) and len(entries) < min(x.limit, 10)
    return with_locked(x, answer, [*entries, *entries[:1]]) if entries and room else None


def _eleventh(x: WireExchange, answer: Document) -> Document | None:
    """Append the last locked entry again if there are exactly ten; else None, no change."""
    entries = locked(x, answer)
    return with_locked(x, answer, [*entries, entries[-1]]) if len(entries) == 10 else None  # noqa: PLR2004


def _ten_at_any_limit(x: WireExchange, answer: Document) -> Document | None:
    """Replace the locked section and remediation map by those that the target gives at limit 100.

    None (no change) for an answer without locked entries.
    """
    whole = x.revealing()
    names = x.surface.members
    more = {n: whole[n] for n in (names.disabled, names.remediation) if n in whole}
    return answer | more if locked(x, answer) else None


def _many_at_odd_limits(x: WireExchange, result: Json) -> Json | None:
    """With the flag and an odd limit, answer with every locked entry three times.

    A limit is odd if it is not an integer of at least 1. None (no change) for other requests,
    or without locked entries.
    """
    limit = x.limit
    odd = limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1)
    entries = locked(x, x.revealing()) if x.flagged and odd else []
    if not entries:
        return None
    answer = with_locked(x, x.revealing(), entries * 3)
    return {"content": [{"type": "text", "text": dump(answer)}]} | (
        {"_meta": result["_meta"]} if "_meta" in result else {}
    )


def _first_in_both(x: WireExchange, answer: Document) -> Document | None:
    """Append the first locked entry to the callable ones; None without one."""
    entries = locked(x, answer)
    return with_tools(x, answer, [*tools(x, answer), *entries[:1]]) if entries else None


def _locked_first(x: WireExchange, answer: Document) -> Document | None:
    """Put all locked entries before the callable ones, in their list; None without one."""
    entries = locked(x, answer)
    return with_tools(x, answer, [*entries, *tools(x, answer)]) if entries else None


def _reversed(x: WireExchange, answer: Document) -> Document:
    """Reverse the order of the callable entries."""
    return with_tools(x, answer, tools(x, answer)[::-1])


def _displaced(x: WireExchange, answer: Document) -> Document | None:
    """Remove as many callable entries, from the end, as there are locked ones.

    None (no change) for a single callable entry, or without locked ones.
    """
    entries, callables = locked(x, answer), tools(x, answer)
    return (
        with_tools(x, answer, callables[: -len(entries)])
        if entries and len(callables) > 1
        else None
    )


def _without_callables(x: WireExchange, answer: Document) -> Document | None:
    """Remove all callable entries from an answer with locked ones; None for any other."""
    return with_tools(x, answer, []) if locked(x, answer) else None


def _without_last_callable(x: WireExchange, answer: Document) -> Document | None:
    """Remove the last callable entry if there are several; else None, no change."""
    callables = tools(x, answer)
    return with_tools(x, answer, callables[:-1]) if len(callables) > 1 else None


def _of_another_server(x: WireExchange, entry: Entry) -> Entry:
    """Replace a locked entry's server by the first other server seen, if any; remember its own."""
    known: list[str] = x.memory.setdefault("servers", [])
    if entry["server"] not in known:
        known.append(entry["server"])
    others = [name for name in known if name != entry["server"]]
    return entry | {"server": others[0]} if others else entry


def _of_no_server(_: WireExchange, entry: Entry) -> Entry:
    """Remove the server's name from a locked entry."""
    return {name: value for name, value in entry.items() if name != "server"}


def _renamed(_: WireExchange, entry: Entry) -> Entry:
    """Prefix the name in a locked entry with its server and two slashes."""
    return entry | {"name": f"{entry['server']}//{entry['name']}"}


def _undescribed(_: WireExchange, entry: Entry) -> Entry:
    """Remove the description from a locked entry if its status is disabled_by_user."""
    gone = entry["status"] == "disabled_by_user"
    return {n: v for n, v in entry.items() if n != "description" or not gone}


def _remembering(x: WireExchange, answer: Document) -> Document | None:
    """Give quarantined entries the descriptions that tools of their names had while callable.

    Descriptions are remembered from all discovery answers. None (no change) for an answer without
    locked entries.
    """
    if not x.discovers:
        return None
    texts: dict[str, Json] = x.memory.setdefault("texts", {})
    texts |= {entry["name"]: entry.get("description") for entry in tools(x, answer)}
    entries = [
        e | ({"description": texts[e["name"]]} if e["name"] in texts else {})
        if e["status"] == "server_quarantined"
        else e
        for e in locked(x, answer)
    ]
    return answer | {x.surface.members.disabled: entries} if entries else None


def _with_schema(withheld: bool) -> Callable[[WireExchange, Entry], Entry]:
    """Return an edit that adds an input schema to locked entries: withheld ones, or all others.

    If `withheld`, to those of quarantined and pending tools, whose texts must not be shown; else to
    the others.
    """

    def edit(_: WireExchange, entry: Entry) -> Entry:
        """Return the entry with an input schema if it is of the wanted sort, else unchanged."""
        apt = (entry["status"] in WITHHELD) == withheld
        return entry | {"inputSchema": SCHEMA} if apt else entry

    return edit


def _with_remedy(x: WireExchange, answer: Document) -> Document | None:
    """Add to each locked entry, as `next_step`, the remediation text of its status.

    None (no change) without locked entries.
    """
    texts = answer.get(x.surface.members.remediation) or {}
    entries = [e | {"next_step": texts.get(e["status"], "")} for e in locked(x, answer)]
    return answer | {x.surface.members.disabled: entries} if entries else None


def _with_another_map(x: WireExchange, answer: Document) -> Document | None:
    """Add the remediation map once more, under `advice`; None for an answer without one."""
    texts = answer.get(x.surface.members.remediation)
    return answer | {"advice": {"by_status": texts}} if texts else None


def _with_status(change: Callable[[str], Json]) -> Callable[[WireExchange, Entry], Entry]:
    """Return an edit that replaces a locked entry's status by `change(status)`."""
    return lambda _, entry: entry | {"status": change(entry["status"])}


FAULTS: tuple[WireFault, ...] = (
    wire("status-renamed", "Config-locked tools have a status that is not one of the six words.",
         "FR-004.enum",
         document=restated({"disabled_by_config": "config_denied"})),
    wire("status-seventh", "Pending tools have a seventh status word.", "FR-004.enum",
         document=restated({"pending_approval": "pending_review"})),
    wire("status-loud", "Statuses are in upper case.", "FR-004.enum",
         document=each_locked(_with_status(str.upper))),
    wire("status-listed", "A status is a list with one word.", "FR-003.members", "FR-004.enum",
         document=each_locked(_with_status(lambda word: [word]))),
    wire("status-absent", "Entries have no status.", "FR-003.members", "FR-004.enum",
         document=each_locked(lambda _, e: {n: v for n, v in e.items() if n != "status"})),
    wire("status-swapped", "Config and user locks have each other's status.", "FR-004.precedence",
         document=restated({"disabled_by_config": "disabled_by_user",
                            "disabled_by_user": "disabled_by_config"})),
    wire("status-user-first", "Config-locked tools are listed as disabled_by_user.",
         "FR-004.precedence",
         document=restated({"disabled_by_config": "disabled_by_user"})),
    wire("status-unknown", "Every locked tool is listed as disabled_unknown.", "FR-004.precedence",
         document=restated(dict.fromkeys((
             "disabled_by_config", "disabled_by_user", "pending_approval", "server_disabled",
             "server_quarantined"), "disabled_unknown"))),
    wire("status-off-by-user", "Tools of a switched-off server are listed as disabled_by_user.",
         "FR-001.server-off", "FR-004.precedence",
         document=restated({"server_disabled": "disabled_by_user"})),
    wire("entry-doubled", "The first locked entry appears twice.", "FR-004.once",
         document=flagged(_once_more_up_to_ten)),
    wire("entry-repeated", "The first locked entry is repeated beyond the cap.", "FR-006.cap",
         document=flagged(_doubled)),
    wire("entry-eleventh", "A full section has an eleventh entry.", "FR-006.cap",
         document=flagged(_eleventh)),
    wire("section-unlimited", "The locked section ignores the limit.", "FR-006.cap",
         document=flagged(_ten_at_any_limit)),
    wire("section-odd",
         "At a limit that is not a positive integer, the locked section is not capped.",
         "FR-006.odd-limits",
         result=_many_at_odd_limits),
    wire("entry-in-both", "The first locked tool is also listed as callable.", "FR-004.once",
         "FR-006.callables", document=flagged(_first_in_both)),
    wire("locked-first", "The list of callable tools begins with the locked entries.",
         "FR-006.callables",
         document=flagged(_locked_first)),
    wire("callables-reversed", "The flag reverses the order of the callable tools.",
         "FR-006.callables",
         document=flagged(_reversed)),
    wire("callables-displaced", "Locked entries displace as many callable ones.",
         "FR-006.callables", document=flagged(_displaced)),
    wire("callables-gone", "An answer with locked tools lists no callable tool.",
         "FR-006.callables",
         document=flagged(_without_callables)),
    wire("callables-shortened", "The flag drops the last of several callable tools.",
         "FR-006.callables", document=flagged(_without_last_callable)),
    wire("server-wrong", "A locked entry names another server.", "FR-003.server",
         document=each_locked(_of_another_server)),
    wire("server-absent", "A locked entry names no server.", "FR-003.members", "FR-003.server",
         document=each_locked(_of_no_server)),
    wire("name-of-its-own", "Locked tools are named in another form than callable ones.",
         "FR-003.name",
         document=each_locked(_renamed)),
    wire("description-cut", "Descriptions of locked tools are cut.", "FR-003.description",
         document=described(lambda text: text[:CUT])),
    wire("description-ellipsis", "Descriptions of more than 60 characters end in dots.",
         "FR-003.description",
         document=described(lambda text: text if len(text) <= 60 else text[:57] + "...")),  # noqa: PLR2004
    wire("description-loud", "Descriptions of locked tools are in upper case.",
         "FR-003.description",
         document=described(str.upper)),
    wire("description-dotless", "Descriptions of locked tools lose their full stop.",
         "FR-003.description", document=described(lambda text: text.rstrip(". "))),
    wire("description-ascii", "Descriptions of locked tools are reduced to ASCII.",
         "FR-003.description",
         document=described(lambda text: text.encode("ascii", "ignore").decode())),
    wire("description-absent", "User-locked tools have no description.", "FR-003.members",
         document=each_locked(_undescribed)),
    wire("description-recalled", "Quarantined tools have the description from earlier answers.",
         "FR-003.withheld", document=_remembering),
    wire("schema-beside", "Locked entries have a schema.", "FR-003.members",
         document=each_locked(_with_schema(withheld=False))),
    wire("schema-of-withheld", "Entries of withheld tools have a schema.", "FR-003.withheld",
         document=each_locked(_with_schema(withheld=True))),
    wire("remedy-each", "Every locked entry has its remediation text.", "FR-005.once",
         "FR-003.members", document=flagged(_with_remedy)),
    wire("map-again", "Another member has the remediation map again.", "FR-005.once",
         document=flagged(_with_another_map)),
)  # fmt: skip
