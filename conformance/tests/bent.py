"""`python bent.py FAULT DOCUMENT ID…`: tries faults of the wire on a reference that has a fault."""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from mcp_proxy_conformance.selftest.document import in_front_of
from mcp_proxy_conformance.selftest.gather import wire_trials
from mcp_proxy_conformance.targets.adapter import Target
from mcp_proxy_conformance.targets.embedded import embedded
from mcp_proxy_mutants.proxy.mutants import mutants


def bent(fault: str) -> Target:
    """The reference with that fault, said to be capable of the least."""
    (changed,) = (one for one in mutants() if one.id == fault)
    target = embedded(changed, settle_s=0.1)
    return replace(target, capabilities=frozenset({"config", "user"}))


def main(fault: str, document: str, *chosen: str) -> None:
    """Write the document of the selftest."""
    wanted = [one for one in wire_trials() if one.changed.id in chosen]
    with tempfile.TemporaryDirectory() as folder:
        found = in_front_of(
            lambda: bent(fault), wanted, Path(folder), lambda *_: None, full=False, jobs=2
        )
    Path(document).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
