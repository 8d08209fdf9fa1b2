"""Tools listed by a relay: all of the upstream's, once each, callable, with equivalent schemas."""

from __future__ import annotations

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.fidelity import crossings, several, tools
from mcp_proxy_conformance.fidelity.bench import RelayBench
from mcp_proxy_conformance.fidelity.driven_relay import each_upstream_era
from mcp_proxy_conformance.fidelity.offers import FEATURES
from mcp_proxy_conformance.fidelity.stages import DESCRIBED, PAGED, RELAYED, SEVERAL


@requirement("RLY.tools.complete.listed", "RLY.tools.complete.once")
@on(RELAYED)
def test_every_tool_of_the_upstream_is_listed_once(bench: RelayBench) -> None:
    """The relay lists each tool of the upstream once, but for those that it declares to filter."""
    tools.listed_tools(bench).conclude()


@requirement("RLY.tools.complete.listed", "RLY.tools.complete.once")
@on(DESCRIBED)
def test_tools_of_any_name_and_schema_are_listed(bench: RelayBench) -> None:
    """Tools with long names, dots and capitals, and with schemas of many forms, are listed."""
    tools.listed_tools(bench).conclude()


@requirement("RLY.tools.complete.callable", "RLY.up.once.quiet")
@on(RELAYED)
def test_every_listed_tool_can_be_called(bench: RelayBench) -> None:
    """A call by the listed name reaches the upstream's tool, once, and is answered.

    The answer must be a result. Tools that the relay does not list are left out.
    """
    tools.callable_tools(bench).conclude()


@requirement("RLY.tools.paging.beyond-first", "RLY.tools.complete.once")
@on(PAGED)
def test_tools_of_every_page_are_listed_once(bench: RelayBench) -> None:
    """Tools of the upstream's later pages are listed, those after an empty page too.

    There are seven tools on four pages; those that the relay declares to filter may be missing.
    """
    tools.listed_tools(bench, tools.BEYOND).conclude()


@requirement("RLY.tools.filtered")
@on(PAGED)
def test_a_filtered_tool_of_any_page_is_out_of_reach(bench: RelayBench) -> None:
    """A tool that the relay declares to filter is not listed, and no call of it goes up.

    There are seven tools on four pages; a filtered tool that is none of them is on the first.
    """
    tools.filtered_tools(bench).conclude()


@requirement("RLY.tools.filtered")
@each_upstream_era()
def test_a_filtered_tool_is_out_of_reach_in_each_era(bench: RelayBench) -> None:
    """A filtered tool is not listed to clients of either era, and no call of theirs goes up."""
    tools.filtered_tools(bench).conclude()


@requirement("RLY.tools.paging.ends")
@on(PAGED)
def test_a_walk_along_the_cursors_ends(bench: RelayBench) -> None:
    """Following the relay's cursors ends, and no cursor comes twice.

    Inconclusive if the relay refuses even the first page.
    """
    tools.walked_pages(bench).conclude()


@requirement("RLY.tools.paging.cursor-exact")
@on(PAGED)
def test_the_upstream_gets_its_own_cursors(bench: RelayBench) -> None:
    """The upstream gets no cursors but those that it gave, as it gave them.

    Inconclusive if the relay asks for the first page only.
    """
    tools.cursors_upstream(bench).conclude()


@requirement("RLY.tools.paging.bad-cursor")
@on(PAGED)
def test_an_invented_cursor_is_refused(bench: RelayBench) -> None:
    """A cursor that nobody gave leads to an error, and to no page.

    Inconclusive if the relay refuses even the first page.
    """
    tools.invented_cursor(bench).conclude()


@requirement("RLY.tools.schema.same-instances", "RLY.tools.schema.valid")
@on(DESCRIBED)
def test_input_schemas_accept_and_refuse_the_same(bench: RelayBench) -> None:
    """Each listed input schema accepts and refuses the arguments that the upstream's does.

    Arguments of six tools are tried; inconclusive if the relay does not list one of these.
    """
    tools.input_schemas(bench).conclude()


@requirement("RLY.tools.members.description")
@on(DESCRIBED)
def test_descriptions_are_those_of_the_upstream(bench: RelayBench) -> None:
    """The description of a tool is the upstream's.

    It is a long one of several lines. Inconclusive if the relay does not list the tool `members`.
    """
    tools.descriptions(bench).conclude()


@requirement("RLY.tools.members.annotations")
@on(DESCRIBED)
def test_listed_annotations_are_those_of_the_upstream(bench: RelayBench) -> None:
    """The annotations of tools, where listed, are the upstream's, and none is invented.

    Missing annotations, and those that are null, are right. Inconclusive if the relay does not list
    the tool `members`.
    """
    tools.listed_annotations(bench).conclude()


@requirement("RLY.tools.members.output-schema")
@on(DESCRIBED)
def test_output_schemas_accept_and_refuse_the_same(bench: RelayBench) -> None:
    """An output schema, where listed, accepts and refuses the results that the upstream's does.

    Eight results of one tool are tried; inconclusive if the relay does not list that tool,
    `members`.
    """
    tools.output_schemas(bench).conclude()


@requirement("RLY.tools.members.kept")
@on(DESCRIBED)
def test_members_of_tools_are_listed(bench: RelayBench) -> None:
    """Title, output schema, annotations, icons and _meta of a tool are listed.

    They must be the upstream's, except that the output schema may be another. Inconclusive if the
    relay does not list the tool `members`.
    """
    tools.kept_members(bench).conclude()


@requirement("RLY.down.structured.conforms")
@on(DESCRIBED)
def test_a_result_fits_the_listed_output_schema(bench: RelayBench) -> None:
    """A tool that is listed with an output schema has results that this schema accepts.

    It is the tool `members`; a result without structured content is wrong. Inconclusive if the
    relay does not list it.
    """
    tools.conforming_result(bench).conclude()


@requirement("RLY.tools.changed.arrives")
@on(FEATURES)
def test_a_promised_change_of_the_tools_is_told(bench: RelayBench) -> None:
    """A relay that promises to do so tells its client that the upstream's tools have changed.

    Two tools are added, one after the other. Not applicable unless `tools.listChanged` is declared.
    """
    crossings.change_told(bench).conclude()


@requirement("RLY.tools.changed.next-list")
@on(FEATURES)
def test_the_list_after_a_change_shows_it(bench: RelayBench) -> None:
    """The first list after the news of a change has the added tool.

    Not applicable unless `tools.listChanged` is declared and the news arrives.
    """
    crossings.change_listed(bench).conclude()


@requirement("RLY.tools.collide.unique")
@on(SEVERAL)
def test_tools_of_one_name_are_listed_under_two(bench: RelayBench) -> None:
    """If two upstreams have a tool of one name, both are listed, under names that differ.

    They are told apart by their descriptions. Not applicable for a relay of one upstream.
    """
    several.listed_apart(bench).conclude()


@requirement("RLY.tools.collide.routed")
@on(SEVERAL)
def test_a_call_reaches_the_upstream_whose_tool_is_listed(bench: RelayBench) -> None:
    """A call of a tool, by its listed name, arrives at the upstream whose description is listed.

    Two upstreams share a tool's name. Not applicable for a relay of one upstream.
    """
    several.routed(bench).conclude()
