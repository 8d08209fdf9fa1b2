"""Definition of mutants that rewrite a target's answers: hooks, and the request each hook gets."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mcp_proxy_conformance.catalogue.surface import FLAG, Surface, ToolTemplate
from mcp_proxy_conformance.catalogue.world import ToolKey

Json = Any
HOLES = {r"\{server\}": "(?P<server>.+?)", r"\{tool\}": "(?P<tool>.+?)", r"\{arguments\}": ".*"}
WIDEST = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class WireExchange:
    """One request to the target, with all that a mutant of the wire may know of it.

    `method` and `params` of JSON-RPC; `path` is the requested endpoint; `agent` is the name of the
    world's agent whose credentials came with it, empty for the administrator; `surface` has the
    target's names; `memory` lives as long as the started target; `send` makes a request of its own
    to the target in the same session: a method and its params, the result or None.
    """

    method: str
    params: Mapping[str, Json]
    path: str
    agent: str
    surface: Surface
    memory: dict[Any, Any]
    send: Callable[[str, Json], Json]

    @property
    def tool(self) -> str:
        """The name of the tool that a `tools/call` calls, empty for any other method."""
        return str(self.params.get("name", "")) if self.method == "tools/call" else ""

    @property
    def arguments(self) -> Mapping[str, Json]:
        """The arguments of a `tools/call`; empty if it has none or the method is another."""
        arguments = self.params.get("arguments") if self.tool else None
        return arguments if isinstance(arguments, dict) else {}

    @property
    def discovers(self) -> bool:
        """Whether this is a discovery call."""
        return self.tool == self.surface.discovery_tool

    @property
    def flagged(self) -> bool:
        """Whether this is a discovery call with the flag true."""
        return self.discovers and self.arguments.get(FLAG) is True

    @property
    def false(self) -> bool:
        """Whether this is a discovery call with the flag present and false."""
        return self.discovers and self.arguments.get(FLAG) is False

    @property
    def usual(self) -> bool:
        """Whether this is a discovery call with the flag false or left out."""
        return self.discovers and self.arguments.get(FLAG) in (None, False)

    @property
    def query(self) -> str:
        """The query of a discovery call, empty if left out."""
        return str(self.arguments.get(self.surface.query, ""))

    @property
    def limit(self) -> Json:
        """The limit of a discovery call, None if left out."""
        return self.arguments.get(self.surface.limit)

    @property
    def lists(self) -> bool:
        """Whether this calls the tool that lists all servers, or views one of them."""
        views = [
            template
            for template in (self.surface.listing, self.surface.inspect)
            if template is not None
        ]
        return any(_holes(view, self.tool, self.arguments) is not None for view in views)

    @property
    def called(self) -> ToolKey | None:
        """The upstream tool that the request calls, by any of the surface's ways; else None."""
        for template in self.surface.calls:
            holes = _holes(template, self.tool, self.arguments)
            if holes is not None and holes.keys() >= {"server", "tool"}:
                return ToolKey(holes["server"], holes["tool"])
        return None

    def again(self, **changed: Json) -> Json:
        """Repeat the call with some arguments changed (None removes one); return its result.

        None if the target answers without a result, as with an error.
        """
        arguments = {n: v for n, v in {**self.arguments, **changed}.items() if v is not None}
        return self.send("tools/call", {**self.params, "arguments": arguments})

    def revealing(self, query: str | None = None, limit: Json = WIDEST) -> dict[str, Json]:
        """Send a discovery call with the flag true in the same session; return its JSON object.

        The query is by default that of this exchange, the limit 100 (None sends no limit).
        Empty if the target answers with an error or with no JSON object.
        """
        names = self.surface
        arguments = {names.query: self.query if query is None else query, FLAG: True}
        arguments |= {} if limit is None else {names.limit: limit}
        params = {**self.params, "name": names.discovery_tool, "arguments": arguments}
        return document_of(self.send("tools/call", params)) or {}

    def status(self, key: ToolKey) -> str:
        """Ask the target, with the flag, for the lock status of a tool; empty if it is not locked.

        One discovery call by the tool's name is sent. The status is that of the first locked entry
        of the tool's server whose name contains the tool's.
        """
        entries = self.revealing(key.tool).get(self.surface.members.disabled) or []
        matches = [e for e in entries if e.get("server") == key.server and key.tool in e["name"]]
        return str(matches[0].get("status", "")) if matches else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WireFault:
    """A mutant of the wire: hooks that rewrite answers; the first of `breaks` must be found broken.

    `document` rewrites the JSON document of a built-in tool's answer, `result` the result of any
    answer; each gets a copy it may change and returns the replacement (None: sent as it came).
    `spelled` rewrites the text of the tool's answer, byte for byte. `refusal` rewrites the text of
    a refused call of an upstream tool. `instead` answers in place of the target: a result (None:
    ask the target). `unread` does so for a body that is not a request: HTTP status, media type and
    body.
    """

    id: str
    text: str
    breaks: tuple[str, ...]
    document: Callable[[WireExchange, Json], Json | None] | None = None
    result: Callable[[WireExchange, Json], Json | None] | None = None
    spelled: Callable[[WireExchange, str], str | None] | None = None
    refusal: Callable[[WireExchange, str], str | None] | None = None
    instead: Callable[[WireExchange], Json | None] | None = None
    unread: Callable[[bytes], tuple[int, str, bytes] | None] | None = None


def dump(value: Json) -> str:
    """Return a value as compact JSON text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def document_of(result: Json) -> dict[str, Json] | None:
    """Return the JSON object that the text of a result's first content item is.

    None if the text is missing or is not a JSON object, or if the result is an error.
    """
    try:
        document = json.loads(result["content"][0]["text"])
    except (LookupError, TypeError, ValueError):
        return None
    return document if isinstance(document, dict) and not result.get("isError") else None


def _holes(
    template: ToolTemplate, tool: str, arguments: Mapping[str, Json]
) -> dict[str, str] | None:
    """Match a call of `tool` with a template; return the text at each placeholder, by its name.

    None if the call does not match; arguments that the template lacks are ignored. Placeholders are
    `server` and `tool`.
    """
    pairs = [(template.tool, tool), (template.arguments, arguments)]
    holes: dict[str, str] = {}
    while pairs:
        wanted, value = pairs.pop()
        if isinstance(wanted, dict):
            if not isinstance(value, Mapping) or not wanted.keys() <= value.keys():
                return None
            pairs += [(wanted[name], value[name]) for name in wanted]
        elif isinstance(wanted, str) and wanted != "{arguments:object}":
            pattern = re.escape(wanted)
            for hole, anything in HOLES.items():
                pattern = pattern.replace(hole, anything)
            match = re.fullmatch(pattern, str(value), re.DOTALL)
            if match is None:
                return None
            holes |= match.groupdict()
    return holes
