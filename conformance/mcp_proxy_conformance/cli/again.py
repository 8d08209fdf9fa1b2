"""Command line that repeats one check of a run, rebuilt from the run's own."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from typing import Any

import click
from click.core import ParameterSource

from mcp_proxy_conformance.cli.groups import PROGRAM

TOP = "main"
"""The name of the root command; `gate` begins one command below."""
CHOICES = frozenset(
    {"check", "only", "fail_fast", "processes", "quick", "quiet", "shard", "verbose"}
)
"""Parameters that select, or show less or more, and do not describe the target."""


def command_line(
    context: click.Context, hidden: Callable[[str], str] = lambda word: word
) -> tuple[str, str]:
    """Return the two halves of the current command line between which `--check NAME` belongs.

    Options in CHOICES, which select checks or change what is shown, are left out. Both halves are
    quoted for a shell; the second is `--` and the arguments, or "". `hidden` is applied to each
    word, to mask credentials.
    """
    before, after = [PROGRAM], list[str]()
    for level in _from_the_top(context):
        before += [name] if (name := level.command.name or "") != TOP else []
        for parameter, value in _from_command_line(level):
            if isinstance(parameter, click.Argument):
                after += ["--", *map(str, value)]
            else:
                before += _option(parameter, value)
    return shlex.join(map(hidden, before)), shlex.join(map(hidden, after))


def _from_the_top(context: click.Context) -> list[click.Context]:
    """Return the context and all its parents, from the root's on."""
    return [*(_from_the_top(context.parent) if context.parent is not None else []), context]


def _from_command_line(context: click.Context) -> Iterator[tuple[click.Parameter, Any]]:
    """Yield (parameter, value) for what was given on the command line to this context's command.

    Left out are parameters in CHOICES, flags that are off, and empty lists; not 0 and "".
    """
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        value = context.params.get(parameter.name or "")
        is_given = value is not None and value is not False and value != ()  # 0 and "" are given
        if source is ParameterSource.COMMANDLINE and parameter.name not in CHOICES and is_given:
            yield parameter, value


def _option(parameter: click.Parameter, value: Any) -> list[str]:
    """Return an option as words: its first spelling, alone for True, else before each value."""
    name = parameter.opts[0]
    if value is True:
        return [name]
    several = value if parameter.multiple and isinstance(value, tuple) else (value,)
    return [word for item in several for word in (name, str(item))]
