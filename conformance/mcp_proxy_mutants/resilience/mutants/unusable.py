"""Loader mutants for malformed connections: another server is asked, or they count as transient."""

from dataclasses import replace

from mcp_proxy_mutants.resilience.mutant import Fresh, LoadMutant, load_mutant
from mcp_proxy_mutants.resilience.pieces import Attempt, meaning
from mcp_proxy_reference import loader as std
from mcp_proxy_reference.loader import Connect, Connection, Json, Session, Signal


def _anything(connection: Connection) -> bool:
    """Return true: every connection is usable."""
    del connection
    return True


def _last_url() -> Attempt:
    """Return a hook `attempt` that sends an unusable connection's requests to the last usable URL.

    Before there is one, it raises Signal `configuration`.
    """
    last: dict[str, str] = {}

    async def attempt(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
        if std.usable(connection):
            last["url"] = connection.url or last.get("url", "")
            return await std.attempt(connection, connect)
        if not last.get("url"):
            raise Signal("configuration")
        return await std.attempt(replace(connection, url=last["url"]), connect)

    return attempt


def _sent_to_others() -> Attempt:
    """Return a hook `attempt` that, for an unusable connection, loads the last usable URL's server.

    The unusable one still fails, as Signal `configuration`.
    """
    last_url = _last_url()

    async def attempt(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
        if std.usable(connection):
            return await last_url(connection, connect)
        _, session = await last_url(connection, connect)
        await session.close()
        raise Signal("configuration")

    return attempt


async def _or_reset(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
    """Attempt as usual; without URL and command raise Signal `reset` (transient)."""
    if not (connection.url or connection.command):
        raise Signal("reset")
    return await std.attempt(connection, connect)


async def _or_cut(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
    """Attempt as usual; for an unusable connection raise Signal `reset` (transient)."""
    if not std.usable(connection):
        raise Signal("reset")
    return await std.attempt(connection, connect)


MUTANTS: tuple[LoadMutant, ...] = (
    load_mutant("unusable-takes-the-last-url",
                "A malformed connection is tried at the URL of the previous server.",
                "P4.no-traffic", "P4.malformed", usable=_anything, attempt=Fresh(_last_url)),
    load_mutant("unusable-is-asked-of-others",
                "For a malformed connection, another server is contacted.",
                "P4.no-traffic", usable=_anything, attempt=Fresh(_sent_to_others)),
    load_mutant("no-host-is-an-unknown-name",
                "A URL without a host is tried, and its failure is transient.",
                "P4.malformed", usable=lambda connection: bool(connection.url),
                meaning=meaning("transient", "configuration", "dns", "refused", "reset")),
    load_mutant("no-url-may-pass", "A connection without a URL is reported as transient.",
                "P4.malformed",
                usable=lambda connection: bool(connection.command) or not connection.url
                or std.usable(connection),
                attempt=_or_reset),
    load_mutant("unusable-by-the-letter",
                "Of URLs without a host, only `http://` is recognized as malformed.",
                "P4.malformed",
                usable=lambda connection: connection.url not in (None, "http://")
                or bool(connection.command), attempt=_or_cut),
    load_mutant("hosts-are-not-looked-at",
                "Any text is accepted as a URL, and its failure is transient.",
                "P4.malformed",
                heard=lambda signal, connection, _: Signal("reset") if not std.usable(connection)
                else signal,
                usable=lambda connection: connection.url is not None or bool(connection.command)),
)  # fmt: skip
