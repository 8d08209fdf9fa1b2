"""Files of cases: one case, or the cases of an area with what they share and tables of values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

import msgspec

from mcp_proxy_conformance.catalogue.bounded import read_bytes
from mcp_proxy_conformance.catalogue.requirement import catalogue
from mcp_proxy_conformance.catalogue.resources import case_files

PLACEHOLDER = re.compile(rb'(?<!\\)"\{\w+\}"|\{\w+\}')
"""A part of a table's case that a row fills: a whole string, or a piece of one."""

ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
"""An id of a case, as in the schemas."""

Members = dict[str, msgspec.Raw]
Place = tuple[str | int, ...]


class BadCase(ValueError):
    """A case that cannot be used; the message names the file, the case, the place, the repair."""


class CitingCase(Protocol):
    """Any case that a check can be parametrised with: of discovery, of loading, or of a relay."""

    @property
    def id(self) -> str:
        """The id of the case."""

    @property
    def area(self) -> str:
        """The area, such as `precedence`: the word by which a check chooses its cases."""

    @property
    def title(self) -> str:
        """What the case shows, in a sentence."""

    @property
    def clauses(self) -> tuple[str, ...]:
        """The ids of the clauses that a failure of the case can break."""


AnyCase = TypeVar("AnyCase", bound=CitingCase)


class CaseText(NamedTuple):
    """One case as a text of JSON, and its place in its file; () if it is the whole file.

    `fault` says why a table gives no case there, `repair` how to mend it.
    """

    text: bytes
    place: Place = ()
    fault: str = ""
    repair: str = ""


class _Area(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    area: str
    cases: tuple[Members, ...]
    shared: Members = {}


def case_texts(content: bytes) -> Iterator[CaseText]:
    """Yield each case in the content of a file, complete and in order; numbers keep their digits.

    Raises msgspec.MsgspecError for content that is not such a file.
    """
    if "cases" not in msgspec.json.decode(content, type=Members):
        yield CaseText(content)
        return
    file = msgspec.json.decode(content, type=_Area)
    for number, own in enumerate(file.cases):
        columns, rows = own.pop("columns", b"[]"), own.pop("rows", None)
        template = msgspec.json.encode({"area": file.area, **file.shared, **own})
        if rows is None:
            yield CaseText(template, ("cases", number))
            continue
        names = msgspec.json.decode(columns, type=list[str])
        table = msgspec.json.decode(rows, type=list[list[msgspec.Raw]])
        if not table:
            repair = "give it a row, or take the case out"
            yield CaseText(b"", ("cases", number), "a table without rows", repair)
        for at, row in enumerate(table):
            yield _filled(template, names, row, ("cases", number, "rows", at))


def _filled(
    template: bytes, columns: Sequence[str], row: Sequence[msgspec.Raw], place: Place
) -> CaseText:
    """Return a table's case with the values of a row in its placeholders."""
    named = {found.strip(b'"{}').decode() for found in PLACEHOLDER.findall(template)}
    if named != set(columns) or len(row) != len(columns):
        fault = f"{len(row)} values for the columns {', '.join(columns)}"
        fault += f" and the placeholders {', '.join(sorted(named))}"
        repair = "give each placeholder a column, and each row a value for every column"
        return CaseText(b"", place, fault, repair)
    values = {f"{{{name}}}".encode(): bytes(own) for name, own in zip(columns, row, strict=True)}
    parts = {name: own[1:-1] if own[:1] == b'"' else own for name, own in values.items()}
    parts |= {b'"%s"' % name: own for name, own in values.items()}
    return CaseText(PLACEHOLDER.sub(lambda found: parts[found[0]], template), place)


def read_cases(path: Path, kind: type[AnyCase], schema: str) -> list[AnyCase]:
    """Return the cases of a file, in its order; raise BadCase if it cannot be read or one is bad.

    `schema` is the name of the schema of one case, for the error.
    """
    found = []
    with readable(path, schema):
        content = read_bytes(path)
        content.decode()
        texts = list(case_texts(content))
    for text, place, fault, repair in texts:
        if fault:
            raise BadCase(f"{path.name}: {'/'.join(map(str, place))}: {fault}; {repair}")
        with readable(path, schema):
            name = bytes(msgspec.json.decode(text, type=Members).get("id", b"without id"))
        with readable(path, schema, name.decode().strip('"')):
            found.append(msgspec.json.decode(text, type=kind))
    return found


@contextmanager
def readable(path: Path, schema: str, of: str = "") -> Iterator[None]:
    """Turn errors of reading a file into BadCase; `of` is the part of it that is read."""
    at = f"{path.name}: {of}" if of else path.name
    try:
        yield
    except OSError as error:
        raise BadCase(f"cannot read {path}: {error.strerror}; name another file") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadCase(f"{at}: {error}; see schemas/{schema}.schema.json") from None
    except RecursionError:
        raise BadCase(f"{at}: it nests too deeply; flatten it") from None


def shipped(folder: str, read: Callable[[Path], Sequence[AnyCase]]) -> tuple[AnyCase, ...]:
    """Return the shipped cases of `discovery`, `resilience` (load) or `fidelity` (relay).

    They are sorted as files of their names would be, whatever their areas: `a-b` before `a`.
    """
    found = [case for path in case_files(folder) for case in read(path)]
    return tuple(sorted(found, key=lambda case: f"{case.id}."))


def own_cases(
    path: Path, read: Callable[[Path], Sequence[AnyCase]], known: Sequence[AnyCase]
) -> tuple[AnyCase, ...]:
    """Return the cases of a user's file.

    Raises BadCase as `read`, and if there is none, two have one id, an id is not of lower-case
    words with dashes, or one names an area of none of the known cases, or no clause.
    """
    own, areas = tuple(read(path)), sorted({case.area for case in known})
    if not own:
        raise BadCase(f"{path.name}: it has no case; give it one, or leave --case out")
    ids = Counter(case.id for case in own)
    for case in own:
        if ids[case.id] > 1 or not ID.fullmatch(case.id):
            fault = "two cases have this id" if ids[case.id] > 1 else "it is no id of a case"
            raise BadCase(f"{path.name}: {case.id!r}: {fault}; give each words of its own")
        if case.area not in areas:
            fault = f"no check has the area {case.area!r}; use {', '.join(areas)}"
            raise BadCase(f"{path.name}: {case.id}: {fault}")
        if unknown := sorted(set(case.clauses) - catalogue().clauses.keys()):
            fault = f"there is no clause {unknown[0]}; see `list clauses`"
            raise BadCase(f"{path.name}: {case.id}: {fault}")
    return own
