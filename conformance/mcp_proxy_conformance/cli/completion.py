"""`completion`: prints click's script, by which a shell asks us for commands, options and ids."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from mcp_proxy_conformance.cli.groups import PROGRAM

VARIABLE = "_MCP_PROXY_CONFORMANCE_COMPLETE"
"""The variable from which click reads the shell; it is derived from the program's name."""


@click.command(
    epilog="\b\nExamples:\n"
    f'  eval "$({PROGRAM} completion bash)"\n'
    f"  {PROGRAM} completion zsh > ~/.zfunc/_{PROGRAM}\n"
    f"  {PROGRAM} completion fish | source"
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script by which SHELL completes our commands, options, ids and names."""
    shell_class = get_completion_class(shell)
    assert shell_class is not None
    click.echo(shell_class(context.find_root().command, {}, PROGRAM, VARIABLE).source())
