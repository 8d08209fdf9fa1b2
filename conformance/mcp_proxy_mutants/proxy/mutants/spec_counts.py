"""Faults of the counts at servers."""

from collections.abc import Callable, Sequence
from typing import Any

from mcp_proxy_mutants.proxy.mutant import Fresh, Mutant, mutant
from mcp_proxy_mutants.proxy.pieces import later_pages, texts
from mcp_proxy_mutants.proxy.swapping import decide
from mcp_proxy_reference import policy as std
from mcp_proxy_reference.facts import Facts, Json, Status
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.tools import render

Tally = Sequence[tuple[Facts, Status | None]]
Counts = Callable[[Tally], Any]
USER = "disabled_by_user"
KEYS = tuple(texts())[:5]


def _then(change: Callable[[Json, Tally], Any]) -> Counts:
    """The block, changed where there is one."""

    def counts(tools: Tally) -> Any:
        block = std.counts(tools)
        return None if block is None else change(block, tools)

    return counts


def _as(status: Callable[[Facts, Status | None], Any]) -> Counts:
    """The block of other statuses."""
    return lambda tools: std.counts([(facts, status(facts, one)) for facts, one in tools])


def _only(when: Callable[[Facts], bool]) -> Counts:
    """The block of some of the tools."""
    return lambda tools: std.counts([one for one in tools if when(one[0])])


def _double(block: Json, tools: Tally) -> Json:
    both = sum(facts.denied and facts.disabled_by_user for facts, _ in tools)
    return block | ({"disabled_by_user": block.get("disabled_by_user", 0) + both} if both else {})


def _once_locked() -> Counts:
    """A server that had a block keeps it."""
    seen: set[str] = set()

    def counts(tools: Tally) -> Any:
        block = std.counts(tools)
        if block:
            seen.add(tools[0][0].tool.server)
        elif tools and tools[0][0].tool.server in seen:
            return {"callable": len(tools)}
        return block

    return counts


def _first_counts() -> Counts:
    """A server's first block stays as it was while anything is locked."""
    first: dict[str, Json] = {}

    def counts(tools: Tally) -> Any:
        block = std.counts(tools)
        return block and first.setdefault(tools[0][0].tool.server, block)

    return counts


def _null_beside_locks(document: Json) -> str:
    """Once one server has counts, the others have the member with null."""
    servers = document.get("servers", [])
    if any("tools" in one for one in servers):
        document = document | {"servers": [{"tools": None} | one for one in servers]}
    return render(document)


def _null_always(document: Json) -> str:
    """Without counts, the member holds null."""
    listed = [{"tools": None} | one for one in document.get("servers", [])]
    return render(document | {"servers": listed} if "servers" in document else document)


def _without_block(document: Json) -> str:
    """The view of a single server has no counts."""
    if isinstance(server := document.get("server"), dict):
        return render({"server": {key: server[key] for key in server if key != "tools"}})
    return render(document)


def _less_later_pages(gateway: Gateway) -> None:
    later = later_pages(gateway)
    decide(gateway, counts=_only(lambda facts: facts.tool.key not in later))


def _none_on_stdio(gateway: Gateway) -> None:
    servers = gateway.config.servers
    decide(
        gateway,
        counts=lambda tools: (
            None if tools and servers[tools[0][0].tool.server].command else std.counts(tools)
        ),
    )


def _user_hint(block: Json, _tools: Tally) -> Json:
    return block | {"hint": "Ask the user to enable these tools in the UI."}


MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "spec-counts-zeros",
        "Reasons without tools are counted as 0.",
        "FR-010.zero-omitted",
        counts=_then(lambda block, _: dict.fromkeys(KEYS, 0) | block),
    ),
    mutant(
        "spec-counts-zero-user",
        "The user's locks are counted also when there are none.",
        "FR-010.zero-omitted",
        counts=_then(lambda block, _: {"disabled_by_user": 0} | block),
    ),
    mutant(
        "spec-counts-always",
        "A server whose tools are all callable has a block too.",
        "SC-005.absent",
        counts=lambda tools: std.counts(tools) or {"callable": len(tools)},
    ),
    mutant(
        "spec-counts-null",
        "Entries of fully callable servers say null.",
        "SC-005.absent",
        render=_null_always,
    ),
    mutant(
        "spec-counts-empty",
        "Entries of fully callable servers have an empty block.",
        "SC-005.absent",
        counts=lambda tools: std.counts(tools) or {},
    ),
    mutant(
        "spec-counts-null-beside",
        "Once one server has counts, the others say null.",
        "SC-005.absent",
        "SC-005.zero-bytes",
        render=_null_beside_locks,
    ),
    mutant(
        "spec-counts-double",
        "A tool locked by operator and user is counted under both.",
        "FR-010.sum",
        "FR-004.once",
        "SC-003.listing",
        counts=_then(_double),
    ),
    mutant(
        "spec-counts-total",
        "The callable ones are all tools of the server.",
        "FR-010.sum",
        counts=_then(lambda block, tools: block | {"callable": len(tools)}),
    ),
    mutant(
        "spec-counts-quarantined-callable",
        "Tools of a quarantined server are counted as callable.",
        "FR-010.quarantined",
        counts=_as(lambda _f, status: None if status == "server_quarantined" else status),
    ),
    mutant(
        "spec-counts-pending-callable",
        "Tools that await approval are counted as callable.",
        "FR-010.sum",
        "FR-010.block",
        counts=_as(lambda _f, status: None if status == "pending_approval" else status),
    ),
    mutant(
        "spec-counts-pending-left-out",
        "Tools outside of the search index are not counted.",
        "FR-010.sum",
        "FR-010.block",
        counts=_only(lambda facts: facts.approval not in {"pending", "changed"}),
    ),
    mutant(
        "spec-counts-changed-callable",
        "Changed tools are counted as callable.",
        "FR-010.sum",
        counts=_as(
            lambda facts, status: (
                None if facts.approval == "changed" and status == "pending_approval" else status
            )
        ),
    ),
    mutant(
        "spec-counts-config-as-user",
        "The operator's locks are counted as the user's.",
        "SC-003.listing",
        "FR-010.sum",
        counts=_as(lambda _f, one: "disabled_by_user" if one == "disabled_by_config" else one),
    ),
    mutant(
        "spec-counts-no-user",
        "The user's locks alone bring no block.",
        "FR-010.block",
        counts=_then(lambda block, _: block if set(block) - {"callable", USER} else None),
    ),
    mutant(
        "spec-counts-disabled",
        "Both kinds of locks are counted in one number.",
        "FR-010.sum",
        counts=_then(
            lambda block, tools: {
                "callable": block["callable"],
                "disabled": len(tools) - block["callable"],
            }
        ),
    ),
    mutant(
        "spec-counts-names",
        "Beside the counts stand the names of the locked tools.",
        "FR-010.no-names",
        counts=_then(
            lambda block, tools: (
                block | {"locked": [facts.tool.name for facts, one in tools if one]}
            )
        ),
    ),
    mutant(
        "spec-counts-lists",
        "Each reason has its tools instead of their number.",
        "FR-010.block",
        "FR-010.no-names",
        counts=_then(
            lambda block, tools: (
                {
                    key: [facts.tool.name for facts, one in tools if one == key]
                    for key in block
                    if key != "callable"
                }
                | {"callable": block["callable"]}
            )
        ),
    ),
    mutant(
        "spec-counts-texts",
        "Counts are strings.",
        "FR-010.block",
        counts=_then(lambda block, _: {key: str(value) for key, value in block.items()}),
    ),
    mutant(
        "spec-counts-stay",
        "The block stays after the last lock was lifted.",
        "FR-010.block",
        counts=Fresh(_once_locked),
    ),
    mutant(
        "spec-counts-first",
        "A server's first block stays while anything is locked.",
        "FR-010.sum",
        counts=Fresh(_first_counts),
    ),
    mutant(
        "spec-counts-not-inspected",
        "The view of a single server has no counts.",
        "FR-010.inspect",
        render=_without_block,
    ),
    mutant(
        "spec-counts-first-page",
        "Tools from later pages of a server are not counted.",
        "FR-010.sum",
        "FR-010.block",
        swap=_less_later_pages,
    ),
    mutant(
        "spec-counts-no-stdio",
        "Servers on standard streams have no counts.",
        "FR-010.block",
        swap=_none_on_stdio,
    ),
    mutant(
        "spec-counts-hint",
        "The block tells to ask the user, whatever the reasons.",
        "SC-003.listing",
        counts=_then(_user_hint),
    ),
)
