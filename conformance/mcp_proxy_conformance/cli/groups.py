"""Command groups: lazily imported commands, usage errors in one sentence, exit codes."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NoReturn

import click
from click.shell_completion import CompletionItem

from mcp_proxy_conformance.catalogue.specification import Command, imported
from mcp_proxy_conformance.verdict.outcome import DECLARATION, INTERRUPTED
from mcp_proxy_conformance.verdict.redaction import inert


class LazyGroup(click.Group):
    """A group that imports a command only when it is used, so that --help is quick.

    `lazily` maps each command's name to its place and sentence.
    """

    def __init__(
        self, *args: Any, lazily: Mapping[str, Command] | None = None, **kwargs: Any
    ) -> None:
        """Make the group; `lazily` has the commands that are imported on use, none by default."""
        super().__init__(*args, **kwargs)
        self.lazily: dict[str, Command] = dict(lazily or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all names, sorted, those that are not imported yet included."""
        return sorted({*super().list_commands(ctx), *self.lazily})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name, which is imported at first use; None without one."""
        if cmd_name in self.lazily and cmd_name not in self.commands:
            self.add_command(imported(self.lazily[cmd_name].place), cmd_name)
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the section Commands of the help page, without importing a command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._sentence(name)) for name in self.list_commands(ctx)])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return completions: the commands with this prefix, and the options of the group."""
        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        items = [CompletionItem(name, help=self._sentence(name)) for name in names]
        return [*items, *click.Command.shell_complete(self, ctx, incomplete)]

    def _sentence(self, name: str) -> str:
        """Return a command's sentence for help pages, without importing the command."""
        if name in self.lazily:
            return self.lazily[name].sentence
        return self.commands[name].get_short_help_str(100)


PROGRAM = "mcp-proxy-conformance"


class Complaint(click.ClickException):
    """A usage error as one sentence, which ends with the help page to look at."""

    exit_code = DECLARATION

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the sentence alone, without click's usage lines."""
        click.echo(self.message, file=file, err=file is None)


class Complaining(LazyGroup):
    """A group that reports usage errors, its subcommands' too, in one sentence."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command line and exit with its code; 130 if interrupted.

        A usage error is printed and exits with 2, as does output that cannot be written.
        Standard streams that are closed are replaced.
        """
        kwargs["standalone_mode"] = False
        for name in ("stdout", "stderr"):
            if getattr(sys, name) is None:  # closed by the parent
                setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        with _interruptible():
            code = _flushed(_code(lambda: super(Complaining, self).main(*args, **kwargs)))
        sys.exit(code)

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Parse the group's own words; raise a Complaint for a usage error."""
        with _in_one_sentence():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a usage error becomes a Complaint, a failed write of output exits 2."""
        with _in_one_sentence():
            try:
                return super().invoke(ctx)
            except OSError as error:
                if error.errno not in FULL:
                    raise
                ctx.exit(_unwritten(error))


@contextmanager
def _in_one_sentence() -> Iterator[None]:
    """Raise a Complaint, which names the command's help page, for a usage error in the block.

    The error by which click shows a help page passes unchanged.
    """
    try:
        yield
    except click.UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # from click 8.2 on: all it says is help
            raise
        sentence = " ".join(inert(error.format_message()).split()).rstrip(".?")
        sentence = sentence.replace(". Did you mean", "; did you mean")
        command = error.ctx.command_path if error.ctx is not None else PROGRAM
        raise Complaint(f"{sentence}; see `{command} --help`") from None


FULL = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EPIPE, errno.EIO, errno.EBADF}
)
"""Errors of a write that fails whatever the file."""


NUMBERS = (signal.SIGINT, signal.SIGTERM)
ALARM = getattr(signal, "SIGALRM", None)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Have SIGTERM raise KeyboardInterrupt, as SIGINT does, during the block.

    SIGALRM does nothing meanwhile. Afterwards the former handlers are restored, unless SIGINT is
    ignored by then. Outside of the main thread nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.default_int_handler) for number in NUMBERS}
    if ALARM is not None:  # without a handler it would end this process
        before[ALARM] = signal.signal(ALARM, lambda *_: None)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            for number, handler in before.items():
                signal.signal(number, handler)


def _code(command: Callable[[], Any]) -> int:
    """Run a command and return its exit code; print an error of click.

    The code is the number that the command returns, 0 without one, or that of the exception that
    ended it; 130 if interrupted, after which further signals are ignored.
    """
    try:
        done = command()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        for number in NUMBERS:  # it ends now; a second signal changes nothing
            signal.signal(number, signal.SIG_IGN)
        return INTERRUPTED
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return done if isinstance(done, int) else 0


CLOSED = 128 + 13
"""The exit code of a command whose reader has seen enough, as of one that SIGPIPE ends."""


def _unwritten(error: OSError, code: int = CLOSED) -> int:
    """Print, if possible, that output cannot be written and why; return 2.

    If its reader has seen enough, as `head` has, print nothing and return `code`.
    """
    if error.errno == errno.EPIPE:
        return code
    place = error.filename or "standard output"
    with suppress(OSError, ValueError):
        click.echo(f"{place} cannot be written: {error.strerror}; free some disk space", err=True)
    return DECLARATION


def _flushed(code: int) -> int:
    """Flush both standard streams; return the code, or 2 if standard output cannot be written.

    A stream that fails is led to the null device.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:
            code = _unwritten(error, code) if stream is sys.stdout else code
            with suppress(OSError, ValueError):  # the interpreter flushes once more
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        except ValueError:
            continue
    return code


def examples(*lines: str) -> str:
    """Return the Examples section of a help page: each line, after the program's name."""
    commands = "\n".join(f"  mcp-proxy-conformance {line}" for line in lines)
    return f"\b\nExamples:\n{commands}"


def stop(sentence: str) -> NoReturn:
    """Print the sentence to standard error and exit with 2."""
    click.echo(sentence, err=True)
    sys.exit(DECLARATION)
