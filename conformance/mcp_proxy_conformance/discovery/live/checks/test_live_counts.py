"""The counts of locked tools in a live endpoint's server listing, if the user named one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.discovery.answer import ServerEntry
from mcp_proxy_conformance.discovery.contents import strings
from mcp_proxy_conformance.discovery.counts import KEYS, REASONS, integral, tally
from mcp_proxy_conformance.discovery.live.live_bench import ONE_ANSWER, SEVERAL_ANSWERS, LiveBench
from mcp_proxy_conformance.verdict.result import NotApplicable

COUNTED = ("disabled_by_config", "disabled_by_user", "pending_approval")


@requirement("FR-010.block")
@on(ONE_ANSWER)
def test_live_counts_are_integers(bench: LiveBench) -> None:
    """In every counts block, `callable` and every reason are integers.

    Inconclusive if no block of the listings counts a locked tool. Not applicable if no listing tool
    was named.
    """
    odd = {}
    for name, block in _blocks(bench):
        if wrong := {w: n for w, n in block.items() if w in KEYS and not integral(n)}:
            odd[name] = wrong

    assert odd == {}


@requirement("FR-010.block")
@on(SEVERAL_ANSWERS)
def test_a_live_server_with_a_locked_tool_has_counts(bench: LiveBench) -> None:
    """A server with a callable tool, and a tool locked throughout, has counts in some listing.

    A callable tool is one in an answer without the flag. Inconclusive if no server has both, not
    applicable if no listing tool was named.
    """
    servers = _locked_throughout(bench) & {
        key.server for _, answer in bench.usual() for key in bench.callables(answer)
    }
    listings = bench.listings()
    bench.require(
        servers, "no server had both callable and locked tools; name one with --expect", "not_named"
    )

    blocks = {name: [listing.counts(name) for listing in listings] for name in sorted(servers)}
    lacking = {name: counts[0] for name, counts in blocks.items() if not any(counts)}

    assert lacking == {}


@requirement("FR-010.zero-omitted")
@on(ONE_ANSWER)
def test_live_counts_leave_out_reasons_of_zero(bench: LiveBench) -> None:
    """No block shows a reason with the value 0.

    Inconclusive if no block of the listings counts a locked tool. Not applicable if no listing tool
    was named.
    """
    zeros = {}
    for name, block in _blocks(bench):
        if words := [word for word in REASONS if word in block and not block[word]]:
            zeros[name] = words

    assert zeros == {}


@requirement("FR-010.no-names")
@on(ONE_ANSWER)
def test_live_counts_name_no_tool(bench: LiveBench) -> None:
    """No text of a block, and no key with a colon, is the name of one of its server's tools.

    Known names are those in the survey's answers. Inconclusive if no block of the listings counts a
    locked tool. Not applicable if no listing tool was named.
    """
    known: dict[str, set[str]] = {}
    for look in bench.survey.looks():
        for entry in (*look.answer.tools, *look.answer.disabled) if look.answer else ():
            key = bench.key(entry)
            known.setdefault(key.server, set()).update((key.tool, entry.name))

    named = {}
    for name, block in _blocks(bench):
        texts = {*strings(block), *(word for word in block if ":" in word)}
        if names := sorted(texts & known.get(name, set())):
            named[name] = names

    assert named == {}


@requirement("SC-005.absent")
@on(ONE_ANSWER)
def test_a_live_server_without_locked_tools_has_no_counts(bench: LiveBench) -> None:
    """The entry of a server without locked tools has no counts, not even null or empty ones.

    A server is one without locked tools if each of its counts but `callable` is zero or missing.
    Inconclusive if no block counts a locked tool. Not applicable if no listing tool was named.
    """
    list(_blocks(bench))

    idle = {}
    for listing in bench.listings():
        for name, entry in listing.servers.items():
            counts = entry.counts if isinstance(entry.counts, dict) else {}
            if entry.has_counts and not any(
                counts.get(word) for word in counts if word != "callable"
            ):
                idle[name] = "null" if entry.counts is None else entry.counts

    assert idle == {}


@requirement("FR-010.inspect")
@on(SEVERAL_ANSWERS)
def test_a_live_server_looked_at_alone_has_the_counts_of_the_listing(bench: LiveBench) -> None:
    """Inspecting a server shows the same block as the listings before and after.

    Only servers whose counts are equal in both listings are judged; inconclusive if there are none.
    Not applicable if no listing tool or no inspect tool was named.
    """
    listings = bench.listings()
    if bench.surface.inspect is None:
        raise NotApplicable(
            "no inspect tool was named; name it with --inspect or in a target file",
            cause="not_named",
        )
    views = {n: (_shown(entry), [_shown(x.server(n)) for x in listings if n in x.servers])
             for n, entry in bench.survey.inspected.items()}  # fmt: skip
    steady = {
        n: view for n, view in views.items() if len(view[1]) == 2 and view[1][0] == view[1][1]
    }
    bench.require(steady, "no server was inspected between two identical listings of it")

    inspected = {name: view[0] for name, view in steady.items() if view[0] != view[1][0]}
    listed = {name: steady[name][1][0] for name in inspected}

    assert inspected == listed


def _shown(entry: ServerEntry) -> dict[str, Any]:
    """Return {"counts": the entry's tally}, or {"counts": what is sent} if that is no object.

    A tally is the counts of `callable` and of the known reasons that are not zero. Empty if the
    entry has no counts member.
    """
    counts = tally(entry) if isinstance(entry.counts, dict) else entry.counts
    return {"counts": counts} if entry.has_counts else {}


def _blocks(bench: LiveBench) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (server, counts block) for each block of each listing.

    Inconclusive if none of them counts a locked tool, not applicable if no listing tool was named.
    """
    blocks = [
        (name, entry.counts)
        for listing in bench.listings()
        for name, entry in listing.servers.items()
        if isinstance(entry.counts, dict)
    ]
    member = bench.surface.members.counts
    bench.require(
        any(word in block for _, block in blocks for word in REASONS),
        f'no listed server has counts of locked tools in "{member}"; check surface.members.counts',
    )
    yield from blocks


def _locked_throughout(bench: LiveBench) -> set[str]:
    """Return the servers with a tool that every flagged answer to its name lists under a lock.

    Its status in each is one of COUNTED. The answers are from before and after the first listing,
    so the tool was locked meanwhile.
    """
    servers = set()
    for key, looks, answers in bench.alone():
        flagged = [answer for look, answer in zip(looks, answers, strict=True) if look.flagged]
        if all(bench.statuses(answer).get(key) in COUNTED for answer in flagged):
            servers.add(key.server)
    return servers
