"""Completion of ids in a shell: of clauses and requirements, checks and cases, profiles."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click

Completer = Callable[[click.Context, click.Parameter, str], list[str]]


def _completing(known: Callable[[], Iterable[str]]) -> Completer:
    """Return a completer that offers those of the distinct `known()` ids with the typed prefix."""

    def complete(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
        """Return the distinct known ids that begin with `begun`, in their order."""
        del context, parameter
        return [name for name in dict.fromkeys(known()) if name.startswith(begun)]

    return complete


# The catalogue and the checks are read when a shell asks, not whenever a command is built.
def _clause_ids() -> list[str]:
    """Return the ids that --only takes: of requirements that have clauses, then of clauses."""
    from mcp_proxy_conformance.catalogue.requirement import catalogue  # noqa: PLC0415

    owners = [row.id for row in catalogue().requirements if row.clauses]
    return [*owners, *catalogue().clauses]


def _profiles() -> list[str]:
    """Return the ids of all profiles, without versions."""
    from mcp_proxy_conformance.catalogue.requirement import profiles  # noqa: PLC0415

    return [profile.id for profile in profiles()]


def _names() -> list[str]:
    """Return the names of all checks and cases."""
    from mcp_proxy_conformance.catalogue.index import names  # noqa: PLC0415

    return list(names())


def _explained() -> list[str]:
    """Return the ids of requirements, clauses and cases, in this order."""
    from mcp_proxy_conformance.catalogue.index import cases  # noqa: PLC0415

    return [*_clause_ids(), *(case.id for case in cases())]


explained_ids = _completing(_explained)
"""Ids of clauses, of whole requirements, and of cases."""
asked_ids = _completing(_clause_ids)
"""Ids of clauses and of whole requirements, as --only takes them."""
profile_ids = _completing(_profiles)
"""Ids of profiles."""
check_names = _completing(_names)
"""Names of checks and of cases, as --check takes them."""
