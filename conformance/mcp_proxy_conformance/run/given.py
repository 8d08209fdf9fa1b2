"""A run whose target was made by the caller: how the suite proves its own checks."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_proxy_conformance.targets.adapter import Target


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Given:
    """A pytest plugin that brings a ready target, and says which checks to run.

    `profile`: the one that it is judged by. `clauses`: only checks that cite one of them; None is
    all. `until`: the run stops at the first failure of an F check that cites one of these. `first`:
    the check that runs before the others; `only`: the one that runs; `without`: checks, each with
    its case or None, that do not. `backwards`: the checks run in reverse order. `confirm`: failures
    on shared stages are confirmed, and those of laws seen again, as in a run. `examples`: how many
    worlds are generated beside those that every run tries.
    """

    target: Target
    profile: str = "discovery"
    clauses: frozenset[str] | None = None
    until: frozenset[str] = frozenset()
    first: str = ""
    only: str = ""
    without: frozenset[tuple[str, str | None]] = frozenset()
    backwards: bool = False
    confirm: bool = False
    examples: int = 0
