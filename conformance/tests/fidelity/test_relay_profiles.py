"""The two profiles of relays."""

from __future__ import annotations

from mcp_proxy_conformance.catalogue.requirement import catalogue, profile


def test_fidelity_and_integrity_share_no_clause() -> None:
    """No clause of relays is in both `fidelity` and `integrity`; each lists its own in order."""
    listed = [profile(name).clauses for name in ("fidelity", "integrity")]

    assert [*listed] == [
        tuple(name for name in catalogue().clauses if name in own) for own in listed
    ]
    assert set(listed[0]).isdisjoint(listed[1])
