"""Tools of a scripted server, their pages, and counters of its requests, safe for threads."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from mcp_proxy_conformance.wire.jsonrpc import dumps

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

ANYTHING: Mapping[str, Any] = {"type": "object", "properties": {}}
"""The schema of a tool that takes any arguments."""
_ANYTHING = dumps(ANYTHING)  # a thousand tools of a server have it


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamTool:
    """One tool as its server lists it."""

    name: str
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=lambda: ANYTHING)
    annotations: Mapping[str, Any] | None = None

    def render(self) -> bytes:
        """Return the tool's entry in `tools/list` as encoded JSON."""
        begins = b'{"name":%b,"description":%b' % (dumps(self.name), _encoded(self.description))
        notes = b"" if self.annotations is None else b',"annotations":' + dumps(self.annotations)
        return begins + b',"inputSchema":' + self._schema() + notes + b"}"

    def _schema(self) -> bytes:
        return _ANYTHING if self.input_schema is ANYTHING else dumps(self.input_schema)


@lru_cache(64)
def _encoded(description: str) -> bytes:
    """Return a description as JSON; many servers of a run have the same megabytes."""
    return dumps(description)


Cursors = Literal["plain", "odd", "gaps"]
"""How the pages of a list are made: `odd` cursors have signs, `gaps` are pages without tools."""
ODD_CURSORS = ('%%2F+ä/\\"=%d', '{"at": %d}', "1%d", " 0%d ", "next%.0s", "Next%.0s")


def render_pages(
    tools: Sequence[UpstreamTool], page_size: int | None, cursors: Cursors = "plain", mark: str = ""
) -> dict[str | None, bytes]:
    """Map the cursor of each page (None: the first) to its encoded `tools/list` result members.

    Without a page size there is one page; without tools it is empty. Cursors begin with `mark`.
    """
    size = page_size or max(1, len(tools))
    parts = [tools[start : start + size] for start in range(0, max(1, len(tools)), size)]
    if cursors == "gaps":
        parts = [part for each in parts for part in (each, [])][:-1]
    signs = ODD_CURSORS if cursors == "odd" else ("from-%d",)
    later = (mark + signs[n % len(signs)] % ((n + 1) * size) for n in range(len(parts) - 1))
    names = [None, *later]
    pages: dict[str | None, bytes] = {}
    for name, part, following in zip(names, parts, [*names[1:], None], strict=True):
        body = b'"tools":[' + b",".join(tool.render() for tool in part) + b"]"
        if following is not None:
            body += b',"nextCursor":' + dumps(following)
        pages[name] = body
    return pages


class ServerState:
    """Tools of a scripted server, and counters of requests; a change calls the hook `changed`."""

    def __init__(
        self,
        name: str,
        tools: Iterable[UpstreamTool],
        page_size: int | None,
        cursors: Cursors = "plain",
        mark: str = "",
    ) -> None:
        """Begin with these tools and with all counters at 0.

        ValueError for a name that occurs twice. `page_size` is the number of tools on a page, None
        for all on one; `mark` begins each cursor.
        """
        self.name = name
        self._page_size = page_size
        self._cursors: Cursors = cursors
        self._mark = mark
        self._lock = threading.Lock()
        self._calls: Counter[str] = Counter()
        self._lists = 0
        self._asked: set[str | None] = set()
        self._tools: dict[str, UpstreamTool] = {}
        self._pages: dict[str | None, bytes] | None = None
        self.set_tools(tools)

    @property
    def tools(self) -> tuple[UpstreamTool, ...]:
        """The tools, in the order in which they are listed."""
        with self._lock:
            return tuple(self._tools.values())

    def set_tools(self, tools: Iterable[UpstreamTool]) -> None:
        """Replace all tools, and call `changed`; raises ValueError for a name that occurs twice."""
        listed = tuple(tools)
        by_name = {tool.name: tool for tool in listed}
        if len(by_name) != len(listed):
            raise ValueError(f"two tools of {self.name} have the same name; rename one")
        with self._lock:
            self._tools, self._pages = by_name, None
        self.changed()

    def add_tool(self, tool: UpstreamTool) -> None:
        """List one more tool, last; call `changed`. ValueError if its name is listed already."""
        self.set_tools([*self.tools, tool])

    def change_tool(
        self,
        name: str,
        *,
        description: str | None = None,
        input_schema: Mapping[str, Any] | None = None,
    ) -> None:
        """Change a tool's description or schema, if given, in its place, and call `changed`.

        LookupError without such a tool.
        """
        tool = self._known(name)
        changed = replace(
            tool,
            description=tool.description if description is None else description,
            input_schema=tool.input_schema if input_schema is None else input_schema,
        )
        self.set_tools(changed if t.name == name else t for t in self.tools)

    def remove_tool(self, name: str) -> None:
        """Stop listing a tool, and call `changed`.

        Later calls of it are refused, and still counted. LookupError without such a tool.
        """
        self._known(name)
        self.set_tools(t for t in self.tools if t.name != name)

    def calls(self, tool: str | None = None) -> int:
        """Return how many calls named this tool, listed or not; without a name, all calls."""
        with self._lock:
            return self._calls.total() if tool is None else self._calls[tool]

    @property
    def lists(self) -> int:
        """The number of `tools/list` requests, those for further or unknown pages included."""
        with self._lock:
            return self._lists

    def page(self, cursor: Any) -> bytes | None:
        """Count a `tools/list` request and note its cursor; return its page's result members.

        None for an unknown cursor.
        """
        with self._lock:
            self._lists += 1
            if not isinstance(cursor, str | None):
                return None
            self._asked.add(cursor)
            return self._rendered().get(cursor)

    def unasked_page(self, tool: str) -> int:
        """Return the number of the page that lists a tool if that page was never requested, else 0.

        Pages count from 1, and the first one is not reported. It is 0, too, if no page at all was
        requested, or the tool is unknown.
        """
        with self._lock:
            place = next((n for n, name in enumerate(self._tools) if name == tool), 0)
            page = place // self._page_size if self._page_size else 0
            names = [*self._rendered()]
            asked = (names[page] if page < len(names) else None) in self._asked
            return page + 1 if page and self._asked and not asked else 0

    def _rendered(self) -> dict[str | None, bytes]:
        """Return the pages, made when they are first asked for: many servers of a run never are."""
        if self._pages is None:
            listed = [*self._tools.values()]
            self._pages = render_pages(listed, self._page_size, self._cursors, self._mark)
        return self._pages

    def count_call(self, name: str) -> bool:
        """Count a call, of an unknown tool too; return whether the tool exists."""
        with self._lock:
            self._calls[name] += 1
            return name in self._tools

    def changed(self) -> None:
        """Hook that runs after each change of the tools; does nothing in this class."""

    def _known(self, name: str) -> UpstreamTool:
        """Return the listed tool of that name; LookupError if there is none."""
        with self._lock:
            if name not in self._tools:
                names = ", ".join(sorted(self._tools)) or "no tools"
                raise LookupError(f"{self.name} has no tool {name!r}; it has {names}")
            return self._tools[name]
