"""Mutants that rewrite tool counts in answers that list servers: FR-010, SC-005, SC-003, FR-007."""

from __future__ import annotations

from mcp_proxy_conformance.catalogue.surface import STATUSES
from mcp_proxy_conformance.discovery.selftest.edits import (
    Document,
    Entry,
    counted,
    each_server,
    locked,
    servers,
    wire,
)
from mcp_proxy_conformance.discovery.selftest.exchange import Json, WireExchange, WireFault

CALLABLE, CONFIG, USER = "callable", "disabled_by_config", "disabled_by_user"
Block = dict[str, Json]


def _twice(_: WireExchange, block: Block) -> Block:
    """Double every count but that of callable tools."""
    return {word: number * (1 if word == CALLABLE else 2) for word, number in block.items()}


def _counted_as(old: str, new: str) -> WireFault:
    """Return the mutant that removes the count of the status `old` and adds it to that of `new`."""

    def change(_: WireExchange, block: Block) -> Block:
        """Return the block with the count of `old` moved to `new`; unchanged without `old`."""
        rest = {word: number for word, number in block.items() if word != old}
        return rest | ({new: rest.get(new, 0) + block[old]} if old in block else {})

    broken = ("SC-003.listing", "FR-010.sum") if old == CONFIG else ("FR-010.sum",)
    return wire(
        f"counts-{old}-as-{new}", f"Tools with the reason {old} are counted as {new}.",
        *broken, document=counted(change),
    )  # fmt: skip


def _with_block_if_none(x: WireExchange, entry: Entry, value: Json) -> None:
    """Give a server's entry this value as its counts block, unless it has one."""
    entry.setdefault(x.surface.members.counts, value)


def _marked(x: WireExchange, answer: Document) -> Document | None:
    """Mark the servers without a counts block, if another server of the same listing has one.

    The mark is a member `all_callable`. None (no change) if none has a block.
    """
    counts = x.surface.members.counts
    entries = servers(x, answer) if x.lists else []
    if not any(counts in entry for entry in entries):
        return None
    for entry in entries:
        if counts not in entry:
            entry["all_callable"] = True
    return answer


def _respelled(x: WireExchange, text: str) -> str:
    """Put a space after each colon of a listing's JSON text in which a server has a counts block.

    Other texts stay.
    """
    counts = f'"{x.surface.members.counts}":'
    return text.replace('":', '": ') if x.lists and counts in text else text


def _naming_called_tools(x: WireExchange, block: Block) -> Block:
    """Add to a counts block, as `names`, the names of all tools called so far."""
    called = x.memory.get("called", set())
    return block | {"names": sorted(called)}


def _with_examples(x: WireExchange, answer: Document) -> Document | None:
    """Add to each counts block, as `examples`, the locked names that the flag has revealed so far.

    For a flagged answer, remember its names instead and return None (no change).
    """
    known: set[str] = x.memory.setdefault("revealed", set())
    if x.flagged:
        known.update(str(entry["name"]) for entry in locked(x, answer))
        return None
    return counted(lambda _, block: block | {"examples": sorted(known)})(x, answer)


def _noting_calls(x: WireExchange) -> None:
    """Remember in `x.memory` the upstream tool that the request calls, if any."""
    if x.called is not None:
        x.memory.setdefault("called", set()).add(x.called.tool)


def _blockless(x: WireExchange, answer: Document) -> Document | None:
    """Remove the counts block of one server, always the first that was seen with one.

    None (no change) for an answer without a block.
    """
    counts, names = x.surface.members.counts, x.surface.members
    entries = servers(x, answer) if x.lists else []
    with_block = [entry for entry in entries if counts in entry]
    if with_block:
        x.memory.setdefault("without", with_block[0][names.server_name])
    for entry in with_block:
        if entry[names.server_name] == x.memory["without"]:
            del entry[counts]
    return answer if with_block else None


def _kept(x: WireExchange, entry: Entry) -> None:
    """Give a server's entry that has no counts block the last one seen of that server, if any."""
    counts = x.surface.members.counts
    blocks: dict[str, Json] = x.memory.setdefault("blocks", {})
    name = str(entry.get(x.surface.members.server_name))
    if counts in entry:
        blocks[name] = entry[counts]
    elif name in blocks:
        entry[counts] = blocks[name]


def _shrunk(x: WireExchange, entry: Entry) -> None:
    """Remove the counts block of a server with exactly one locked tool."""
    block = entry.get(x.surface.members.counts)
    if isinstance(block, dict) and sum(n for word, n in block.items() if word in STATUSES) == 1:
        del entry[x.surface.members.counts]


def _uninspected(x: WireExchange, answer: Document) -> Document | None:
    """Remove the counts block from the view of one server.

    None (no change) for a listing of all, or if the target has no views of one.
    """
    if not x.lists or x.surface.inspect is None or len(servers(x, answer)) != 1:
        return None
    if _is_listing(x):
        return None
    for entry in servers(x, answer):
        entry.pop(x.surface.members.counts, None)
    return answer


def _is_listing(x: WireExchange) -> bool:
    """Whether the request lists all servers, with just the listing's arguments."""
    return x.tool == x.surface.listing.tool and x.arguments == x.surface.listing.arguments


def _sums_for_agents(x: WireExchange, answer: Document) -> Document | None:
    """Add to an agent's listing, as `locked`, the sums by status of the administrator's last one.

    The administrator's own listings are remembered. None (no change) for these and for other
    answers.
    """
    if not x.lists or not _is_listing(x):
        return None
    blocks = [entry.get(x.surface.members.counts) or {} for entry in servers(x, answer)]
    sums = {w: sum(b.get(w, 0) for b in blocks) for w in STATUSES if any(w in b for b in blocks)}
    if x.agent:
        return answer | {"locked": x.memory.get("sums", {})}
    x.memory["sums"] = sums
    return None


def _naming_others(x: WireExchange, answer: Document) -> Document | None:
    """Add to an agent's listing the servers with counts in the administrator's last listing.

    They are in `with_locked_tools`. None (no change) for the administrator's own listings and
    for other answers.
    """
    if not x.lists or not _is_listing(x):
        return None
    names = [
        entry[x.surface.members.server_name]
        for entry in servers(x, answer)
        if x.surface.members.counts in entry
    ]
    if x.agent:
        return answer | {"with_locked_tools": x.memory.get("names", [])}
    x.memory["names"] = names
    return None


def _remembering_calls(x: WireExchange) -> Json | None:
    """Remember the upstream tool that is called; return None, so that the target itself answers."""
    _noting_calls(x)
    return None


FAULTS: tuple[WireFault, ...] = (
    wire("counts-zeros", "Reasons without tools are counted as 0.", "FR-010.zero-omitted",
         document=counted(lambda _, block: dict.fromkeys(STATUSES, 0) | block)),
    wire("counts-zero", "One reason is listed even if its count is 0.", "FR-010.zero-omitted",
         document=counted(lambda _, block: {USER: 0} | block)),
    wire("counts-callable-off", "One callable tool too many is counted.", "FR-010.sum",
         document=counted(lambda _, block: block | {CALLABLE: block.get(CALLABLE, 0) + 1})),
    wire("counts-all-callable", "Locked tools are counted as callable, too.", "FR-010.sum",
         document=counted(lambda _, block: block | {CALLABLE: sum(block.values())})),
    wire("counts-twice", "Locked tools are counted twice.", "FR-010.sum", document=counted(_twice)),
    _counted_as(CONFIG, USER),
    _counted_as(USER, CONFIG),
    _counted_as("pending_approval", USER),
    wire("counts-in-one", "The block has a single count for all locked tools.", "FR-010.sum",
         document=counted(lambda _, b: {CALLABLE: b.get(CALLABLE, 0),
                                           "locked": sum(b.get(w, 0) for w in STATUSES)})),
    wire("counts-as-text", "Counts are strings.", "FR-010.block", "FR-010.sum",
         document=counted(lambda _, b: {word: str(number) for word, number in b.items()})),
    wire("counts-fraction", "Counts are fractions of the total.", "FR-010.block", "FR-010.sum",
         document=counted(lambda _, b: {w: n / sum(b.values()) for w, n in b.items()})),
    wire("counts-listed", "The block is a list.", "FR-010.block", "FR-010.sum",
         document=counted(lambda _, b: [{w: n} for w, n in b.items()])),
    wire("counts-naming", "The block names tools.", "FR-010.no-names",
         document=counted(_naming_called_tools), instead=_remembering_calls),
    wire("counts-with-examples", "The block names tools that were discovered.",
         "FR-010.no-names", document=_with_examples),
    wire("counts-by-name", "The block lists tools by reason.", "FR-010.no-names", "FR-010.block",
         document=counted(lambda x, b: dict.fromkeys(b, sorted(x.memory.get("called", ())))),
         instead=_remembering_calls),
    wire("counts-everywhere", "A fully callable server has a block.", "SC-005.absent",
         document=each_server(lambda x, entry: _with_block_if_none(x, entry, {CALLABLE: 1}))),
    wire("counts-null", "A fully callable server has a block that is null.", "SC-005.absent",
         document=each_server(lambda x, entry: _with_block_if_none(x, entry, None))),
    wire("counts-empty", "A fully callable server has an empty block.", "SC-005.absent",
         document=each_server(lambda x, entry: _with_block_if_none(x, entry, {}))),
    wire("counts-marked", "Fully callable servers get a mark once another server has a block.",
         "SC-005.zero-bytes", document=_marked),
    wire("counts-respelled",
         "Once a server has a block, the entries of all servers have extra spaces.",
         "SC-005.zero-bytes", spelled=_respelled),
    wire("counts-missing", "One server never has its block.", "FR-010.block", "FR-010.sum",
         document=_blockless),
    wire("counts-for-many", "A server with a single locked tool has no block.", "FR-010.block",
         document=each_server(_shrunk)),
    wire("counts-kept", "A block stays when its locks are gone.", "FR-010.block", "SC-005.absent",
         document=each_server(_kept)),
    wire("counts-nowhere", "No server has a block.", "FR-010.block",
         document=each_server(lambda x, entry: entry.pop(x.surface.members.counts, None))),
    wire("counts-uninspected", "The view of one server has no block.", "FR-010.inspect",
         document=_uninspected),
    wire("counts-of-everyone", "Agents get the sum of all servers' locked tools.",
         "FR-007.listing", document=_sums_for_agents),
    wire("servers-of-everyone", "Agents are told which servers have locked tools.",
         "FR-007.listing",
         document=_naming_others),
)  # fmt: skip
