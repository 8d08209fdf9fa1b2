"""Names of members, tools or arguments: wrongly declared ones end a run with 2, others do not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mcp_proxy_conformance.catalogue.requirement import profile
from mcp_proxy_conformance.catalogue.surface import Members, Surface, ToolTemplate
from mcp_proxy_conformance.discovery.driven_proxy import DrivenProxy
from mcp_proxy_conformance.discovery.surface_names import Sightings, missing_argument
from mcp_proxy_conformance.discovery.targets.embedded import embedded
from mcp_proxy_conformance.run.request import Selection
from mcp_proxy_conformance.selftest.trial import trial, tried
from mcp_proxy_conformance.verdict.outcome import DECLARATION, Outcome
from mcp_proxy_mutants.discovery.changed import Changed
from mcp_proxy_mutants.discovery.variants import variants

UNCHANGED = Changed(id="unchanged", text="The reference itself.")
NOTE = "1 locked tool matches; set include_disabled to see it."
ENTRY = {"name": "forge:drop", "server": "forge", "status": "disabled_by_config"}


def first_look(
    tmp_path: Path,
    changed: Changed = UNCHANGED,
    *,
    members: dict[str, str] | None = None,
    **names: Any,
) -> Outcome | None:
    """Look at the changed reference with these names declared.

    Return the outcome that stops the run. None means that the run goes on. `members` are names of
    members of answers, `names` of the surface.
    """
    target = embedded(changed, settle_s=0.1, ready_s=0.5)
    replaced = msgspec.structs.replace(target.surface.members, **(members or {}))
    surface = msgspec.structs.replace(target.surface, members=replaced, **names)
    clauses = frozenset(profile("discovery").clauses)
    subject = DrivenProxy(replace(target, surface=surface), tmp_path, tmp_path, clauses=clauses)
    try:
        return subject.probe().stopped
    finally:
        subject.close()


@pytest.mark.parametrize(
    ("member", "came"),
    [
        ("disabled", "disabled"),
        ("remediation", "remediation"),
        ("note", "notice"),
        ("counts", "tools"),
        ("tools", "tools"),
        ("servers", "servers"),
        ("server_name", "name"),
        ("inspected", "server"),
    ],
)
def test_a_member_that_comes_under_another_name_is_asked_for(
    tmp_path: Path, member: str, came: str
) -> None:
    """A member of answers declared under a wrong name stops the run with 2 at the first look.

    The sentence has the name that came and the key to set.
    """
    stopped = first_look(tmp_path, members={member: "elsewhere"})

    assert stopped is not None
    assert stopped.exit == DECLARATION
    assert f"no answer has the member 'elsewhere' as declared, but {came!r}" in stopped.why
    assert f"set surface.members.{member} " in stopped.why


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        ({"discovery_tool": "retrieve_tool"}, "no discovery tool named 'retrieve_tool' on this"),
        ({"calls": (ToolTemplate(tool="call_read", arguments={"name": "{tool}"}),)},
         "did you mean 'call_tool_read'"),
        ({"listing": ToolTemplate(tool="upstreams")}, "set surface.listing.tool"),
        ({"inspect": ToolTemplate(tool="upstream", arguments={"name": "{server}"})},
         "set surface.inspect.tool"),
        ({"query": "intent"}, "has no argument 'intent', but 'query'"),
        ({"limit": "most"}, "has no argument 'most', but 'limit'"),
    ],
)  # fmt: skip
def test_a_tool_or_argument_that_tools_list_does_not_have_is_reported(
    tmp_path: Path, names: dict[str, Any], sentence: str
) -> None:
    """A tool or argument declared under a wrong name stops the run with 2 at the first look.

    The sentence has the nearest name, or the key to set.
    """
    stopped = first_look(tmp_path, **names)

    assert stopped is not None
    assert stopped.exit == DECLARATION
    assert sentence in stopped.why


def test_the_name_of_a_call_that_has_holes_is_not_looked_for(tmp_path: Path) -> None:
    """A call tool whose declared name has placeholders is not looked for: the run goes on."""
    assert first_look(tmp_path, calls=(ToolTemplate(tool="{server}__{tool}"),)) is None


@pytest.mark.parametrize("decision", ["note", "remediation"])
def test_a_target_without_the_member_is_judged(tmp_path: Path, decision: str) -> None:
    """A target that never sends a note, or never a map, does not stop the run at the first look."""
    changed = Changed(id="without", text="It is left out.", change={decision: lambda *_: None})

    assert first_look(tmp_path, changed) is None


def test_a_note_beside_the_document_is_asked_for(tmp_path: Path) -> None:
    """A note in a text item of its own stops the run, and its place `content[]` is named.

    If that place is declared, the run goes on.
    """
    [changed] = [each for each in variants() if each.id == "note-beside-the-document"]

    stopped = first_look(tmp_path, changed)

    assert stopped is not None
    assert "but 'content[]' holds what it is for" in stopped.why
    assert first_look(tmp_path, changed, members={"note": "content[]"}) is None


def misnamed(members: Members, *answers: dict[str, Any]) -> str:
    """Return the sentence on misnamed members after these answers without the flag; "" for none."""
    seen = Sightings(members)
    for answer in answers:
        seen.see_answer(answer, flagged=False)
    return seen.misnamed()


def test_a_member_that_came_once_under_its_name_is_no_wrong_name() -> None:
    """A note that came under the declared name once is not misnamed, whatever else came."""
    said = misnamed(Members(), {"tools": [], "notice": NOTE}, {"tools": [], "note": NOTE})

    assert said == ""


def test_a_text_beside_callable_tools_is_not_the_note() -> None:
    """A text like a note that also comes with callable tools is not taken for the note."""
    listed = [{"name": "forge:list", "server": "forge", "description": "List."}]

    assert misnamed(Members(), {"tools": listed, "usage": NOTE}, {"tools": [], "usage": NOTE}) == ""


@pytest.mark.parametrize("locked", [[ENTRY], {"forge:drop": ENTRY}])
def test_locked_entries_are_known_by_their_status(locked: Any) -> None:
    """A list or object of entries with statuses is named as the locked section, misnamed."""
    seen = Sightings(Members())
    seen.see_answer({"tools": [], "hidden": locked}, flagged=True)

    assert "set surface.members.disabled to that name" in seen.misnamed()


def test_numbers_without_a_status_word_are_not_counts() -> None:
    """Numbers of a server without any status word are not taken for its counts."""
    seen = Sightings(Members(counts="locks"))
    seen.see_server({"name": "forge", "tools": {"total": 2, "callable": 2}})

    assert seen.misnamed() == ""


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"properties": {"include_disabled": {"type": "boolean"}}},
        {"properties": {"query": {"type": "string"}}},
        {
            "properties": {
                "query": {"type": "string"},
                "a": {"type": "integer"},
                "b": {"type": "number"},
            }
        },
    ],
)
def test_a_schema_that_names_no_stand_in_says_nothing(schema: dict[str, Any]) -> None:
    """`missing_argument` is "" for a schema without the query, unless one other argument fits.

    It is "" for a schema that has the query, too.
    """
    assert missing_argument(Surface(), {"inputSchema": schema}) == ""


def test_a_flag_that_reveals_nothing_is_reported_with_the_members_that_came(tmp_path: Path) -> None:
    """On a target that ignores the flag, a check is inconclusive, with a hint to repair it.

    The hint has the answer's members, and the key to set in the target file.
    """
    deaf = Changed(id="deaf", text="The flag is ignored.", change={"flag": lambda _: False})
    selection = Selection(checks=("limits-11-at-10",))

    tried(trial(embedded(deaf, settle_s=0.1), selection), tmp_path)

    report = json.loads((tmp_path / "report.json").read_bytes())
    (result,) = report["results"]
    assert result["verdict"] == "inconclusive"
    assert 'make the flag reveal one under "disabled"; the members that came are ' in result["hint"]
    assert '"query"' in result["hint"]
    assert "set surface.members.disabled in the target file" in result["hint"]
