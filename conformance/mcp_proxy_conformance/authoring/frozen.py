"""Fingerprints of frozen profile versions; run as a program, it prints that of each version."""

from __future__ import annotations

import hashlib
import sys

from mcp_proxy_conformance.catalogue.requirement import Profile, versions


def fingerprint(profile: Profile) -> str:
    """Return the SHA-256 hash, in hex, of a profile's clauses and floor, whatever their order.

    Nothing else counts, so interpretations may still be added.
    """
    floor = profile.floor
    parts = (profile.clauses, floor.capabilities, floor.passes)
    text = "\n\n".join("\n".join(sorted(part)) for part in parts)
    return hashlib.sha256(text.encode()).hexdigest()


if __name__ == "__main__":
    for version in versions():
        sys.stdout.write(f'"{version.name}" = "{fingerprint(version)}"\n')
