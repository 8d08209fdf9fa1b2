"""The command line: one module a command."""

from __future__ import annotations

import io
import sys

import click

from mcp_proxy_conformance.cli.baseline import baseline
from mcp_proxy_conformance.cli.deviations import deviations
from mcp_proxy_conformance.cli.explain import explain
from mcp_proxy_conformance.cli.gate import gate
from mcp_proxy_conformance.cli.init import init
from mcp_proxy_conformance.cli.lint import lint_
from mcp_proxy_conformance.cli.list import list_
from mcp_proxy_conformance.cli.report import report
from mcp_proxy_conformance.cli.run import run
from mcp_proxy_conformance.cli.selftest import selftest

EXIT_CODES = """
\b
Exit codes:
  0    conformant; or nothing but known failures
  1    violated
  2    usage, configuration or declaration
  3    target or adapter could not be started, reached or kept running
  4    incomplete: nothing violated, but something was not observed
  5    a known failure that passes now, has expired or names nothing
  70   fault of the suite itself
  130  interrupted; the partial report is written
"""


@click.group(epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="mcp-proxy-conformance")
def main() -> None:
    """Check an MCP tool proxy, from outside and on the wire."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what its encoding lacks must not end the run
            stream.reconfigure(errors="backslashreplace")


main.add_command(run)
main.add_command(list_)
main.add_command(explain)
main.add_command(lint_)
main.add_command(init)
main.add_command(selftest)
main.add_command(baseline)
main.add_command(report)
main.add_command(deviations)
main.add_command(gate)
