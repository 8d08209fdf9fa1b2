"""Adapter program of one changed reference proxy (mutant or variant), to try out a failing run.

`python -m mcp_proxy_mutants.adapter cap-lets-one-more` speaks the adapter protocol as
`mcp_proxy_reference.adapter` does, for a proxy that is wrong in that way. With the options of
`mcp_proxy_reference serve` it serves that proxy itself.
"""

import asyncio
import json
import signal
import sys
from pathlib import Path

import click

from mcp_proxy_mutants.discovery.mutants import mutants
from mcp_proxy_mutants.discovery.variants import variants
from mcp_proxy_reference.adapter import Target
from mcp_proxy_reference.adapter import main as answer_lines

CHANGED = {changed.id: changed for changed in (*mutants(), *variants())}


@click.command()
@click.argument("name", type=click.Choice(sorted(CHANGED), case_sensitive=False), metavar="MUTANT")
@click.argument("serve", required=False, type=click.Choice(["serve"]), expose_value=False)
@click.option("--config", type=click.Path(path_type=Path), help="Serve the proxy with this file.")
@click.option("--data-dir", type=click.Path(path_type=Path), help="Folder of the proxy's state.")
@click.option("--listen", help="Accepted and ignored: the proxy listens on a free loopback port.")
def main(name: str, config: Path | None, data_dir: Path | None, listen: str | None) -> None:
    """Act as the adapter of MUTANT, a changed proxy (mutant or variant), over standard streams.

    With both --config and --data-dir, serve that proxy instead, until SIGTERM.
    """
    del listen
    if config is not None and data_dir is not None:
        asyncio.run(_serve(name, config, data_dir))
        return

    class MutantTarget(Target):
        """The changed proxy of that name, as a process of this program."""

        program = (sys.executable, "-m", "mcp_proxy_mutants.adapter", name)

    answer_lines(MutantTarget)


async def _serve(name: str, config: Path, data_dir: Path) -> None:
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    async with CHANGED[name].open(config, data_dir) as proxy:
        sys.stdout.write(json.dumps({"url": proxy.url}) + "\n")
        sys.stdout.flush()
        await ended.wait()


if __name__ == "__main__":
    main()
