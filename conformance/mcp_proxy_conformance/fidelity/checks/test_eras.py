"""MCP revision 2026-07-28 through a relay: spoken by the client, by the upstream, or by both."""

from __future__ import annotations

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.fidelity import stateless_answers, stateless_refusals, stateless_streams
from mcp_proxy_conformance.fidelity.bench import RelayBench
from mcp_proxy_conformance.fidelity.driven_relay import each_upstream_era
from mcp_proxy_conformance.fidelity.offers import FEATURES


@requirement("RLY.era.tools.not-empty")
@each_upstream_era()
def test_a_list_across_the_eras_is_not_empty(bench: RelayBench) -> None:
    """For each served pair of client and upstream eras, a list of tools is not empty.

    A refused list is right, too. Not applicable if the relay serves no pair with 2026-07-28.
    """
    stateless_answers.not_empty(bench).conclude()


@requirement("RLY.era.call.values")
@each_upstream_era()
def test_a_call_across_the_eras_keeps_its_values(bench: RelayBench) -> None:
    """For each served pair of client and upstream eras, a call keeps its values, and runs once.

    Not applicable if the relay serves no pair with 2026-07-28.
    """
    stateless_answers.values(bench).conclude()


@requirement("RLY.era.tools.version")
@each_upstream_era()
def test_a_version_that_is_not_served_is_refused(bench: RelayBench) -> None:
    """A request of an unknown version is refused with the versions that are served.

    A handshake for one is answered with another version, or refused.
    """
    stateless_refusals.versions(bench).conclude()


@requirement("RLY.era.tools.result-type")
@each_upstream_era()
def test_a_result_has_a_type_that_the_client_can_know(bench: RelayBench) -> None:
    """Each result to a client of 2026-07-28 has a `resultType` of that revision.

    The upstream may be of either era. Not applicable unless the relay serves 2026-07-28 to
    clients.
    """
    stateless_answers.result_types(bench).conclude()


@requirement("RLY.era.tools.hints")
@each_upstream_era()
def test_lists_and_reads_say_how_long_they_may_be_kept(bench: RelayBench) -> None:
    """Lists, reads and discovery have `ttlMs` and `cacheScope`, whatever the upstream's era.

    Not applicable unless the relay serves 2026-07-28 to clients.
    """
    stateless_answers.hints(bench).conclude()


@requirement("RLY.era.tools.stable")
@each_upstream_era()
def test_tools_do_not_vary_by_connection_or_by_earlier_requests(bench: RelayBench) -> None:
    """Two clients of 2026-07-28 are shown equal lists of tools, before and after calls.

    Not applicable unless the relay serves 2026-07-28 to clients.
    """
    stateless_answers.stable(bench).conclude()


@requirement("RLY.era.tools.changed", "RLY.back.over-forward", "RLY.tools.changed.arrives")
@each_upstream_era()
def test_a_subscription_brings_what_it_asked_for(bench: RelayBench) -> None:
    """Each of three subscriptions brings, under its id, the notifications of its own filter only.

    Not applicable unless the relay serves 2026-07-28 to clients, and agrees to a filter.
    """
    stateless_streams.news(bench).conclude()


@requirement("RLY.era.call.stateless")
@each_upstream_era()
def test_a_request_is_not_served_by_what_came_before_it(bench: RelayBench) -> None:
    """A request without its version or capabilities is refused, even after one that stated both.

    Not applicable unless the relay serves 2026-07-28 to clients.
    """
    stateless_refusals.stateless(bench).conclude()


@requirement("RLY.era.error.form")
@each_upstream_era()
def test_an_error_has_the_status_and_code_of_its_kind(bench: RelayBench) -> None:
    """Requests with one fault each are refused with the HTTP status and error code of the fault.

    Faults are an unknown method or version, and missing capabilities or a missing version.

    Not applicable unless the relay serves 2026-07-28 to clients.
    """
    stateless_refusals.forms(bench).conclude()


@requirement("RLY.era.error.reserved")
@on(FEATURES)
def test_no_withdrawn_or_reserved_code_reaches_a_client(bench: RelayBench) -> None:
    """Error codes of an older upstream that 2026-07-28 withdrew or reserves reach no client.

    The call must still be answered. Not applicable unless the relay serves 2026-07-28 to clients.
    """
    stateless_refusals.reserved(bench).conclude()


@requirement("RLY.era.headers.mismatch", "RLY.era.headers.before")
@each_upstream_era()
def test_headers_that_do_not_fit_the_body_are_refused(bench: RelayBench) -> None:
    """A call with one missing or unfit header gets a status from 400 to 499, and is not executed.

    An unfit header is one that does not fit the body.

    Not applicable unless the relay serves 2026-07-28 to clients.
    """
    stateless_refusals.headers(bench).conclude()


@requirement("RLY.era.elicit.no-requests")
@on(FEATURES)
def test_a_client_without_handshake_gets_no_requests(bench: RelayBench) -> None:
    """No request of an older upstream arrives at a client of 2026-07-28.

    Not applicable unless the relay serves 2026-07-28 to clients.
    """
    stateless_streams.no_requests(bench).conclude()


@requirement("RLY.back.log.unasked")
@each_upstream_era()
def test_a_log_message_arrives_only_as_a_request_asked_for(bench: RelayBench) -> None:
    """A call that names no log level brings no log message, one that does none below its level.

    Not applicable unless the relay serves 2026-07-28 to clients, or if none arrives at all.
    """
    stateless_streams.logs(bench).conclude()


@requirement("RLY.back.cancel.silence")
@each_upstream_era()
def test_a_cancelled_call_is_not_heard_of_again(bench: RelayBench) -> None:
    """Once the client closes a call's stream, nothing about that call arrives on its other streams.

    Not applicable unless the relay serves 2026-07-28 to clients.
    """
    stateless_streams.silence(bench).conclude()


@requirement("RLY.features.resources.not-found")
@each_upstream_era()
def test_a_missing_resource_is_an_error_of_invalid_params(bench: RelayBench) -> None:
    """A client of 2026-07-28 that reads a resource which does not exist gets error -32602.

    Not applicable unless the relay serves 2026-07-28 to clients, and declares resources.
    """
    stateless_refusals.not_found(bench).conclude()
