"""The behaviours of a fault server in one attempt: the words of a script and their parameters."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

LATER_PAGE: Literal["later page"] = "later page"
On = Literal["initialize", "notifications/initialized", "tools/list", "later page", "any"]
"""The request that a behaviour answers; `initialize` is any request that opens an attempt,
`later page` a tools/list with a cursor."""
By = Literal["fin", "rst", "silence", "drip", "end"]
"""The end of an incomplete answer: an orderly close, a reset, or a connection that stays open,
silent or with a byte now and then that does not continue the answer. `end` is an orderly close of
an event stream without length and chunks, so that only its content shows that it broke off."""
HEALTHY_PATH = "healthy path"
"""The target of a `Redirect` that answers well and is not another server."""
MISSING_PATH = "missing path"
"""The target of a `Redirect` at which there is nothing."""
ITSELF = "itself"
"""The target of a `Redirect` that is the server's own URL, which redirects again."""
OWN_PATHS = (HEALTHY_PATH, MISSING_PATH, ITSELF)
Ahead = Literal["log", "progress"]
"""A notification before an answer; that of progress is only sent if the request asks for it."""
Code = Annotated[int, msgspec.Meta(ge=200, le=599)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=600)]
FieldName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9!#$%&'*+.^_|~-]+$")]
FieldValue = Annotated[str, msgspec.Meta(pattern=r"^[\x20-\x7e]*$")]


class ScriptedBehaviour(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="do"
):
    """Base of all behaviours; the request `on` gets the behaviour, all others a healthy answer."""

    on: On = "initialize"

    @property
    def word(self) -> str:
        """The word of a script that names this behaviour, such as `cut_json`."""
        return str(self.__struct_config__.tag)


class Healthy(ScriptedBehaviour, frozen=True, tag="healthy"):
    """The right answer."""


class Stream(ScriptedBehaviour, frozen=True, tag="stream"):
    """The right answer as the last event of a stream; without a stream if there is no body.

    `after`: the notifications that are events before it. The stream is framed as in the dialect.
    """

    after: tuple[Ahead, ...] = ()


class Slow(ScriptedBehaviour, frozen=True, tag="slow"):
    """The right answer after that many seconds."""

    seconds: Seconds


class Status(ScriptedBehaviour, frozen=True, tag="status"):
    """Another HTTP status; the body is plain text unless `headers` say otherwise.

    `by` is how the connection ends after the peer has the whole answer.
    """

    code: Code
    body: str = ""
    headers: dict[FieldName, FieldValue] = {}
    by: By | None = None


class Redirect(ScriptedBehaviour, frozen=True, tag="redirect"):
    """A redirect to another server by its id, or to one of `OWN_PATHS` of this server."""

    code: Literal[301, 302, 303, 307, 308] = 307
    to: str = HEALTHY_PATH


class Silence(ScriptedBehaviour, frozen=True, tag="silence"):
    """Not one byte, on a connection that stays open until the peer closes it."""


class Chatter(ScriptedBehaviour, frozen=True, tag="chatter"):
    """Log messages on and on, and never the answer, until the peer closes the connection."""


class Reset(ScriptedBehaviour, frozen=True, tag="reset"):
    """RST before the first byte of the answer."""


class Close(ScriptedBehaviour, frozen=True, tag="close"):
    """FIN before the first byte of the answer."""


class Refuses(ScriptedBehaviour, frozen=True, tag="refuses"):
    """A port that stops listening as soon as the attempt before it fails, for all its servers."""


class Exits(ScriptedBehaviour, frozen=True, tag="exits"):
    """A program that ends at the request, without an answer."""


class CutJson(ScriptedBehaviour, frozen=True, tag="cut_json"):
    """Half of a JSON body whose length was announced, or that continues in blanks.

    At the `end`: all of it in chunks, but not the one that ends them. `short`: all of it, but one
    byte less than was announced.
    """

    where: Literal["inside", "end", "short"] = "inside"
    by: By = "fin"


class CutSse(ScriptedBehaviour, frozen=True, tag="cut_sse"):
    """A chunked event stream that breaks off before its first event, inside it, or at its end.

    The end is that of its last line: the blank line that would complete the event is missing.
    """

    where: Literal["before", "inside", "end"] = "inside"
    by: By = "fin"


class Html(ScriptedBehaviour, frozen=True, tag="html"):
    """200 with a page for humans."""


class BrokenJson(ScriptedBehaviour, frozen=True, tag="broken_json"):
    """200 with a whole body that claims to be JSON and is not."""


class Empty(ScriptedBehaviour, frozen=True, tag="empty"):
    """200 `application/json` without a body."""


class JsonrpcError(ScriptedBehaviour, frozen=True, tag="jsonrpc_error"):
    """200 with a JSON-RPC error in answer to the request's id."""

    code: int = -32603
    message: str = "Internal error"

    @property
    def members(self) -> dict[str, Any]:
        """The member `error` of the JSON-RPC answer, with code and message."""
        return {"error": {"code": self.code, "message": self.message}}


class OtherResult(ScriptedBehaviour, frozen=True, tag="result"):
    """200 with a JSON-RPC answer to the request's id that has this result, of whatever form."""

    result: Any

    @property
    def members(self) -> dict[str, Any]:
        """The member `result` of the JSON-RPC answer."""
        return {"result": self.result}


class SetCookie(ScriptedBehaviour, frozen=True, tag="set_cookie"):
    """The right answer with a cookie for all paths; its value is the server's token."""


class HandSession(ScriptedBehaviour, frozen=True, tag="session"):
    """The right answer with a session id made of the server's token, in either protocol era.

    Requests with a session id of another server get 404.
    """


class Guarded(ScriptedBehaviour, frozen=True, tag="guarded"):
    """The right answer if the request has this `Authorization` header, else 401."""

    authorization: FieldValue


class Whole(ScriptedBehaviour, frozen=True):
    """Base of behaviours that concern the whole connection; such a one must be alone in its script.

    Its `on` is ignored.
    """


class Backlog(Whole, frozen=True, tag="backlog"):
    """A port whose queue of connections is full: connecting never ends. Reliable on Linux only."""


class Banner(Whole, frozen=True, tag="banner"):
    """A greeting that is not HTTP, at once on accept; the connection stays open."""


class PlainForTls(Whole, frozen=True, tag="plain_for_tls"):
    """An https URL whose port speaks plain HTTP."""


class ClosedPort(Whole, frozen=True, tag="refused"):
    """A port without a listener, held so that no other process gets it."""


class ClosedAtFirst(ClosedPort, frozen=True, tag="refused_at_first"):
    """A port without a listener, which begins to listen later in the load, and is then healthy."""


class Unresolvable(Whole, frozen=True, tag="unresolvable"):
    """A host name under `.invalid`."""


class MalformedConnection(Whole, frozen=True, tag="malformed"):
    """A connection that is passed to the loader unchanged, with id and timeout."""

    connection: dict[str, Any]


class StdioMissing(Whole, frozen=True, tag="stdio_missing"):
    """A command line whose program does not exist."""


class StdioExits(Whole, frozen=True, tag="stdio_exits"):
    """A command line whose process ends at once, without output, with exit code 0."""


class StdioGarbage(Whole, frozen=True, tag="stdio_garbage"):
    """A command line whose process prints lines that are not messages, and keeps running."""


Behaviour = (
    Healthy
    | Stream
    | Slow
    | Status
    | Redirect
    | Silence
    | Chatter
    | Reset
    | Close
    | Refuses
    | Exits
    | CutJson
    | CutSse
    | Html
    | BrokenJson
    | Empty
    | JsonrpcError
    | OtherResult
    | SetCookie
    | HandSession
    | Guarded
    | Backlog
    | Banner
    | PlainForTls
    | ClosedPort
    | ClosedAtFirst
    | Unresolvable
    | MalformedConnection
    | StdioMissing
    | StdioExits
    | StdioGarbage
)
