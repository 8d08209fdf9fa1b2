"""Program that serves a changed proxy, the mutant or variant of a given id, over stdio.

`python -m mcp_proxy_mutants.over_stdio ID serve --config=… --data-dir=…`
"""

import asyncio
import contextlib
import sys
from pathlib import Path

from mcp_proxy_mutants.discovery.changed import Changed
from mcp_proxy_mutants.discovery.mutants import mutants
from mcp_proxy_mutants.discovery.variants import variants
from mcp_proxy_reference import stdio_front


async def _serve(changed: Changed, config: Path, data_dir: Path) -> None:
    """Serve the changed proxy over stdio until the input ends, then close its gateway."""
    async with contextlib.aclosing(changed.gateway(config, data_dir)) as gateway:
        await stdio_front.serve(changed.protocol(gateway))


def main() -> None:
    """Serve the mutant or variant whose id is the first argument over stdio, until the input ends.

    The options `--config=…` and `--data-dir=…` must follow, after the command; others are ignored.
    """
    changed = next(each for each in (*mutants(), *variants()) if each.id == sys.argv[1])
    options = dict(part.removeprefix("--").split("=", 1) for part in sys.argv[3:] if "=" in part)
    asyncio.run(_serve(changed, Path(options["config"]), Path(options["data-dir"])))


if __name__ == "__main__":
    main()
