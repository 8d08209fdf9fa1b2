"""Versions of profiles that may not change any more, and how a change of one is seen."""

from __future__ import annotations

import hashlib

from mcp_proxy_conformance.requirement import Profile


def fingerprint(profile: Profile) -> str:
    """What its clauses and its floor come to; rulings may be added, since they only explain."""
    floor = profile.floor
    parts = (profile.clauses, floor.capabilities, floor.passes)
    text = "\n\n".join("\n".join(sorted(part)) for part in parts)
    return hashlib.sha256(text.encode()).hexdigest()
