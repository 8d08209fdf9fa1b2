"""Descriptions after a quarantine or a change that were shown before it: FR-003."""

from __future__ import annotations

from msgspec import structs

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.catalogue.world import USER, Step, ToolKey, server, tool, world
from mcp_proxy_conformance.discovery.answer import Entry
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.verdict.result import NotApplicable

PLAIN = world(
    server("forge", tool("zorvik_list"), tool("mobel_drop", locked=USER)),
    server("vault", tool("tamupo_open")),
)
DROP = ToolKey("forge", "mobel_drop")
APPROVED = structs.replace(
    world(server("forge", tool("zorvik_list"), tool("mobel_drop"), trusted=False)),
    steps=(Step(unlock="approval", server="forge", tools=("zorvik_list", "mobel_drop")),),
)
SCHEMA = {"type": "object", "properties": {"tunrag": {"type": "string"}}}


@requirement("FR-003.withheld")
@on(PLAIN, needs=("quarantine",))
def test_a_description_told_before_is_withheld_from_the_quarantine_on(bench: Bench) -> None:
    """After its server is quarantined, a tool's entry no longer has a description."""
    bench.require(DROP in bench.armed.refused, "the lock had no effect", "no_effect")
    before = bench.until(lambda: _description(bench, DROP), bool)
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
def test_a_tool_whose_schema_alone_changed_is_listed_without_its_text(bench: Bench) -> None:
    """A tool that waits for approval of its new schema does not show its unchanged description."""
    before = bench.armed.entries.get(DROP)
    bench.require(before and before.description, "the callable tool had no description")
    bench.operator.change_upstream(Step(change=DROP.tool, server="forge", input_schema=SCHEMA))
    bench.operator.refresh("forge")
    if not bench.refused(DROP):
        raise NotApplicable("the target holds back no tool of which only the schema changed")

    entry = bench.until(lambda: _entry(bench, DROP.tool, DROP), lambda entry: not _text(entry))
    bench.require(entry, "the flag did not reveal the changed tool")

    assert {str(DROP): _text(entry)} == {str(DROP): ""}


def _entry(bench: Bench, query: str, key: ToolKey) -> Entry | None:
    """Return the tool's locked entry in the flagged answer to a query; None without one."""
    answer = bench.discover(query, include_disabled=True)
    return next((entry for entry in answer.disabled if entry.key == key), None)


def _description(bench: Bench, key: ToolKey) -> str:
    """Return the description of the tool's locked entry for its own word; "" without one."""
    return _text(_entry(bench, bench.tools[key].word, key))


def _text(entry: Entry | None) -> str:
    return (entry.description or "").strip() if entry is not None else ""
