"""`python bent.py FAULT DOCUMENT ID…`: trials of wire mutants in front of a faulty reference.

A wire mutant changes the bytes between a client and any target.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from mcp_proxy_conformance.discovery.targets.adapter import ProxyTarget
from mcp_proxy_conformance.discovery.targets.embedded import embedded
from mcp_proxy_conformance.selftest.document import in_front_of
from mcp_proxy_conformance.selftest.proof import proofs
from mcp_proxy_mutants.discovery.mutants import mutants


def bent(fault: str) -> ProxyTarget:
    """Return the reference as a target with the mutant of that id; ValueError for an unknown one.

    It declares no capability but config and user.
    """
    (changed,) = (mutant for mutant in mutants() if mutant.id == fault)
    target = embedded(changed, settle_s=0.1)
    return replace(target, capabilities=frozenset({"config", "user"}))


def main(fault: str, document: str, *chosen: str) -> None:
    """Run the wire trials of these ids in front of the faulty reference, two at a time.

    Write the selftest's result as JSON to the file `document`.
    """
    own = proofs()["discovery"]
    wanted = [trial for trial in own.in_front if trial.changed.id in chosen]
    with tempfile.TemporaryDirectory() as folder:
        result = in_front_of(
            lambda: bent(fault),
            own,
            wanted,
            Path(folder),
            lambda *_: None,
            profile="discovery+robustness",
            full=False,
            jobs=2,
        )
    Path(document).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
