"""Kinds of faulty servers that make a loader hang or break off; no more loads of them are tried."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection

from mcp_proxy_conformance.resilience.load_case import CONTROL_DOWN, Behaviour, LoadCase, LoadServer
from mcp_proxy_conformance.resilience.loader import Loaded
from mcp_proxy_conformance.resilience.walk import TRANSIENT, signal_of
from mcp_proxy_conformance.upstream.faults import FaultServers

MANY = 4
"""Kinds of one group that stop a loader count as all of it, and so many groups as all groups."""
ANSWERS_AT_ONCE = frozenset({
    "healthy", "stream", "set_cookie", "session", "status", "redirect", "jsonrpc_error", "result",
    "reset", "close", "refused", "refused_at_first", "malformed", "guarded", "refuses", "exits",
})  # fmt: skip
"""Behaviours after which there is nothing to wait for, provided that the connection ends."""
Kind = tuple[object, ...]
HEALTHY: Kind = ("healthy",)
WELL = ("healthy", "stream", "set_cookie", "session", "guarded")
"""Words of behaviours that give the right answer at once."""
WAITS = "waits"
ANSWERED = ("I4.bounded", "I1.isolated")
"""The clauses by which every load must be answered."""
SEE = " and ".join(ANSWERED)


def kind_of(behaviour: Behaviour) -> Kind:
    """Return the kind of a behaviour: a loader that stops at one of a kind is taken to stop at all.

    It is the behaviour without its times and bodies; right answers but streams are HEALTHY.
    """
    if behaviour.do in WELL and behaviour.do != "stream":
        return HEALTHY
    return behaviour.do, behaviour.on, behaviour.where, behaviour.by, behaviour.code


def reached(server: LoadServer, most: int, first: int = 1) -> list[Behaviour]:
    """Return the behaviours of attempts that a loader may make, up to one that must be the last.

    `most` bounds the attempts, of which the script has the `first` one in this place.
    """
    met: list[Behaviour] = []
    for number in range(first, first + most):
        met.append(server.behaviour(number))
        if not signal_of(met[-1], server.timeout_s).classes & TRANSIENT:
            break
    return met


class Stoppers:
    """The kinds of servers on which a loader is known to stop: its loads hang, or break off.

    It is learned from loads that were not answered, and then no other load of it is waited for.
    """

    def __init__(self) -> None:
        """Know nothing yet."""
        self._lock = threading.Lock()
        self._kinds: dict[Kind, str] = {}

    def learn(
        self, case: LoadCase, servers: FaultServers, loaded: Loaded, waiting: Collection[str]
    ) -> None:
        """Remember the kinds of an unanswered load's failing servers, and how the load ended.

        Of several failing servers they are those that the loader was `waiting` for if it hung; none
        if it broke off. Of a load without any, the kind is that of the failing control server or,
        without controls, of healthy servers.
        """
        failing = [
            server
            for server in case.servers()
            if server.server_id != CONTROL_DOWN.server_id
            and any(kind_of(behaviour) != HEALTHY for behaviour in server.script)
        ]
        latest = {
            each.server_id: kind_of(each.behaviour(max(1, servers.attempts(each.server_id) or 1)))
            for each in failing
        }
        kinds = [*latest.values()]
        if not failing:
            kinds = [kind_of(CONTROL_DOWN.script[0]) if case.given.controls else HEALTHY]
        elif len(failing) > 1:
            hung = waiting if loaded.hung else ()
            kinds = [
                kind for name, kind in latest.items() if name in hung and _group(kind) == WAITS
            ]
        with self._lock:
            for kind in kinds:
                self._kinds.setdefault(kind, "hangs" if loaded.hung else "breaks off")

    @property
    def known(self) -> bool:
        """Whether anything is known to stop the loader."""
        with self._lock:
            return bool(self._kinds)

    def foretell(self, case: LoadCase) -> str:
        """Return a sentence on why a load of this case would stop the loader; "" if none is known.

        A kind of server that was not tried is judged by those that were, but not in a case about
        I4.bounded.
        """
        for server in case.servers():
            for behaviour in reached(server, case.given.max_attempts):
                kind = kind_of(behaviour)
                if ends := self._ends_at(kind, alike=case.clauses[:1] != ("I4.bounded",)):
                    return ends
        return ""

    def _ends_at(self, kind: Kind, *, alike: bool) -> str:
        """Return a sentence on how a load of a server of this kind ends; "" if it is not known.

        If healthy servers stop the loader, every kind does. `alike`: whether a kind that was
        not tried is taken to stop it once four kinds of its group, or kinds of four groups, do.
        """
        with self._lock:
            known = dict(self._kinds)
        if not known or (kind == HEALTHY and HEALTHY not in known):
            return ""
        if HEALTHY in known:
            return f"the loader {known[HEALTHY]} even on healthy servers; see {SEE}"
        if kind in known:
            return f"the loader {known[kind]} on such a server ({_words(kind)}); see {SEE}"
        groups = Counter(map(_group, known))
        if alike and (len(groups) >= MANY or groups[_group(kind)] >= MANY):
            others = ", ".join(sorted({_words(other) for other in known})[:MANY])
            return f"not tried, because the loader does not get over {others}; see {SEE}"
        return ""


def _words(kind: Kind) -> str:
    """Return a kind as text: its behaviour, its code, and the request that it answers.

    What else a kind has, where and by what an answer is cut off, is left out; so is a missing
    code.
    """
    word, on, _where, _by, code = kind
    return " ".join(str(part) for part in (word, code, "on", on) if part is not None)


def may_wait(behaviour: Behaviour) -> bool:
    """Whether a loader may have to wait for the timeout at this behaviour."""
    return _group(kind_of(behaviour)) == WAITS


def _group(kind: Kind) -> str:
    """Return the group of a kind: `waits` if it may keep a loader waiting, else its behaviour."""
    word, *_, by, _code = kind if kind != HEALTHY else ("healthy", None, None)
    at_once = word in ANSWERS_AT_ONCE and by not in ("silence", "drip")
    return str(word) if at_once else WAITS


def waits_at(servers: FaultServers, case: LoadCase, waiting: Collection[str]) -> str:
    """Return at which servers of a hung load the loader waits, and for which answer, in words.

    Only servers that are not healthy, and if any of these are `waiting`, only such; in a case
    without servers, the controls.
    """
    own = [each for each in case.given.servers or case.servers() if not is_healthy(each)]
    own = [each for each in own if each.server_id in waiting] or own
    places = [_place(servers, server) for server in own]
    return "; ".join(places) or "all of its servers are healthy"


def is_healthy(server: LoadServer) -> bool:
    """Whether the server gives the right answer in every attempt; a stream does not count so."""
    return all(kind_of(behaviour) == HEALTHY for behaviour in server.script)


def _place(servers: FaultServers, server: LoadServer) -> str:
    """Return where a failing server's last request that was not answered rightly was, in words.

    Without such a request it is its last one; without any, that it got none.
    """
    name, log = server.server_id, servers.log(server.server_id)
    if not log:
        return f"{name} ({server.script[0].do}) got no request"
    last = next((seen for seen in reversed(log) if seen.played not in WELL), log[-1])
    asked = last.method or last.verb or "a connection"
    return f"{name} was last asked for {asked}, in attempt {last.attempt} ({last.played})"
