"""Description of a target: its file, or options in its place, read, checked and completed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar, cast, get_args, get_type_hints

import msgspec

from mcp_proxy_conformance.catalogue.bounded import nests_deeper, read_toml
from mcp_proxy_conformance.catalogue.specification import imported, specifications

FILE = "mcp-proxy-conformance.toml"
ENVIRONMENT = "MCP_PROXY_CONFORMANCE_"
Installer = Literal["pip", "npm"]
FOLDER = "{folder}"
"""Stands, in a command line of a target file, for the folder of that file."""
DEEPEST = 30
"""The deepest nesting of values in a target file."""
Seconds = Annotated[float, msgspec.Meta(ge=0, le=600)]
Title = Annotated[str, msgspec.Meta(max_length=100)]
Packages = Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
D = TypeVar("D", bound="Description")


class BadTarget(ValueError):
    """The target is unusable as described; one sentence with the place and the repair."""


class UpstreamPlace(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the suite's upstream servers listen (`bind`), and their host as the target sees it.

    With transport `stdio` the target gets a command line for each server instead of a URL; with
    `http` it never gets one, for targets that cannot start programs of the suite's host.
    """

    bind: str = "127.0.0.1"
    host: str | None = None
    transport: Literal["by stage", "stdio", "http"] = "by stage"


class Description(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a target file says of any target; a specification adds the members of its kinds.

    `name` and `version` are those of the implementation, for reports; `install` is what brings the
    programs of its command lines. Options and the environment can set the members in `options`
    instead of the file. A command line with one of the `placeholders` is of this kind.
    """

    options: ClassVar[tuple[str, ...]] = ("command",)
    placeholders: ClassVar[tuple[str, ...]] = ()

    kind: str
    name: Title = ""
    version: Title = ""
    install: Annotated[dict[Installer, Packages], msgspec.Meta(max_length=1)] = {}
    command: tuple[str, ...] = ()

    def with_commands(self, change: Callable[[Sequence[str]], tuple[str, ...]]) -> Description:
        """Return it with each of its command lines that is not empty replaced by `change` of it."""
        return msgspec.structs.replace(self, command=self.command and change(self.command))

    def texts(self) -> Mapping[str, Sequence[str]]:
        """Return the words of its command lines, programs and packages, by member."""
        packages = [word for words in self.install.values() for word in words]
        return {"command": self.command, "install": packages}

    def faults(self) -> Iterator[str]:
        """Yield why it is unusable, with the repair: it contradicts itself or lacks something."""
        for name, words in self.texts().items():
            if any("\0" in word for word in words):
                yield f"{name} contains a NUL character; take it out"
        if self.install and not self.command:
            yield "install brings the program of a command line; write `command = [...]` too"


def strange_words(words: Sequence[str] | None, known: Sequence[str]) -> Iterator[str]:
    """Yield a fault for each capability that is not known."""
    for word in words or ():
        if word not in known:
            near = get_close_matches(word, known, 1)
            repair = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(sorted(known))}"
            yield f"there is no capability {word!r}; {repair}"


def describe(
    *, kind: str | None, file: Path | None, given: Mapping[str, Any], environment: Mapping[str, str]
) -> Description:
    """Return the target's description from options, environment and file, in that precedence.

    Without a kind it is `command` with a file, else `reference`.

    Args:
        kind: The kind named on the command line, if any; it must agree with the file's.
        file: The target file; None is no file.
        given: Options by the name of their member, in which `_` may stand for a dot, such as
            `upstreams_host`; None is unset.
        environment: Read for `MCP_PROXY_CONFORMANCE_SETTLE_S` and the like, of the kind's options.

    Raises:
        BadTarget: The defect, its place, and the repair.
    """
    members = read(file) if file is not None else {}
    file_kind = members.get("kind")
    for name in (kind, file_kind):
        if name is not None:
            expect_kind(name)
    if kind is not None and file_kind is not None and file_kind != kind:
        raise BadTarget(
            f"{file} describes a target of kind {file_kind!r}, not {kind!r}; name one kind"
        )
    if kind is None and file_kind is None:
        _expect_no_placeholder(str(members.get("command", "")), file)
    members["kind"] = kind or file_kind or ("command" if file is not None else "reference")
    described_as = kind_of(expect_kind(members["kind"]))
    place = str(file) if file is not None else "the target's options"
    options = {n.replace(".", "_"): value for n, value in given.items() if value is not None}
    for name in described_as.options:
        value = options.pop(name.replace(".", "_"), None)
        word = environment.get(ENVIRONMENT + name.upper().replace(".", "_"))
        if value is None and word is not None:
            value = _of_word(name, word)
        if value is not None:
            _put(members, name, value)
            if name == "command":
                members.pop("install", None)  # the packages were of the file's own command
    for name in options:
        raise BadTarget(f"{place}: {name} is no option of kind {members['kind']!r}; leave it out")
    described = converted(described_as, members, place)
    expect_usable(described, place)
    if file is None:
        return described
    folder = str(file.absolute().parent)
    return described.with_commands(
        lambda words: tuple(word.replace(FOLDER, folder) for word in words)
    )


def kinds() -> Mapping[str, str]:
    """Map each kind of target that can be described to the place of its description's class."""
    return {kind: place for each in specifications() for kind, place in each.descriptions.items()}


def expect_kind(kind: Any) -> str:
    """Return a kind of target as it is; BadTarget, with the nearest one, if there is none such."""
    known = [*kinds()]
    if kind in known:
        return str(kind)
    near = get_close_matches(str(kind), known, 1) or known
    raise BadTarget(f"there is no target kind {kind!r}; did you mean {near[0]!r}?")


def kind_of(kind: str) -> type[Description]:
    """Return the class of the descriptions of that kind."""
    return cast("type[Description]", imported(kinds()[kind]))


def _expect_no_placeholder(command: str, file: Path | None) -> None:
    """Raise BadTarget if a file that names no kind has a command line with a kind's placeholder."""
    for kind in kinds() if "{" in command else ():
        if any(name in command for name in kind_of(kind).placeholders):
            raise BadTarget(
                f'{file}: command has a placeholder of {kind}s; write kind = "{kind}" beside it, or'
                f" say `run {kind}`"
            )


def kind_in(file: Path) -> str | None:
    """Return the kind that a target file names.

    None if it names none or an unknown one, or is bad.
    """
    try:
        kind = read(file).get("kind")
    except BadTarget:
        return None
    return kind if kind in [*kinds()] else None


def _of_word(name: str, word: str) -> Any:
    """Return an environment variable's text as the value of that member; BadTarget if unusable.

    Seconds become a number, a command the words of a shell, signatures lines, capabilities words;
    other members stay texts.
    """
    if name.endswith("_s"):
        try:
            return float(word)
        except ValueError:
            raise BadTarget(
                f"{ENVIRONMENT}{name.upper()} is {word!r}; give a number of seconds"
            ) from None
    if name == "command":
        try:
            return tuple(shlex.split(word))
        except ValueError as error:
            raise BadTarget(
                f"{ENVIRONMENT}COMMAND is {word!r}: {error}; quote its words as for a shell"
            ) from None
    if name == "timeout_signatures":
        return tuple(word.splitlines())
    return tuple(word.replace(",", " ").split()) if name == "capabilities" else word


def read(file: Path) -> dict[str, Any]:
    """Return the content of a target file; BadTarget if it cannot be read."""
    try:
        members = read_toml(file)
        nests_too_deeply = nests_deeper(members, DEEPEST)
    except OSError as error:
        raise BadTarget(f"cannot read {file}: {error.strerror}; `init` writes one") from None
    except RecursionError:
        nests_too_deeply, members = True, {}
    except ValueError as error:
        raise BadTarget(f"{file} is not a TOML file: {error}") from None
    if nests_too_deeply:
        raise BadTarget(f"{file} nests deeper than {DEEPEST} levels; flatten it")
    return members


def _put(members: dict[str, Any], name: str, value: Any) -> None:
    """Set the member of that dotted name, such as `upstreams.host`, to `value` in `members`.

    A missing table is made. Nothing is set inside a member that is not a table.
    """
    outer, dot, inner = name.partition(".")
    if not dot:
        members[name] = value
    elif isinstance(members.setdefault(outer, {}), dict):
        members[outer][inner] = value


def converted(kind: type[D], members: Mapping[str, Any], place: str) -> D:
    """Return the description of these members; BadTarget, which names `place`, for a bad one."""
    strange = [name for name in members if name not in kind.__struct_fields__]
    known = _members() if strange else {}
    if foreign := [name for name in strange if name in known]:
        raise BadTarget(
            f"{place}: a target of kind {members['kind']!r} has no {' and no '.join(foreign)}, only"
            f" one of kind {' or '.join(known[foreign[0]])} has; take that out"
        )
    try:
        return msgspec.convert(members, kind)
    except msgspec.ValidationError as error:
        raise BadTarget(f"{place}: {_readable(str(error), kind)}") from None


def expect_usable(described: Description, place: str) -> None:
    """Raise BadTarget, which names `place`, for the first fault of a description, if it has any."""
    for fault in described.faults():
        raise BadTarget(f"{place}: {fault}")


def _readable(complaint: str, kind: type[Description]) -> str:
    match = re.fullmatch(r"Object contains unknown field `(.*?)`(?: - at `\$\.?(.*)`)?", complaint)
    if match is None:
        return complaint.replace(" - at `$.", " at `").replace(" - at `$", " at `")
    unknown, path = match[1], match[2] or ""
    names = _fields_at(path, kind)
    near = get_close_matches(unknown, names if path else _members(), 1)
    repair = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(names)}"
    return f"unknown member {'.'.join(filter(None, (path, unknown)))!r}; {repair}"


def _members() -> dict[str, list[str]]:
    """Map each member that target files of any kind can have to the kinds that have it."""
    found: dict[str, list[str]] = {}
    for kind in kinds():
        for name in kind_of(kind).__struct_fields__:
            found.setdefault(name, []).append(kind)
    return found


def _fields_at(path: str, kind: Any) -> tuple[str, ...]:
    for step in re.findall(r"[a-z_]+", path):
        inner = get_type_hints(kind)[step]
        kind = next(part for part in _parts(inner) if hasattr(part, "__struct_fields__"))
    return tuple(kind.__struct_fields__)


def _parts(annotation: Any) -> list[Any]:
    return [annotation, *(part for argument in get_args(annotation) for part in _parts(argument))]
