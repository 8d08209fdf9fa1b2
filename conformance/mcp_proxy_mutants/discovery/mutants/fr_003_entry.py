"""Mutants of a locked tool's entry: its members, its withheld text, texts about config locks."""

import html
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mcp_proxy_mutants.discovery.changed_parts import Request
from mcp_proxy_mutants.discovery.gateway_changes import decide
from mcp_proxy_mutants.discovery.mutant import Fresh, Mutant, mutant
from mcp_proxy_mutants.discovery.pieces import Entry, Tally, Texts, as_, plus, then
from mcp_proxy_reference import policy as std
from mcp_proxy_reference.facts import Agent, Facts, Json, Match, Status
from mcp_proxy_reference.gateway import Gateway

LONG = 1000
LINE = 24
THEIRS = std.REMEDIATION["disabled_by_user"]


def _user_text_for_agents(document: Json, request: Request) -> Json:
    """Return an agent's answer with the user-lock text as the remediation of config locks.

    The administrator's answer, and one without config locks, are unchanged.
    """
    texts = document.get("remediation", {})
    if request.agent.servers is None or "disabled_by_config" not in texts:
        return document
    wrong = texts | {"disabled_by_config": std.REMEDIATION["disabled_by_user"]}
    return document | {"remediation": wrong}


def _no_long_texts(facts: Facts, status: Status, withheld: bool) -> Json:
    """Return the locked entry, without its description if that exceeds 1000 characters."""
    return std.locked_entry(facts, status, withheld or len(facts.tool.description) > LONG)


def _without_text_when_twice(facts: Facts, status: Status, withheld: bool) -> Json:
    """Return the locked entry, without its description if both config and user lock the tool."""
    return std.locked_entry(facts, status, withheld or (facts.denied and facts.disabled_by_user))


def _under(facts: Facts, status: Status, withheld: bool, name: str) -> Json:
    """Return the locked entry with `name` as the name of its tool."""
    return std.locked_entry(facts, status, withheld) | {"name": name}


def _described(facts: Facts, status: Status, withheld: bool, text: str) -> Json:
    """Return the locked entry with `text` as its description, unless that is withheld."""
    entry = std.locked_entry(facts, status, withheld)
    return entry if withheld else entry | {"description": text}


def _first_servers(document: Json, _request: Request) -> Json:
    """Return the answer with the first locked entry's server in every locked entry."""
    entries = document.get("disabled", [])
    if not entries:
        return document
    server = entries[0]["server"]
    return document | {"disabled": [entry | {"server": server} for entry in entries]}


def _nowhere(facts: Facts, status: Status, withheld: bool) -> Json:
    """Return the locked entry; a withheld one names `quarantine` as its server."""
    entry = std.locked_entry(facts, status, withheld)
    return entry | {"server": "quarantine"} if withheld else entry


def _trusting_old_approval(facts: Facts, status: Status, withheld: bool) -> Json:
    """Return the locked entry; a quarantined tool with a valid approval shows its description.

    The reference withholds the description of any tool in quarantine.
    """
    known = facts.quarantined and facts.approval == "approved"
    return std.locked_entry(facts, status, withheld and not known)


def _new_text_of_changed(facts: Facts, status: Status, withheld: bool) -> Json:
    """Return the locked entry; a changed tool shows its new description, which nobody approved."""
    return std.locked_entry(facts, status, withheld and facts.approval != "changed")


def _schemas_of_servers_off(facts: Facts, status: Status, withheld: bool) -> Json:
    """Return the locked entry; a tool of a switched-off server has an output schema."""
    more = {"outputSchema": {"type": "object"}} if status == "server_disabled" else {}
    return std.locked_entry(facts, status, withheld) | more


def _titled(facts: Facts, status: Status, withheld: bool) -> Json:
    """Return the locked entry with the title of the tool's annotations, even if withheld."""
    title = facts.tool.annotations.get("title")
    named = {"title": title} if isinstance(title, str) else {}
    return std.locked_entry(facts, status, withheld) | named


def _parameters_in_usage(gateway: Gateway) -> None:
    """Name parameters of tools outside of the index in the usage instructions, without the flag.

    They are those of the servers that have hits.
    """
    servers: set[str] = set()

    def noting(hits: Sequence[Match], limit: int) -> tuple[Sequence[Match], Sequence[Match]]:
        servers.clear()
        servers.update(hit.facts.tool.server for hit in hits)
        return std.window(hits, limit)

    def answer(document: Json, request: Request) -> Json:
        if request.flag:
            return document
        names = [
            name
            for server in sorted(servers)
            for facts in gateway.known()[server]
            if not std.indexed(facts)
            for name in facts.tool.schema.get("properties", {})
        ]
        if not names:
            return document
        usage = f"{document['usage_instructions']} Known parameters: {', '.join(names)}."
        return document | {"usage_instructions": usage}

    decide(gateway, window=noting, answer=answer)


def _user_text_for_two_locks(gateway: Gateway) -> None:
    """Give config locks the user-lock remediation if a listed tool has both locks."""
    both: list[bool] = []

    def entry(facts: Facts, status: Status, withheld: bool) -> Json:
        both.append(facts.denied and facts.disabled_by_user)
        return std.locked_entry(facts, status, withheld)

    def joined(entries: Sequence[Json], remediation: Mapping[str, str]) -> Json:
        has_both, texts = any(both), dict(remediation)
        both.clear()
        if has_both and "disabled_by_config" in texts:
            texts["disabled_by_config"] = THEIRS
        return std.sections(entries, texts)

    decide(gateway, locked_entry=entry, sections=joined)


def _denied_unless(lifted: Callable[[Facts], bool]) -> Callable[[Facts], Facts]:
    """Return a function that drops config's denial from facts that `lifted` selects."""
    return lambda facts: replace(facts, denied=facts.denied and not lifted(facts))


def _rejected_as(lifted: Callable[[Facts], bool]) -> Callable[[Facts, Texts], str]:
    """Return a `rejection` decision that ignores config's denial of tools that `lifted` selects."""
    view = _denied_unless(lifted)
    return lambda facts, texts: std.rejection(view(facts), texts)


def _counted_as(
    lifted: Callable[[Facts], bool],
) -> Callable[[Sequence[tuple[Facts, Status | None]]], Json | None]:
    """Return a `counts` decision that ignores config's denial of tools that `lifted` selects."""
    view = _denied_unless(lifted)

    def block(tools: Sequence[tuple[Facts, Status | None]]) -> Json | None:
        return std.counts(
            [(facts, status and std.classify(view(facts))) for facts, status in tools]
        )

    return block


def _shorter_when_repeated() -> Callable[[Facts, Texts], str]:
    """Return a `rejection` decision: later refusals of a denied tool say to ask the user.

    The first one of each tool is as usual.
    """
    refusals: dict[str, int] = {}

    def shorter(facts: Facts, texts: Texts) -> str:
        key = facts.tool.key
        refusals[key] = refusals.get(key, 0) + 1
        if std.classify(facts) != "disabled_by_config" or refusals[key] == 1:
            return std.rejection(facts, texts)
        return f"Still locked: ask the user to enable {key}. {std.POINTER}"

    return shorter


def _unapproved(facts: Facts) -> bool:
    """Whether the tool is new or changed and awaits approval."""
    return facts.approval in {"pending", "changed"}


def _user_hint(block: Json, _tools: Tally) -> Json:
    """Return a server's counts with a hint to ask the user, whatever locks the tools."""
    return block | {"hint": "Ask the user to enable these tools in the UI."}


def _minus(member: str, when: Callable[[Facts], bool] = lambda _: True) -> Entry:
    """Return a `locked_entry` decision that omits `member` for tools that `when` selects.

    By default it does so for all tools.
    """

    def entry(facts: Facts, status: Status, withheld: bool) -> Json:
        whole = std.locked_entry(facts, status, withheld)
        return {key: value for key, value in whole.items() if key != member or not when(facts)}

    return entry


def _described_as(change: Callable[[str], str]) -> Entry:
    """Return a `locked_entry` decision that passes descriptions through `change`.

    An entry whose description is withheld still has none.
    """
    return plus(
        lambda facts, _, withheld: (
            {} if withheld else {"description": change(facts.tool.description)}
        )
    )


def _shown(when: Callable[[Facts], bool], text: Callable[[Facts], Any]) -> Entry:
    """Return a `locked_entry` decision that adds `text` as description to withheld entries.

    It applies to the tools that `when` selects.
    """
    return plus(
        lambda facts, _, withheld: {"description": text(facts)} if withheld and when(facts) else {}
    )


def _reason(facts: Facts, status: Status, withheld: bool) -> Json:
    """Return the locked entry with its status under the name `reason`."""
    entry = std.locked_entry(facts, status, withheld)
    return {("reason" if key == "status" else key): value for key, value in entry.items()}


def _last_described() -> Entry:
    """Return a `locked_entry` decision: once listed with a description, a tool keeps it.

    It shows that text even when it must be withheld.
    """
    descriptions: dict[str, str] = {}

    def members(facts: Facts, _status: Status, withheld: bool) -> Json:
        if not withheld:
            descriptions[facts.tool.key] = facts.tool.description
        return (
            {"description": descriptions[facts.tool.key]} if facts.tool.key in descriptions else {}
        )

    return plus(members)


def _text(facts: Facts) -> str:
    """Return the tool's present description."""
    return facts.tool.description


def _text_beside_user_lock(facts: Facts, status: Status, withheld: bool) -> Json:
    """Return the locked entry; a withheld tool shows its description if the user locked it too."""
    return std.locked_entry(facts, status, withheld and not facts.disabled_by_user)


def _approved_text_in_quarantine(facts: Facts, status: Status, withheld: bool) -> Json:
    """Return the locked entry; a changed tool in quarantine shows its last approved text."""
    entry = std.locked_entry(facts, status, withheld)
    known = facts.quarantined and facts.approval == "changed" and facts.approved_description
    return entry | {"description": facts.approved_description} if known else entry


def _reshaped(facts: Facts) -> bool:
    """Whether the tool changed, but its description did not."""
    return facts.approval == "changed" and facts.tool.description == facts.approved_description


def _searched_by_text(facts: Facts, surface: str) -> bool:
    """Whether the tool may be called; in discovery, a changed tool with its old description may.

    Calls and listings are decided as usual.
    """
    seen = surface == "discovery" and _reshaped(facts)
    return std.may_call(replace(facts, approval="approved") if seen else facts, surface)


def _refused_by_schema(gateway: Gateway) -> None:
    """Answer a query for a word of a withheld schema with an error that quotes the description."""

    async def reply(
        _agent: Agent, _session: str, message: Json, respond: Callable[[], Awaitable[Json]]
    ) -> Json:
        answer, params = await respond(), message.get("params") or {}
        query = str((params.get("arguments") or {}).get("query") or "?")
        if params.get("name") != "retrieve_tools":
            return answer
        for facts in (facts for tools in gateway.known().values() for facts in tools):
            known = query in facts.tool.description or query in facts.tool.name
            if std.withheld_status(facts) and not known and query in str(facts.tool.schema):
                text = f"Not approved: {facts.tool.description}"
                error = {"content": [{"type": "text", "text": text}], "isError": True}
                return answer | {"result": error}
        return answer

    decide(gateway, reply=reply)


MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "quarantine-ends-with-the-server",
        "Tools of a quarantined server are in the index once it is switched off.",
        "FR-003.canary",
        indexed=lambda facts: std.indexed(
            replace(facts, quarantined=facts.quarantined and facts.enabled)
        ),
    ),
    mutant(
        "error-quotes-a-withheld-text",
        "A query for a word of a withheld schema gets an error that quotes the description.",
        "FR-003.canary",
        swap=_refused_by_schema,
    ),
    mutant(
        "new-schema-beside-known-text",
        "A tool that changed in its schema alone is listed with the new schema.",
        "FR-003.members",
        "FR-003.withheld",
        "FR-003.canary",
        locked_entry=plus(
            lambda facts, _s, _w: {"inputSchema": facts.tool.schema} if _reshaped(facts) else {}
        ),
    ),
    mutant(
        "new-schema-is-searched",
        "Discovery lists a tool that changed in its schema alone as callable.",
        "FR-003.canary",
        "FR-004.follows-state",
        indexed=lambda facts: std.indexed(facts) or (_reshaped(facts) and not facts.quarantined),
        may_call=_searched_by_text,
    ),
    mutant(
        "user-lock-brings-the-text-back",
        "A quarantined tool is listed with its description if the user disabled it, too.",
        "FR-003.withheld",
        locked_entry=_text_beside_user_lock,
    ),
    mutant(
        "approved-text-in-quarantine",
        "A changed tool of a quarantined server is listed with the description approved before.",
        "FR-003.withheld",
        locked_entry=_approved_text_in_quarantine,
    ),
    mutant(
        "withheld-entries-titled",
        "Withheld entries show the title from the tool's annotations.",
        "FR-003.canary",
        "FR-003.withheld",
        locked_entry=_titled,
    ),
    mutant(
        "usage-names-unapproved-parameters",
        "Default answers name parameters of unapproved tools.",
        "FR-003.canary",
        swap=_parameters_in_usage,
    ),
    mutant(
        "withheld-annotations",
        "Withheld entries have the tool's annotations.",
        "FR-003.canary",
        locked_entry=plus(
            lambda facts, _s, withheld: {"annotations": facts.tool.annotations} if withheld else {}
        ),
    ),
    mutant(
        "locked-texts-cut-short",
        "Descriptions of locked tools are cut to twenty-four characters.",
        "FR-003.description",
        locked_entry=lambda facts, status, withheld: _described(
            facts, status, withheld, facts.tool.description[:LINE]
        ),
    ),
    mutant(
        "locked-texts-escaped",
        "Descriptions of locked tools are escaped for HTML.",
        "FR-003.description",
        locked_entry=lambda facts, status, withheld: _described(
            facts, status, withheld, html.escape(facts.tool.description)
        ),
    ),
    mutant(
        "entry-blank-description",
        "Descriptions of denied tools are empty.",
        "FR-003.description",
        locked_entry=plus(
            lambda facts, _, withheld: {"description": ""} if facts.denied and not withheld else {}
        ),
    ),
    mutant(
        "entry-cut-at-500",
        "Descriptions of more than 500 characters end in an ellipsis.",
        "FR-003.description",
        locked_entry=_described_as(lambda text: text if len(text) <= 500 else f"{text[:499]}…"),  # noqa: PLR2004
    ),
    mutant(
        "entry-first-sentence",
        "Descriptions of locked tools are cut after the first sentence.",
        "FR-003.description",
        locked_entry=_described_as(lambda text: text.split(". ")[0]),
    ),
    mutant(
        "entry-marked",
        "Descriptions of locked tools begin with `[locked]`.",
        "FR-003.description",
        locked_entry=_described_as(lambda text: f"[locked] {text}"),
    ),
    mutant(
        "long-texts-are-dropped",
        "Descriptions of more than a thousand characters are left out.",
        "FR-003.members",
        locked_entry=_no_long_texts,
    ),
    mutant(
        "two-locks-lose-the-text",
        "A tool locked by config and user lacks its description.",
        "FR-003.members",
        "FR-003.description",
        locked_entry=_without_text_when_twice,
    ),
    mutant(
        "status-in-a-list",
        "The status of a tool with two locks is a list with one word.",
        "FR-003.members",
        "FR-004.enum",
        locked_entry=plus(
            lambda facts, status, _: (
                {"status": [status]} if facts.denied and facts.disabled_by_user else {}
            )
        ),
    ),
    mutant(
        "schemas-of-servers-off",
        "Entries of tools of a switched-off server have an output schema.",
        "FR-003.members",
        locked_entry=_schemas_of_servers_off,
    ),
    mutant(
        "entry-schema",
        "Locked entries have the input schema that callable ones have.",
        "FR-003.members",
        locked_entry=plus(
            lambda facts, _, withheld: {} if withheld else {"inputSchema": facts.tool.schema}
        ),
    ),
    mutant(
        "entry-status-list",
        "The status of an entry is a list with one word.",
        "FR-003.members",
        locked_entry=plus(lambda _f, status, _w: {"status": [status]}),
    ),
    mutant(
        "entry-reason",
        "The member for the status is called `reason`.",
        "FR-003.members",
        locked_entry=_reason,
    ),
    mutant(
        "entry-no-server",
        "Entries name the server only within the tool's name.",
        "FR-003.members",
        locked_entry=_minus("server"),
    ),
    mutant(
        "entry-no-description",
        "Entries of tools locked by the user lack the description.",
        "FR-003.members",
        "FR-003.description",
        locked_entry=_minus("description", lambda facts: facts.disabled_by_user),
    ),
    mutant(
        "locked-names-with-a-dot",
        "User-locked tools are named `server.tool`, with a dot.",
        "FR-003.name",
        locked_entry=lambda facts, status, withheld: (
            _under(facts, status, withheld, facts.tool.key.replace(":", "."))
            if status == "disabled_by_user"
            else std.locked_entry(facts, status, withheld)
        ),
    ),
    mutant(
        "withheld-names-are-cut",
        "Names of withheld tools are cut to eight characters.",
        "FR-003.name",
        locked_entry=lambda facts, status, withheld: (
            _under(facts, status, withheld, facts.tool.name[:8])
            if withheld
            else std.locked_entry(facts, status, withheld)
        ),
    ),
    mutant(
        "user-locked-servers-capitalised",
        "User-locked entries spell the server with a capital letter.",
        "FR-003.server",
        locked_entry=plus(
            lambda facts, status, _: (
                {"server": facts.tool.server.title()} if status == "disabled_by_user" else {}
            )
        ),
    ),
    mutant(
        "server-as-an-object",
        "A locked entry has its server as an object with a name.",
        "FR-003.server",
        "FR-003.members",
        locked_entry=plus(
            lambda facts, _status, _withheld: {"server": {"name": facts.tool.server}}
        ),
    ),
    mutant(
        "first-entry-lends-its-server",
        "Every locked entry names the server of the first.",
        "FR-003.server",
        answer=_first_servers,
    ),
    mutant(
        "withheld-belong-nowhere",
        "Withheld entries name `quarantine` as their server.",
        "FR-003.server",
        locked_entry=_nowhere,
    ),
    mutant(
        "quarantine-keeps-approved-texts",
        "The entry of a quarantined tool has the description approved before.",
        "FR-003.withheld",
        "FR-003.canary",
        locked_entry=_trusting_old_approval,
    ),
    mutant(
        "changed-entry-has-the-new-text",
        "The entry of a changed tool has the unapproved text.",
        "FR-003.withheld",
        "FR-003.canary",
        locked_entry=_new_text_of_changed,
    ),
    mutant(
        "new-tools-are-indexed",
        "New tools are indexed with their unapproved text.",
        "FR-003.withheld",
        "FR-003.canary",
        indexed=lambda facts: (
            std.indexed(facts) or (facts.approval == "pending" and not facts.quarantined)
        ),
    ),
    mutant(
        "withheld-nothing",
        "Every locked entry has its description.",
        "FR-003.withheld",
        "FR-003.canary",
        locked_entry=lambda facts, status, _: std.locked_entry(facts, status, withheld=False),
    ),
    mutant(
        "quarantined-described",
        "Tools of quarantined servers are shown with their descriptions.",
        "FR-003.withheld",
        "FR-003.canary",
        locked_entry=_shown(lambda facts: facts.quarantined, _text),
    ),
    mutant(
        "changed-described",
        "Changed tools are shown with the new text.",
        "FR-003.withheld",
        "FR-003.canary",
        locked_entry=_shown(
            lambda facts: facts.approval == "changed" and not facts.quarantined, _text
        ),
    ),
    mutant(
        "pending-preview",
        "New tools are shown with the first words of their text.",
        "FR-003.withheld",
        "FR-003.canary",
        locked_entry=_shown(
            lambda facts: facts.approval == "pending", lambda facts: facts.tool.description[:40]
        ),
    ),
    mutant(
        "quarantined-schema",
        "Tools of quarantined servers are shown with their schemas.",
        "FR-003.withheld",
        "FR-003.canary",
        "FR-003.members",
        locked_entry=plus(
            lambda facts, _s, withheld: {"inputSchema": facts.tool.schema} if withheld else {}
        ),
    ),
    mutant(
        "remembered-text",
        "A tool listed with its description once keeps it when it must be withheld.",
        "FR-003.withheld",
        "FR-003.canary",
        locked_entry=Fresh(_last_described),
    ),
    mutant(
        "agents-told-the-users-text",
        "Agents are told to ask the user about config locks.",
        "SC-003.discovery",
        answer=_user_text_for_agents,
    ),
    mutant(
        "config-text-under-two-locks",
        "A tool with a config and a user lock gets the text for user locks.",
        "SC-003.discovery",
        swap=_user_text_for_two_locks,
    ),
    mutant(
        "config-entries-ask-the-user",
        "Descriptions of config-locked tools end with the text for user locks.",
        "FR-005.once",
        "SC-003.discovery",
        locked_entry=lambda facts, status, withheld: (
            std.locked_entry(facts, status, withheld)
            | (
                {"description": f"{facts.tool.description} {THEIRS}"}
                if status == "disabled_by_config"
                else {}
            )
        ),
    ),
    mutant(
        "counts-put-user-first",
        "The listing counts a tool locked by config and user as user-locked.",
        "SC-003.listing",
        counts=_counted_as(lambda facts: facts.disabled_by_user),
    ),
    mutant(
        "counts-put-approval-first",
        "The listing counts a denied unapproved tool as pending.",
        "SC-003.listing",
        counts=_counted_as(_unapproved),
    ),
    mutant(
        "counts-config-as-user",
        "Config locks are counted as user locks.",
        "SC-003.listing",
        "FR-010.sum",
        counts=as_(
            lambda _f, status: "disabled_by_user" if status == "disabled_by_config" else status
        ),
    ),
    mutant(
        "counts-hint",
        "The block of counts says to ask the user, whatever the reasons.",
        "SC-003.listing",
        counts=then(_user_hint),
    ),
    mutant(
        "rejection-puts-user-first",
        "A tool locked by config and user is rejected as user-locked.",
        "SC-003.rejection",
        rejection=_rejected_as(lambda facts: facts.disabled_by_user),
    ),
    mutant(
        "rejection-puts-approval-first",
        "A denied changed tool is rejected as unapproved.",
        "SC-003.rejection",
        rejection=_rejected_as(lambda facts: facts.approval == "changed"),
    ),
    mutant(
        "second-rejection-is-shorter",
        "The second rejection of a denied tool says to ask the user.",
        "SC-003.rejection",
        "FR-008.config",
        rejection=Fresh(_shorter_when_repeated),
    ),
)
