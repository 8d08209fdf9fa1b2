"""Relay mutants that let a client use another's session: streams, caches, tasks, elicitations."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mcp_proxy_mutants.fidelity.changed import Around, Forward, Got, Sent
from mcp_proxy_mutants.fidelity.fronts import Numbered, Resuming
from mcp_proxy_mutants.fidelity.mutant import relay_mutant
from mcp_proxy_mutants.fidelity.mutants.clients import misrouted, shared_answers
from mcp_proxy_mutants.fidelity.mutants.credentials import forwards_credentials
from mcp_proxy_mutants.fidelity.mutants.exchanges import shared_session
from mcp_relay_reference.front import Front
from mcp_relay_reference.guard import Guard
from mcp_relay_reference.remote import Remote

COMPLETE = "notifications/elicitation/complete"


def _all_later(sent: Sequence[Numbered], last: int, session: str) -> Sequence[Numbered]:
    """Return every later event, of any stream and client."""
    del session
    return sent[last + 1 :]


def _of_that_stream(sent: Sequence[Numbered], last: int, session: str) -> Sequence[Numbered]:
    """Return the later events of the same stream, whoever asks."""
    del session
    return [each for each in sent[last + 1 :] if each.stream == sent[last].stream]


class _Unbound(Guard):
    """A session can be used by any client that is known."""

    def owns(self, method: str, mark: bytes, own: bytes) -> bool:
        """Return True: the id is enough."""
        del method, mark, own
        return True


class _BoundCalls(Guard):
    """A session is bound to its owner for POST alone."""

    def owns(self, method: str, mark: bytes, own: bytes) -> bool:
        """Return whether the session is the client's, or nothing is posted."""
        return method != "POST" or mark == own


def _showing_and_sharing(*methods: str) -> Around:
    """Return a filter that sends the client's token on, and keeps answers for all clients."""
    shared, shown = shared_answers(methods), forwards_credentials()

    async def around(sent: Sent, forward: Forward) -> Got:
        return await shared(sent, lambda each: shown(each, forward))

    return around


def _found_anywhere() -> Around:
    """Return a filter that asks about a task in the session in which it was begun."""
    begun: dict[str, str | None] = {}

    async def around(sent: Sent, forward: Forward) -> Got:
        params = sent.message.get("params") or {}
        session = begun.get(str(params.get("taskId")), sent.session)
        got = await forward(replace(sent, session=session))
        result = got.message.get("result")
        if "task" in params and isinstance(result, dict) and isinstance(result.get("task"), dict):
            begun[str(result["task"]["taskId"])] = sent.session
        return got

    return around


USERS = ("token-of-the-first-user", "token-of-the-second-user")
FORWARDING: Mapping[str, Any] = {"clients": USERS, "forwards": ["authorization", "cookie"]}
"""Declarations of a relay of two users, which shows the upstream who asks."""


def guarded(remote: Remote) -> Guard:
    """Return a front that serves the two users."""
    return Guard(Front(remote), USERS)


MUTANTS = (
    relay_mutant(
        "relay-binds-no-session",
        "A client may use the session of another.",
        "RLY.apart.session.foreign",
        front=lambda remote: _Unbound(Front(remote), USERS),
        clients=USERS,
    ),
    relay_mutant(
        "relay-lets-others-end-sessions",
        "A client may listen in the session of another, and end it.",
        "RLY.apart.session.foreign",
        front=lambda remote: _BoundCalls(Front(remote), USERS),
        clients=USERS,
    ),
    relay_mutant(
        "relay-caches-lists-for-all",
        "Lists of tools are kept for all clients.",
        "RLY.apart.cache",
        make=lambda: _showing_and_sharing("tools/list"),
        front=guarded,
        **FORWARDING,
    ),
    relay_mutant(
        "relay-caches-reads-for-all",
        "Resources that were read are kept for all clients.",
        "RLY.apart.cache",
        make=lambda: _showing_and_sharing("resources/list", "resources/read"),
        front=guarded,
        **FORWARDING,
    ),
    relay_mutant(
        "relay-caches-calls-for-all",
        "Calls are answered for all clients as for the first.",
        "RLY.apart.cache",
        "RLY.up.once.equal",
        make=lambda: _showing_and_sharing("tools/call"),
        front=guarded,
        **FORWARDING,
    ),
    relay_mutant(
        "relay-finds-every-task",
        "A task is looked for wherever it was begun.",
        "RLY.features.tasks",
        make=_found_anywhere,
        front=guarded,
        clients=USERS,
    ),
    relay_mutant(
        "relay-has-one-user-upstream",
        "All users share one session upstream, and so their tasks.",
        "RLY.features.tasks",
        make=shared_session,
        front=guarded,
        clients=USERS,
    ),
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
        front=lambda remote: Resuming(
            remote,
            lambda sent, last, session: [
                each for each in sent[last + 1 :] if each.session == session
            ],
        ),
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
