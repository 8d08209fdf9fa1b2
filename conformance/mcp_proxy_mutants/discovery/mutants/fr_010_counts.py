"""Mutants of the counts of locked tools by reason in the listing and inspection of servers."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from mcp_proxy_mutants.discovery.gateway_changes import decide
from mcp_proxy_mutants.discovery.mutant import Fresh, Mutant, mutant
from mcp_proxy_mutants.discovery.pieces import (
    CONFIG,
    OFF,
    PENDING,
    QUARANTINED,
    USER,
    Chosen,
    Counts,
    Tally,
    as_,
    on_later_pages,
    ordered,
    texts,
    then,
    viewed_as,
)
from mcp_proxy_reference import policy as std
from mcp_proxy_reference.facts import Facts, Json, Status
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.tools import render

Block = Callable[[Tally], Json | None]
REASONS: tuple[Status, ...] = (CONFIG, USER, PENDING)
KEYS = tuple(texts())[:5]


def _uncount(gateway: Gateway, hidden: Chosen) -> None:
    """Leave the locked tools that `hidden` selects out of the counts altogether."""
    decide(
        gateway,
        counts=lambda tools: std.counts(
            [pair for pair in tools if pair[1] is None or not hidden(pair[0])]
        ),
    )


def _over_pipes(gateway: Gateway) -> Chosen:
    """Return a condition: the tool's server runs over stdio."""
    return lambda facts: gateway.config.servers[facts.tool.server].command is not None


def _inspection_as_user(document: Json) -> str:
    """Return the JSON text; the view of one server counts config locks as user locks."""
    block = document.get("server", {}).get("tools", {})
    if "disabled_by_config" not in block:
        return render(document)
    moved = block.get("disabled_by_user", 0) + block["disabled_by_config"]
    kept = {word: number for word, number in block.items() if word != "disabled_by_config"}
    server = document["server"] | {"tools": kept | {"disabled_by_user": moved}}
    return render(document | {"server": server})


def _pending_alone(tools: Tally) -> Json | None:
    """Return a server's counts; None if pending tools are its only locked ones."""
    block = std.counts(tools)
    return None if block and set(block) == {"callable", "pending_approval"} else block


def _by_the_callable_ones() -> Block:
    """Return a `counts` decision that counts again only when another set of tools is callable."""
    kept: dict[frozenset[str], Json | None] = {}

    def counts(tools: Tally) -> Json | None:
        callables = frozenset(facts.tool.key for facts, status in tools if status is None)
        return kept.setdefault(callables, std.counts(tools))

    return counts


def _lingering() -> Block:
    """Return a `counts` decision: a server that once had counts keeps a block with nothing locked.

    That block has the number of callable tools only.
    """
    blocked: set[str] = set()

    def block(tools: Tally) -> Json | None:
        counts, servers = std.counts(tools), {facts.tool.server for facts, _ in tools}
        if counts:
            blocked.update(servers)
        return counts or ({"callable": len(tools)} if servers & blocked else None)

    return block


def _pending_nowhere(block: Json, tools: Tally) -> Json:
    """Return the counts without pending tools, unless these are the only locked ones.

    `callable` stays the number of callable tools.
    """
    if set(block) == {"callable", "pending_approval"}:
        return block
    return {word: number for word, number in block.items() if word != "pending_approval"} | {
        "callable": len([facts for facts, status in tools if status is None])
    }


def _zero_for_pending(block: Json, tools: Tally) -> Json:
    """Return the counts, with 0 for pending tools if there are user locks and no pending tool."""
    waits = any(status == "disabled_by_user" for _, status in tools)
    return {"pending_approval": 0} | block if waits else block


def _examples(block: Json, tools: Tally) -> Json:
    """Return the counts with the name of one locked tool as `example`.

    It is the last one of the alphabetically last status.
    """
    named = {status: facts.tool.name for facts, status in tools if status}
    return block | {"example": named[max(named)]}


def _last_locked(gateway: Gateway) -> None:
    """Count locked tools that their server dropped under the last status they had.

    While nothing is or was locked, the entry is unchanged.
    """
    statuses: dict[str, dict[str, Status]] = {}

    def server_entry(entry: Json, tools: Sequence[Facts]) -> Json:
        known = statuses.setdefault(entry["name"], {})
        for facts in tools:
            known.pop(facts.tool.name, None)
            if not std.may_call(facts, "listing"):
                known[facts.tool.name] = std.classify(facts)
        free = sum(facts.tool.name not in known for facts in tools)
        block: Json = {"callable": free} | Counter(map(str, known.values()))
        return entry | {"tools": block} if known else entry

    decide(gateway, server_entry=server_entry)


def _by_the_longest_list() -> Callable[[Tally], Json | None]:
    """Return a `counts` decision that still counts tools that their server dropped, as callable.

    It takes the longest list so far as the number of tools; None if nothing is locked.
    """
    most: dict[str, int] = {}

    def counts(tools: Tally) -> Json | None:
        block = std.counts(tools)
        if block is None:
            return None
        name = tools[0][0].tool.server
        most[name] = max(len(tools), most.get(name, 0))
        return block | {"callable": block["callable"] + most[name] - len(tools)}

    return counts


def _five_words(tools: Tally) -> Json | None:
    """Return a server's counts with quarantined tools counted as callable.

    None if nothing is locked.
    """
    block = std.counts(tools)
    free = block.pop("server_quarantined", 0) if block else 0
    return block | {"callable": block["callable"] + free} if block else block


def _inspecting(change: Callable[[Json], Json]) -> Callable[[Json], str]:
    """Return a `render` decision that passes the inspected server through `change`.

    The listing of all servers is unchanged.
    """
    return lambda document: render(
        document | {"server": change(document["server"])} if "server" in document else document
    )


def _first_seen() -> Callable[[Json], str]:
    """Return a `render` decision: a server's inspection repeats the first counts it showed."""
    blocks: dict[str, Json] = {}

    def first(server: Json) -> Json:
        if "tools" in server:
            kept = blocks.setdefault(server["name"], server["tools"])
            return server | {"tools": kept}
        return server

    return _inspecting(first)


def _null_beside_blocks(document: Json) -> str:
    """Return the listing's JSON; servers without counts have null if any other has counts."""
    listed = document.get("servers", [])
    if not any("tools" in entry for entry in listed):
        return render(document)
    return render(document | {"servers": [{"tools": None} | entry for entry in listed]})


def _twice(document: Json) -> str:
    """Return the listing's JSON; servers without counts come twice, first with counts.

    These are one callable tool and one locked by the user; other documents are unchanged.
    """
    counts = {"callable": 1, "disabled_by_user": 1}
    listed = [
        each
        for entry in document.get("servers", [])
        for each in ([] if "tools" in entry else [entry | {"tools": counts}]) + [entry]
    ]
    return render(document | {"servers": listed} if listed else document)


def _revisions() -> Callable[[Json], str]:
    """Return a `render` decision: each server's entry has the number of states of all counts.

    It is in `revision` and counts the states listed so far; other documents are unchanged.
    """
    last: list[str] = []

    def spelled(document: Json) -> str:
        listed = document.get("servers", [])
        blocks = json.dumps([entry.get("tools") for entry in listed])
        if listed and blocks not in last[-1:]:
            last.append(blocks)
        return render(
            document | {"servers": [entry | {"revision": len(last)} for entry in listed]}
            if listed else document
        )  # fmt: skip

    return spelled


def _share(document: Json) -> str:
    """Return the listing's JSON; each entry has, as `others_locked`, how many others have counts.

    If no server has any, entries stay as they are.
    """
    listed = document.get("servers", [])
    locked = sum("tools" in entry for entry in listed)
    return render(
        document | {"servers": [entry | {"others_locked": locked - ("tools" in entry)}
                                if locked else entry for entry in listed]}
        if listed else document
    )  # fmt: skip


def _any_server_denies(gateway: Gateway, facts: Facts) -> bool:
    """Whether config denies the tool, or a tool of that name on any server."""
    name = facts.tool.name
    return facts.denied or any(
        name in server.disabled_tools for server in gateway.config.servers.values()
    )


def _double(block: Json, tools: Tally) -> Json:
    """Return the counts with tools that config denies and the user locks under both reasons."""
    both = sum(facts.denied and facts.disabled_by_user for facts, _ in tools)
    return block | ({"disabled_by_user": block.get("disabled_by_user", 0) + both} if both else {})


def _first_counts() -> Counts:
    """Return a `counts` decision that repeats a server's first counts while anything is locked."""
    first: dict[str, Json] = {}

    def counts(tools: Tally) -> Json | None:
        block = std.counts(tools)
        return block and first.setdefault(tools[0][0].tool.server, block)

    return counts


def _as_if_on(facts: Facts, status: Status | None) -> Status | None:
    """Return the status that the tool would have if its server were on; None for callable."""
    on = replace(facts, enabled=True)
    return status if facts.enabled else None if std.may_call(on, "listing") else std.classify(on)


def _own_reasons_too(block: Json, tools: Tally) -> Json:
    """Return the counts; where the server is off or quarantined, its user locks are added.

    Such a tool is then counted under two reasons, though only one takes precedence (FR-004.once).
    """
    shut = block.keys() & {OFF, QUARANTINED}
    theirs = sum(facts.disabled_by_user and not facts.denied for facts, _ in tools)
    return block | {USER: block.get(USER, 0) + theirs} if shut and theirs else block


def _approval_in_quarantine(facts: Facts, status: Status | None) -> Status | None:
    """Return the tool's status; an unapproved tool in quarantine is pending.

    None is a callable one.
    """
    waits = facts.quarantined and facts.approval in {"pending", "changed"}
    return PENDING if waits else status


def _servers_off_in_words(tools: Tally) -> Json | None:
    """Return a server's counts; the number of a switched-off server is a text, `all N`.

    None if nothing is locked.
    """
    block = std.counts(tools)
    off = block.get("server_disabled") if block else None
    return block if not off or block is None else block | {"server_disabled": f"all {off}"}


MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "gone-tools-are-counted",
        "A locked tool is counted under its last status after its server no longer lists it.",
        "FR-010.sum",
        "FR-010.block",
        "SC-005.absent",
        swap=_last_locked,
    ),
    mutant(
        "longest-list-is-counted",
        "Tools that their server no longer lists are counted as callable.",
        "FR-010.sum",
        counts=Fresh(_by_the_longest_list),
    ),
    mutant(
        "servers-off-counted-in-words",
        "The block of a switched-off server has a text in place of a number.",
        "FR-010.block",
        counts=_servers_off_in_words,
    ),
    mutant(
        "counts-as-if-on",
        "The counts of a switched-off server are those that it would have if it were on.",
        "FR-010.server-off",
        counts=as_(_as_if_on),
    ),
    mutant(
        "off-counted-on-both-sides",
        "Tools of a switched-off server are also counted as callable.",
        "FR-010.server-off",
        "FR-004.once",
        counts=then(
            lambda block, _tools: block | {"callable": block["callable"] + block.get(OFF, 0)}
        ),
    ),
    mutant(
        "shut-servers-count-own-reasons-too",
        "Beside the reason of an off or quarantined server, its tools' user locks are counted.",
        "FR-004.once",
        counts=then(_own_reasons_too),
    ),
    mutant(
        "off-counts-the-users-locks",
        "User-locked tools of a switched-off server are counted so, denied or not.",
        "SC-003.listing",
        counts=as_(
            lambda facts, status: USER if facts.disabled_by_user and not facts.enabled else status
        ),
    ),
    mutant(
        "quarantine-counts-approvals",
        "Unapproved tools of a quarantined server are counted as pending, denied or not.",
        "SC-003.listing",
        counts=as_(_approval_in_quarantine),
    ),
    mutant(
        "piped-servers-have-no-block",
        "Servers over stdio have no counts.",
        "FR-010.block",
        swap=lambda gateway: _uncount(gateway, _over_pipes(gateway)),
    ),
    mutant(
        "pending-alone-makes-no-block",
        "A server with pending tools as its only locks has no block of counts.",
        "FR-010.block",
        counts=_pending_alone,
    ),
    mutant(
        "counts-kept-while-the-same-are-callable",
        "A server's tools are counted again only when others are callable.",
        "FR-010.block",
        counts=Fresh(_by_the_callable_ones),
    ),
    mutant(
        "block-stays-after-unlock",
        "After the locks are lifted, the block stays with its callable count.",
        "FR-010.block",
        counts=Fresh(_lingering),
    ),
    mutant(
        "counts-no-user",
        "A server with user locks alone has no block of counts.",
        "FR-010.block",
        counts=then(lambda block, _: block if set(block) - {"callable", USER} else None),
    ),
    mutant(
        "counts-lists",
        "Each reason has a list of tools instead of a count.",
        "FR-010.block",
        "FR-010.no-names",
        counts=then(
            lambda block, tools: (
                {
                    key: [facts.tool.name for facts, status in tools if status == key]
                    for key in block
                    if key != "callable"
                }
                | {"callable": block["callable"]}
            )
        ),
    ),
    mutant(
        "counts-texts",
        "Counts are strings.",
        "FR-010.block",
        counts=then(lambda block, _: {key: str(value) for key, value in block.items()}),
    ),
    mutant(
        "inspection-counts-config-as-user",
        "The view of one server counts config locks as user locks.",
        "FR-010.inspect",
        "SC-003.listing",
        render=_inspection_as_user,
    ),
    mutant(
        "inspection-without-block",
        "The view of one server lacks the block.",
        "FR-010.inspect",
        render=_inspecting(
            lambda server: {name: server[name] for name in server if name != "tools"}
        ),
    ),
    mutant(
        "inspection-keeps-the-first",
        "The view of one server keeps the first block it showed.",
        "FR-010.inspect",
        render=Fresh(_first_seen),
    ),
    mutant(
        "block-has-an-example",
        "A block names one of the locked tools.",
        "FR-010.no-names",
        counts=then(_examples),
    ),
    mutant(
        "quarantined-counted-on-both-sides",
        "Quarantined tools are also counted as callable.",
        "FR-010.quarantined",
        "FR-004.once",
        counts=then(
            lambda block, _: (
                block | {"callable": block["callable"] + block.get("server_quarantined", 0)}
            )
        ),
    ),
    mutant(
        "five-words-in-counts",
        "Quarantined tools are counted as callable in a block.",
        "FR-010.quarantined",
        counts=_five_words,
    ),
    mutant(
        "counts-quarantined-callable",
        "Tools of a quarantined server are counted as callable.",
        "FR-010.quarantined",
        counts=as_(lambda _f, status: None if status == "server_quarantined" else status),
    ),
    mutant(
        "later-pages-uncounted",
        "Locked tools from later pages of a list are not counted.",
        "FR-010.block",
        "FR-010.sum",
        swap=lambda gateway: _uncount(gateway, on_later_pages(gateway)),
    ),
    mutant(
        "callables-count-locked-tools",
        "The callable count is the number of all tools.",
        "FR-010.sum",
        counts=then(lambda block, tools: block | {"callable": len(tools)}),
    ),
    mutant(
        "pending-beside-others-uncounted",
        "Pending tools are not counted beside other locks.",
        "FR-010.sum",
        counts=then(_pending_nowhere),
    ),
    mutant(
        "deny-everywhere",
        "A deny list is applied to tools of that name on every server.",
        "SC-005.absent",
        "FR-010.sum",
        swap=viewed_as(_any_server_denies),
    ),
    mutant(
        "counts-double",
        "A tool locked by operator and user is counted under both reasons.",
        "FR-010.sum",
        "FR-004.once",
        "SC-003.listing",
        counts=then(_double),
    ),
    mutant(
        "counts-pending-callable",
        "Tools that await approval are counted as callable.",
        "FR-010.sum",
        "FR-010.block",
        counts=as_(lambda _f, status: None if status == "pending_approval" else status),
    ),
    mutant(
        "counts-changed-callable",
        "Changed tools are counted as callable.",
        "FR-010.sum",
        counts=as_(
            lambda facts, status: (
                None if facts.approval == "changed" and status == "pending_approval" else status
            )
        ),
    ),
    mutant(
        "counts-first",
        "A server keeps its first block as long as any tool is locked.",
        "FR-010.sum",
        counts=Fresh(_first_counts),
    ),
    mutant(
        "pending-before-config",
        "A tool that awaits approval and is denied by config counts as pending.",
        "FR-010.sum",
        "SC-003.listing",
        classify=ordered(OFF, QUARANTINED, PENDING, CONFIG, USER),
    ),
    mutant(
        "zero-reasons-listed",
        "A block lists reasons with the count 0.",
        "FR-010.zero-omitted",
        counts=then(lambda block, _tools: dict.fromkeys(REASONS, 0) | block),
    ),
    mutant(
        "pending-zero-beside-user",
        "A block with user locks has pending_approval with the count 0.",
        "FR-010.zero-omitted",
        counts=then(_zero_for_pending),
    ),
    mutant(
        "zeros-counted",
        "Reasons without tools are counted as 0.",
        "FR-010.zero-omitted",
        counts=then(lambda block, _: dict.fromkeys(KEYS, 0) | block),
    ),
    mutant(
        "counts-zero-user",
        "A block without user locks has disabled_by_user with the count 0.",
        "FR-010.zero-omitted",
        counts=then(lambda block, _: {"disabled_by_user": 0} | block),
    ),
    mutant(
        "empty-block-when-callable",
        "A fully callable server has an empty block.",
        "SC-005.absent",
        counts=lambda tools: std.counts(tools) or {},
    ),
    mutant(
        "callable-block-of-some",
        "A fully callable server with three or more tools has a block.",
        "SC-005.absent",
        counts=lambda tools: std.counts(tools) or ({"callable": len(tools)} if tools[2:] else None),
    ),
    mutant(
        "null-beside-blocks",
        "A fully callable server has null as its counts while another has a block.",
        "SC-005.absent",
        "SC-005.zero-bytes",
        render=_null_beside_blocks,
    ),
    mutant(
        "callable-servers-listed-twice",
        "A fully callable server is listed twice, first with a block and then without one.",
        "FR-010.block",
        render=_twice,
    ),
    mutant(
        "counts-always",
        "A server whose tools are all callable has a block too.",
        "SC-005.absent",
        counts=lambda tools: std.counts(tools) or {"callable": len(tools)},
    ),
    mutant(
        "slashes-escaped",
        "Slashes are escaped in all answers.",
        "SC-005.baseline",
        render=lambda document: render(document).replace("/", r"\/"),
    ),
    mutant(
        "entries-tell-their-locks",
        "Every server's entry shows how many tools are locked.",
        "SC-005.baseline",
        server_entry=lambda entry, tools: (
            entry | {"locked": sum(bool(facts.denied or facts.disabled_by_user) for facts in tools)}
        ),
    ),
    mutant(
        "entries-numbered-by-locks",
        "Every server's entry has a number that changes with each lock.",
        "SC-005.zero-bytes",
        render=Fresh(_revisions),
    ),
    mutant(
        "entries-count-others-locks",
        "Entries show how many other servers have locks.",
        "SC-005.zero-bytes",
        render=_share,
    ),
)
