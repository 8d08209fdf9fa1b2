"""Reply to a request as a value: the exact bytes and their parsed content."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from mcp_proxy_conformance.verdict.exchanges import Exactly
from mcp_proxy_conformance.wire import spans
from mcp_proxy_conformance.wire.faults import ProtocolFault

if TYPE_CHECKING:
    from mcp_proxy_conformance.verdict.cited import Headers
    from mcp_proxy_conformance.wire.jsonrpc import Envelope
    from mcp_proxy_conformance.wire.transcript import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The answer to one request; a JSON-RPC error is an answer too.

    Attributes:
        envelope: The JSON-RPC message with the request's id.
        status: The HTTP status; 0 over stdio.
        headers: The response headers; none over stdio.
        seconds: The time until the answer.
        sent: The request in the transcript.
        received: The response in the transcript.
        before: The messages that came before the answer on its stream.
    """

    envelope: Envelope
    status: int
    headers: Headers
    seconds: float
    sent: Message
    received: Message
    before: tuple[Envelope, ...] = ()

    @property
    def messages(self) -> tuple[str, str]:
        """The ids of request and answer, as findings cite them."""
        return str(self.sent.id), str(self.received.id)

    def named(self, words: str) -> Exactly:
        """Return these words as the part of a finding's place that names this exchange."""
        return Exactly(words, str(self.received.id))

    @property
    def raw(self) -> bytes:
        """The exact bytes of the envelope."""
        return self.envelope.raw

    @property
    def error(self) -> dict[str, Any] | None:
        """The JSON-RPC error object; None if the answer has a result."""
        return self.envelope.error

    @property
    def result(self) -> bytes:
        """The exact bytes of the `result` member.

        Raises:
            ProtocolFault: The request was refused.
        """
        return self.node.raw

    @property
    def node(self) -> spans.Node:
        """The result as a tree of spans in `raw`; ProtocolFault if the request was refused."""
        if self.envelope.node is None:
            raise self.fault("a result", "an error")
        return self.envelope.node

    def value(self) -> dict[str, Any]:
        """Return the result as Python data; ProtocolFault if the request was refused."""
        data: dict[str, Any] = self.node.value()
        return data

    def fault(self, expected: str, observed: str) -> ProtocolFault:
        """Return a ProtocolFault about this answer, with bytes and status, to be raised."""
        return ProtocolFault("result", expected, observed, self.raw, status=self.status)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReply(Reply):
    """The answer to `tools/call`. Every property raises `ProtocolFault` for a malformed result."""

    @classmethod
    def of(cls, reply: Reply) -> ToolReply:
        """Return the reply as a ToolReply, whose content is checked only on access."""
        return cls(**{each.name: getattr(reply, each.name) for each in fields(reply)})

    def _text_literals(self) -> tuple[spans.Node, ...]:
        """Return the string nodes of all items of type text, in order; others are skipped.

        ProtocolFault if `content` is not an array, an item has no type, or a text item no string.
        """
        content = self.node.get("content")
        if content is None or content.kind != "array":
            raise self.fault(
                'an array as "content"', f"a JSON {content.kind}" if content else "none"
            )
        texts = []
        for entry in content.items:
            item = entry if entry.members else spans.inside(entry)
            kind = item.get("type")
            if kind is None or kind.kind != "string":
                raise self.fault('a "type" in each content item', "an item without one")
            if kind.value() == "text":
                text = item.get("text")
                if text is None or text.kind != "string":
                    observed = f"a JSON {text.kind}" if text else "none"
                    raise self.fault('a string as the item\'s "text"', observed)
                texts.append(text)
        return tuple(texts)

    def _literal(self) -> spans.Node:
        """Return the string node of the only text item, or of the only one that begins with `{`.

        Raises ProtocolFault if there is not exactly one.
        """
        literals = self._text_literals()
        if len(literals) > 1:
            literals = tuple(text for text in literals if text.value().lstrip().startswith("{"))
        if len(literals) != 1:
            number = len(self._text_literals())
            raise self.fault("one text item, or one among several that is a JSON object",
                             f"{number} text items")  # fmt: skip
        return literals[0]

    def _with_text(self, by: bytes) -> bytes:
        """Return the bytes of the result with `by` in place of the literal that `text` decodes."""
        result, literal = self.node, self._literal()
        return self.raw[result.start : literal.start] + by + self.raw[literal.end : result.end]

    @property
    def is_error(self) -> bool:
        """Whether `isError` is true; absent means false.

        ProtocolFault unless it is a boolean, or if the request was refused.
        """
        flag = self.node.get("isError")
        if flag is not None and flag.kind != "boolean":
            raise self.fault('a boolean as "isError"', f"a JSON {flag.kind}")
        return flag is not None and bool(flag.value())

    @property
    def texts(self) -> tuple[str, ...]:
        """The decoded strings of all text items, in order; ProtocolFault for a malformed result."""
        return tuple(literal.value() for literal in self._text_literals())

    @property
    def text(self) -> str:
        """The decoded string of the only text item, or of the only one that begins with `{`.

        ProtocolFault unless there is exactly one.
        """
        text: str = self._literal().value()
        return text

    @property
    def beside(self) -> tuple[str, ...]:
        """The decoded strings of the text items other than that of `text`.

        ProtocolFault where `text` raises it.
        """
        own = self._literal()
        return tuple(text.value() for text in self._text_literals() if text is not own)

    @property
    def document(self) -> bytes:
        """The UTF-8 bytes of `text`: the JSON document in the result (D in the specification).

        ProtocolFault where `text` raises it.
        """
        return self.text.encode("utf-8")

    @property
    def frame(self) -> bytes:
        """The exact bytes of the result, with the literal that `text` decodes replaced by `""`.

        ProtocolFault where `text` raises it.
        """
        return self._with_text(b'""')

    @property
    def exact(self) -> bytes:
        """The exact bytes of the result, with `document` in place of its string literal (R).

        ProtocolFault where `text` raises it.
        """
        return self._with_text(self.document)

    @property
    def structured(self) -> Any:
        """The value of `structuredContent`, None if absent.

        ProtocolFault if the request was refused.
        """
        node = self.node.get("structuredContent")
        return None if node is None else node.value()
