"""Faults of server counts, of the state left behind and of the counter, clause by clause."""

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace

from mcp_proxy_mutants.proxy.mutant import Fresh, Mutant, mutant
from mcp_proxy_mutants.proxy.swapping import decide
from mcp_proxy_mutants.proxy.wrapping import Request
from mcp_proxy_reference.facts import Facts, Json, Status
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.policy import counts, may_call, opted_in
from mcp_proxy_reference.tools import render

Tallied = Sequence[tuple[Facts, Status | None]]
Block = Callable[[Tallied], Json | None]
REASONS: tuple[Status, ...] = ("disabled_by_config", "disabled_by_user", "pending_approval")


def _pending_alone(tools: Tallied) -> Json | None:
    block = counts(tools)
    return None if block and set(block) == {"callable", "pending_approval"} else block


def _lingering() -> Block:
    seen: set[str] = set()

    def block(tools: Tallied) -> Json | None:
        told, servers = counts(tools), {facts.tool.server for facts, _ in tools}
        if told:
            seen.update(servers)
        return told or ({"callable": len(tools)} if servers & seen else None)

    return block


def _with(change: Callable[[Json, Tallied], Json]) -> Block:
    """Change a block that is there."""

    def block(tools: Tallied) -> Json | None:
        told = counts(tools)
        return change(told, tools) if told else told

    return block


def _pending_nowhere(block: Json, tools: Tallied) -> Json:
    if set(block) == {"callable", "pending_approval"}:
        return block
    return {word: number for word, number in block.items() if word != "pending_approval"} | {
        "callable": len([one for one, status in tools if status is None])
    }


def _zeros(block: Json, _tools: Tallied) -> Json:
    return dict.fromkeys(REASONS, 0) | block


def _zero_for_pending(block: Json, tools: Tallied) -> Json:
    waits = any(status == "disabled_by_user" for _, status in tools)
    return {"pending_approval": 0} | block if waits else block


def _examples(block: Json, tools: Tallied) -> Json:
    named = {status: facts.tool.name for facts, status in tools if status}
    return block | {"example": named[max(named)]}


def _by_name(block: Json, tools: Tallied) -> Json:
    user = {facts.tool.name: 1 for facts, status in tools if status == "disabled_by_user"}
    return block | {"by_tool": user} if user else block


def _five_words(tools: Tallied) -> Json | None:
    block = counts(tools)
    free = block.pop("server_quarantined", 0) if block else 0
    return block | {"callable": block["callable"] + free} if block else block


def _inspecting(change: Callable[[Json], Json]) -> Callable[[Json], str]:
    """Change the view of a single server."""
    return lambda document: render(
        document | {"server": change(document["server"])} if "server" in document else document
    )


def _first_seen() -> Callable[[Json], str]:
    seen: dict[str, Json] = {}

    def first(server: Json) -> Json:
        if "tools" in server:
            kept = seen.setdefault(server["name"], server["tools"])
            return server | {"tools": kept}
        return server

    return _inspecting(first)


def _null_beside_blocks(document: Json) -> str:
    listed = document.get("servers", [])
    if not any("tools" in one for one in listed):
        return render(document)
    return render(document | {"servers": [{"tools": None} | one for one in listed]})


def _revisions() -> Callable[[Json], str]:
    """Every entry is numbered by how often any block in the listing has changed."""
    last: list[str] = []

    def spelled(document: Json) -> str:
        listed = document.get("servers", [])
        blocks = json.dumps([one.get("tools") for one in listed])
        if listed and blocks not in last[-1:]:
            last.append(blocks)
        return render(
            document | {"servers": [one | {"revision": len(last)} for one in listed]}
            if listed else document
        )  # fmt: skip

    return spelled


def _share(document: Json) -> str:
    listed = document.get("servers", [])
    locked = sum("tools" in one for one in listed)
    return render(
        document | {"servers": [one | {"others_locked": locked - ("tools" in one)}
                                if locked else one for one in listed]}
        if listed else document
    )  # fmt: skip


def _usage_file(document: Json, request: Request) -> Json:
    if request.flag:
        with request.store.path.with_name("opt-ins.log").open("a", encoding="utf-8") as log:
            log.write(f"{request.agent.name}\n")
    return document


def _usage_table(document: Json, request: Request) -> Json:
    if request.flag and "disabled" in document:
        with closing(sqlite3.connect(request.store.path)) as rows, rows:
            rows.execute("create table if not exists classified (name text primary key, status)")
            found = [(one["name"], one["status"]) for one in document["disabled"]]
            rows.executemany("insert or replace into classified values (?, ?)", found)
    return document


def _counter_kept(gateway: Gateway) -> None:
    """The counter is written to a file, from which a restart takes it up."""
    kept = gateway.store.path.with_name("opt-ins.count")
    gateway.opt_ins = int(kept.read_text(encoding="utf-8")) if kept.exists() else 0

    def answer(document: Json, request: Request) -> Json:
        if request.flag:
            kept.write_text(str(gateway.opt_ins), encoding="utf-8")
        return document

    decide(gateway, answer=answer)


def _fruitless_uncounted(gateway: Gateway) -> None:
    def answer(document: Json, request: Request) -> Json:
        gateway.opt_ins -= request.flag and "disabled" not in document
        return document

    decide(gateway, answer=answer)


def _first_of_two() -> Callable[[bool], int]:
    asked: Counter[bool] = Counter()

    def moved(flagged: bool) -> int:
        asked[flagged] += 1
        return opted_in(flagged) if asked[True] % 3 else 0

    return moved


def _noted_counted(gateway: Gateway) -> None:
    def answer(document: Json, request: Request) -> Json:
        gateway.opt_ins += not request.flag and "include_disabled" in request.arguments
        return document

    decide(gateway, answer=answer)


MUTANTS: tuple[Mutant, ...] = (
    mutant("pending-alone-makes-no-block", "Pending tools alone bring no block.",
           "FR-010.block", counts=_pending_alone),
    mutant("block-stays-after-unlock", "A block that was there once stays with its callables.",
           "FR-010.block", counts=Fresh(_lingering)),
    mutant("callables-count-locked-tools", "The callable count is the number of all tools.",
           "FR-010.sum", counts=_with(lambda block, tools: block | {"callable": len(tools)})),
    mutant("pending-beside-others-uncounted", "Pending tools are not counted beside other locks.",
           "FR-010.sum", counts=_with(_pending_nowhere)),
    mutant("zero-reasons-listed", "A block lists the reasons that count nothing.",
           "FR-010.zero-omitted", counts=_with(_zeros)),
    mutant("pending-zero-beside-user", "Beside user locks a block says that nothing is pending.",
           "FR-010.zero-omitted", counts=_with(_zero_for_pending)),
    mutant("block-has-an-example", "A block names one of the locked tools.",
           "FR-010.no-names", counts=_with(_examples)),
    mutant("user-locks-by-name", "A block counts user-locked tools under their names.",
           "FR-010.no-names", counts=_with(_by_name)),
    mutant("quarantined-count-as-callable", "Listings take quarantined tools for callable.",
           "FR-010.quarantined",
           may_call=lambda facts, surface: may_call(
               replace(facts, quarantined=False) if surface == "listing" else facts, surface)),
    mutant("quarantined-counted-on-both-sides", "Quarantined tools count as callable as well.",
           "FR-010.quarantined", "FR-004.once",
           counts=_with(lambda block, _: block | {
               "callable": block["callable"] + block.get("server_quarantined", 0)})),
    mutant("five-words-in-counts", "Quarantined tools are counted as callable in a block.",
           "FR-010.quarantined", counts=_five_words),
    mutant("inspection-without-block", "The view of one server lacks the block.",
           "FR-010.inspect",
           render=_inspecting(lambda one: {name: one[name] for name in one if name != "tools"})),
    mutant("inspection-keeps-the-first", "The view of one server keeps the first block it showed.",
           "FR-010.inspect", render=Fresh(_first_seen)),
    mutant("empty-block-when-callable", "A fully callable server has an empty block.",
           "SC-005.absent", counts=lambda tools: counts(tools) or {}),
    mutant("callable-block-of-some", "A fully callable server of three tools or more has a block.",
           "SC-005.absent",
           counts=lambda tools: counts(tools) or ({"callable": len(tools)} if tools[2:] else None)),
    mutant("null-beside-blocks", "Fully callable servers have null while another has a block.",
           "SC-005.absent", "SC-005.zero-bytes", render=_null_beside_blocks),
    mutant("entries-numbered-by-locks", "Every server's entry is numbered anew with each lock.",
           "SC-005.zero-bytes", render=Fresh(_revisions)),
    mutant("entries-count-others-locks", "Entries tell how many other servers have locks.",
           "SC-005.zero-bytes", render=_share),
    mutant("opt-ins-logged", "Each use of the flag is written to a file.",
           "FR-012.no-new-state", answer=_usage_file),
    mutant("statuses-kept-in-a-table", "What the flag revealed is kept in a table.",
           "FR-012.no-new-state", answer=_usage_table),
    mutant("counter-outlives-restarts", "The counter of opt-ins is taken up again after a restart.",
           "FR-013.counts", "FR-012.no-new-state", swap=_counter_kept),
    mutant("fruitless-opt-ins-uncounted", "Opt-ins that reveal nothing are not counted.",
           "FR-013.counts", swap=_fruitless_uncounted),
    mutant("third-opt-in-uncounted", "Every third use of the flag is not counted.",
           "FR-013.counts", opted_in=Fresh(_first_of_two)),
    mutant("explicit-false-counted", "A request with the flag false counts as an opt-in.",
           "FR-013.counts", swap=_noted_counted),
)  # fmt: skip
