"""Isolation of a relay's clients: equal ids at once, sessions, streams, answers of other users."""

from __future__ import annotations

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.fidelity import clients_apart, crossings, sessions, way_back
from mcp_proxy_conformance.fidelity.bench import RelayBench
from mcp_proxy_conformance.fidelity.offers import FEATURES
from mcp_proxy_conformance.fidelity.stages import PAGED, RELAYED


@requirement("RLY.apart.answers")
@on(RELAYED)
def test_clients_with_equal_ids_get_their_own_answers(bench: RelayBench) -> None:
    """Three clients call at once under one id; each gets its own result, one of them its error.

    Five ids are tried, texts and integers. Not applicable over stdio, inconclusive if a call does
    not reach the upstream.
    """
    clients_apart.own_answers(bench).conclude()


@requirement("RLY.up.ids")
@on(RELAYED)
def test_no_id_is_used_twice_in_a_session_of_the_upstream(bench: RelayBench) -> None:
    """Whatever ids clients use, the upstream gets each id once in a session.

    Three clients have called at once under equal ids before. Not applicable over stdio,
    inconclusive if the upstream has no session.
    """
    clients_apart.own_answers(bench)
    clients_apart.request_ids(bench).conclude()


@requirement("RLY.up.meta.progress-token")
@on(RELAYED)
def test_progress_tokens_differ_upstream_while_calls_are_active(bench: RelayBench) -> None:
    """Three clients call at once under one token; in one session the upstream gets no token twice.

    Each token that it gets must be a text or an integer. Not applicable over stdio, or if the relay
    hands no token on.
    """
    clients_apart.progress_tokens(bench).conclude()


@requirement("RLY.down.envelope")
@on(RELAYED)
def test_answers_have_the_id_of_their_request(bench: RelayBench) -> None:
    """An answer has its request's id, in type and value, and either a result or an error.

    Four requests, two of them answered by errors, are sent under five ids. Inconclusive if the
    relay does not list the tool `echo`.
    """
    clients_apart.envelopes(bench).conclude()


@requirement("RLY.apart.progress")
@on(FEATURES)
def test_progress_reaches_the_client_whose_call_it_is_about(bench: RelayBench) -> None:
    """Of three clients that call under one token, only the one whose call progresses hears of it.

    Not applicable if no progress arrives at all.
    """
    crossings.progress(bench).conclude()


@requirement("RLY.apart.requests.elicit")
@on(FEATURES)
def test_an_elicitation_is_put_to_the_client_that_caused_it(bench: RelayBench) -> None:
    """Of three clients that call at once, only the one whose call elicits is asked, and answers.

    No other client's answer may reach the upstream. Not applicable if nobody is asked.
    """
    crossings.elicitations(bench).conclude()


@requirement("RLY.apart.requests.other")
@on(FEATURES)
def test_sampling_and_roots_are_asked_of_the_client_that_caused_it(bench: RelayBench) -> None:
    """Of three clients that call at once, only the one whose call asks is asked, and answers.

    Sampling and roots are tried; no other client's answer may reach the upstream. Not applicable if
    nobody is asked for either.
    """
    crossings.other_requests(bench).conclude()


@requirement("RLY.apart.cancel.reference")
@on(FEATURES)
def test_a_cancellation_names_a_running_request(bench: RelayBench) -> None:
    """A cancellation that the upstream gets names a request that runs on that connection.

    One of two running calls is cancelled. Not applicable if no cancellation arrives.
    """
    way_back.cancelled_requests(bench).conclude()


@requirement("RLY.apart.cancel.other")
@on(FEATURES)
def test_a_client_that_cancels_or_goes_ends_no_other_call(bench: RelayBench) -> None:
    """Of three clients that call under one id, one cancels and one goes; the last is answered.

    The answer must be a result. Inconclusive if not every call reaches the upstream.
    """
    crossings.cancelled_beside(bench).conclude()


@requirement("RLY.apart.session.broadcast")
@on(FEATURES)
def test_a_message_goes_out_on_one_stream(bench: RelayBench) -> None:
    """A client with several streams gets each log message, and each change, on one of them.

    Not applicable if the relay serves over stdio, or no such message arrives.
    """
    crossings.doubled(bench).conclude()


@requirement("RLY.apart.session.settings")
@on(FEATURES)
def test_a_log_level_is_that_of_the_client_that_set_it(bench: RelayBench) -> None:
    """Two clients set different levels, and each gets the log messages of its own.

    Not applicable unless a client that sets no level gets every log message.
    """
    crossings.settings(bench).conclude()


@requirement("RLY.apart.requests.elicit-complete")
@on(FEATURES)
def test_the_end_of_an_elicitation_is_told_to_the_client_that_was_asked(bench: RelayBench) -> None:
    """Of three clients that call at once, only the one that was asked to visit a URL hears the end.

    Not applicable if no client is told of it, as where the relay declares no elicitation of URLs
    upstream.
    """
    crossings.elicitations_of_urls(bench).conclude()


@requirement("RLY.apart.session.replay")
@on(FEATURES)
def test_a_resumed_stream_replays_nothing_of_another(bench: RelayBench) -> None:
    """A stream that is resumed by an event id brings no message of its client's other streams.

    If another client resumes it, nothing of it comes. Not applicable over stdio, if events have no
    ids, or if nothing is replayed.
    """
    sessions.replayed(bench).conclude()


@requirement("RLY.apart.session.unknown")
@on(RELAYED)
def test_an_ended_session_is_answered_with_404(bench: RelayBench) -> None:
    """After a client has ended its session, a request in it is answered with status 404.

    Not applicable over stdio, if the relay gives no sessions, or does not let a client end one.
    """
    sessions.ended(bench).conclude()


@requirement("RLY.apart.session.cursor")
@on(PAGED)
def test_a_cursor_of_another_client_shows_ones_own_tools(bench: RelayBench) -> None:
    """The pages that a client is shown for another's cursors have only tools of its own list.

    The upstream describes its tools differently to each session. Not applicable over stdio, without
    cursors, or if both clients are shown the same tools.
    """
    sessions.cursors(bench).conclude()


@requirement("RLY.apart.session.foreign")
@on(FEATURES)
def test_a_session_is_of_no_use_to_another_user(bench: RelayBench) -> None:
    """With another user's credentials, a session gives no answer and no message, and is not ended.

    POST, GET and DELETE are tried. Not applicable without declared clients, over stdio, without
    sessions, or if the relay serves clients with any credentials.
    """
    sessions.foreign(bench).conclude()


@requirement("RLY.apart.cache")
@on(FEATURES)
def test_an_answer_is_not_given_to_another_user(bench: RelayBench) -> None:
    """What the upstream answered to one user's list, call or read is not given to another.

    Not applicable unless the relay declares that it forwards its clients' credentials, and the
    upstream gets them.
    """
    sessions.cached(bench).conclude()


@requirement("RLY.features.tasks")
@on(FEATURES)
def test_a_task_is_not_shown_to_another_user(bench: RelayBench) -> None:
    """A task that one user has begun is neither shown to another user nor listed to that user.

    Not applicable without declared clients, or if the relay does not relay tasks.
    """
    sessions.tasks(bench).conclude()
