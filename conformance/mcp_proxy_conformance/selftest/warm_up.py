"""Warm-up before processes are forked: imports and compilations that every trial needs."""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from mcp_proxy_conformance.catalogue.index import checks
from mcp_proxy_conformance.run.invocation import collect
from mcp_proxy_conformance.selftest.proof import Proof

LATE = (
    "deepdiff",
    "encodings.idna",
    "jsonschema",
    "mcp_proxy_conformance.plugin",
    "pytest_timeout",
)
LATE_IN_REFERENCE = (
    "anyio._backends._asyncio",
    "httpcore2",
    "mcp_proxy_reference.proxy",
    "truststore",
    "uvicorn.lifespan.off",
)
"""Modules that are otherwise imported on first use; those that are not installed are left out."""


def warm(tried: Iterable[Proof], folders: Sequence[Path], *, reference: bool) -> None:
    """Import and compile what trials need, so that processes forked later have it; start no thread.

    `tried` are their proofs, `folders` those of their checks. With `reference`, what
    embedded proxies and loaders need too. Packages that are not installed are skipped.
    """
    for name in (*LATE, *(LATE_IN_REFERENCE if reference else ())):
        if importlib.util.find_spec(name.partition(".")[0]) is not None:
            importlib.import_module(name)
    checks()
    for proof in tried:
        proof.warm()
    _collect(folders)


def _collect(folders: Sequence[Path]) -> None:
    """Have pytest import the checks of these folders, in this process, silently."""
    with Path(os.devnull).open("w", encoding="utf-8") as null:
        stdout = os.dup(1)
        os.dup2(null.fileno(), 1)
        try:
            collect(folders)
        finally:
            os.dup2(stdout, 1)
            os.close(stdout)
