"""Zero bytes added to a fully callable server's entry while something else is locked: SC-005."""

from __future__ import annotations

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.catalogue.world import USER, ToolKey, key, server, tool, world
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.calibration import ByteDifference, Exact, differences
from mcp_proxy_conformance.verdict.comparison import note_exchange
from mcp_proxy_conformance.wire import spans

PAIR = world(
    server("forge", tool("zorvik_list"), tool("mobel_drop")),
    server("attic", tool("tarnix_push")),
)
TIMES = 3
MOBEL = key("forge:mobel_drop")
TARNIX = key("attic:tarnix_push")


@requirement("SC-005.zero-bytes")
@on(PAIR)
def test_a_lock_elsewhere_moves_no_byte_of_a_callable_servers_entry(bench: Bench) -> None:
    """Before, during and after another server's lock, the entry has the same bytes.

    A difference counts if it occurs in all three trials, and never without a lock. Inconclusive
    if calls do not show the lock or its unlock, or no counts block is seen.
    """
    moved = _moved_by_lock(bench, "attic", MOBEL)

    places = {("server attic", d.place): d for d in moved}
    observed = {place: difference.actual for place, difference in places.items()}
    assert observed == {place: difference.usual for place, difference in places.items()}


@requirement("SC-005.zero-bytes~own-lock")
@on(PAIR)
def test_a_lock_and_its_unlock_bring_the_servers_bytes_back(bench: Bench) -> None:
    """After a lock on the server itself is lifted, its entry has the same bytes as before.

    A difference counts if it occurs at the same member in two trials. Inconclusive if calls do
    not show the lock or its unlock, or no counts block is seen.
    """
    first = _not_restored(bench, "attic", TARNIX)
    again = _not_restored(bench, "attic", TARNIX) if first else ()

    known = {difference.at for difference in first}
    places = {f"server attic, {d.place}": d for d in again if d.at in known}
    after = {place: difference.actual for place, difference in places.items()}
    assert after == {place: difference.usual for place, difference in places.items()}


def _moved_by_lock(bench: Bench, name: str, locked: ToolKey) -> tuple[ByteDifference, ...]:
    """Return the bytes in the entry of server `name` that a lock on a tool elsewhere changes.

    Each of three times the lock is laid and lifted, and the same calls are made without it. A
    difference counts only if it occurs each time, and if nothing moves there without a lock.
    """
    lasting: tuple[ByteDifference, ...] = ()
    for time in range(TIMES):
        usual = _entries_around_lock(bench, name, locked, lock=False)
        moved = differences(usual, _entries_around_lock(bench, name, locked, lock=True), bench.cut)
        known = {difference.at for difference in lasting}
        lasting = tuple(difference for difference in moved if time == 0 or difference.at in known)
        if not lasting:
            break
    return lasting


def _not_restored(bench: Bench, name: str, locked: ToolKey) -> tuple[ByteDifference, ...]:
    """Return the byte differences of a server's entry before and after a lock on it and its unlock.

    Both entries are compared with those of the same calls without a lock; empty if neither differs.
    """
    usual = _entries_around_lock(bench, name, locked, lock=False)
    return differences(usual, _entries_around_lock(bench, name, locked, lock=True)[::2], bench.cut)


def _entries_around_lock(bench: Bench, name: str, locked: ToolKey, *, lock: bool) -> list[Exact]:
    """Return the server's entry before, during and after a user lock on the tool.

    Without `lock`, the same calls are made, but nothing is locked. Inconclusive if the lock or the
    unlock has no effect, or the lock brings no counts block.
    """
    entries = [_entry(bench, name)]
    if lock:
        bench.operator.lock(USER, locked.server, [locked.tool])
        bench.require(bench.refused(locked), "the lock had no effect", "no_effect")
        shown = bench.settled(lambda: _has_block(bench, locked.server), expected=True)
        bench.require(shown, "no counts block was seen")
    bench.call(locked)
    entries.append(_entry(bench, name, during=lock))
    if lock:
        bench.operator.unlock(USER, locked.server, [locked.tool])
        bench.require(bench.reached(locked), "the unlock had no effect", "no_effect")
        bench.settled(lambda: _has_block(bench, locked.server), expected=False)
    bench.call(locked)
    return [*entries, _entry(bench, name)]


def _has_block(bench: Bench, name: str) -> bool:
    """Whether the listing has a counts member for that server; inconclusive if it is not listed."""
    return bench.list().server(name).has_counts


def _entry(bench: Bench, name: str, *, during: bool = False) -> Exact:
    """Return the exact bytes of a server's entry in the listing's decoded document.

    Inconclusive if it is not listed. `during`: a finding that names the server is read from it.
    """
    members, reply = bench.surface.members, bench.list().reply
    if during:
        note_exchange(reply.messages, [("server", f"server {name}")])
    listed = spans.parse(reply.document).get(members.servers)
    items = listed.items if listed else ()
    matches = [item for item in items if item.value().get(members.server_name) == name]
    bench.require(matches, f"the listing has no entry for {name}", "not_listed")
    return Exact(result=b"", text=matches[0].raw)
