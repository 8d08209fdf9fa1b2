"""Coverage of a space: what is admissible of it, and that of several parts of a run."""

from __future__ import annotations

from mcp_proxy_conformance.verdict.coverage import Coverage, Status, Uncovered, merged


def covered(looked_at: int, **left: tuple[Status, str]) -> Coverage:
    """Return a coverage with these pairs uncovered: each with its status and reason."""
    return Coverage(
        space="resilience",
        version=1,
        looked_at=looked_at,
        uncovered=tuple(
            Uncovered(status=status, reason=reason, tuples=(pair,))
            for pair, (status, reason) in left.items()
        ),
    )


LATE: tuple[Status, str] = ("left_out", "the time was over")


def test_parts_look_at_what_one_of_them_looks_at() -> None:
    """A pair is uncovered if it is so in all parts, for the most telling of their reasons."""
    one = covered(2, a=("excluded", "rule"), b=LATE, c=("unarmed", "no port"), d=LATE, e=LATE)
    two = covered(3, a=("excluded", "rule"), c=("masked", "it broke"), d=("unarmed", "x"), e=LATE)

    whole = merged([one, two])

    assert whole == covered(
        3, a=("excluded", "rule"), c=("masked", "it broke"), d=("unarmed", "x"), e=LATE
    )
    assert (whole.admissible, whole.missed) == (6, {"masked": 1, "unarmed": 1, "left_out": 1})
