"""Versions of profiles that may not change any more; run as a program, what each comes to."""

from __future__ import annotations

import hashlib
import sys

from mcp_proxy_conformance.catalogue.requirement import Profile, versions


def fingerprint(profile: Profile) -> str:
    """What its clauses and its floor come to; rulings may be added, since they only explain."""
    floor = profile.floor
    parts = (profile.clauses, floor.capabilities, floor.passes)
    text = "\n\n".join("\n".join(sorted(part)) for part in parts)
    return hashlib.sha256(text.encode()).hexdigest()


if __name__ == "__main__":
    for one in versions():
        sys.stdout.write(f'"{one.name}" = "{fingerprint(one)}"\n')
