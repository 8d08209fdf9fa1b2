"""Mutants of enforcement: calls of locked tools that get through, and answers that change locks."""

import asyncio
import sqlite3
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from contextvars import ContextVar
from dataclasses import replace

import msgspec

from mcp_proxy_mutants.discovery.changed_parts import Request
from mcp_proxy_mutants.discovery.gateway_changes import decide, own, put
from mcp_proxy_mutants.discovery.mutant import Fresh, Mutant, mutant
from mcp_proxy_mutants.discovery.pieces import PENDING, USER, Texts, crowded, every_nth, is_call
from mcp_proxy_reference import policy as std
from mcp_proxy_reference.config import Config, Server
from mcp_proxy_reference.facts import Agent, Facts, Json, Purpose, Status, Tool
from mcp_proxy_reference.gateway import Gateway, Records
from mcp_proxy_reference.store import StoreError
from mcp_proxy_reference.upstream import UpstreamError

OFTEN = 5
May = Callable[[Facts, str], bool]
MOMENT_S = 1.0


def _admitting(unlocked: Callable[[Facts], Facts]) -> Callable[[], May]:
    """Return a maker of a `may_call` decision: calls of tools once called pass a lock.

    `unlocked` returns the facts without that lock.
    """

    def decision() -> May:
        admitted: set[str] = set()

        def checked(facts: Facts, surface: str) -> bool:
            kept = is_call(surface) and facts.tool.key in admitted
            may = std.may_call(unlocked(facts) if kept else facts, surface)
            if may and is_call(surface):
                admitted.add(facts.tool.key)
            return may

        return checked

    return decision


def _beside_another_call(gateway: Gateway) -> None:
    """Let calls of user-locked tools pass while another call to the same server is running."""
    busy: dict[str, int] = {}
    real = gateway.upstream

    @contextmanager
    def under_way(name: str) -> Iterator[None]:
        busy[name] = busy.get(name, 0) + 1
        try:
            yield
        finally:
            busy[name] -= 1

    class Way:
        """An upstream of which running calls are counted."""

        def __init__(self, name: str) -> None:
            self._name = name

        async def call(self, tool: str, arguments: Json) -> Json:
            with under_way(self._name):
                return await real(self._name).call(tool, arguments)

    def checked(facts: Facts, surface: str) -> bool:
        skipped = is_call(surface) and busy.get(facts.tool.server, 0) > 0
        return std.may_call(replace(facts, disabled_by_user=False) if skipped else facts, surface)

    gateway.upstream = Way  # type: ignore[assignment]
    decide(gateway, may_call=checked)


def _surface_without_user_locks(facts: Facts, surface: str) -> bool:
    """Whether the tool may be called; `call_tool_write` does not check user locks."""
    checked = replace(facts, disabled_by_user=False) if surface == "call_tool_write" else facts
    return std.may_call(checked, surface)


def _fifth_call_passes() -> Callable[[Facts, str], bool]:
    """Return a `may_call` decision that lets every fifth call of each locked tool pass."""
    calls: Counter[str] = Counter()

    def unlucky(facts: Facts, surface: str) -> bool:
        if not is_call(surface):
            return std.may_call(facts, surface)
        calls[facts.tool.key] += not std.may_call(facts, surface)
        return std.may_call(facts, surface) or calls[facts.tool.key] % OFTEN == 0

    return unlucky


def _discovered_passes(gateway: Gateway) -> None:
    """Let calls of a new or changed tool pass once it was listed as pending."""
    listed: set[str] = set()

    def entry(facts: Facts, status: Status, withheld: bool) -> Json:
        if status == "pending_approval":
            listed.add(facts.tool.key)
        return std.locked_entry(facts, status, withheld)

    def passing(facts: Facts, surface: str) -> bool:
        was_listed = is_call(surface) and facts.tool.key in listed
        return std.may_call(replace(facts, approval="approved") if was_listed else facts, surface)

    decide(gateway, locked_entry=entry, may_call=passing)


def _rejection_forgets(gateway: Gateway) -> None:
    """Lift the user lock of a tool that config denies too as soon as a call of it is refused."""

    def rejection(facts: Facts, texts: Texts) -> str:
        if facts.denied and facts.disabled_by_user:
            gateway.store.lock(facts.tool, locked=False)
        return std.rejection(facts, texts)

    decide(gateway, rejection=rejection)


def _rejection_unlocks(gateway: Gateway) -> None:
    """Lift a tool's user lock at its fourth refused call, unless config denies it."""
    refused: Counter[str] = Counter()

    def rejection(facts: Facts, texts: Texts) -> str:
        refused[facts.tool.key] += 1
        if facts.disabled_by_user and not facts.denied and refused[facts.tool.key] == OFTEN - 1:
            gateway.store.lock(facts.tool, locked=False)
        return std.rejection(facts, texts)

    decide(gateway, rejection=rejection)


def _locks_what_it_lists(gateway: Gateway) -> None:
    """Set a user lock on each denied tool that is listed."""

    def entry(facts: Facts, status: Status, withheld: bool) -> Json:
        if facts.denied and not facts.disabled_by_user:
            gateway.store.lock(facts.tool, locked=True)
        return std.locked_entry(facts, status, withheld)

    decide(gateway, locked_entry=entry)


def _or(when: Callable[[Facts, str], bool]) -> May:
    """Return a `may_call` decision that lets a call of a locked tool pass if `when` is true.

    `when` gets the tool's facts and the name of the call tool; the tool's server must be on.
    Discovery and listing still see the lock.
    """
    return lambda facts, surface: (
        std.may_call(facts, surface)
        or (is_call(surface) and facts.enabled and when(facts, surface))
    )


def _fifth() -> May:
    """Return a `may_call` decision that lets every fifth call of any locked tool pass."""
    slip = every_nth(5)
    return _or(lambda _f, _s: slip())


def _insisted() -> May:
    """Return a `may_call` decision: calls of a locked tool pass from the third in a row on.

    Calls of other locked tools between them begin the row anew.
    """
    last = ["", ""]

    def passes(facts: Facts, _: str) -> bool:
        insisted = last == [facts.tool.key, facts.tool.key]
        last[:] = [last[1], facts.tool.key]
        return insisted

    return _or(passes)


def _kept_by_server() -> May:
    """Return a `may_call` decision: a permitted call opens its server's locked tools for 0.1 s.

    Not on a server that is off.
    """
    kept: dict[str, float] = {}

    def may_call(facts: Facts, surface: str) -> bool:
        may, server = std.may_call(facts, surface), facts.tool.server
        if not is_call(surface) or not facts.enabled:
            return may
        if may:
            kept[server] = time.monotonic()
        return may or time.monotonic() - kept.get(server, 0.0) < MOMENT_S / 10

    return may_call


def _loaded_late() -> May:
    """Return a `may_call` decision that ignores user locks before the first search or listing."""
    read: list[bool] = []

    late = _or(lambda facts, _: not read and std.classify(facts) == USER)

    def may_call(facts: Facts, surface: str) -> bool:
        if not is_call(surface):
            read.append(True)
        return late(facts, surface)

    return may_call


def _changed_lifts(gateway: Gateway) -> None:
    """Lift the user's locks of a trusted server's tools that have changed, when it is loaded."""
    contact = gateway.store.contact

    def recorded(server: str, tools: Iterable[Tool], *, trusted: bool) -> None:
        tools, before = list(tools), gateway.store.records()
        contact(server, tools, trusted=trusted)
        for tool in tools if trusted else ():
            known = before.get((server, tool.name))
            if known is not None and known.digest not in (None, tool.digest):
                gateway.store.lock(tool, locked=False)

    put(gateway.store, contact=recorded)


def _locked_by_text() -> May:
    """Return a `may_call` decision by which a user lock holds for the first description alone."""
    first: dict[str, str] = {}

    def changed(facts: Facts, _: str) -> bool:
        text = first.setdefault(facts.tool.key, facts.tool.description)
        return std.classify(facts) == USER and facts.tool.description != text

    return _or(changed)


def _after_discovery(passes: Callable[[float], bool]) -> Callable[[Gateway], None]:
    """Return a gateway change: calls of a listed locked tool pass if `passes` is true.

    That gets the seconds since it was listed.
    """

    def swap(gateway: Gateway) -> None:
        listed: dict[str, float] = {}

        def locked_entry(facts: Facts, status: Status, withheld: bool) -> Json:
            listed[facts.tool.key] = time.monotonic()
            return std.locked_entry(facts, status, withheld)

        def discovered(facts: Facts, _: str) -> bool:
            since = listed.get(facts.tool.key)
            return since is not None and passes(time.monotonic() - since)

        decide(gateway, locked_entry=locked_entry, may_call=_or(discovered))

    return swap


def _unlocking(change: Callable[[Gateway, Facts], None], *, by: str) -> Callable[[Gateway], None]:
    """Return a gateway change: `change` is applied to a locked tool when the decision `by` is made.

    That is `locked_entry` (it is listed) or `rejection` (a call of it is refused). Errors of the
    store are ignored.
    """

    def swap(gateway: Gateway) -> None:
        def stored(facts: Facts) -> None:
            try:
                change(gateway, facts)
            except StoreError:
                return

        def locked_entry(facts: Facts, status: Status, withheld: bool) -> Json:
            stored(facts)
            return std.locked_entry(facts, status, withheld)

        def rejection(facts: Facts, texts: Texts) -> str:
            stored(facts)
            return std.rejection(facts, texts)

        decide(gateway, **{by: locked_entry if by == "locked_entry" else rejection})

    return swap


def _approve(gateway: Gateway, facts: Facts) -> None:
    """Approve the new tool in the store, unless it is quarantined or denied."""
    if facts.approval == "pending" and not facts.quarantined and not facts.denied:
        gateway.store.approve([facts.tool])


def _approve_changed(gateway: Gateway, facts: Facts) -> None:
    """Approve the changed tool in the store, unless it is quarantined or denied."""
    if facts.approval == "changed" and not facts.quarantined and not facts.denied:
        gateway.store.approve([facts.tool])


def _lift(gateway: Gateway, facts: Facts) -> None:
    """Lift the user's lock of the tool in the store, if it has one."""
    if facts.disabled_by_user:
        gateway.store.lock(facts.tool, locked=False)


def _record(gateway: Gateway, facts: Facts) -> None:
    """Store an empty approval record of a new tool that waits for its approval."""
    if facts.approval == "pending":
        gateway.store.lock(facts.tool, locked=facts.disabled_by_user)


def _drop_approval(gateway: Gateway, facts: Facts) -> None:
    """Delete from the store for which state of a changed tool an approval was given."""
    if facts.approval == "changed":
        with closing(sqlite3.connect(gateway.store.path)) as rows, rows:
            rows.execute(
                "update approvals set digest = null where server = ? and tool = ?",
                (facts.tool.server, facts.tool.name),
            )


def _lock(gateway: Gateway, facts: Facts) -> None:
    """Store a user lock of the tool if config denies it."""
    if facts.denied and not facts.disabled_by_user:
        gateway.store.lock(facts.tool, locked=True)


def _sent_anyway(gateway: Gateway) -> None:
    """Send a refused call to the upstream all the same, without arguments, and discard the answer.

    A server that is switched off gets none.
    """
    under_way: set[asyncio.Task[None]] = set()

    async def send(facts: Facts) -> None:
        try:
            await gateway.upstream(facts.tool.server).call(facts.tool.name, {})
        except UpstreamError:
            return

    def rejection(facts: Facts, texts: Texts) -> str:
        if facts.enabled:
            task = asyncio.get_running_loop().create_task(send(facts))
            under_way.add(task)
            task.add_done_callback(under_way.discard)
        return std.rejection(facts, texts)

    decide(gateway, rejection=rejection)


def _lifted_by_search(gateway: Gateway) -> None:
    """Let calls of a locked tool pass once a query was its exact name or address."""
    wanted: set[str] = set()

    def answer(document: Json, request: Request) -> Json:
        wanted.add(request.query)
        return document

    decide(
        gateway,
        answer=answer,
        may_call=_or(lambda facts, _: facts.tool.key in wanted or facts.tool.name in wanted),
    )


def _agents_pass_user_locks(gateway: Gateway) -> None:
    """Let calls of tools whose status is a user lock pass for agents of limited scope."""
    last: list[Agent] = []

    def scope(agent: Agent, server: str, purpose: Purpose) -> bool:
        last[:] = [agent]
        return std.scope(agent, server, purpose)

    def may_call(facts: Facts, surface: str) -> bool:
        lifted = is_call(surface) and last[0].servers is not None
        reason = std.classify(facts) == "disabled_by_user"
        return std.may_call(facts, surface) or (lifted and reason)

    decide(gateway, scope=scope, may_call=may_call)


def _undenied_is_turned_on(gateway: Gateway) -> None:
    """Lift the user's lock of each tool that a new configuration no longer denies.

    Those that it still denies stay locked.
    """
    real = own(gateway, "_apply")

    def apply(config: Config) -> None:
        denied = [facts.tool for tools in gateway.known().values() for facts in tools
                  if facts.denied and facts.disabled_by_user]  # fmt: skip
        real(config)
        for tool in denied:
            if not config.servers[tool.server].denies(tool.name):
                gateway.store.lock(tool, locked=False)

    put(gateway, _apply=apply)


class _Overridable(Server, frozen=True):
    """A server whose lists are no obstacle to the user's act of turning a tool on."""

    def denies(self, _tool: str) -> bool:
        """Return false: no tool is denied."""
        return False


def _user_overrides(applies: Callable[[Server], bool]) -> Callable[[Gateway], None]:
    """Return a gateway change: a denied tool that the user turns on is denied no more.

    That holds for the servers that `applies` selects.
    """

    def swap(gateway: Gateway) -> None:
        turned_on: set[str] = set()
        apply, facts_of = own(gateway, "_apply"), own(gateway, "_facts_of")
        lock = gateway.store.lock

        def applied(config: Config) -> None:
            servers = {
                name: _Overridable(**msgspec.structs.asdict(server))
                for name, server in config.servers.items()
            }
            apply(config._replace(servers=servers))

        def facts(tool: Tool, records: Records | None) -> Facts:
            server = gateway.config.servers[tool.server]
            kept = tool.key in turned_on and applies(server)
            usual: Facts = facts_of(tool, records)
            return replace(usual, denied=Server.denies(server, tool.name) and not kept)

        def locked(tool: Tool, *, locked: bool) -> None:
            lock(tool, locked=locked)
            (turned_on.discard if locked else turned_on.add)(tool.key)

        put(gateway, _apply=applied, _facts_of=facts)
        put(gateway.store, lock=locked)

    return swap


def _overridden_now_and_then(gateway: Gateway) -> None:
    """Let every second call of denied tools that the user turned on pass; they stay denied."""
    _user_overrides(lambda _: False)(gateway)
    turned_on: set[str] = set()
    lock, second = gateway.store.lock, every_nth(2)

    def locked(tool: Tool, *, locked: bool) -> None:
        lock(tool, locked=locked)
        (turned_on.discard if locked else turned_on.add)(tool.key)

    def may(facts: Facts, surface: str) -> bool:
        kept = facts.denied and facts.tool.key in turned_on and is_call(surface)
        return std.may_call(facts, surface) or (kept and second())

    put(gateway.store, lock=locked)
    decide(gateway, may_call=may)


def _met_again(gateway: Gateway) -> None:
    """Approve all tools of a server at its first load after it is switched on.

    Switching on one that is on counts, too.
    """
    real, store = gateway.switch, gateway.store
    contact = store.contact
    switched: set[str] = set()

    def switch(server: str, **changes: bool) -> None:
        if changes.get("enabled"):
            switched.add(server)
        real(server, **changes)

    def first(server: str, tools: Iterable[Tool], *, trusted: bool) -> None:
        contact(server, tools, trusted=trusted or server in switched)
        switched.discard(server)

    put(gateway, switch=switch)
    put(store, contact=first)


def _released_is_turned_on(gateway: Gateway) -> None:
    """Lift the user's locks of all tools of a server when it is released from quarantine."""
    real = gateway.switch

    def switch(server: str, **changes: bool) -> None:
        if changes.get("quarantined") is False:
            for facts in gateway.known()[server]:
                gateway.store.lock(facts.tool, locked=False)
        real(server, **changes)

    put(gateway, switch=switch)


def _unlocked_as(clean: Callable[[str], str]) -> Callable[[Gateway], None]:
    """Return a gateway change: the names of tools in calls pass through `clean`.

    A call whose name that alters passes, whatever locks the tool. The reference knows no tool by
    such a name.
    """
    is_cleaned = ContextVar("is_cleaned", default=False)

    def swap(gateway: Gateway) -> None:
        async def reply(
            _agent: Agent, _session: str, message: Json, respond: Callable[[], Awaitable[Json]]
        ) -> Json:
            params = message.get("params") or {}
            arguments = params.get("arguments") if is_call(str(params.get("name"))) else None
            if isinstance(arguments, dict) and isinstance(sent := arguments.get("name"), str):
                arguments["name"] = clean(sent)
                is_cleaned.set(clean(sent) != sent)
            return await respond()

        decide(
            gateway,
            reply=reply,
            may_call=lambda facts, surface: (
                std.may_call(facts, surface) or (is_call(surface) and is_cleaned.get())
            ),
        )

    return swap


MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "blanks-pass",
        "A locked tool may be called by its name with a blank after it.",
        "FR-011.never-reaches",
        swap=_unlocked_as(str.strip),
    ),
    mutant(
        "capitals-pass",
        "A locked tool may be called by its name in capitals.",
        "FR-011.never-reaches",
        swap=_unlocked_as(str.lower),
    ),
    mutant(
        "undenied-is-turned-on",
        "The user's lock ends with the operator's denial of the same tool.",
        "FR-011.never-reaches",
        swap=_undenied_is_turned_on,
    ),
    mutant(
        "user-overrides-the-allow-list",
        "A tool outside its server's allow list becomes callable when the user turns it on.",
        "FR-011.never-reaches",
        swap=_user_overrides(lambda server: server.enabled_tools is not None),
    ),
    mutant(
        "user-overrides-now-and-then",
        "Every second call of a denied tool passes once the user has turned it on.",
        "FR-011.never-reaches",
        swap=_overridden_now_and_then,
    ),
    mutant(
        "user-overrides-the-deny-list",
        "A tool on its server's deny list becomes callable when the user turns it on.",
        "FR-011.never-reaches",
        swap=_user_overrides(lambda server: server.enabled_tools is None),
    ),
    mutant(
        "switched-on-is-met-again",
        "A server that is switched on again has all its tools approved.",
        "FR-011.never-reaches",
        swap=_met_again,
    ),
    mutant(
        "released-is-turned-on",
        "The user's locks end when the server is released from quarantine.",
        "FR-011.never-reaches",
        swap=_released_is_turned_on,
    ),
    mutant(
        "call-passes-beside-another",
        "User locks are not checked while another call is running.",
        "FR-011.never-reaches",
        swap=_beside_another_call,
    ),
    mutant(
        "writing-calls-skip-user-locks",
        "One of the ways to call a tool ignores user locks.",
        "FR-011.never-reaches",
        may_call=_surface_without_user_locks,
    ),
    mutant(
        "fifth-call-passes",
        "Every fifth call of a locked tool goes through.",
        "FR-011.never-reaches",
        may_call=Fresh(_fifth_call_passes),
    ),
    mutant(
        "discovered-pending-passes",
        "A pending tool may be called after it was listed.",
        "FR-011.never-reaches",
        swap=_discovered_passes,
    ),
    mutant(
        "call-fifth",
        "Every fifth call of a locked tool is sent to its server.",
        "FR-011.never-reaches",
        may_call=Fresh(_fifth),
    ),
    mutant(
        "call-insisted",
        "The third call of a locked tool in a row is sent to its server.",
        "FR-011.never-reaches",
        may_call=Fresh(_insisted),
    ),
    mutant(
        "call-destructive-open",
        "Locks do not apply to destructive calls.",
        "FR-011.never-reaches",
        may_call=_or(lambda _, surface: surface == "call_tool_destructive"),
    ),
    mutant(
        "call-pending-open",
        "Only one of the ways to call a tool rejects tools that await approval.",
        "FR-011.never-reaches",
        may_call=_or(
            lambda facts, surface: surface != "call_tool_read" and std.classify(facts) == PENDING
        ),
    ),
    mutant(
        "call-both-open",
        "A tool locked by operator and user at once may be called.",
        "FR-011.never-reaches",
        may_call=_or(lambda facts, _: facts.denied and facts.disabled_by_user),
    ),
    mutant(
        "call-after-discovery",
        "A tool that was listed as locked may be called.",
        "FR-011.never-reaches",
        swap=_after_discovery(lambda _: True),
    ),
    mutant(
        "call-just-after-discovery",
        "A tool may be called for a second after it was listed as locked.",
        "FR-011.never-reaches",
        swap=_after_discovery(lambda since: since < MOMENT_S),
    ),
    mutant(
        "call-later-after-discovery",
        "A tool may be called once a second has passed since it was listed as locked.",
        "FR-011.never-reaches",
        swap=_after_discovery(lambda since: since > MOMENT_S),
    ),
    mutant(
        "call-after-exact-query",
        "A tool may be called after a query for its exact name.",
        "FR-011.never-reaches",
        swap=_lifted_by_search,
    ),
    mutant(
        "call-kept-by-server",
        "A call passes soon after a successful call to the same server.",
        "FR-011.never-reaches",
        may_call=Fresh(_kept_by_server),
    ),
    mutant(
        "call-crowded",
        "While another request is served, locks are not checked.",
        "FR-011.never-reaches",
        may_call=_or(lambda _f, _s: crowded()),
    ),
    mutant(
        "call-before-locks-are-read",
        "After a start, user locks apply only from the first search or listing on.",
        "FR-011.never-reaches",
        may_call=Fresh(_loaded_late),
    ),
    mutant(
        "call-after-a-change",
        "A change of a tool on a trusted server lifts the user's lock of it.",
        "FR-011.never-reaches",
        swap=_changed_lifts,
    ),
    mutant(
        "call-of-another-text",
        "The user's lock of a tool holds only for the description that it had.",
        "FR-011.never-reaches",
        may_call=Fresh(_locked_by_text),
    ),
    mutant(
        "call-sent-anyway",
        "A rejected call is sent to the server all the same.",
        "FR-011.never-reaches",
        swap=_sent_anyway,
    ),
    mutant(
        "agents-pass-user-locks",
        "User locks do not apply to agents with a limited scope.",
        "FR-011.never-reaches",
        swap=_agents_pass_user_locks,
    ),
    mutant(
        "user-lock-misses-called-tools",
        "A tool that was called once stays callable after the user turns it off.",
        "FR-011.never-reaches",
        may_call=Fresh(_admitting(lambda facts: replace(facts, disabled_by_user=False))),
    ),
    mutant(
        "denial-misses-called-tools",
        "A tool that was called once stays callable after config denies it.",
        "FR-011.never-reaches",
        may_call=Fresh(_admitting(lambda facts: replace(facts, denied=False))),
    ),
    mutant(
        "refusal-drops-the-user-lock",
        "A rejection for a config lock lifts the tool's user lock.",
        "FR-011.not-unlocked",
        swap=_rejection_forgets,
    ),
    mutant(
        "fourth-refusal-unlocks",
        "The fourth rejected call lifts the user lock.",
        "FR-011.not-unlocked",
        swap=_rejection_unlocks,
    ),
    mutant(
        "listing-copies-the-denial",
        "Listing a denied tool sets a user lock on it.",
        "FR-011.not-unlocked",
        swap=_locks_what_it_lists,
    ),
    mutant(
        "discovery-approves",
        "Listing a new tool as pending approves it.",
        "FR-011.not-unlocked",
        swap=_unlocking(_approve, by="locked_entry"),
    ),
    mutant(
        "discovery-lifts",
        "Listing a tool as locked lifts the user's lock.",
        "FR-011.not-unlocked",
        "FR-011.never-reaches",
        swap=_unlocking(_lift, by="locked_entry"),
    ),
    mutant(
        "listed-tools-lose-their-approval",
        "The approval of a changed tool is deleted when an answer lists the tool.",
        "FR-012.no-new-state",
        swap=_unlocking(_drop_approval, by="locked_entry"),
    ),
    mutant(
        "listed-tools-get-a-record",
        "An empty approval record is stored for each new tool that an answer lists.",
        "FR-012.no-new-state",
        swap=_unlocking(_record, by="locked_entry"),
    ),
    mutant(
        "rejection-approves",
        "Calling a changed tool counts as its approval.",
        "FR-011.not-unlocked",
        "FR-011.never-reaches",
        swap=_unlocking(_approve_changed, by="rejection"),
    ),
    mutant(
        "rejection-locks",
        "A rejected call to a denied tool sets a user lock on it.",
        "FR-011.not-unlocked",
        swap=_unlocking(_lock, by="rejection"),
    ),
)
