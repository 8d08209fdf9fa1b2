"""A loader that is like the reference's but for one thing: a fault, or a fair other reading."""

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
    """A changed loader: `id`, and one sentence on what it does.

    `change` replaces members of `LoadPolicy`; `tell` makes the answer, of the answer that is due
    and of what was asked, when a load is over. What it declares: `signatures`, texts that mark a
    403 as a timeout, and `tool_prefix`, what stands before the names of tools.
    """

    id: str
    text: str
    change: Mapping[str, Any] = field(default_factory=dict)
    tell: Tell | Fresh | None = None
    signatures: tuple[str, ...] = ()
    tool_prefix: str = ""

    def start(self) -> Callable[[Json], Awaitable[Json]]:
        """A loader that is started now, to be asked for one load after the other."""
        policy = replace(LoadPolicy(), **fresh(self.change))
        tell: Tell | None = fresh({"tell": self.tell})["tell"]

        async def load(asked: Json) -> Json:
            told = await loaded(asked, policy)
            return tell(told, asked) if tell is not None else told

        return load
