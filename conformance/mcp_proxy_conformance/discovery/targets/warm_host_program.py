"""The program of a warm host: it forks an instance of the reference for each input line.

A line on standard input is `{"arguments": [...], "environment": {...}, "output": F, "log": F}`;
the answer is one line `{"pid": N}`. Each instance is a process and a process group of its own.
"""

import asyncio
import contextlib
import gc
import importlib
import json
import os
import signal
import sys
from typing import Any

import anyio.lowlevel
import httpx2

from mcp_proxy_reference.__main__ import main


def host() -> None:
    """Fork a reference proxy for each input line, and print its process id as a line of JSON.

    At the input's end, send SIGTERM to the groups of those that still run.
    """
    running: set[int] = set()

    def reap(*_: object) -> None:
        """Handle SIGCHLD: collect all instances that have ended, and forget them."""
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG)[0]) != 0:
                running.discard(ended)

    signal.signal(signal.SIGCHLD, reap)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _import_the_late()
    gc.freeze()
    for line in sys.stdin:
        wanted = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _become(wanted)
        running.add(pid)
        sys.stdout.write(json.dumps({"pid": pid}) + "\n")
        sys.stdout.flush()
    for pid in list(running):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGTERM)


def _import_the_late() -> None:
    """Import here, once, the modules that each instance would import at its first connection."""
    importlib.import_module("uvicorn.lifespan.off")
    asyncio.run(anyio.lowlevel.checkpoint())
    asyncio.run(httpx2.AsyncClient(verify=False).aclose())


def _become(wanted: dict[str, Any]) -> None:
    """Run the reference in this forked process, in a session of its own; never return.

    It has no input, the requested files for output and exactly the requested environment; errors
    are printed, and end it with 1.
    """
    os.setsid()
    for number in (signal.SIGCHLD, signal.SIGINT):
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else 0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    for descriptor, name in ((1, "output"), (2, "log")):
        try:
            opened = os.open(wanted[name], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError:  # the requesting process is gone, and its folder too
            os._exit(1)
        os.dup2(opened, descriptor)
    os.environ.clear()
    os.environ.update(wanted["environment"])
    try:
        main(wanted["arguments"])
        os._exit(0)
    except SystemExit as ended:
        os._exit(ended.code if isinstance(ended.code, int) else 1)
    except BaseException:  # noqa: BLE001 - printed as the interpreter would, then the process ends
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
        os._exit(1)


if __name__ == "__main__":
    host()
