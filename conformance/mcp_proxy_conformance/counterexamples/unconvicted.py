"""Counterexamples that no check of their clauses convicts yet: they are tried and told, as open."""

from __future__ import annotations

UNCONVICTED: frozenset[str] = frozenset()
