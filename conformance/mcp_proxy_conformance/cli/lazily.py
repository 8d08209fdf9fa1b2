"""Command groups whose commands are imported only when they are run or asked for help."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem


class LazyGroup(click.Group):
    """A group that knows of each command its module and one sentence, so that --help is quick.

    `lazily` is the sentence of each command by name. A command `x` is the `x` of the module
    `mcp_proxy_conformance.cli.x`, or `x_` where the name is taken.
    """

    def __init__(self, *args: Any, lazily: Mapping[str, str] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.lazily: dict[str, str] = dict(lazily or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, those that are not imported yet included."""
        return sorted({*super().list_commands(ctx), *self.lazily})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command; its module is imported the first time."""
        if cmd_name in self.lazily and cmd_name not in self.commands:
            module = import_module(f"mcp_proxy_conformance.cli.{cmd_name}")
            found = vars(module).get(f"{cmd_name}_") or vars(module)[cmd_name]
            self.add_command(found, cmd_name)
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands and their sentences, without an import."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._sentence(name)) for name in self.list_commands(ctx)])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Commands that begin so, and the options of the group."""
        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        found = [CompletionItem(name, help=self._sentence(name)) for name in names]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def _sentence(self, name: str) -> str:
        if name in self.lazily:
            return self.lazily[name]
        return self.commands[name].get_short_help_str(100)
