"""Conversation with an endpoint within a budget: discovery calls, calls of locked tools."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any, TypeVar

from mcp_proxy_conformance.catalogue.surface import FLAG
from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.answer import Answer, read_answer
from mcp_proxy_conformance.discovery.calibration import Exact
from mcp_proxy_conformance.discovery.forms import without_flag
from mcp_proxy_conformance.discovery.live.budget import Budget, Ledger, OverBudget
from mcp_proxy_conformance.discovery.live.endpoint import Endpoint
from mcp_proxy_conformance.discovery.live.words import is_of
from mcp_proxy_conformance.discovery.requests import in_words
from mcp_proxy_conformance.discovery.structured import expect_agreement
from mcp_proxy_conformance.discovery.targets.known_tools import Known
from mcp_proxy_conformance.targets.waits import Reply, during
from mcp_proxy_conformance.verdict.exchanges import Exactly
from mcp_proxy_conformance.verdict.result import Misshapen
from mcp_proxy_conformance.wire.client import FORBIDDEN, Client
from mcp_proxy_conformance.wire.faults import ProtocolFault, SessionLost, Unreachable
from mcp_proxy_conformance.wire.reply import ToolReply
from mcp_proxy_conformance.wire.revisions import METHOD_NOT_FOUND
from mcp_proxy_conformance.wire.sse import SseClient
from mcp_proxy_conformance.wire.stdio import StdioClient
from mcp_proxy_conformance.wire.transcript import Transcript

BUSY = (429, 503)
"""HTTP statuses after which the same request may be sent again."""
AGAIN = 3
"""Maximum number of such repetitions."""
PAUSE_S, LONGEST_S = 1.0, 86_400.0


def seconds_asked(header: str | None) -> float:
    """Return the seconds to wait that a Retry-After header (a number or a date) asks for.

    1.0 if it is absent or unreadable; for a date a day at most.
    """
    header = (header or "").strip()
    if header.isascii() and header.isdigit():
        return float(header[:9])
    try:
        wanted = parsedate_to_datetime(header).timestamp() - time.time()
    except (ValueError, OverflowError):
        return PAUSE_S
    return min(max(wanted, 0.0), LONGEST_S)


T = TypeVar("T")
LEAST_S = 0.05
AWAY = (*FORBIDDEN, 429, 502, 503, 504)
"""HTTP statuses of a gateway in front of the target, or of a denied access."""
WIDEST = 100
FLAGS: Mapping[str, bool | None] = {"A": None, "F": False, "T": True, "W": True}
"""The forms of a request: flag absent, false, true, and true at the widest limit."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LiveAnswer:
    """One discovery call and its result; `answer` is None if it could not be read.

    `form` is a key of FLAGS; `who` the credential, empty for the main one; `messages` the ids of
    request and answer; `exact` the bytes without an echo of the arguments, None with the
    flag; `fault` why there is no answer; `breaks` the clauses that its shape breaks.
    """

    query: str
    form: str
    limit: int | None
    who: str
    arguments: Mapping[str, Any]
    messages: tuple[str, ...]
    answer: Answer | None = None
    exact: Exact | None = None
    fault: str = ""
    breaks: tuple[str, ...] = ()

    @property
    def flagged(self) -> bool:
        """Whether the flag was sent as true."""
        return FLAGS[self.form] is True

    @property
    def label(self) -> Exactly:
        """The request in words, naming this call; equal requests have equal labels."""
        sent = {
            "query": self.query,
            "include_disabled": FLAGS[self.form],
            "limit": self.limit,
            "agent": self.who or None,
        }
        words = in_words({name: value for name, value in sent.items() if value is not None})
        return Exactly(words, self.messages[-1])


class Talk:
    """One conversation with the endpoint, by one credential, within the budget.

    `who` names the credential, empty for the main one; `widest` is the limit of form W, None if the
    tool takes none.
    """

    def __init__(
        self, endpoint: Endpoint, budget: Budget, transcript: Ledger, who: str = ""
    ) -> None:
        """Send nothing yet; `who` selects an agent's headers, which replace main ones by name.

        Raises ValueError for headers that cannot be sent.
        """
        self.endpoint, self.budget, self.transcript, self.who = endpoint, budget, transcript, who
        self.widest: int | None = WIDEST
        self.conversation: Client | SseClient | StdioClient
        if endpoint.stdio:
            self.conversation = StdioClient(
                endpoint.stdio, env=os.environ, transcript=transcript, timeout=endpoint.answer_s
            )
            self._watch()
            return
        headers = dict(endpoint.headers)
        if who:
            replaced = {name.lower() for name in endpoint.agents[who]}
            headers = {n: v for n, v in headers.items() if n.lower() not in replaced}
            headers |= endpoint.agents[who]
        connect: Callable[..., Client | SseClient] = (
            SseClient if endpoint.wire == "sse" else partial(Client, wire=endpoint.wire)
        )
        self.conversation = connect(
            endpoint.url,
            headers=headers,
            transcript=transcript,
            timeout=endpoint.answer_s,
            dialing=endpoint.dialing,
        )
        self._watch()

    def _watch(self) -> None:
        """Shorten the timeout to the time that is left, now and before each later message."""
        self.transcript.hurried.append(self._hurry)
        self._hurry()

    def tools(self) -> list[dict[str, Any]]:
        """Return all tools of tools/list; [] if the server does not have that method.

        While the endpoint is busy it is asked again. Raises Unreachable without an answer,
        ProtocolFault for an invalid one, OverBudget when nothing more may be sent.
        """
        return self._patiently(self._tools)

    def _tools(self) -> list[dict[str, Any]]:
        """Open the session and return all tools of tools/list.

        [] if the handshake declares no tools and tools/list is refused as an unknown method.
        """
        offered = self.conversation.open().opening
        declared = offered.value().get("capabilities") if offered is not None else None
        if not (isinstance(declared, dict) and "tools" in declared):
            refusal = self.conversation.request("tools/list", {}).error
            if refusal is not None and refusal["code"] == METHOD_NOT_FOUND:
                return []
        return self.conversation.tools()

    def ask(self, query: str, form: str, limit: int | None = None) -> LiveAnswer:
        """Make one discovery call; an answer that cannot be read is returned as its `fault`.

        A refusal is an answer with `error`. Forms: the flag absent (A), false (F), true
        (T), or true with the widest limit (W), in which `limit` is ignored. Raises
        Unreachable without an answer, OverBudget when nothing more may be sent.
        """
        names = self.endpoint.surface
        limit = self.widest if form == "W" else limit
        arguments: dict[str, Any] = {names.query: query}
        arguments |= {} if FLAGS[form] is None else {FLAG: FLAGS[form]}
        arguments |= {} if limit is None else {names.limit: limit}
        since = self.transcript.mark()
        outcome: dict[str, Any] = {}
        try:
            reply = self.call(names.discovery_tool, arguments)
            flag = FLAGS[form] is True
            answer = read_answer(reply, query, names.members, Known(), flag=flag, limit=limit)
            expect_agreement(reply, answer.body, names.members, Known(), flagged=flag, limit=limit)
            outcome["answer"] = answer
            if not FLAGS[form]:  # these are compared byte by byte
                exact = Exact.of(reply)
                parts = {name: without_flag(part, arguments) for name, part in exact.parts()}
                outcome["exact"] = Exact(result=parts["result"], text=parts["text"])
        except (ProtocolFault, Misshapen) as error:
            outcome["fault"] = str(error)
            if isinstance(error, Misshapen):
                outcome["breaks"] = error.clauses
            elif error.kind == "size":
                self.budget.refuse(str(error))
        return LiveAnswer(
            query=query,
            form=form,
            limit=limit,
            who=self.who,
            arguments=arguments,
            messages=ids_since(since, self.transcript),
            **outcome,
        )

    def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolReply:
        """Call a tool, in a new session if the old one was lost, again while the endpoint is busy.

        Raises Unreachable without an answer or if a gateway answered, ProtocolFault for
        another invalid answer, OverBudget if nothing was sent or the answer was cut off by
        the deadline.
        """

        def answered() -> ToolReply:
            """Call the tool; if the session was lost, open a new one and call it once more."""
            try:
                return self.conversation.call_tool(tool, arguments)
            except SessionLost:
                self.conversation.close()
                return self.conversation.call_tool(tool, arguments)

        try:
            return self._patiently(answered)
        except ProtocolFault as fault:
            if fault.status not in AWAY:
                raise
            asking = f"the request as {self.who}" if self.who else "the request"
            reason = f"{asking} was answered with HTTP {fault.status}"
            raise Unreachable(self.endpoint.place, "wait", reason, 0.0) from None

    def close(self) -> None:
        """End the session, by a request that the budget kept for it; nothing if none is left."""
        self.budget.closing = True
        try:
            self.conversation.close()
        except OverBudget:
            pass
        finally:
            self.budget.closing = False

    def _hurry(self) -> None:
        """Set the timeout to `answer_s` or, if that is less, to the time left, at least 0.05 s."""
        self.conversation.timeout = max(
            LEAST_S, min(self.endpoint.answer_s, self.budget.seconds_left)
        )

    def _patiently(self, ask: Callable[[], T]) -> T:
        """Return the result of `ask`, repeated up to three times while the endpoint is busy.

        In between it sleeps as long as the endpoint asks; other faults are raised.
        """
        for _ in range(AGAIN):
            try:
                with self._timely():
                    return ask()
            except ProtocolFault as fault:
                if fault.status not in BUSY:
                    raise
                self.budget.rest(seconds_asked(fault.retry_after))
        with self._timely():
            return ask()

    @contextmanager
    def _timely(self) -> Iterator[None]:
        """Raise OverBudget instead of Unreachable if the budget's deadline cut the block off.

        Meanwhile the request is shown as what the run waits for.
        """
        reply = Reply(number=self.budget.spent + 1, most=self.budget.most)
        try:
            with during(reply):
                yield
        except Unreachable:
            if self.budget.seconds_left > LEAST_S:
                raise
            raise self.budget.late() from None


def ids_since(mark: int, transcript: Transcript) -> tuple[str, ...]:
    """Return the ids of the transcript's messages after `mark`."""
    return tuple(str(message.id) for message in transcript.since(mark))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """The answer to a call of a locked tool; `left_out`: why there is none to judge."""

    status: str = ""
    text: str = ""
    is_error: bool = False
    messages: tuple[str, ...] = ()
    left_out: str = ""


def call(talk: Talk, key: ToolKey) -> Rejected:
    """Call a tool once if it is listed as locked, and return the answer.

    `left_out` in it says why there is none: no call tool is named, the tool is not listed as
    locked, its call got no result, or it had another status after that. Raises Unreachable
    without an answer, OverBudget when nothing more may be sent.
    """
    endpoint = talk.endpoint
    if not endpoint.calls:
        return Rejected(
            left_out="no call tool was named; name one in a target file, under surface.calls"
        )
    status = _status(talk.ask(key.tool, "W"), key)
    if not status:
        return Rejected(left_out=f"{key} is not listed as locked, so it was not called")
    tool, arguments = endpoint.surface.calls[0].filled(key, {})
    since = talk.transcript.mark()
    try:
        reply = talk.call(tool, arguments)
        refused = reply.error is not None
        text = json.dumps(reply.error) if refused else "\n".join(reply.texts)
        is_error = refused or reply.is_error
    except ProtocolFault as fault:
        return Rejected(left_out=f"the call was not answered with a result: {fault}")
    messages = ids_since(since, talk.transcript)
    if _status(talk.ask(key.tool, "W"), key) != status:
        return Rejected(left_out=f"{key} had another status after the call")
    return Rejected(status=status, text=text, is_error=is_error, messages=messages)


def _status(look: LiveAnswer, key: ToolKey) -> str:
    """Return the status of the tool in a call's answer; "" if it is not listed as locked."""
    entries = look.answer.disabled if look.answer is not None else ()
    return next((entry.status for entry in entries if is_of(entry, key)), "")
