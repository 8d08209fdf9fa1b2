"""`ChangedLoad`, a loader that differs from the reference's in one respect: mutant or variant."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mcp_proxy_mutants.fresh import Fresh, fresh
from mcp_proxy_reference.facts import Json
from mcp_proxy_reference.load import loaded
from mcp_proxy_reference.loader import LoadPolicy

Tell = Callable[[Json, Json], Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedLoad:
    """A changed loader: an id, a sentence on its behaviour, and what is changed in it.

    `change` replaces members of `LoadPolicy`; `tell` turns the usual answer and the request into
    the answer when a load is over. Declarations: `signatures`, texts that mark a 403 as a timeout,
    and `tool_prefix`, which precedes the names of tools.
    """

    id: str
    text: str
    change: Mapping[str, Any] = field(default_factory=dict)
    tell: Tell | Fresh | None = None
    signatures: tuple[str, ...] = ()
    tool_prefix: str = ""

    def start(self) -> Callable[[Json], Awaitable[Json]]:
        """Return an async function that answers one load request, with the changes.

        State of a `Fresh` change is created here, and lasts from load to load.
        """
        policy = replace(LoadPolicy(), **fresh(self.change))
        tell: Tell | None = fresh({"tell": self.tell})["tell"]

        async def load(request: Json) -> Json:
            """Make the requested load and return its answer, changed by `tell` if there is one."""
            answer = await loaded(request, policy)
            return tell(answer, request) if tell is not None else answer

        return load
