"""Loader mutants in which one server's failure ends the whole load or hides the other outcomes."""

from collections.abc import Callable

from mcp_proxy_mutants.resilience.mutant import LoadMutant, load_mutant
from mcp_proxy_mutants.resilience.pieces import Ear, together, wrapping
from mcp_proxy_reference import loader as std
from mcp_proxy_reference.facts import Json
from mcp_proxy_reference.loader import Connection, Outcome, Signal


def _thrown(kind: str) -> Callable[[Signal, Connection, int], Signal]:
    """Return a hook `heard` that raises RuntimeError at this kind of signal: the load ends."""

    def heard(signal: Signal, connection: Connection, _attempts: int) -> Signal:
        if signal.kind == kind:
            raise RuntimeError(f"{connection.server_id} failed")
        return signal

    return heard


class _Named(Ear):
    """A session that reads the names of the tools of each page, and throws if it can't."""

    async def request(self, method: str, params: Json) -> Json:
        """Return the result; raise KeyError or TypeError if a listed tool has no name."""
        result = await super().request(method, params)
        for tool in result["tools"] if method == "tools/list" else ():
            tool["name"].lower()
        return result


def _usable(connection: Connection) -> bool:
    """Whether the loader may use the connection.

    Raise KeyError if it has neither URL nor command.
    """
    if not (connection.url or connection.command):
        raise KeyError("url")
    return std.usable(connection)


def _thrown_by_two(outcomes: list[Outcome]) -> list[Outcome]:
    """Return the outcomes; raise RuntimeError if two servers failed with the same status."""
    failed = [outcome.status for outcome in outcomes if outcome.status != "available"]
    if len({*failed}) < len(failed):
        raise RuntimeError("several servers failed")
    return outcomes


def _without_well(answer: Json, _request: Json) -> Json:
    """Return the answer without the outcomes of available servers.

    Unchanged if no server failed.
    """
    failed = [outcome for outcome in answer["outcomes"] if outcome["status"] != "available"]
    return answer | {"outcomes": failed or answer["outcomes"]}


MUTANTS: tuple[LoadMutant, ...] = (
    load_mutant("throws-at-denials", "A denial is thrown, and ends the whole load.",
                "I1.isolated", heard=_thrown("denied")),
    load_mutant("throws-at-cuts", "A cut connection is thrown, and ends the whole load.",
                "I1.isolated", heard=_thrown("reset")),
    load_mutant("throws-at-malformed-connections",
                "A connection without a URL is thrown, and ends the whole load.",
                "I1.isolated", usable=_usable),
    load_mutant("throws-at-tools-without-a-name",
                "A tool without a name is thrown, and ends the whole load.",
                "I1.isolated", attempt=wrapping(_Named)),
    load_mutant("throws-at-two-failures", "Two servers that fail alike end the whole load.",
                "I1.isolated", together=together(_thrown_by_two)),
    load_mutant("failures-replace-the-rest", "If a server fails, only failures have outcomes.",
                "O1.one-each", "I1.isolated", edit=_without_well),
)  # fmt: skip
