"""`python bent.py FAULT DOCUMENT ID…`: wire trials in front of a reference that has a fault."""

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
    """Return the reference with that fault, declared with the fewest capabilities."""
    (changed,) = (mutant for mutant in mutants() if mutant.id == fault)
    target = embedded(changed, settle_s=0.1)
    return replace(target, capabilities=frozenset({"config", "user"}))


def main(fault: str, document: str, *chosen: str) -> None:
    """Write the selftest's document of the chosen trials."""
    wanted = [trial for trial in wire_trials() if trial.changed.id in chosen]
    with tempfile.TemporaryDirectory() as folder:
        result = in_front_of(
            lambda: bent(fault), wanted, Path(folder), lambda *_: None, full=False, jobs=2
        )
    Path(document).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
