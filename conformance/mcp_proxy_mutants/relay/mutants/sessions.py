"""Mutants that let one client use what belongs to another's session: streams, news of it."""

from collections.abc import Sequence

from mcp_proxy_mutants.relay.fronts import Numbered, Resuming
from mcp_proxy_mutants.relay.mutant import relay_mutant
from mcp_proxy_mutants.relay.mutants.clients import misrouted

COMPLETE = "notifications/elicitation/complete"


def _all_later(sent: Sequence[Numbered], last: int, session: str) -> Sequence[Numbered]:
    """Return every later event, of any stream and client."""
    del session
    return sent[last + 1 :]


def _of_that_stream(sent: Sequence[Numbered], last: int, session: str) -> Sequence[Numbered]:
    """Return the later events of the same stream, whoever asks."""
    del session
    return [each for each in sent[last + 1 :] if each.stream == sent[last].stream]


def _of_that_client(sent: Sequence[Numbered], last: int, session: str) -> Sequence[Numbered]:
    """Return the later events of all streams of the client that asks."""
    return [each for each in sent[last + 1 :] if each.session == session]


MUTANTS = (
    relay_mutant(
        "relay-replays-every-stream",
        "A resumed stream brings all later messages of all clients.",
        "RLY.apart.session.replay",
        front=lambda remote: Resuming(remote, _all_later),
    ),
    relay_mutant(
        "relay-replays-to-anybody",
        "A client resumes the stream of another by an event id of it.",
        "RLY.apart.session.replay",
        front=lambda remote: Resuming(remote, _of_that_stream),
    ),
    relay_mutant(
        "relay-replays-other-streams",
        "A resumed stream brings messages of all streams of its client.",
        "RLY.apart.session.replay",
        front=lambda remote: Resuming(remote, _of_that_client),
    ),
    relay_mutant(
        "relay-tells-another-of-ends",
        "The end of an elicitation of a URL is told to the other clients.",
        "RLY.apart.requests.elicit-complete",
        make=lambda: misrouted(COMPLETE, both=False),
    ),
    relay_mutant(
        "relay-tells-all-of-ends",
        "The end of an elicitation of a URL is told to all clients.",
        "RLY.apart.requests.elicit-complete",
        make=lambda: misrouted(COMPLETE, both=True),
    ),
)
