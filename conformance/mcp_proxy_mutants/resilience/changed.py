"""`ChangedLoad`, a loader that differs from the reference's in one respect: mutant or variant."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mcp_proxy_mutants.fresh import Fresh, fresh
from mcp_proxy_reference.facts import Json
from mcp_proxy_reference.load import loaded
from mcp_proxy_reference.loader import LoadPolicy

Edit = Callable[[Json, Json], Json]
"""Changes a load's whole answer: called with (answer, request), it returns the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedLoad:
    """A changed loader: an id, a sentence on its behaviour, and what is changed in it.

    `change` replaces members of `LoadPolicy`; `edit` turns the usual answer and the request into
    the answer when a load is over. Declarations: `signatures`, texts that mark a 403 as a timeout,
    and `tool_prefix`, which precedes the names of tools.
    """

    id: str
    text: str
    change: Mapping[str, Any] = field(default_factory=dict)
    edit: Edit | Fresh | None = None
    signatures: tuple[str, ...] = ()
    tool_prefix: str = ""

    def start(self) -> Callable[[Json], Awaitable[Json]]:
        """Return an async function that answers one load request, with the changes.

        State of a `Fresh` change is created here, and lasts from load to load.
        """
        policy = replace(LoadPolicy(), **fresh(self.change))
        edit: Edit | None = fresh({"edit": self.edit})["edit"]

        async def load(request: Json) -> Json:
            answer = await loaded(request, policy)
            return edit(answer, request) if edit is not None else answer

        return load
