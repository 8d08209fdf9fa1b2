"""The stored answer of a user's own check: `answer == golden`, in all bytes that do not vary."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from mcp_proxy_conformance.discovery.baseline.body import (
    ENDING,
    BadBody,
    Body,
    changed,
    parsed,
)
from mcp_proxy_conformance.discovery.baseline.recorder import PASSES, Literals
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.calibration import ByteDifference, Exact, volatile
from mcp_proxy_conformance.discovery.settled import judge
from mcp_proxy_conformance.discovery.targets.started import Started
from mcp_proxy_conformance.report.difference import sentences
from mcp_proxy_conformance.run.judgement import Ending, attempt
from mcp_proxy_conformance.targets.waits import poll
from mcp_proxy_conformance.verdict.result import Finding, Inconclusive
from mcp_proxy_conformance.wire.client import Client
from mcp_proxy_conformance.wire.reply import Reply, ToolReply

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

UPDATE = "--snapshot-update"
NEXT_S = 1.5
"""Within it the next second begins, and a clock that shows seconds moves."""
_INDEX = re.compile(rf"(\[(?P<name>.+)\]|\.(?P<number>\d+))?\.{ENDING}")
"""The end of a file's name: the name of an answer, or its number if that is not the first."""
SHOWN = 3
"""The last parts of a file's path that a sentence shows."""


class Golden:
    """The stored answer of a check; `golden("NAME")` is another one of the same check.

    Answers are equal when all bytes are, but for those of members that vary by themselves. Which
    these are is measured: an answer's request is sent several times more, and an answer is stored
    only after the whole check was called on a second, freshly started target too.

    A comparison raises Inconclusive if nothing is stored, or if the answer is an error.
    """

    def __init__(self, snapshot: SnapshotAssertion) -> None:
        """Begin without a bench or name; `snapshot` must use the extension AnswerFile."""
        self.difference: ByteDifference | None = None
        self._place = ""
        self._snapshot = snapshot
        self._bench: Bench | None = None
        self._name: str | None = None
        self._count = 0
        self._of_first: dict[str | int, Body] = {}
        self._storing = self._passed = False
        self._compared: set[str] = set()

    def __repr__(self) -> str:
        return "golden"

    def __call__(self, name: str) -> Golden:
        """Name the stored answer that the next comparison uses, and return self."""
        self._name = name
        return self

    def on(self, bench: object) -> Golden:
        """Set the bench of the next call of the check, forget a name, count its answers from 0.

        Return self. UsageError if it is not the bench of a proxy.
        """
        if not isinstance(bench, Bench):
            raise pytest.UsageError("golden compares answers of a proxy that the suite starts")
        self._bench, self._name, self._count = bench, None, 0
        self._snapshot = self._snapshot.use_extension()
        return self

    def __eq__(self, answer: object) -> bool:
        """Whether the answer equals the stored one in all bytes but those that vary by themselves.

        To find these, its request is sent twice more. In an update the first call returns True and
        keeps the answer; the second call, on another target, stores it. Raises Inconclusive if no
        usable answer is stored, if the answer is an error or if a lock is not proven; TypeError for
        anything but an answer.
        """
        name, self._name = self._name, None
        key, self._count = name or self._count, self._count + 1
        body = self._measured(answer)
        if self._updates and not self._storing:
            self._of_first[key] = body
            return True
        if key in self._of_first:
            body = _merged(self._of_first[key], body)
        return self._is_stored(body, name)

    __hash__ = None  # type: ignore[assignment]

    @property
    def _updates(self) -> bool:
        """Whether pytest was started to store answers: all, or (option of syrupy) new ones only."""
        new_only = getattr(self._snapshot, "update_new_snapshots_only", False)  # not in syrupy 5.0
        return bool(self._snapshot.update_snapshots or new_only)

    def _is_stored(self, body: Body, name: str | None) -> bool:
        """Compare the answer by syrupy, which stores it in an update; return whether it is equal.

        `difference` keeps the first difference. Raises what syrupy raised, or Inconclusive if
        nothing usable is stored.
        """
        is_equal = bool(self._snapshot(name=name) == body)
        result = self._snapshot.executions[self._snapshot.num_executions - 1]
        self._compared.add(result.snapshot_location)
        if result.exception is not None:
            raise result.exception
        if not is_equal:
            self._place = "/".join(Path(result.snapshot_location).parts[-SHOWN:])
            self.difference = changed(self._read(result.recalled_data, body), body)
        return is_equal

    def _read(self, raw: Any, body: Body) -> Body:
        """Parse a stored file's bytes; raise Inconclusive if None, bad, or of another request."""
        if raw is None:
            raise Inconclusive(
                f"no answer is stored in {self._place}; run pytest with {UPDATE} to store this one"
            )
        try:
            stored = parsed(raw)
        except BadBody as error:
            raise Inconclusive(
                f"{self._place} cannot be used: {error}; replace it with {UPDATE}"
            ) from None
        if stored.request != body.request:
            raise Inconclusive(
                f"{self._place} is the answer to another request; replace it with {UPDATE}"
            )
        return stored

    def _measured(self, answer: object) -> Body:
        """Send an answer's request twice more, last over another session; return the Body.

        It has the request, the answer with texts that differ from start to start of the target,
        such as its address, replaced by names, and the places that varied, which the bench notes as
        not compared. A call that stores waits for the next second before the last request, so that
        clocks show. Raises Inconclusive if a lock is not proven or an answer is an error, TypeError
        if `answer` is not an answer.
        """
        assert self._bench is not None
        for key, why in self._bench.armed.unproven.items():
            raise Inconclusive(f"{key}: {why.reason}", cause=why.cause)
        reply = answer if isinstance(answer, Reply) else getattr(answer, "reply", None)
        if not isinstance(reply, Reply):
            raise TypeError(f"golden compares an Answer, Listing, Called or Reply, not {answer!r}")
        started = self._bench.started
        request, literals = _Request.of(reply, started), Literals(started)
        client = started.client(request.agent, request.endpoint)
        exacts = [request.exact(reply), *(request.sent(client) for _ in range(PASSES - 2))]
        if self._storing:
            began = int(time.time())
            poll(lambda: int(time.time()), lambda second: second > began, NEXT_S)
        with client.sibling() as other:
            exacts.append(request.sent(other))
        clean = [
            Exact(result=literals.replaced(exact.result), text=literals.replaced(exact.text))
            for exact in exacts
        ]
        moving = volatile(clean)
        self._bench.cut(moving)
        return Body(request=request.members(), exact=clean[0], moving=moving)

    def concluded(self, ending: Ending, check: Callable[[Bench], Any]) -> Ending:
        """Return the ending of a check that was called once, and remember whether it passed.

        In an update, a check that passed and compared is called again on a second target,
        which stores its answers; then the ending is that of this call, or of the target's
        failed start.
        """
        if ending.verdict == "pass" and self._of_first:
            self._storing = True
            second: list[Ending] = []
            unstarted = attempt(lambda: second.append(self._again(check)))
            ending = second[0] if second else unstarted
        self._passed = ending.verdict == "pass"
        return ending

    def _again(self, check: Callable[[Bench], Any]) -> Ending:
        """Judge the check once more on a second, freshly started target, and return its ending."""
        assert self._bench is not None
        with self._bench.twin() as bench:
            return judge(check, bench, None)

    def keep(self) -> None:
        """Have syrupy keep the stored answers not compared by a check that did not pass.

        Each is compared with itself; otherwise syrupy would report it as unused, or remove it in an
        update. It does nothing after a pass.
        """
        folder, base = self._path.parent, self._path.stem
        if self._passed or not folder.is_dir():
            return
        for path in sorted(folder.iterdir()):
            match = _INDEX.fullmatch(path.name.removeprefix(base))
            if path.name.startswith(base) and match and str(path) not in self._compared:
                index = int(match["number"]) if match["number"] else match["name"]
                self._snapshot.use_extension()(name=index).assert_match(path.read_bytes())

    @property
    def _path(self) -> Path:
        """The path of the check's first stored answer, whether it exists or not."""
        location = self._snapshot.test_location
        return Path(self._snapshot.extension.get_location(test_location=location, index=0))

    @property
    def differs(self) -> bool:
        """Whether a comparison found a difference."""
        return self.difference is not None

    def sides(self) -> tuple[object, object]:
        """Return ({path: this answer's bytes}, {path: stored bytes}) at the first difference.

        Only after a comparison that found one.
        """
        assert self.difference is not None
        place = self.difference.place
        return {place: self.difference.actual}, {place: self.difference.usual}

    def lines(self) -> list[str]:
        """Return pytest's explanation: advice to update, then the difference in words.

        Only after a comparison that found a difference.
        """
        assert self.difference is not None
        difference = self.difference
        finding = Finding(
            path=difference.place, clauses=(), allowed=difference.usual, observed=difference.actual
        )
        head = f"the answer differs from {self._place}; if that is meant, replace it with {UPDATE}"
        return [head, *sentences([finding])]


def _merged(first: Body, second: Body) -> Body:
    """Return the first answer, with the varying members of both and those in which they differ.

    Raises Inconclusive if the answers are to different requests.
    """
    if first.request != second.request:
        raise Inconclusive("the check sends another request each time that it is called")
    differing = volatile([first.exact, second.exact])
    return replace(first, moving=first.moving | second.moving | differing)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """A request that was answered, so that it can be sent again."""

    method: str
    params: dict[str, Any]
    agent: str | None
    endpoint: str

    @classmethod
    def of(cls, reply: Reply, started: Started) -> _Request:
        """Read back a reply's request: method, parameters without `_meta`, agent and endpoint.

        The agent is the first whose headers were all sent, else None; the endpoint is "" for the
        main one. Raises Inconclusive for an answer that did not come over HTTP.
        """
        message, access = json.loads(reply.sent.raw), started.access
        if not reply.sent.peer.startswith("http"):
            raise Inconclusive("only answers over HTTP are stored")
        path = urlsplit(reply.sent.peer).path
        headers = {name.lower(): value for name, value in reply.sent.headers}
        agents = (
            agent
            for agent, own in access.agents.items()
            if own and all(headers.get(name.lower()) == value for name, value in own.items())
        )
        params = {k: v for k, v in message.get("params", {}).items() if k != "_meta"}
        return cls(
            method=message["method"],
            params=params,
            agent=next(agents, None),
            endpoint="" if path == urlsplit(access.url).path else path,
        )

    def members(self) -> dict[str, Any]:
        """Return the request as a file stores it: agent, endpoint, method and each parameter.

        Agent, endpoint and method are left out if they are empty.
        """
        named = {"agent": self.agent, "endpoint": self.endpoint, "method": self.method}
        return {name: value for name, value in named.items() if value} | self.params

    def sent(self, client: Client) -> Exact:
        """Send the request by this client and return the answer's bytes.

        Raises Inconclusive if the answer is an error.
        """
        return self.exact(client.request(self.method, self.params))

    def exact(self, reply: Reply) -> Exact:
        """Return the bytes of a reply's result, and of its text if it is a tool's with one text.

        Raises Inconclusive for a JSON-RPC error or a tool's error.
        """
        tool = ToolReply.of(reply) if self.method == "tools/call" else None
        if reply.error is not None or (tool is not None and tool.is_error):
            text = reply.error or (tool.texts if tool else ())
            raise Inconclusive(f"the answer is an error, which is not stored: {text!r:.200}")
        if tool is not None and len(tool.texts) == 1:
            return Exact.of(tool)
        return Exact(result=reply.result, text=b"")
