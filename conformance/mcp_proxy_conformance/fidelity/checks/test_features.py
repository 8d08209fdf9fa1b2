"""MCP features except tools through a relay (resources, prompts, …): as the upstream has them."""

from __future__ import annotations

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.fidelity import features
from mcp_proxy_conformance.fidelity.bench import RelayBench
from mcp_proxy_conformance.fidelity.offers import FEATURES
from mcp_proxy_conformance.fidelity.stages import RELAYED


@requirement("RLY.features.declared")
@on(RELAYED)
def test_what_the_relay_answers_is_declared(bench: RelayBench) -> None:
    """Requests of features that the relay does not declare get no result.

    Lists of resources, templates, prompts and tools, a completion and a log level are asked for.
    Inconclusive if one gets no answer directly.
    """
    features.declared_answers(bench).conclude()


@requirement("RLY.features.lacking")
@on(RELAYED)
def test_what_the_upstream_lacks_is_not_offered(bench: RelayBench) -> None:
    """In front of an upstream with tools alone, the relay declares no other feature.

    An empty object of experimental capabilities offers nothing, and is right.
    """
    features.lacking(bench).conclude()


@requirement("RLY.features.resources.list")
@on(FEATURES)
def test_resources_and_templates_are_listed_once(bench: RelayBench) -> None:
    """Resources and templates of all pages are listed once each, by value.

    Their entries may have further members. Not applicable if resources are not declared.
    """
    features.resource_lists(bench).conclude()


@requirement("RLY.features.resources.read")
@on(FEATURES)
def test_what_is_read_is_the_upstreams(bench: RelayBench) -> None:
    """URI, type, text and decoded bytes are the upstream's; a missing resource is an error.

    Further members are right. Not applicable if resources are not declared, inconclusive if one
    cannot be read directly.
    """
    features.resource_reads(bench).conclude()


@requirement("RLY.features.prompts")
@on(FEATURES)
def test_prompts_are_listed_and_got_by_value(bench: RelayBench) -> None:
    """Prompts of all pages are listed once each; arguments and messages pass by value.

    A prompt that does not exist must be an error. Not applicable if prompts are not declared.
    """
    features.prompts(bench).conclude()


@requirement("RLY.features.completions")
@on(FEATURES)
def test_completions_pass_by_value(bench: RelayBench) -> None:
    """What is completed reaches the upstream, and its completion the client, by value.

    Arguments of a prompt and of a template are completed. Not applicable if completions are not
    declared.
    """
    features.completions(bench).conclude()


@requirement("RLY.features.ping")
@on(FEATURES)
def test_a_ping_of_the_client_is_answered(bench: RelayBench) -> None:
    """A ping gets an empty result.

    It may have `_meta`.
    """
    features.pinged(bench).conclude()


@requirement("RLY.features.instructions")
@on(FEATURES)
def test_instructions_reach_the_client(bench: RelayBench) -> None:
    """The instructions of the handshake hold the upstream's.

    There may be other text before and after them.
    """
    features.instructions(bench).conclude()
