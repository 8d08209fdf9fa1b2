"""Loaders with a base fault that shows only at servers with certain values of the space."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from mcp_proxy_mutants.fresh import Fresh
from mcp_proxy_mutants.resilience.changed import ChangedLoad
from mcp_proxy_reference import loader as std
from mcp_proxy_reference.facts import Json

Triggered = Callable[[str], bool]
"""Whether a server of this id has the values of the trigger."""
FAILS = ("503", "reset", "404", "403")
"""Events at which the faults about failed servers show."""


@dataclass(frozen=True, slots=True)
class Base:
    """A base fault: `make` returns what it changes in a loader, for servers that are triggered.

    `shows` are values of which a server needs one set for the fault to be one.
    """

    name: str
    make: Callable[[Triggered], Mapping[str, Any]]
    shows: tuple[Mapping[str, str], ...] = ({},)

    def loader(self, triggered: Triggered) -> ChangedLoad:
        """Return the loader that has the fault at the servers that are triggered."""
        change = dict(self.make(triggered))
        edit = change.pop("edit", None)
        return ChangedLoad(id=self.name, text=self.name, edit=edit, change=change)


def _edited(change: Callable[[Json], Json], when: Callable[[Json], bool] = lambda _: True) -> Any:
    """Return a base fault's `make`: outcomes of triggered servers pass through `change`."""

    def make(triggered: Triggered) -> Mapping[str, Any]:
        def edit(answer: Json, _: Json) -> Json:
            outcomes = [
                change(each) if triggered(each["server_id"]) and when(each) else each
                for each in answer["outcomes"]
            ]
            return answer | {"outcomes": [each for each in outcomes if each]}

        return {"edit": edit}

    return make


def _is_well(outcome: Json) -> bool:
    return bool(outcome["status"] == "available")


def _is_lost(outcome: Json) -> bool:
    return not _is_well(outcome)


def _twice(triggered: Triggered) -> Mapping[str, Any]:
    """Make each attempt at a triggered server two."""

    async def attempt(connection: std.Connection, connect: std.Connect) -> Any:
        if triggered(connection.server_id):
            with suppress(std.Signal, TimeoutError):
                _, session = await std.attempt(connection, connect)
                await session.close()
        return await std.attempt(connection, connect)

    return {"attempt": attempt}


def _raises(triggered: Triggered) -> Mapping[str, Any]:
    """Let a triggered server break the whole load."""

    async def attempt(connection: std.Connection, connect: std.Connect) -> Any:
        if triggered(connection.server_id):
            raise RuntimeError("a server that the loader does not expect")
        return await std.attempt(connection, connect)

    return {"attempt": attempt}


def _remembers(triggered: Triggered) -> Mapping[str, Any]:
    """Answer for a triggered server from the first load of a process."""

    def make() -> Any:
        kept: dict[str, Json] = {}

        def edit(answer: Json, _: Json) -> Json:
            return answer | {"outcomes": [
                kept.setdefault(each["server_id"], each) if triggered(each["server_id"]) else each
                for each in answer["outcomes"]
            ]}  # fmt: skip

        return edit

    return {"edit": Fresh(make)}


FAILED = tuple({"event": event} for event in FAILS)
WELL = ({"event": "healthy"},)
BASES = (
    Base("told-as-failed", _edited(
        lambda o: o | {"status": "transient", "tools": [], "error": "It failed."}, _is_well), WELL),
    Base("told-as-available", _edited(
        lambda o: o | {"status": "available", "error": None}, _is_lost), FAILED),
    Base("another-class", _edited(lambda o: o | {"status": {
        "transient": "permanent", "permanent": "denied", "denied": "transient"}[o["status"]]},
        _is_lost), FAILED),
    Base("loses-a-tool", _edited(lambda o: o | {"tools": o["tools"][:-1]}, _is_well),
         ({"event": "healthy", "listing": "one"}, {"event": "healthy", "listing": "pages"},
          {"event": "healthy", "listing": "many"}, {"event": "healthy", "listing": "signs"})),
    Base("adds-a-tool", _edited(lambda o: o | {"tools": [*o["tools"], "strange"]}, _is_well), WELL),
    Base("keeps-a-tool", _edited(lambda o: o | {"tools": ["kept"]}, _is_lost), FAILED),
    Base("no-error", _edited(lambda o: o | {"error": None}, _is_lost), FAILED),
    Base("an-error", _edited(lambda o: o | {"error": "It is well."}, _is_well), WELL),
    Base("claims-more", _edited(lambda o: o | {"attempts": o["attempts"] + 2}), (*WELL, *FAILED)),
    Base("loses-an-outcome", _edited(lambda _: {})),
    Base("tries-twice", _twice, (*WELL, *FAILED)),
    Base("breaks-off", _raises),
    Base("remembers", _remembers,
         tuple({"event": event, "history": history} for event in FAILS
               for history in ("second", "third", "sixth"))),
)  # fmt: skip
