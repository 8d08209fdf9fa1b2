"""The upstream's notifications and requests through a relay: progress, logs, elicitation, pings."""

from __future__ import annotations

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.fidelity import crossings, way_back
from mcp_proxy_conformance.fidelity.bench import RelayBench
from mcp_proxy_conformance.fidelity.offers import FEATURES


@requirement(
    "RLY.back.progress.token",
    "RLY.back.progress.order",
    "RLY.back.progress.after",
    "RLY.back.progress.values",
)
@on(FEATURES)
def test_progress_is_the_upstreams_under_the_clients_token(bench: RelayBench) -> None:
    """Progress has the client's token and the upstream's values, rises, and ends before the answer.

    Tokens are texts and integers; a call without one gets no progress. Not applicable if no
    progress arrives at all.
    """
    way_back.progress(bench).conclude()


@requirement("RLY.back.log.values")
@on(FEATURES)
def test_log_messages_are_the_upstreams(bench: RelayBench) -> None:
    """Level, logger and data of a log message are the upstream's.

    The logger may be part of a longer name. Not applicable if logging is not declared, or no
    message arrives.
    """
    way_back.logs(bench).conclude()


@requirement("RLY.features.set-level")
@on(FEATURES)
def test_a_log_level_has_its_effect(bench: RelayBench) -> None:
    """After a level is accepted, no log message below it arrives.

    Two levels are set, each in a session of its own. Not applicable if logging is not declared, or
    no message arrives.
    """
    way_back.levels(bench).conclude()


@requirement("RLY.back.request.answered")
@on(FEATURES)
def test_questions_and_answers_pass_by_value(bench: RelayBench) -> None:
    """The upstream's requests reach the client by value, and every answer reaches the upstream.

    It asks for elicitation, sampling and roots. Not applicable if the relay declares none of them
    upstream.
    """
    way_back.questions(bench).conclude()


@requirement("RLY.back.request.declared")
@on(FEATURES)
def test_a_client_is_asked_only_for_what_it_declares(bench: RelayBench) -> None:
    """A client that declares nothing, or one thing, is asked for nothing else.

    Not applicable if no client is asked for anything.
    """
    way_back.undeclared(bench).conclude()


@requirement("RLY.back.request.promised")
@on(FEATURES)
def test_what_is_declared_upstream_is_answered(bench: RelayBench) -> None:
    """The relay declares upstream what its client declares, or answers it itself.

    The upstream asks for each thing; an error is an answer, unless it turns the request itself
    down, by code -32600, -32601 or -32602. To declare nothing is right.
    """
    way_back.promised(bench).conclude()


@requirement("RLY.features.ping")
@on(FEATURES)
def test_a_ping_of_the_upstream_is_answered(bench: RelayBench) -> None:
    """A ping of the upstream gets an empty result.

    It is sent while a call is in progress; inconclusive if the direct client's result does not
    arrive.
    """
    way_back.upstream_ping(bench).conclude()


@requirement("RLY.back.cancel.reaches")
@on(FEATURES)
def test_a_cancellation_reaches_its_request(bench: RelayBench) -> None:
    """Of two running calls the one that the client cancels is cancelled upstream.

    The notification must have the id that the call has there. Inconclusive if not both calls
    arrive.
    """
    way_back.cancellation(bench).conclude()


@requirement("RLY.back.resource-updated", "RLY.back.over-forward.legacy")
@on(FEATURES)
def test_an_update_reaches_its_subscriber_alone(bench: RelayBench) -> None:
    """Each of two clients hears of the resource that it subscribed to, and not of the other's.

    Not applicable if subscriptions are not declared, inconclusive if one is refused.
    """
    way_back.updates(bench).conclude()


@requirement("RLY.back.over-forward.legacy")
@on(FEATURES)
def test_no_notification_arrives_that_was_not_declared(bench: RelayBench) -> None:
    """A client hears no log message, and of no changed list, unless that is declared to it.

    Not applicable if the relay declares all of these.
    """
    crossings.unpromised(bench).conclude()
