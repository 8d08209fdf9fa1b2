"""A command line that cannot be read is refused in one sentence, with the help that says more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import click

from mcp_proxy_conformance.cli.lazily import LazyGroup
from mcp_proxy_conformance.verdict.escaping import inert
from mcp_proxy_conformance.verdict.outcome import DECLARATION

PROGRAM = "mcp-proxy-conformance"


class Complaint(click.ClickException):
    """What is wrong with the words that were given, and where to look."""

    exit_code = DECLARATION

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the sentence alone."""
        click.echo(self.message, file=file, err=file is None)


class Complaining(LazyGroup):
    """A group that refuses words with one sentence, wherever below it they stand."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Read the group's own words."""
        with _in_one_sentence():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Read the words of the command, and run it."""
        with _in_one_sentence():
            return super().invoke(ctx)


@contextmanager
def _in_one_sentence() -> Iterator[None]:
    try:
        yield
    except click.UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # from click 8.2 on: all it says is help
            raise
        told = " ".join(inert(error.format_message()).split()).rstrip(".?")
        told = told.replace(". Did you mean", "; did you mean")
        command = error.ctx.command_path if error.ctx is not None else PROGRAM
        raise Complaint(f"{told}; see `{command} --help`") from None
