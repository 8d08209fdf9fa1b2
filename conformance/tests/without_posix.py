"""A Python without the POSIX parts of its library, for command lines or every import.

Modules that the standard library and other packages import are imported first, since these may look
for POSIX. For imports `sys.platform` names Windows, too, and there are no local sockets; at run
time the standard library of this system would miss them.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import ctypes
import importlib
import json
import multiprocessing
import os
import pkgutil
import select
import signal
import socket
import sqlite3
import ssl
import sys
import tempfile
import traceback
import types
from collections.abc import Sequence

import click
import deepdiff
import httptools
import httpx2
import hypothesis.strategies
import jinja2
import jsonschema
import msgspec
import pytest
import uvicorn.protocols.http.httptools_impl
from click.testing import CliRunner

import mcp_proxy_conformance
import mcp_proxy_reference

IMPORTED = (
    *(
        asyncio,
        concurrent.futures,
        ctypes,
        multiprocessing,
        sqlite3,
        ssl,
        tempfile,
        click,
        deepdiff,
    ),
    *(httptools, httpx2, hypothesis, jinja2, jsonschema, msgspec, pytest, uvicorn),
)
MODULES = (
    "fcntl",
    "resource",
    "pwd",
    "grp",
    "termios",
    "tty",
    "pty",
    "syslog",
    "readline",
    "curses",
)
LOST: dict[types.ModuleType, str] = {
    os: "fork forkpty killpg setsid getpgid setpgid setpgrp getuid geteuid getgid getegid WNOHANG"
    " mkfifo chown nice getloadavg uname sched_getaffinity register_at_fork openpty waitid",
    signal: "SIGKILL SIGCHLD SIGHUP SIGUSR1 SIGUSR2 SIGSTOP SIGCONT SIGPIPE SIGQUIT SIGALRM alarm"
    " setitimer pthread_sigmask pause",
    select: "poll epoll",
}


def lose() -> None:
    """Remove POSIX modules and functions of the standard library from this process.

    An import of such a module fails from then on.
    """
    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    for module, names in LOST.items():
        for name in names.split():
            if hasattr(module, name):
                delattr(module, name)


def broken() -> dict[str, str]:
    """Import every module of suite and reference as if on Windows; return those that fail.

    They are mapped to the traceback's end; this process is no longer usable for anything else.
    """
    sys.platform = "win32"
    del socket.AF_UNIX
    failures: dict[str, str] = {}
    for package in (mcp_proxy_conformance, mcp_proxy_reference):
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if info.name.endswith("__main__"):
                continue
            try:
                importlib.import_module(info.name)
            except Exception:  # noqa: BLE001 - any error is reported
                failures[info.name] = traceback.format_exc(limit=-1)
    return failures


def ended(lines: Sequence[str]) -> dict[str, tuple[int, str]]:
    """Run each of these command lines; return their exit codes and outputs by line."""
    from mcp_proxy_conformance.cli import main  # noqa: PLC0415 - after the parts are lost

    results = {line: CliRunner().invoke(main, line.split()) for line in lines}
    return {line: (result.exit_code, result.output) for line, result in results.items()}


if __name__ == "__main__":
    lose()
    if sys.argv[1:] == ["import everything"]:
        sys.stdout.write(json.dumps(broken()))
    elif sys.argv[1:2] == ["several"]:
        sys.stdout.write(json.dumps(ended(sys.argv[2:])))
    else:
        from mcp_proxy_conformance.cli import main

        main()
