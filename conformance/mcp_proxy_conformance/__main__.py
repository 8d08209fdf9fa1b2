"""The command line as `python -m mcp_proxy_conformance`."""

from __future__ import annotations

import os
import signal

from mcp_proxy_conformance.verdict.outcome import INTERRUPTED


def main() -> None:
    """Run the command line; a signal during its slow import also ends with exit code 130."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    from mcp_proxy_conformance.cli import main as command  # noqa: PLC0415 - it takes its time

    try:
        command()
    except SystemExit as end:
        if end.code == INTERRUPTED:  # else the interpreter may end by the signal that it has seen
            os._exit(INTERRUPTED)
        raise


def _end(number: int, frame: object) -> None:
    """End this process at once with exit code 130, on a signal."""
    del number, frame
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    main()
