"""Mutants of remediation: the map of texts by status in an answer, and the texts themselves."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence

from mcp_proxy_mutants.discovery.changed_parts import Request
from mcp_proxy_mutants.discovery.gateway_changes import decide
from mcp_proxy_mutants.discovery.mutant import Fresh, Mutant, mutant
from mcp_proxy_mutants.discovery.pieces import CONFIG, PENDING, TEXTS, USER, Texts, texts
from mcp_proxy_reference import policy as std
from mcp_proxy_reference.facts import Agent, Facts, Json, Match, Status
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.store import StoreError

QUARANTINED: Status = "server_quarantined"


def _no_map_at_one(document: Json, request: Request) -> Json:
    """Return the answer without the remediation map if the limit is 1."""
    kept = {name: value for name, value in document.items() if name != "remediation"}
    return kept if request.limit == 1 else document


def _rotated() -> dict[Status, str]:
    """Return the remediation texts, with those of user lock, approval and unknown moved on by one.

    Each of the three has the text of the one before it.
    """
    kinds: tuple[Status, ...] = ("disabled_by_user", "pending_approval", "disabled_unknown")
    moved = {kind: std.REMEDIATION[kinds[place - 1]] for place, kind in enumerate(kinds)}
    return {**std.REMEDIATION, **moved}


def _no_quarantine_text(shown: Sequence[Status], matched: Sequence[Status], texts: Texts) -> Json:
    """Return the usual remediation map without the text for quarantined tools."""
    remediation = std.remediation_map(shown, matched, texts)
    return {status: text for status, text in remediation.items() if status != "server_quarantined"}


def _empty_answers_kept() -> Callable[[Json, Request], Json]:
    """Return an `answer` change: an answer with a note is repeated when its query comes flagged.

    It is repeated once only, to any agent.
    """
    kept: dict[str, Json] = {}

    def answer(document: Json, request: Request) -> Json:
        if request.flag and request.query in kept:
            return kept.pop(request.query)
        if "notice" in document:
            kept[request.query] = document
        return document

    return answer


def _not_what_was_refused(gateway: Gateway) -> None:
    """Leave a tool whose call was refused out of the locked results of the next search for it.

    After that search it is found again.
    """
    refused: set[str] = set()

    def rejection(facts: Facts, texts: object) -> str:
        refused.add(facts.tool.key)
        return std.rejection(facts, gateway.policy.remediation if texts else {})

    def without(hits: Sequence[Match], limit: int) -> tuple[Sequence[Match], Sequence[Match]]:
        callables, rest = std.window(hits, limit)
        kept = [hit for hit in rest if hit.facts.tool.key not in refused]
        refused.difference_update(hit.facts.tool.key for hit in rest)
        return callables, kept

    decide(gateway, rejection=rejection, window=without)


def _ten_others(gateway: Gateway) -> None:
    """With the flag, list ten other locked tools in place of the only one that matches."""

    def answer(document: Json, request: Request) -> Json:
        listed = document.get("disabled", [])
        roomy = std.cap(request.limit) == std.LOCKED_CAP
        if not request.flag or len(listed) != 1 or not roomy:
            return document
        others = [
            facts
            for tools in gateway.known().values()
            for facts in tools
            if std.indexed(facts)
            and not std.may_call(facts, "discovery")
            and facts.tool.key != listed[0]["name"]
        ][: std.LOCKED_CAP]
        if len(others) < std.LOCKED_CAP:
            return document
        entries = [std.locked_entry(facts, std.classify(facts), False) for facts in others]
        texts = {entry["status"]: std.REMEDIATION[entry["status"]] for entry in entries}
        return document | {"disabled": entries, "remediation": texts}

    decide(gateway, answer=answer)


def _with(status: Status, text: str) -> Texts:
    """Return the remediation texts by status with one of them replaced."""
    return {**std.REMEDIATION, status: text}


def _text_in(status: Status) -> Callable[[Facts, Status, bool], Json]:
    """Return a `locked_entry` decision: descriptions under `status` end with its remedy text."""

    def entry(facts: Facts, current: Status, withheld: bool) -> Json:
        listed = std.locked_entry(facts, current, withheld)
        if current != status or withheld:
            return listed
        return listed | {"description": f"{listed['description']} {std.REMEDIATION[status]}"}

    return entry


def _hinted(facts: Facts, status: Status, withheld: bool) -> Json:
    """Return the locked entry; a withheld one has its remediation text as `hint`."""
    hint = {"hint": std.REMEDIATION[status]} if withheld else {}
    return std.locked_entry(facts, status, withheld) | hint


def _hinting_at_administrators(document: Json, request: Request) -> Json:
    """Return the answer; for the administrator each locked entry has its remedy as `hint`."""
    if request.agent.servers is not None or "disabled" not in document:
        return document
    hinted = [entry | {"hint": std.REMEDIATION[entry["status"]]} for entry in document["disabled"]]
    return document | {"disabled": hinted}


def _map(*, without: str = "", plus: Mapping[str, str] = {}) -> Callable[..., Json]:
    """Return a `remediation_map` decision that omits one status and adds texts to the usual map."""

    def remediation_map(shown: Sequence[Status], matched: Sequence[Status], texts: Texts) -> Json:
        whole = {**plus, **std.remediation_map(shown, matched, texts)}
        return {status: text for status, text in whole.items() if status != without}

    return remediation_map


def _user_text_for_both(document: Json, request: Request) -> Json:
    """Give the user-lock text for config locks if a listed denied tool has both locks.

    The answer is changed in place and returned; unchanged if the store cannot be read.
    """
    try:
        records = request.store.records()
    except StoreError:
        return document
    locked = {f"{server}:{tool}" for (server, tool), record in records.items() if record.disabled}
    for entry in document.get("disabled", []):
        if entry["status"] == CONFIG and entry["name"] in locked:
            document["remediation"][CONFIG] = TEXTS[USER]
    return document


def _user_text_beside_user(document: Json, _request: Request) -> Json:
    """Return the answer with the user-lock text for config locks if it lists user locks too.

    It is changed in place.
    """
    remediation = document.get("remediation", {})
    if CONFIG in remediation and USER in remediation:
        remediation[CONFIG] = TEXTS[USER]
    return document


def _map_beside(document: Json, _request: Request) -> Json:
    """Return the answer with its remediation map again as `next_steps`, each text in an object."""
    texts = document.get("remediation")
    advice = {status: {"advice": text} for status, text in texts.items()} if texts else {}
    return document | ({"next_steps": advice} if texts else {})


async def _map_in_meta(
    _agent: Agent, _session: str, _message: Json, respond: Callable[[], Awaitable[Json]]
) -> Json:
    """Return the reply with the answer's remediation map again in `_meta` of the result.

    Replies without such a map are unchanged.
    """
    answer = await respond()
    for item in answer.get("result", {}).get("content", []):
        document = json.loads(item["text"]) if item["text"].startswith('{"') else {}
        if texts := document.get("remediation"):
            meta = answer["result"].get("_meta", {}) | {"remediation": texts}
            return answer | {"result": answer["result"] | {"_meta": meta}}
    return answer


def _advised(facts: Facts, status: Status, withheld: bool) -> Json:
    """Return the locked entry; a user-locked tool has advice of its own in a member `next`."""
    advice = {"next": "Have the user turn it on in the settings."} if status == USER else {}
    return std.locked_entry(facts, status, withheld) | advice


def _described_by_advice(facts: Facts, status: Status, withheld: bool) -> Json:
    """Return the locked entry; a withheld pending tool has advice as its description."""
    described = status == PENDING and withheld
    advice = {"description": "Ask the user to approve this tool in the UI."} if described else {}
    return std.locked_entry(facts, status, withheld) | advice


def _one_withheld_kind(shown: Sequence[Status], matched: Sequence[Status], texts: Texts) -> Json:
    """Return the remediation map, without quarantine's text if pending tools are listed too."""
    both = {PENDING, "server_quarantined"} <= {*shown}
    remediation = std.remediation_map(shown, matched, texts)
    return {s: text for s, text in remediation.items() if not (both and s == "server_quarantined")}


def _last_withheld_kind(document: Json, _request: Request) -> Json:
    """Return the answer with the text of one status only of those without descriptions, the last.

    Texts of statuses whose entries have descriptions are kept.
    """
    kinds = [e["status"] for e in document.get("disabled", []) if "description" not in e]
    texts = document.get("remediation", {})
    kept = {s: text for s, text in texts.items() if s not in kinds or s == kinds[-1]}
    return document | ({"remediation": kept} if kinds else {})


def _one_text_for_withheld(
    shown: Sequence[Status], matched: Sequence[Status], texts: Texts
) -> Json:
    """Return the remediation map, with pending's text for quarantine too if both are listed."""
    remediation = std.remediation_map(shown, matched, texts)
    both = {PENDING, QUARANTINED} <= remediation.keys()
    return remediation | ({QUARANTINED: texts[PENDING]} if both else {})


def _pending_as_quarantined_at_one(document: Json, request: Request) -> Json:
    """Return the answer, with quarantine's text for pending tools if the limit is 1."""
    texts = document.get("remediation", {})
    if request.limit != 1 or PENDING not in texts:
        return document
    return document | {"remediation": texts | {PENDING: TEXTS[QUARANTINED]}}


MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "one-text-for-withheld-kinds",
        "Where pending tools are listed too, quarantine has their text.",
        "FR-005.class",
        remediation_map=_one_text_for_withheld,
    ),
    mutant(
        "pending-text-of-quarantine-at-one",
        "At limit 1, a pending tool has the text for quarantine.",
        "FR-005.class",
        answer=_pending_as_quarantined_at_one,
    ),
    mutant(
        "map-beside-the-map",
        "Another member has the texts of the map again, by status.",
        "FR-005.once",
        answer=_map_beside,
    ),
    mutant(
        "map-in-meta",
        "The result's `_meta` has the map again.",
        "FR-005.once",
        reply=_map_in_meta,
    ),
    mutant(
        "user-entries-advise",
        "Entries of user-locked tools say in words of their own how to lift the lock.",
        "FR-005.once",
        locked_entry=_advised,
    ),
    mutant(
        "pending-described-by-advice",
        "In place of the withheld description, pending tools have a remedy.",
        "FR-005.once",
        locked_entry=_described_by_advice,
    ),
    mutant(
        "map-of-pending-hides-quarantine",
        "Where pending and quarantined tools are listed, the map lacks the text for quarantine.",
        "FR-005.keys",
        remediation_map=_one_withheld_kind,
    ),
    mutant(
        "map-of-the-last-withheld-kind",
        "Of several kinds of withheld entries, the map explains that of the last one.",
        "FR-005.keys",
        answer=_last_withheld_kind,
    ),
    mutant(
        "texts-one-kind-off",
        "User, pending and unknown locks have each other's texts.",
        "FR-005.class",
        remediation=_rotated(),
    ),
    mutant(
        "user-text-enables-the-server",
        "The text for user locks says to enable the server.",
        "FR-005.class",
        remediation={**std.REMEDIATION, "disabled_by_user": "Ask the user to enable the server."},
    ),
    mutant(
        "quarantine-text-says-toggle",
        "The text for quarantine says to turn the tool on in the UI.",
        "FR-005.class",
        remediation=_with("server_quarantined", "Ask the user to turn this tool on in the UI."),
    ),
    mutant(
        "config-text-says-toggle",
        "The text for config locks asks the user to toggle the tool.",
        "FR-005.class",
        "SC-003.discovery",
        remediation=_with("disabled_by_config", "Locked: ask the user to toggle it on again."),
    ),
    mutant(
        "config-and-user-texts-swapped",
        "The texts for config and user are swapped.",
        "FR-005.class",
        "SC-003.discovery",
        "SC-003.rejection",
        "FR-008.config",
        remediation=texts(disabled_by_config=TEXTS[USER], disabled_by_user=TEXTS[CONFIG]),
    ),
    mutant(
        "text-user-is-config",
        "A user lock is explained as operator policy.",
        "FR-005.class",
        "FR-005.text",
        "FR-008.distinct",
        remediation=texts(disabled_by_user=TEXTS[CONFIG]),
    ),
    mutant(
        "text-config-also-user",
        "The text for config locks ends with advice to enable the tool.",
        "FR-005.class",
        "SC-003.discovery",
        remediation_map=lambda shown, _m, texts: {
            status: texts[status]
            + (" Or ask the user to enable it in the UI." if status == CONFIG else "")
            for status in set(shown)
        },
    ),
    mutant(
        "text-quarantine-is-config",
        "Quarantine is explained as operator policy.",
        "FR-005.class",
        "FR-008.distinct",
        remediation=texts(server_quarantined=TEXTS[CONFIG]),
    ),
    mutant(
        "text-both-locks",
        "For a tool locked by config and user, the key for config has the text for user locks.",
        "FR-005.class",
        "SC-003.discovery",
        answer=_user_text_for_both,
    ),
    mutant(
        "text-beside-user",
        "Beside a user lock, config locks get the text for user locks.",
        "FR-005.class",
        "SC-003.discovery",
        answer=_user_text_beside_user,
    ),
    mutant(
        "no-map-at-limit-one",
        "At limit 1, there is no remediation map.",
        "FR-005.keys",
        "SC-002.two-steps",
        answer=_no_map_at_one,
    ),
    mutant(
        "map-made-before-the-cap",
        "The map has a text for entries that the cap cut off.",
        "FR-005.keys",
        remediation_map=lambda _shown, matched, texts: std.remediation_map(matched, matched, texts),
    ),
    mutant(
        "map-for-the-first-entry",
        "The map has only the text for the first entry's status.",
        "FR-005.keys",
        remediation_map=lambda shown, matched, texts: std.remediation_map(
            shown[:1], matched, texts
        ),
    ),
    mutant(
        "map-of-nothing",
        "An answer without locked entries has a map with every text.",
        "FR-005.keys",
        sections=lambda entries, remediation: (
            std.sections(entries, remediation)
            or {
                "disabled": [],
                "remediation": dict(std.REMEDIATION),
            }
        ),
    ),
    mutant(
        "map-of-all",
        "The map explains all six statuses.",
        "FR-005.keys",
        remediation_map=lambda _shown, _matched, texts: dict(texts),
    ),
    mutant(
        "map-config-always",
        "The map always has the text for config locks.",
        "FR-005.keys",
        remediation_map=_map(plus={CONFIG: TEXTS[CONFIG]}),
    ),
    mutant(
        "map-lacks-pending",
        "The map has no text for tools that await approval.",
        "FR-005.keys",
        remediation_map=_map(without=PENDING),
    ),
    mutant(
        "map-lacks-quarantined",
        "The map has no text for server_quarantined.",
        "FR-005.keys",
        remediation_map=_map(without="server_quarantined"),
    ),
    mutant(
        "map-lacks-unknown",
        "The map has no text for disabled_unknown.",
        "FR-005.keys",
        "FR-004.unknown",
        remediation_map=_map(without="disabled_unknown"),
    ),
    mutant(
        "map-for-many",
        "A single locked entry comes without the map.",
        "FR-005.keys",
        "SC-002.two-steps",
        remediation_map=lambda shown, matched, texts: (
            {} if len(shown) == 1 else std.remediation_map(shown, matched, texts)
        ),
    ),
    mutant(
        "user-text-in-descriptions",
        "Descriptions of user-locked tools end with their remediation.",
        "FR-005.once",
        locked_entry=_text_in("disabled_by_user"),
    ),
    mutant(
        "withheld-entries-hinted",
        "Withheld entries have their remediation in a member `hint`.",
        "FR-005.once",
        "FR-003.members",
        locked_entry=_hinted,
    ),
    mutant(
        "hints-for-administrators",
        "Locked entries have their remediation in a member `hint`, but not for agents.",
        "FR-005.once",
        answer=_hinting_at_administrators,
    ),
    mutant(
        "text-per-entry",
        "Every entry has its own remediation text besides the map.",
        "FR-005.once",
        "FR-003.members",
        locked_entry=lambda facts, status, withheld: (
            std.locked_entry(facts, status, withheld) | {"remediation": TEXTS[status]}
        ),
    ),
    mutant(
        "one-text-for-two-locks",
        "Config and user locks share one text that names both.",
        "FR-005.text",
        remediation={
            **std.REMEDIATION,
            **dict.fromkeys(
                ("disabled_by_config", "disabled_by_user"),
                "Locked by operator policy, which the user cannot override, or by the user.",
            ),
        },
    ),
    mutant(
        "pending-text-blank",
        "The text for tools that await approval is blank.",
        "FR-005.text",
        remediation=texts(pending_approval=" "),
    ),
    mutant(
        "quarantine-has-no-remedy",
        "The map has no text for quarantined tools.",
        "SC-002.two-steps",
        remediation_map=_no_quarantine_text,
    ),
    mutant(
        "empty-answers-served-again",
        "An answer with the note is repeated when its query is sent with the flag.",
        "SC-002.two-steps",
        answer=Fresh(_empty_answers_kept),
    ),
    mutant(
        "ten-others-for-one",
        "With the flag, ten other tools are listed in place of the only one that matches.",
        "SC-002.two-steps",
        swap=_ten_others,
    ),
    mutant(
        "refused-tools-left-out-once",
        "The first search after a rejection leaves out the rejected tool.",
        "SC-002.two-steps",
        swap=_not_what_was_refused,
    ),
)
