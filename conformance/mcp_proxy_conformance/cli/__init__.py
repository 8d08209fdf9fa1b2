"""The command line: its root command, one module per command, imported on use."""

from __future__ import annotations

import io
import platform
import sys
from importlib.metadata import version

import click

from mcp_proxy_conformance.catalogue.specification import Command, specifications
from mcp_proxy_conformance.cli.groups import Complaining

SENTENCES = {
    "completion": "Print the completion script for a shell.",
    "deviations": "Create or validate a file of known failures.",
    "explain": "Explain a clause, a requirement, a case, or the adapter protocol.",
    "gate": "Judge a target in CI, and write reports in every format.",
    "init": "Write a commented target file.",
    "lint": "Check cases, stages and other data files for mistakes.",
    "list": "List clauses, checks, cases, profiles or interpretations.",
    "report": "Render a saved report in another format.",
    "run": "Judge a target: an MCP proxy, or a loader of MCP servers.",
    "space": "Print what scenarios vary, or extend them after a change.",
    "selftest": "Test the checks on proxies that are known to be wrong or right.",
}
TAKEN = ("lint", "list")
"""Commands whose function has an underscore at its end."""
COMMANDS = {
    name: Command(f"{__name__}.{name}:{name}{'_' * (name in TAKEN)}", sentence)
    for name, sentence in SENTENCES.items()
} | {name: own for each in specifications() for name, own in each.commands.items()}
HELP = """
\b
Exit codes:
  0    conformant, or only known failures
  1    violated
  2    error in the usage, the configuration or the declaration
  3    target or adapter could not be started, reached or kept running
  4    incomplete: nothing violated, but something was not observed
  5    an entry for a known failure passes now, has expired or names nothing
  70   error in the suite itself
  130  interrupted; the partial report is written

\b
Examples:
  mcp-proxy-conformance run
  mcp-proxy-conformance run command -- python my_adapter.py
  mcp-proxy-conformance run endpoint --url http://127.0.0.1:8080/mcp
  mcp-proxy-conformance explain FR-006.cap
"""


def _version(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    """Print the versions of the suite, of Python and of each profile, and end the program.

    It does nothing if `value` is false, or while a shell completes.
    """
    del parameter
    if not value or context.resilient_parsing:
        return
    # The profiles are read for this alone; --help has no need of them.
    from mcp_proxy_conformance.catalogue.requirement import profiles  # noqa: PLC0415

    click.echo(
        f"mcp-proxy-conformance {version('mcp-proxy-conformance')}\n"
        f"Python {platform.python_version()}\n"
        f"profiles: {', '.join(f'{profile.id}@{profile.version}' for profile in profiles())}"
    )
    context.exit()


@click.group(
    cls=Complaining,
    lazily=COMMANDS,
    epilog=HELP,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Show the versions of the suite, of Python and of the profiles.",
)
def main() -> None:
    """Check from outside whether an MCP tool proxy conforms, by the messages it sends."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what its encoding lacks must not end the run
            stream.reconfigure(errors="backslashreplace")
