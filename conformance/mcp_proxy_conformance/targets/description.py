"""Description of a target: its file, or options in its place, read, checked and completed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_type_hints
from urllib.parse import urljoin

import msgspec

from mcp_proxy_conformance.catalogue.bounded import nests_deeper, read_toml
from mcp_proxy_conformance.catalogue.surface import STATUSES, Surface, ToolTemplate
from mcp_proxy_conformance.targets.adapter import CAPABILITIES, UpstreamPlace
from mcp_proxy_conformance.targets.relay import (
    PLACEHOLDERS,
    PORT,
    SECOND,
    SHORTEST_TOKEN,
    RelayFacts,
)
from mcp_proxy_conformance.wire.client import Client
from mcp_proxy_conformance.wire.transcript import Transcript

FILE = "mcp-proxy-conformance.toml"
ENVIRONMENT = "MCP_PROXY_CONFORMANCE_"
Kind = Literal["reference", "mcpproxy", "command", "loader", "relay"]
Installer = Literal["pip", "npm"]
FOLDER = "{folder}"
"""Stands, in a command line of a target file, for the folder of that file."""
POLICY = "disabled_by_config"
LEAST = ("config", "user")
"""Capabilities of a target of kind `command` that declares none."""
OF_LOADERS = ("attempts", "classifies", "retries", "stdio", "warnings")
"""Capabilities that a target of kind `loader` can declare."""
DEEPEST = 30
"""The deepest nesting of values in a target file."""
Seconds = Annotated[float, msgspec.Meta(ge=0, le=600)]
Title = Annotated[str, msgspec.Meta(max_length=100)]
Packages = Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]


class BadTarget(ValueError):
    """The target is unusable as described; one sentence with the place and the repair."""


class Description(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of a target file; times in seconds, as in `Target`.

    `name` and `version` are those of the implementation, for reports; `install` is what brings the
    programs of its command lines. `tool_prefix` and `timeout_signatures` are of loaders, as in
    `LoaderTarget`; `relay` is of relays.
    """

    kind: Kind = "command"
    name: Title = ""
    version: Title = ""
    install: Annotated[dict[Installer, Packages], msgspec.Meta(max_length=1)] = {}
    command: tuple[str, ...] = ()
    binary: str = ""
    capabilities: tuple[str, ...] | None = None
    settle_s: Seconds | None = None
    enforce_s: Seconds | None = None
    ready_s: Seconds | None = None
    start_ahead: Annotated[int, msgspec.Meta(ge=1, le=16)] | None = None
    upstreams: UpstreamPlace = UpstreamPlace()
    surface: Surface | None = None
    pins: dict[str, tuple[str, ...]] = {}
    tool_prefix: str = ""
    timeout_signatures: tuple[str, ...] = ()
    relay: RelayFacts | None = None

    def with_commands(self, change: Callable[[Sequence[str]], tuple[str, ...]]) -> Description:
        """Return it with each of its command lines that is not empty replaced by `change` of it."""
        command, relay = self.command and change(self.command), self.relay
        if relay is not None and relay.several:
            relay = msgspec.structs.replace(relay, several=change(relay.several))
        return msgspec.structs.replace(self, command=command, relay=relay)


def describe(
    *, kind: str | None, file: Path | None, given: Mapping[str, Any], environment: Mapping[str, str]
) -> Description:
    """Return the target's description from options, environment and file, in that precedence.

    Without a kind it is `command` with a file, else `reference`.

    Args:
        kind: The kind named on the command line, if any; it must agree with the file's.
        file: The target file; None is no file.
        given: Options by their dotted name, e.g. `settle_s` or `upstreams.host`; None is unset.
        environment: Read for `MCP_PROXY_CONFORMANCE_SETTLE_S` and the like.

    Raises:
        BadTarget: The defect, its place, and the repair.
    """
    members = _read(file) if file is not None else {}
    file_kind = members.get("kind")
    for name in (kind, file_kind):
        if name is not None and name not in get_args(Kind):
            near = get_close_matches(str(name), get_args(Kind), 1) or get_args(Kind)
            raise BadTarget(f"there is no target kind {name!r}; did you mean {near[0]!r}?")
    if kind is not None and file_kind is not None and file_kind != kind:
        raise BadTarget(
            f"{file} describes a target of kind {file_kind!r}, not {kind!r}; name one kind"
        )
    command = str(members.get("command", ""))
    if kind is None and file_kind is None and any(name in command for name in PLACEHOLDERS):
        raise BadTarget(
            f'{file}: command has a placeholder of relays; write kind = "relay" beside it, or say'
            " `run relay`"
        )
    members["kind"] = kind or file_kind or ("command" if file is not None else "reference")
    for name in OPTIONS:
        value = given.get(name)
        word = environment.get(ENVIRONMENT + name.upper().replace(".", "_"))
        if value is None and word is not None:
            value = _of_word(name, word)
        if value is not None:
            _put(members, name, value)
            if name == "command":
                members.pop("install", None)  # the packages were of the file's own command
    place = str(file) if file is not None else "the target's options"
    described = _converted(members, place)
    _check(described, place)
    if file is None:
        return described
    folder = str(file.absolute().parent)
    return described.with_commands(
        lambda words: tuple(word.replace(FOLDER, folder) for word in words)
    )


def describe_surface(file: Path) -> Description:
    """Return a target file's description for a run on an endpoint, which is already started.

    It need not say how to start a target; its capabilities are not checked. Raises BadTarget.
    """
    members = _read(file)
    described = _converted({"kind": "command"} | members, str(file))
    _check(msgspec.structs.replace(described, kind="reference", capabilities=None), str(file))
    return described


def description_of_loader(members: Mapping[str, Any], place: str) -> Description:
    """Return the description of a loader with what its hello declares; other members are left out.

    Raises:
        BadTarget: A declared member is unusable; the message names `place`.
    """
    declared = {name: members[name] for name in DECLARED_BY_LOADERS if name in members}
    described = _converted({"kind": "loader"} | declared, place)
    _check(described, place)
    return described


def completed(described: Description, declared: Description) -> Description:
    """Return a loader's description with what it leaves out taken from `declared`.

    That is its name, version, capabilities, tool prefix and timeout signatures; nothing else. An
    empty list of capabilities counts as given.
    """
    return msgspec.structs.replace(
        described,
        name=described.name or declared.name,
        version=described.version or declared.version,
        capabilities=(
            declared.capabilities if described.capabilities is None else described.capabilities
        ),
        tool_prefix=described.tool_prefix or declared.tool_prefix,
        timeout_signatures=described.timeout_signatures or declared.timeout_signatures,
    )


def kind_in(file: Path) -> str | None:
    """Return the kind that a target file names.

    None if it names none or an unknown one, or is bad.
    """
    try:
        kind = _read(file).get("kind")
    except BadTarget:
        return None
    return kind if kind in get_args(Kind) else None


DECLARED_BY_LOADERS = ("name", "version", "capabilities", "tool_prefix", "timeout_signatures")
"""Members that the program of a loader can declare too, in its answer to hello."""
OPTIONS = (
    "binary",
    "command",
    "capabilities",
    "settle_s",
    "enforce_s",
    "ready_s",
    "upstreams.host",
    "upstreams.bind",
    "upstreams.transport",
    "tool_prefix",
    "timeout_signatures",
)
"""Members that the command line and the environment can set instead of the file."""


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


def _read(file: Path) -> dict[str, Any]:
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


def _converted(members: dict[str, Any], place: str) -> Description:
    try:
        return msgspec.convert(members, Description)
    except msgspec.ValidationError as error:
        raise BadTarget(f"{place}: {_readable(str(error))}") from None


def _readable(complaint: str) -> str:
    match = re.fullmatch(r"Object contains unknown field `(.*?)`(?: - at `\$\.?(.*)`)?", complaint)
    if match is None:
        return complaint.replace(" - at `$.", " at `").replace(" - at `$", " at `")
    unknown, path = match[1], match[2] or ""
    names = _fields_at(path)
    near = get_close_matches(unknown, names, 1)
    repair = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(names)}"
    return f"unknown member {'.'.join(filter(None, (path, unknown)))!r}; {repair}"


def _fields_at(path: str) -> tuple[str, ...]:
    kind: Any = Description
    for step in re.findall(r"[a-z_]+", path):
        inner = get_type_hints(kind)[step]
        kind = next(part for part in _parts(inner) if hasattr(part, "__struct_fields__"))
    return tuple(kind.__struct_fields__)


def _parts(annotation: Any) -> list[Any]:
    return [annotation, *(part for argument in get_args(annotation) for part in _parts(argument))]


def _check(described: Description, place: str) -> None:
    """Raise BadTarget if the description contradicts itself, or lacks what its kind needs.

    That is an unknown capability or pinned status, a text pinned for `disabled_by_config` and
    another status, a NUL, a missing command or binary, or what the checks of relays, loaders and
    surfaces find.
    """
    known = OF_LOADERS if described.kind == "loader" else CAPABILITIES
    for word in described.capabilities or ():
        if word not in known:
            near = get_close_matches(word, known, 1)
            repair = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(sorted(known))}"
            raise BadTarget(f"{place}: there is no capability {word!r}; {repair}")
    packages = [word for words in described.install.values() for word in words]
    several = described.relay.several if described.relay is not None else ()
    for name, words in (
        ("command", described.command),
        ("binary", (described.binary,)),
        ("install", packages),
        ("several", several),
    ):
        if any("\0" in word for word in words):
            raise BadTarget(f"{place}: {name} contains a NUL character; take it out")
    policy = set(described.pins.get(POLICY, ()))
    for status, texts in described.pins.items():
        if status not in STATUSES:
            near = get_close_matches(status, STATUSES, 1) or [STATUSES[0]]
            raise BadTarget(f"{place}: pins.{status} is not a status; did you mean {near[0]!r}?")
        for text in policy.intersection(texts) if status != POLICY else ():
            raise BadTarget(
                f"{place}: pins.{POLICY} and pins.{status} both contain {text!r}, but no text"
                " fits both kinds of lock; keep it in one of them"
            )
    if described.install and not described.command:
        raise BadTarget(
            f"{place}: install brings the program of a command line; write `command = [...]` too"
        )
    if described.kind == "command" and not described.command:
        raise BadTarget(
            f"{place}: kind 'command' needs the adapter's command line;"
            " write `run command -- PROGRAM ARGUMENTS` or `command = [...]` in the target file"
        )
    if described.kind == "mcpproxy" and not described.binary:
        raise BadTarget(
            f"{place}: kind 'mcpproxy' needs the program;"
            " write `run mcpproxy --binary PATH` or `binary = ...` in the target file"
        )
    _check_relay(described, place)
    _check_loader(described, place)
    _check_surface(described, place)


def _check_relay(described: Description, place: str) -> None:
    """Raise BadTarget for unusable facts of a relay, or for `relay` in another kind.

    Its command must name an upstream and, over HTTP+SSE, a port; `several` a second upstream;
    `clients`, if any, are two different tokens or more, of 12 characters at least. The message
    begins with `place`.
    """
    if described.kind != "relay":
        if described.relay is not None:
            raise BadTarget(f'{place}: relay is for relays only; set kind = "relay"')
        return
    if described.command and not any(
        name in word for word in described.command for name in PLACEHOLDERS
    ):
        raise BadTarget(
            f"{place}: the relay's command names no upstream; put {{upstream_url}} where it takes"
            " a URL, or {upstream} where it takes a command line"
        )
    facts = described.relay or RelayFacts()
    if described.command and facts.transport == "sse" and PORT not in str(described.command):
        raise BadTarget(
            f"{place}: a relay over HTTP+SSE serves at a port; put {{port}} where its command takes"
            " one"
        )
    several, clients = facts.several, facts.clients
    if clients and (len({*clients}) < 2 or min(map(len, clients)) < SHORTEST_TOKEN):  # noqa: PLR2004
        raise BadTarget(
            f"{place}: clients are the bearer tokens of two users or more, each of"
            f" {SHORTEST_TOKEN} characters at least"
        )
    if several and not any(SECOND in word for word in several):
        raise BadTarget(
            f"{place}: the command line `several` names no second upstream; put {{upstream_url_2}}"
            " or {upstream_2} beside that of the first"
        )


def _check_loader(described: Description, place: str) -> None:
    """Raise BadTarget for an empty timeout signature, or members of loaders in another kind.

    The message begins with `place`.
    """
    if described.kind == "loader":
        if not all(signature.strip() for signature in described.timeout_signatures):
            raise BadTarget(
                f"{place}: timeout_signatures contains an empty text, which every body contains;"
                " take it out"
            )
        return
    for name in ("tool_prefix", "timeout_signatures"):
        if getattr(described, name):
            raise BadTarget(
                f'{place}: {name} is for loaders only; set kind = "loader", or take it out'
            )


def _check_surface(described: Description, place: str) -> None:
    """Raise BadTarget if the surface is incomplete, has a bad path, or disagrees with capabilities.

    The message begins with `place`. A described target without a surface passes, except that of
    kind `command`, which has defaults.
    """
    surface, declared = described.surface, described.capabilities
    if described.kind == "command":
        declared = LEAST if declared is None else declared
        surface = Surface() if surface is None else surface
    if surface is None:
        return
    if not surface.endpoints:
        raise BadTarget(f'{place}: surface.endpoints is empty; leave it out, or write [""]')
    if not surface.calls:
        raise BadTarget(f"{place}: surface.calls is empty; name at least one way to call a tool")
    for number, template in enumerate(surface.calls):
        if not template.names_the_tool:
            raise BadTarget(f"{place}: surface.calls[{number}] has no {{tool}} in it; add it")
    for name, path in _paths(surface):
        try:
            Client(urljoin("http://127.0.0.1/mcp", path), transcript=Transcript())
        except ValueError as error:
            raise BadTarget(f"{place}: {name} is {path!r} ({error}); give a path") from None
    several = len(surface.calls) > 1 or len(surface.endpoints) > 1
    if declared is not None and several != ("direct_endpoints" in declared):
        count = "names several of them" if several else "names only one of each"
        repair = "declare the capability" if several else "name others, or take the capability out"
        raise BadTarget(
            f"{place}: the capability direct_endpoints is for several endpoints or ways to call a"
            f" tool, and surface {count}; {repair}"
        )
    if declared is not None and (surface.inspect is not None) != ("inspect" in declared):
        raise BadTarget(
            f"{place}: surface.inspect and the capability inspect go together; give both or none"
        )


def _paths(surface: Surface) -> list[tuple[str, str]]:
    templates: dict[str, ToolTemplate] = {"listing": surface.listing}
    templates |= {f"calls[{at}]": template for at, template in enumerate(surface.calls)}
    if surface.inspect is not None:
        templates["inspect"] = surface.inspect
    paths = [(f"surface.endpoints[{at}]", path) for at, path in enumerate(surface.endpoints)]
    return paths + [
        (f"surface.{name}.endpoint", template.endpoint) for name, template in templates.items()
    ]
