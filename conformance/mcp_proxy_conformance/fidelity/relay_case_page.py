"""What authors of relay cases are told of them by `lint` and `explain`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mcp_proxy_conformance.authoring.kinds import Kind
from mcp_proxy_conformance.fidelity.relay_case import RelayCase, members_of


def kinds() -> Sequence[Kind]:
    """Return the kinds of files that authors of fidelity write."""
    marks = frozenset({"arguments", "result", "error", "at"})
    return [Kind("relay case", "relay-case", "*.json", marks)]


def page(case: RelayCase) -> Iterator[str]:
    """Yield what `explain` adds on a case: the call, and what is compared of it."""
    own = members_of(case)
    for name in ("arguments", "result", "error"):
        if name in own:  # as it is sent: numbers keep their digits
            yield f"\n{name}: {bytes(getattr(case, name)).decode()}"
    yield f"compared: {'/'.join(map(str, case.at)) or case.area}, by {case.by}"
