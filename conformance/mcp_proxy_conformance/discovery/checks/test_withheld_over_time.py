"""Descriptions shown before a quarantine or a change, and withheld after it: FR-003."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import structs

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.catalogue.world import USER, Step, ToolKey, server, tool, world
from mcp_proxy_conformance.discovery.answer import Entry
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.contents import repeated
from mcp_proxy_conformance.verdict.result import NotApplicable

PLAIN = world(
    server("forge", tool("zorvik_list"), tool("mobel_drop", locked=USER)),
    server("vault", tool("tamupo_open")),
)
PLANTED = "krelumdo"
"""A word that stands only in the description of the tool that the quarantined server adds."""
LATE = Step(add=tool("fegadu_seal", f"Fegadu seal, {PLANTED}.", word="fegadu")[0], server="vault")
DROP = ToolKey("forge", "mobel_drop")
SEAL = ToolKey("forge", "gatun_seal")
NAMES = ("zorvik_list", "mobel_drop", "gatun_seal")
APPROVED = structs.replace(
    world(server("forge", *map(tool, NAMES), trusted=False)),
    steps=(Step(unlock="approval", server="forge", tools=NAMES),),
)
SCHEMA = {"type": "object", "properties": {"tunrag": {"type": "string"}}}
CHANGES = (
    Step(change="mobel_drop", server="forge", description="Drop all, mobel, at once."),
    Step(change="gatun_seal", server="forge", input_schema=SCHEMA),
)


@requirement("FR-003.withheld")
@on(PLAIN, needs=("quarantine",))
def test_a_description_told_before_is_withheld_from_the_quarantine_on(bench: Bench) -> None:
    """After its server is quarantined, a user-locked tool's entry no longer has a description.

    The target has the settle time. Not applicable if the entry had none before; inconclusive if a
    lock or the quarantine has no effect.
    """
    bench.require(DROP in bench.armed.refused, "the lock had no effect", "no_effect")
    before = bench.until(lambda: _text(_entry(bench, bench.tools[DROP].word, DROP)), bool)
    if not before:
        raise NotApplicable("the target never listed the locked tool with its description")

    bench.operator.lock("quarantine", "forge")
    bench.require(
        bench.refused(ToolKey("forge", "zorvik_list")), "the quarantine had no effect", "no_effect"
    )
    entry = bench.until(lambda: _entry(bench, DROP.tool, DROP), lambda entry: not _text(entry))

    text = _text(entry)
    leaked = {(str(DROP), "description"): text} if text else {}
    assert leaked == {}


@requirement("FR-003.withheld~approved-text")
@on(APPROVED, needs=("approval", "refresh"))
def test_a_changed_tool_is_listed_without_the_text_approved_before(bench: Bench) -> None:
    """A changed tool does not show its approved description, whether that or its schema changed.

    Not applicable if the target refuses no changed tool, inconclusive if the flag lists none.
    """
    before = {step.change: bench.armed.entries.get(ToolKey("forge", step.change or ""))
              for step in CHANGES}  # fmt: skip
    for step in CHANGES:
        bench.operator.change_upstream(step)
    bench.operator.refresh("forge")
    waiting = [key for key in (DROP, SEAL) if bench.refused(key)]
    if not waiting:
        raise NotApplicable("the target holds back no changed tool")

    texts = {key: _text(before[key.tool]) for key in waiting}
    entries = bench.until(
        lambda: {key: _entry(bench, key.tool, key) for key in waiting},
        lambda now: not any(_repeats(texts, now).values()),
    )
    bench.require(
        any(texts[key] and entry for key, entry in entries.items()),
        "the flag revealed no changed tool that was callable before",
    )

    assert _repeats(texts, entries) == {str(key): () for key in waiting}


def _repeats(
    texts: Mapping[ToolKey, str], entries: Mapping[ToolKey, Entry | None]
) -> dict[str, tuple[str, ...]]:
    """Return, by tool, the text shown before that its entry repeats; () if it does not."""
    return {
        str(key): repeated([texts[key]], entry.members if entry is not None else {})
        for key, entry in entries.items()
    }


def _entry(bench: Bench, query: str, key: ToolKey) -> Entry | None:
    answer = bench.widest(query, include_disabled=True)
    return next((entry for entry in answer.disabled if entry.key == key), None)


def _text(entry: Entry | None) -> str:
    return (entry.description or "").strip() if entry is not None else ""
