"""The command line that was given, told again so that one check of it can be run alone."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from typing import Any

import click
from click.core import ParameterSource

from mcp_proxy_conformance.cli.groups import PROGRAM

TOP = "main"
"""The name of the whole; `gate` begins one command below."""
CHOICES = frozenset({"check", "only", "fail_fast", "processes", "quiet", "shard", "verbose"})
"""What chooses or shows less or more, and says nothing of the target."""


def again(
    context: click.Context, hidden: Callable[[str], str] = lambda word: word
) -> Callable[[str], str]:
    """What tells the command with `--check` and a name; `hidden` takes credentials out of words.

    What is no check, such as the first look at a target, is seen again by any run.
    """
    before, after = [PROGRAM], list[str]()
    for one in _from_the_top(context):
        before += [name] if (name := one.command.name or "") != TOP else []
        for parameter, value in _given(one):
            if isinstance(parameter, click.Argument):
                after += ["--", *map(str, value)]
            else:
                before += _option(parameter, value)
    first, last = shlex.join(map(hidden, before)), shlex.join(map(hidden, after))

    def told(name: str) -> str:
        check = f"--check {shlex.quote(name)}" if name.startswith("test_") else ""
        return " ".join(filter(None, (first, check, last)))

    return told


def _from_the_top(context: click.Context) -> list[click.Context]:
    return [*(_from_the_top(context.parent) if context.parent is not None else []), context]


def _given(context: click.Context) -> Iterator[tuple[click.Parameter, Any]]:
    """What stood on the command line, by parameter."""
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        value = context.params.get(parameter.name or "")
        is_given = value is not None and value is not False and value != ()  # 0 and "" are given
        if source is ParameterSource.COMMANDLINE and parameter.name not in CHOICES and is_given:
            yield parameter, value


def _option(parameter: click.Parameter, value: Any) -> list[str]:
    name = parameter.opts[0]
    if value is True:
        return [name]
    several = value if parameter.multiple and isinstance(value, tuple) else (value,)
    return [word for one in several for word in (name, str(one))]
