"""The hello of a loader's program: what it declares of its loader, asked before a run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from mcp_proxy_conformance.resilience.loader import MOST_VALUES, WANTED
from mcp_proxy_conformance.resilience.loader_description import (
    LoaderDescription,
    completed,
    declared_by,
)
from mcp_proxy_conformance.targets.description import BadTarget
from mcp_proxy_conformance.targets.line_program import LineProgram, ProgramEnded, quoted
from mcp_proxy_conformance.targets.target import AdapterError
from mcp_proxy_conformance.verdict.redaction import first_line
from mcp_proxy_conformance.wire.jsonrpc import values

NUMBER = 1
REQUEST = {"id": NUMBER, "op": "hello"}
ANSWER = "the loader's answer to hello"
PAGE = "see `mcp-proxy-conformance explain loader`"
NOTHING = LoaderDescription(capabilities=())
UNKNOWN = (
    "the loader does not know the operation hello; to have more of it judged, answer hello or"
    f" name its capabilities (`run loader --capabilities`): {PAGE}"
)
FORMS = 'answer {"id":1,"ok":{"capabilities":[…]}} or {"id":1,"unsupported":true}'
END_S = 1.0
LONGEST = 100
"""The most characters of the name and of the version that a report shows."""


class _Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One line in answer to a hello; `ok` holds the declarations."""

    id: int
    ok: dict[str, Any] | None = None
    unsupported: bool | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Introduction:
    """A loader's description completed by its hello, and sentences for the user.

    `broken`: why the program cannot be used; empty if it can.
    """

    description: LoaderDescription
    remarks: tuple[str, ...] = ()
    broken: str = ""


def introduced(
    description: LoaderDescription, command: Sequence[str], folder: Path, within_s: float
) -> Introduction:
    """Ask the program what its loader can do; return the description completed by its answer.

    What the description declares holds; remarks name answers overridden or unusable. A program
    that does not know hello declares nothing; one that breaks, or does not answer within
    `within_s` seconds, is `broken`, unless capabilities are described. Raises BadTarget if
    neither has usable capabilities.
    """
    is_declared = description.capabilities is not None
    try:
        hello = read_hello(answer_to_hello(command, folder, within_s))
    except (AdapterError, BadTarget) as error:
        if is_declared:
            unused = f"{ANSWER} is not used: {first_line(str(error))}"
            return Introduction(description=description, remarks=(unused,))
        if isinstance(error, AdapterError):
            return Introduction(description=completed(description, NOTHING), broken=str(error))
        raise
    if hello is None:
        unknown = () if is_declared else (UNKNOWN,)
        return Introduction(description=completed(description, NOTHING), remarks=unknown)
    whole = completed(description, hello)
    differences = tuple(_differences(whole, hello))
    return Introduction(description=whole, remarks=differences)


def answer_to_hello(command: Sequence[str], folder: Path, within_s: float) -> bytes:
    """Start the program, send it `hello`, and end it; return the line that it answers with.

    Its log goes into `folder`, which is made. Raises AdapterError if it does not start, ends
    before it answers, or takes over `within_s` seconds.
    """
    folder.mkdir(parents=True, exist_ok=True)
    program = LineProgram(command, log=folder / "loader.log")
    try:
        program.send(json.dumps(REQUEST).encode())
        return program.receive(within_s)
    except TimeoutError:
        raise AdapterError(
            f"the loader broke: it did not answer hello within {within_s:g} s; {FORMS}"
        ) from None
    except ProgramEnded as end:
        tail = program.tail().strip()
        told = f"; its log ends with:\n{tail}" if tail else ""
        raise AdapterError(f"the loader broke: it {end} before it answered hello{told}") from None
    finally:
        program.finish(END_S)


def read_hello(line: bytes) -> LoaderDescription | None:
    """Return what a line in answer to hello declares; None if `unsupported` or an `error`.

    Raises AdapterError if the line is not an answer to hello or has too many values, BadTarget
    if it declares something that cannot be declared, or no capabilities.
    """
    quote = f"the loader broke: its answer to hello is {quoted(line)}"
    if (many := values(line)) > MOST_VALUES:
        raise AdapterError(f"{quote}, {many} values; send at most {MOST_VALUES}")
    try:
        answer = msgspec.json.decode(line, type=_Answer)
    except RecursionError:
        raise AdapterError(f"{quote}, which nests too deeply; {WANTED}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise AdapterError(f"{quote} ({error}); {WANTED}") from None
    present = [answer.ok is not None, answer.unsupported is True, answer.error is not None]
    if answer.id != NUMBER or sum(present) != 1:
        raise AdapterError(f"{quote}; {FORMS}")
    if answer.ok is None:
        return None
    return _declared(answer.ok)


def _declared(members: dict[str, Any]) -> LoaderDescription:
    """Return the declarations in `ok`; raise BadTarget without capabilities, or for a bad one.

    A name and a version that are texts are cut at 100 characters, each on one line.
    """
    if members.get("capabilities") is None:
        raise BadTarget(f"{ANSWER} has no `capabilities`; send a list of them, which may be empty")
    titles = {
        name: " ".join(text.split())[:LONGEST]
        for name in ("name", "version")
        if isinstance(text := members.get(name), str)
    }
    try:
        return declared_by(members | titles, ANSWER)
    except BadTarget as error:
        raise BadTarget(f"{error}; {PAGE}") from None


def _differences(used: LoaderDescription, declared: LoaderDescription) -> Iterator[str]:
    """Yield a sentence for each declaration of hello that the used description overrides.

    Empty ones, name and version are not compared.
    """
    for name in ("capabilities", "tool_prefix", "timeout_signatures"):
        own, counts = getattr(declared, name), getattr(used, name)
        if own and not _is_same(own, counts):
            said, holds = (
                json.dumps(value if isinstance(value, str) else sorted(value), ensure_ascii=False)
                for value in (own, counts)
            )
            yield (
                f"{ANSWER} has {name} {said}, but the target file or an option has {holds},"
                " which counts"
            )


def _is_same(left: Any, right: Any) -> bool:
    """Whether two declarations are equal; lists are compared as sets."""
    if isinstance(left, str) or isinstance(right, str):
        return bool(left == right)
    return set(left) == set(right)
