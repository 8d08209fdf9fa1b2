"""Declared names of a target's tools, arguments and members, compared with those that it shows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from mcp_proxy_conformance.catalogue.surface import FLAG, STATUSES, Members, Surface
from mcp_proxy_conformance.discovery.numbers import numbers_in

SHOWN, LONGEST_NAME, LONGEST_VALUE = 8, 200, 120
SEARCHES = ("search", "find", "discover", "retrieve")
"""Parts of the names of tools that find tools."""
FILE = "in the target file"
GIVEN_FILE = "in a target file (`init` writes one), given with --target-file"
"""The place of a name, for a target that has a target file and for one that has none yet."""

Body = Mapping[str, Any]


def no_tool(what: str, name: str, tools: Iterable[Body]) -> str:
    """Return the message for an endpoint without a tool `name`; it lists its first eight tools.

    `what` says in words what the tool is, such as `discovery tool`.
    """
    names = [str(tool.get("name")) for tool in tools]
    more = [f"and {len(names) - SHOWN} more"] if len(names) > SHOWN else []
    listed = ", ".join([*(cut(each, LONGEST_NAME) for each in names[:SHOWN]), *more]) or "none"
    return f"no {what} named {name!r} on this endpoint (tools: {listed})"


def discovery_tools(name: str, tools: Iterable[Body]) -> list[str]:
    """Return the names of the tools that are likeliest to be the discovery tool.

    Those that name the flag; without such, at most eight that take a text and are named like
    `name` or like a search.
    """
    listed = [(str(tool.get("name")), tool) for tool in tools]
    flagged = [each for each, tool in listed if names_flag(tool)]
    taking = [each for each, tool in listed if text_arguments(tool)]
    words = [each for each in taking if any(word in each.lower() for word in SEARCHES)]
    return flagged or list(dict.fromkeys([*get_close_matches(name, taking, 2), *words]))[:SHOWN]


def names_flag(tool: Body) -> bool:
    """Whether a tool's description or its schema's properties name the flag."""
    return FLAG in properties_of(tool) or FLAG in str(tool.get("description", ""))


def properties_of(tool: Body) -> Mapping[str, Any]:
    """Return the schemas of a tool's arguments by name; empty if its input schema has none."""
    schema = tool.get("inputSchema")
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return properties if isinstance(properties, Mapping) else {}


def required_arguments(tool: Body) -> Sequence[Any]:
    """Return the names of the arguments that a tool's schema requires; empty if there are none."""
    schema = tool.get("inputSchema")
    required = schema.get("required") if isinstance(schema, Mapping) else None
    return required if isinstance(required, list) else ()


def text_arguments(tool: Body) -> list[str]:
    """Return the names of the arguments whose type is `string` in the tool's input schema."""
    return [name for name, schema in properties_of(tool).items() if _type(schema) == "string"]


def nearest(name: str, names: Iterable[str]) -> str:
    """Return `; did you mean NAME?` with the nearest one or two of `names`, or `;` without any.

    It is put between two parts of a sentence.
    """
    near = get_close_matches(name, list(names), 2, cutoff=0.5)
    words = " or ".join(repr(cut(each, LONGEST_NAME)) for each in near)
    return f"; did you mean {words}?" if near else ";"


def cut(text: str, longest: int) -> str:
    """Shorten the text to at most `longest` characters, with dots at the end if it is cut."""
    return text if len(text) <= longest else text[: longest - 3] + "..."


def named_tools(surface: Surface) -> Iterator[tuple[str, str, str]]:
    """Yield (place in the surface, tool's name, endpoint's path) for each tool that it names.

    A name with a placeholder is left out.
    """
    yield "discovery_tool", surface.discovery_tool, surface.endpoints[0]
    templates = [(f"calls[{at}].tool", template) for at, template in enumerate(surface.calls)]
    templates.append(("listing.tool", surface.listing))
    if surface.inspect is not None:
        templates.append(("inspect.tool", surface.inspect))
    for place, template in templates:
        if "{" not in template.tool:
            yield place, template.tool, template.endpoint


def missing_tool(surface: Surface, tools: Callable[[str], list[dict[str, Any]] | None]) -> str:
    """Return a sentence on the first named tool that its endpoint does not list; else "".

    It proposes a near name. `tools(path)` returns the tools of an endpoint, None if it does not
    answer, which is skipped.
    """
    for place, name, endpoint in named_tools(surface):
        listed = tools(endpoint)
        if listed is None:
            continue
        names = [str(tool.get("name")) for tool in listed]
        if name in names:
            continue
        what = "discovery tool" if place == "discovery_tool" else "tool"
        return f"{no_tool(what, name, listed)}{nearest(name, names)} set surface.{place} {FILE}"
    return ""


def missing_argument(surface: Surface, tool: Body) -> str:
    """Return a sentence on a query or limit that the tool's schema has under another name; else "".

    That is so if it is missing and just one other argument has its type. A schema without
    properties says nothing.
    """
    properties = properties_of(tool)
    if not {*properties} - {FLAG}:
        return ""
    others = [name for name in properties if name not in (FLAG, surface.query, surface.limit)]
    for place, name, kinds in (
        ("query", surface.query, ("string",)),
        ("limit", surface.limit, ("integer", "number")),
    ):
        fitting = [other for other in others if _type(properties[other]) in kinds]
        if name not in properties and len(fitting) == 1:
            return (
                f"{surface.discovery_tool} has no argument {name!r}, but {fitting[0]!r}; set"
                f" surface.{place} = {fitting[0]!r} {FILE}, or correct the tool's inputSchema"
            )
    return ""


def _type(schema: Any) -> Any:
    """Return the `type` of a property's schema, None without one."""
    return schema.get("type") if isinstance(schema, Mapping) else None


def is_note(value: Any) -> bool:
    """Whether the value is a text that names the flag and has a number, as a note does."""
    return isinstance(value, str) and FLAG in value and bool(numbers_in(value))


def is_listed(value: Any) -> bool:
    """Whether the value is a non-empty list of described tools without a status, as `tools` is."""
    return _is_full(value, list) and all(
        isinstance(entry, Mapping)
        and isinstance(entry.get("name"), str)
        and not {"description", "inputSchema"}.isdisjoint(entry)
        and "status" not in entry
        for entry in value
    )


def is_locked_section(value: Any) -> bool:
    """Whether the value is a list or object, not empty, of entries that each have a status word."""
    entries = list(value.values()) if isinstance(value, Mapping) else value
    return _is_full(entries, list) and all(
        isinstance(entry, Mapping) and _is_status(entry.get("status")) for entry in entries
    )


def is_remediation(value: Any) -> bool:
    """Whether the value is an object, not empty, of texts by status word, as the map is."""
    return _is_full(value, Mapping) and all(
        _is_status(name) and isinstance(text, str) for name, text in value.items()
    )


def is_counts(value: Any) -> bool:
    """Whether the value is an object of integers by status word, at least one.

    It may also have `callable`, and nothing else.
    """
    return (
        _is_full(value, Mapping)
        and any(map(_is_status, value))
        and all(
            (_is_status(name) or name == "callable") and isinstance(number, int)
            for name, number in value.items()
        )
    )


def _is_full(value: Any, kind: type) -> bool:
    """Whether the value is of that kind and not empty."""
    return isinstance(value, kind) and bool(value)


def _is_status(word: Any) -> bool:
    """Whether the value is one of the six status words."""
    return isinstance(word, str) and word in STATUSES


HOLDS: Mapping[str, Callable[[Any], bool]] = {
    "tools": is_listed,
    "disabled": is_locked_section,
    "remediation": is_remediation,
    "note": is_note,
    "counts": is_counts,
}
"""By member of `surface.members`: whether a value is plainly what that member is for."""
OF_ANSWERS = ("tools", "disabled", "remediation", "note")


@dataclass(slots=True)
class Sightings:
    """Record of the names under which a target's answers have the members of its declared surface.

    `declared`: members that came under the declared name; `instead`: member -> another name, and an
    example, of what plainly is that member; `usual`: texts like a note in answers that owe none.
    """

    members: Members
    declared: set[str] = field(default_factory=set)
    instead: dict[str, tuple[str, Any]] = field(default_factory=dict)
    usual: set[str] = field(default_factory=set)

    def see_answer(self, body: Body, *, flagged: bool) -> None:
        """Record under which names a discovery answer has its members.

        With the flag these are the list of locked entries and the remediation map, else the
        callable tools and, if none is listed, the note. Answers with callable tools must come
        first: a text like a note in one of them is not taken for the note.
        """
        if flagged:
            self._see("disabled", body)
            if "disabled" in self.instead or body.get(self.members.disabled):
                self._see("remediation", body)
            return
        self._see("tools", body)
        if body.get(self.members.tools):
            self.usual |= {name for name, value in body.items() if is_note(value)}
        else:
            self._see("note", {n: value for n, value in body.items() if n not in self.usual})

    def see_listing(self, body: Body, server: str) -> None:
        """Record the members of a listing of servers, and those of this server's entry in it."""
        self._see_servers("servers", body, server)
        entries = body.get(self.members.servers)
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, Mapping) and server in entry.values():
                self.see_server(entry, server)

    def see_view(self, body: Body, server: str) -> None:
        """Record under which name an answer has the view of this server alone."""
        self._see_servers("inspected", body, server)

    def see_server(self, entry: Body, server: str = "") -> None:
        """Record the counts and the name of one server's entry in a listing.

        If the name came under another member, it counts only if it is `server`.
        """
        self._see("counts", entry)
        if isinstance(entry.get(self.members.server_name), str):
            self.declared.add("server_name")
        elif names := [name for name, value in entry.items() if value == server]:
            self.instead.setdefault("server_name", (names[0], server))

    def misnamed(self, place: str = FILE) -> str:
        """Return a sentence on the first member that came under another name only; else "".

        It says that the name is to be set in `place`.
        """
        for what, (name, value) in self.instead.items():
            if what not in self.declared:
                shown = cut(json.dumps(value, ensure_ascii=False), LONGEST_VALUE)
                return (
                    f"no answer has the member {getattr(self.members, what)!r} as declared, but"
                    f" {cut(name, LONGEST_NAME)!r} holds what it is for"
                    f" ({shown}); set surface.members.{what} to that name {place}, or correct the"
                    " target"
                )
        return ""

    def _see(self, what: str, body: Body) -> None:
        """Record whether a member came under its declared name, or plainly under another.

        `what` is its name in the surface. The declared one counts even with an unlike
        value, unless another is plainly it.
        """
        beside = OF_ANSWERS if what in OF_ANSWERS else (what,)
        taken = {getattr(self.members, each) for each in beside}
        name, holds = getattr(self.members, what), HOLDS[what]
        others = [other for other in body if other not in taken and holds(body[other])]
        if name in body and (holds(body[name]) or not others):
            self.declared.add(what)
        elif others:
            self.instead.setdefault(what, (others[0], body[others[0]]))

    def _see_servers(self, what: str, body: Body, server: str) -> None:
        """Record under which name the value came that mentions this server.

        `what` is `servers` for a listing, `inspected` for the view of one server.
        """

        def is_of(value: Any) -> bool:
            """Whether the value, or an item of it, names the server and is not a list of tools."""
            entries = value if isinstance(value, list) else [value]
            named = any(isinstance(e, Mapping) and server in e.values() for e in entries)
            return named and not is_listed(value)

        name = getattr(self.members, what)
        others = [other for other, value in body.items() if other != name and is_of(value)]
        if name in body:
            self.declared.add(what)
        elif others:
            self.instead.setdefault(what, (others[0], body[others[0]]))
