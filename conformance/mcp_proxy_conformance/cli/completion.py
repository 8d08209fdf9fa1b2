"""`completion`: the script that completes our commands, options and ids in a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from mcp_proxy_conformance.cli.groups import PROGRAM

VARIABLE = "_MCP_PROXY_CONFORMANCE_COMPLETE"
"""Where click looks for the shell that asks; the program's name makes it."""


@click.command(
    epilog="\b\nExamples:\n"
    f'  eval "$({PROGRAM} completion bash)"\n'
    f"  {PROGRAM} completion zsh > ~/.zfunc/_{PROGRAM}\n"
    f"  {PROGRAM} completion fish | source"
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that completes words in SHELL: commands, options, ids and names."""
    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(context.find_root().command, {}, PROGRAM, VARIABLE).source())
