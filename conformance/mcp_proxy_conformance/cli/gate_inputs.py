"""Inputs of the gate in a CI, and the arguments of `run` that they mean."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise

KINDS = ("reference", "mcpproxy", "command", "loader", "relay", "endpoint")
COMMANDED = ("command", "loader", "relay", "endpoint")
"""Kinds for which a program can be given."""
PARTIAL = ("--only", "--check", "--shard", "--case", "--quick")
"""Options of `run` that leave a part of the profile out."""


OPTIONS = (
    "profile", "deviations", "baseline", "fail_on", "space", "url", "binary", "target_file",
)  # fmt: skip
"""Inputs that are options of `run` with the same name."""


class BadInput(Exception):
    """An input cannot be used; one sentence with its name and the repair."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The inputs of the gate; an empty one is not given.

    `command` and `options` are lines of words, quoted as for a shell, that no shell sees;
    `headers` holds headers, one a line.
    """

    target: str = ""
    url: str = ""
    target_file: str = ""
    command: str = ""
    binary: str = ""
    headers: str = ""
    profile: str = ""
    deviations: str = ""
    baseline: str = ""
    fail_on: str = ""
    space: str = ""
    options: str = ""


def run_words(inputs: Inputs, *, described: bool) -> list[str]:
    """Return the arguments of `run` for these inputs, as words for `run` itself, not for a shell.

    Only `options` and `command` are split at spaces. `described`: whether a target file is in the
    working folder. Raises BadInput if the inputs name no target and no target file is there, if
    they name several, leave out a part of the profile, contradict each other, or cannot be split.
    """
    kind = _kind(inputs)
    described = described or bool(inputs.target_file) or "--target-file" in inputs.options
    if kind is None and not described:
        raise BadInput(
            "no target is named; give command, url, binary or target-file, or put"
            " mcp-proxy-conformance.toml into the working folder"
        )
    _agree(inputs, kind)
    words = [kind] if kind is not None else []
    words += _whole(_words("options", inputs.options))
    for option in OPTIONS:
        if value := getattr(inputs, option):
            words.append(f"--{option.replace('_', '-')}={value}")
    words += [f"--header={line}" for line in inputs.headers.splitlines() if line.strip()]
    if not inputs.command:
        return words
    program = _words("command", inputs.command)
    if kind in ("command", "relay"):
        return [*words, "--", *program]
    return [*words, f"{'--stdio' if kind == 'endpoint' else '--command'}={shlex.join(program)}"]


def fails_on(inputs: Inputs) -> str:
    """Return the value of --fail-on that the inputs mean, the last one given."""
    words = [part for word in _words("options", inputs.options) for part in word.split("=", 1)]
    return inputs.fail_on or dict(pairwise(words)).get("--fail-on", "incomplete")


def with_out(words: list[str], out: str) -> list[str]:
    """Return the words with `--out=OUT` before the first `--`, else last.

    There it overrides an `--out` that the words have already.
    """
    at = words.index("--") if "--" in words else len(words)
    return [*words[:at], f"--out={out}", *words[at:]]


def _kind(inputs: Inputs) -> str | None:
    """Return the named kind of target, else the one that other inputs imply; None without one.

    Raises BadInput for an unknown kind, or if several are implied.
    """
    if inputs.target and inputs.target not in KINDS:
        near = get_close_matches(inputs.target, KINDS, 1)
        repair = f"did you mean {near[0]!r}?" if near else f"the kinds are {', '.join(KINDS)}"
        raise BadInput(f"target is {inputs.target!r}, which is not a kind of target; {repair}")
    if inputs.target:
        return inputs.target
    meant = {"url": "endpoint", "binary": "mcpproxy", "command": "command"}
    named = [name for name in meant if getattr(inputs, name)]
    if len(named) > 1:
        raise BadInput(f"{' and '.join(named)} each name a target; give only one of them")
    return meant[named[0]] if named else None


def _agree(inputs: Inputs, kind: str | None) -> None:
    """Raise BadInput for an input that this kind of target does not take.

    Only url, headers, binary and command are looked at. With None, the kind is that of a target
    file, and none of them is allowed.
    """
    allowed = {
        "url": ("endpoint",),
        "headers": ("endpoint",),
        "binary": ("mcpproxy",),
        "command": COMMANDED,
    }
    for name, kinds in allowed.items():
        if getattr(inputs, name) and kind not in kinds:
            source = f"kind {kind}" if kind else "the target file"
            raise BadInput(
                f"{name} does not go with {source}; leave it out, or set target: {kinds[0]}"
            )


def _whole(words: list[str]) -> list[str]:
    """Return the words unchanged; raise BadInput for an option that leaves out a profile's part."""
    for word in words:
        if (option := word.partition("=")[0]) in PARTIAL:
            raise BadInput(
                f"options contains {option}, with which a run judges only a part, and a gate judges"
                " the whole profile; take it out"
            )
    return words


def _words(name: str, line: str) -> list[str]:
    """Split an input, of this name, into words as a shell does.

    Raises BadInput if it cannot be split, if `command` is blank, or if `options` contains `--`.
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise BadInput(f"{name} cannot be read: {error}; quote its words as for a shell") from None
    if name == "command" and not words:
        raise BadInput("command is blank; leave it out, or name a program")
    if name == "options" and "--" in words:
        raise BadInput("options contains `--`; put the adapter and its arguments into command")
    return words
