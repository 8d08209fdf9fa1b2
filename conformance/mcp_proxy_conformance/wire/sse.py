"""An incremental reader of server-sent events."""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event: its data with the line breaks that stood between `data:` lines."""

    data: bytes
    event: str = "message"
    id: str | None = None


class EventReader:
    """Fed with bytes as they come, it gives whole events; what no blank line ends stays pending."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._searched = 0
        self._begun = False
        self._data: list[bytes] = []
        self._event = "message"
        self._id: str | None = None

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that `chunk` completes, in order."""
        self._buffer += chunk
        events: list[Event] = []
        at = 0
        while found := _LINE_END.search(self._buffer, max(at, self._searched)):
            if found.end() == len(self._buffer) and found[0] == b"\r":
                break  # an LF may follow and belong to it
            line = bytes(self._buffer[at : found.start()])
            at = self._searched = found.end()
            if event := self._line(line):
                events.append(event)
        del self._buffer[:at]
        self._searched = max(0, len(self._buffer) - 1)
        return events

    def pending(self) -> bytes:
        """Data that was begun and that no blank line has ended."""
        return b"\n".join([*self._data, bytes(self._buffer)])

    def _line(self, line: bytes) -> Event | None:
        if not self._begun:
            self._begun = True
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line:
            return self._dispatch()
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._event = value.decode("utf-8", "replace") or "message"
        elif field == b"id" and b"\0" not in value:
            self._id = value.decode("utf-8", "replace")
        return None

    def _dispatch(self) -> Event | None:
        data, event = self._data, self._event
        self._data, self._event = [], "message"
        return Event(data=b"\n".join(data), event=event, id=self._id) if data else None
