"""Documents, the parsed TOML and JSON files of authors: reading, schema, and line of each part."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
from jsonschema.exceptions import best_match
from referencing import Registry, Resource

from mcp_proxy_conformance.authoring.finding import LintFinding, Unreadable, finding
from mcp_proxy_conformance.authoring.json_lines import JsonLines, line_at, pointer
from mcp_proxy_conformance.authoring.kinds import AREA, Kind, kinds
from mcp_proxy_conformance.catalogue.bounded import read_bytes, toml
from mcp_proxy_conformance.catalogue.case_file import Place, case_texts
from mcp_proxy_conformance.catalogue.resources import schemas_dir
from mcp_proxy_conformance.catalogue.toml_lines import TomlLines
from mcp_proxy_conformance.wire.spans import Malformed, Node, parse


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One parsed file of a known kind, or one case of a file of several.

    `value` is None if the data are not of that kind; `case` is a case's place in its file.
    """

    path: Path
    kind: Kind
    data: Any
    lines: JsonLines | TomlLines
    value: Any = None
    faults: tuple[LintFinding, ...] = field(default=())
    case: Place = ()

    @property
    def key(self) -> tuple[str, str, Place]:
        """The noun of its kind, its name, and its place in a file of several cases.

        The name is its file's, or its id in a file of several.
        """
        name = str(self.data.get("id")) if self.case else self._file
        return self.kind.noun, name, self.case

    @property
    def names(self) -> set[tuple[str, str]]:
        """Its kind with its name, and with its file's; it replaces what is shipped of either."""
        return {self.key[:2], (self.kind.noun, self._file)}

    @property
    def _file(self) -> str:
        """The name of its file, with its folder's if files of all specifications have that name."""
        single = "*" not in self.kind.shipped
        return f"{self.path.absolute().parent.name}/{self.path.stem}" if single else self.path.stem

    @property
    def is_sound(self) -> bool:
        """Whether the file has no fault of schema or type, so that further rules can be applied."""
        return not self.faults and (self.value is not None or self.kind.type is None)

    def finding_at(self, place: Place, fault: str, repair: str) -> LintFinding:
        """Return a finding at a place in this file: its line and, for JSON, the pointer.

        In TOML the place may end with the text of a list's item.
        """
        if isinstance(self.lines, JsonLines):
            at = pointer(self.lines.in_file(place))
            return finding(self.path, self.lines.line(place), fault, repair, pointer=at)
        text = place[-1] if place and isinstance(place[-1], str) else None
        return finding(self.path, self.lines.line(place, text), fault, repair)


def read(path: Path, *, whole: bool = True) -> list[Document | LintFinding]:
    """Read a file as a Document, or one for each of its cases.

    It is a finding if it cannot be parsed or is of no known kind. A Document whose data break the
    schema (validated if `whole`) or cannot be converted has faults and no value. Raises Unreadable
    if there is no such file or it may not be read.
    """
    try:
        raw = read_bytes(path)
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror}; name another path") from None
    parsed = _toml(path, raw) if path.suffix == ".toml" else _json(path, raw)
    if isinstance(parsed, LintFinding):
        return [parsed]
    data, lines = parsed
    if isinstance(lines, JsonLines) and AREA.is_one(data, path.suffix):
        file = Document(path=path, kind=AREA, data=data, lines=lines)
        return list(_cases(file, lines.root, raw, whole=whole))
    return [_document(path, data, lines, whole=whole)]


def _cases(
    file: Document, root: Node, raw: bytes, *, whole: bool
) -> Iterator[Document | LintFinding]:
    """Yield each case of a file of several; if that is not in order, its faults."""
    faults = tuple(_breaches(file)) if whole else ()
    if faults:
        yield replace(file, faults=faults)
        return
    case: Place = ()
    try:
        for text, case, fault, repair in case_texts(raw):
            if fault:
                yield file.finding_at(case, fault, repair)
            else:
                lines = JsonLines(root, case)
                yield _document(file.path, json.loads(text), lines, whole=whole, case=case)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        yield file.finding_at(case, str(error), "see schemas/cases.schema.json")


def _document(
    path: Path, data: Any, lines: JsonLines | TomlLines, *, whole: bool, case: Place = ()
) -> Document | LintFinding:
    """Return data as a Document of their kind, or a finding if they are of none."""
    kind = next((known for known in kinds() if known.is_one(data, path.suffix)), None)
    if kind is None:
        forms = ", ".join(f"a {known.noun}" for known in kinds())
        unknown = f"this is none of the known kinds: {forms}"
        repair = "give it the members of one"
        return finding(path, lines.line(()), unknown, repair, pointer=pointer(case))
    document = Document(path=path, kind=kind, data=data, lines=lines, case=case)
    faults = tuple(_breaches(document)) if whole else ()
    if faults or kind.type is None:
        return replace(document, faults=faults)
    try:
        value = msgspec.convert(data, kind.type)
    except (msgspec.ValidationError, ValueError, RecursionError) as error:
        fault = document.finding_at((), str(error), f"see schemas/{kind.schema}.schema.json")
        return replace(document, faults=(fault,))
    return replace(document, value=value)


def _json(path: Path, raw: bytes) -> tuple[Any, JsonLines] | LintFinding:
    """Parse JSON; return (data, lines), or a finding.

    An object that has a member twice is a finding too.
    """
    try:
        root = parse(raw)
        if (twice := _doubled(root)) is not None:
            name, at = twice
            fault = f"the member {name!r} occurs twice in one object"
            return finding(path, line_at(raw, at), fault, "keep one of them")
        return root.value(), JsonLines(root)
    except Malformed as error:
        fault = f"it is not JSON: {error.reason}"
        return finding(path, line_at(raw, error.offset), fault, "correct it there")
    except (ValueError, RecursionError) as error:
        return finding(path, 1, f"it is not JSON: {error}", "correct it")


def _doubled(root: Node) -> tuple[str, int] | None:
    """Return (name, offset) of one member that its object has twice; None if there is none."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        names: set[str] = set()
        for member in node.members:
            if member.key in names:
                return member.key, member.key_span.start
            names.add(member.key)
        waiting += [*node.items, *(member.value for member in node.members)]
    return None


def _toml(path: Path, raw: bytes) -> tuple[Any, TomlLines] | LintFinding:
    """Parse TOML; return (data, lines), or a finding at the line of the fault.

    That is the last line if the error names none.
    """
    try:
        text = raw.decode("utf-8")
        return toml(text), TomlLines(text)
    except UnicodeDecodeError as error:
        return finding(path, line_at(raw, error.start), "it is not UTF-8", "save it as UTF-8")
    except (ValueError, RecursionError) as error:
        reason, _, place = str(error).partition(" (at line ")
        number = place.partition(",")[0]
        line = int(number) if number.isdecimal() else max(1, raw.count(b"\n"))
        return finding(path, line, f"it is not TOML: {reason}", "correct it there")


@cache
def _validator(name: str) -> jsonschema.Draft202012Validator:
    """Return the validator of `NAME.schema.json`, made once; it can resolve all shipped schemas."""
    schemas = {
        path.name: msgspec.json.decode(path.read_bytes())
        for path in sorted(schemas_dir().glob("*.schema.json"))
    }
    known: Registry[Any] = Registry().with_resources(
        (schema["$id"], Resource.from_contents(schema)) for schema in schemas.values()
    )
    return jsonschema.Draft202012Validator(schemas[f"{name}.schema.json"], registry=known)


def _breaches(document: Document) -> Iterator[LintFinding]:
    """Yield a finding for each place where the document breaks its schema.

    Just one if the data are too deep or too large to be validated.
    """
    name = document.kind.schema
    try:
        errors = list(_validator(name).iter_errors(document.data))
    except (RecursionError, OverflowError, ValueError) as error:
        yield document.finding_at(
            (), f"it cannot be read: {error}", "give it the members of its kind"
        )
        return
    for breach in errors:
        nearest = best_match(iter([breach])) or breach
        says = nearest.schema.get("description") if isinstance(nearest.schema, Mapping) else None
        repair = f"see schemas/{name}.schema.json{f', which says: {says}' if says else ''}"
        yield document.finding_at(tuple(nearest.absolute_path), nearest.message, repair)
