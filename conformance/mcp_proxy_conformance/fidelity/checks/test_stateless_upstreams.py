"""Upstreams of a relay, by handshake or stateless (2026-07-28): headers, elicitation, caches."""

from __future__ import annotations

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.fidelity import caches, hops, inputs
from mcp_proxy_conformance.fidelity.bench import RelayBench
from mcp_proxy_conformance.fidelity.offers import FEATURES, STATELESS
from mcp_proxy_conformance.fidelity.stages import RELAYED, STATELESS_PAGES


@requirement("RLY.era.tools.handshake")
@on(RELAYED)
def test_an_upstream_of_the_handshake_era_gets_its_handshake(bench: RelayBench) -> None:
    """Sessions of the upstream begin by initialize and initialized, whatever the client's era.

    Requests of 2026-07-28, by which a relay finds out the upstream's era, are left out.
    """
    hops.handshakes(bench).conclude()


@requirement("RLY.era.meta.hop")
@on(STATELESS)
def test_requests_upstream_state_version_and_capabilities(bench: RelayBench) -> None:
    """Each request to an upstream of 2026-07-28 states its version and capabilities in _meta.

    Over HTTP its header states the same version. Not applicable if the relay serves no client in
    front of such an upstream.
    """
    hops.stated(bench).conclude()


@requirement("RLY.era.meta.trace")
@on(STATELESS)
def test_trace_context_upstream_is_well_formed(bench: RelayBench) -> None:
    """Trace context that an upstream of 2026-07-28 gets has the form of W3C's recommendations.

    Not applicable if none arrives, or the relay serves no client in front of such an upstream.
    """
    hops.traces(bench).conclude()


@requirement("RLY.era.headers.recomputed")
@on(STATELESS)
def test_headers_upstream_fit_the_bodies(bench: RelayBench) -> None:
    """Version, method and name in the headers of a request upstream are those of its body.

    Not applicable unless the relay reaches an upstream of 2026-07-28 over HTTP.
    """
    hops.fitting_headers(bench).conclude()


@requirement("RLY.era.headers.param")
@on(STATELESS)
def test_marked_arguments_are_repeated_in_headers(bench: RelayBench) -> None:
    """The upstream gets the headers of the arguments that its schema marks, and of no others.

    Not applicable unless the relay reaches an upstream of 2026-07-28 over HTTP.
    """
    hops.mirrored_arguments(bench).conclude()


@requirement("RLY.era.headers.forwarded")
@on(STATELESS)
def test_an_unknown_header_for_an_argument_is_handed_on(bench: RelayBench) -> None:
    """A header for an argument that no tool explains reaches the upstream.

    Not applicable unless both connections of the relay are of 2026-07-28 and over HTTP.
    """
    hops.forwarded_header(bench).conclude()


@requirement("RLY.era.headers.rejected")
@on(STATELESS_PAGES)
def test_tools_with_faulty_marks_are_not_listed(bench: RelayBench) -> None:
    """A tool whose marks for headers break the rules is not listed; the others are.

    Not applicable unless the relay reaches an upstream of 2026-07-28 over HTTP.
    """
    hops.rejected_tools(bench).conclude()


@requirement("RLY.tools.paging.empty-cursor")
@on(STATELESS_PAGES)
def test_an_empty_cursor_is_followed(bench: RelayBench) -> None:
    """Tools of a page whose cursor is an empty string are listed.

    Not applicable if the relay serves no client in front of an upstream of 2026-07-28.
    """
    hops.empty_cursor(bench).conclude()


@requirement("RLY.tools.schema.no-fetch")
@on(STATELESS_PAGES)
def test_a_schema_that_is_referred_to_is_not_fetched(bench: RelayBench) -> None:
    """A URL that a schema refers to by $ref is not fetched when tools are listed and called.

    Not applicable if the relay serves no client in front of an upstream of 2026-07-28.
    """
    hops.fetched_schemas(bench).conclude()


@requirement("RLY.back.cancel.form")
@on(STATELESS)
def test_a_cancellation_over_http_is_a_closed_stream(bench: RelayBench) -> None:
    """A cancelled call's stream is closed at a 2026-07-28 upstream; a notification is not enough.

    Not applicable if no cancellation reaches the upstream, or that is reached over stdio.
    """
    hops.cancellation_form(bench).conclude()


@requirement("RLY.era.error.own")
@on(STATELESS)
def test_a_client_is_not_blamed_for_the_relays_request(bench: RelayBench) -> None:
    """A request without fault is not refused for its headers, its version or its capabilities.

    Not applicable unless both connections of the relay are of 2026-07-28.
    """
    inputs.own_errors(bench).conclude()


@requirement("RLY.era.elicit.crosses")
@on(STATELESS)
def test_an_elicitation_in_a_result_crosses(bench: RelayBench) -> None:
    """What a 2026-07-28 upstream asks in a result reaches the client, and the answer comes back.

    Clients of each era are asked. Not applicable if the relay declares no elicitation upstream.
    """
    inputs.crossing(bench).conclude()


@requirement("RLY.era.elicit.crosses")
@on(FEATURES)
def test_an_elicitation_by_request_crosses(bench: RelayBench) -> None:
    """What an upstream of the handshake era asks reaches the client, and the answer comes back.

    It asks by a request. Clients of each era are asked. Not applicable if the relay declares no
    elicitation upstream.
    """
    inputs.crossing(bench).conclude()


@requirement("RLY.era.elicit.finished")
@on(STATELESS)
def test_a_question_is_not_given_out_as_a_result(bench: RelayBench) -> None:
    """A client of the handshake era gets no result that asks for input.

    Not applicable if the upstream asks for nothing, as where no elicitation is declared to it.
    """
    inputs.unfinished(bench).conclude()


@requirement("RLY.era.elicit.state")
@on(STATELESS)
def test_a_state_goes_back_with_its_retry(bench: RelayBench) -> None:
    """A retry has the state that the upstream gave for its call, exactly, under a new id.

    Two clients are asked at once. Not applicable if the upstream asks for nothing, as where no
    elicitation is declared to it.
    """
    inputs.states(bench).conclude()


@requirement("RLY.era.elicit.state-forged")
@on(STATELESS)
def test_an_altered_state_is_not_accepted(bench: RelayBench) -> None:
    """A retry with an altered state gets no finished result.

    Not applicable if the client gets no state.
    """
    inputs.forged_states(bench).conclude()


@requirement("RLY.era.cache.private")
@on(STATELESS)
def test_what_is_private_is_not_given_to_another(bench: RelayBench) -> None:
    """What one client has read of a private resource, or by a retry with input, no other gets.

    The clients have credentials of their own. Not applicable if the relay refuses them.
    """
    caches.private_results(bench).conclude()


@requirement("RLY.era.cache.kept")
@on(STATELESS)
def test_hints_for_caches_are_not_widened(bench: RelayBench) -> None:
    """A result that the upstream calls private is not called public, and its `ttlMs` not raised.

    Not applicable unless both connections of the relay are of 2026-07-28.
    """
    caches.kept_hints(bench).conclude()


@requirement("RLY.era.cache.pages")
@on(STATELESS)
def test_pages_of_a_list_have_one_scope(bench: RelayBench) -> None:
    """All pages of a list have the same `cacheScope`, or none has one.

    Not applicable if no list has several pages with such a hint.
    """
    caches.page_scopes(bench).conclude()
