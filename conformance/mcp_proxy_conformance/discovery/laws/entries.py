"""Laws of locked entries and the remediation map: members, names, texts, withheld texts."""

from __future__ import annotations

import json
from collections.abc import Iterator

from mcp_proxy_conformance.catalogue.world import ToolKey, ToolState
from mcp_proxy_conformance.discovery.answer import Entry
from mcp_proxy_conformance.discovery.bench import ABSENT
from mcp_proxy_conformance.discovery.contents import (
    advice,
    has_lines,
    masked,
    other_maps,
    remedies,
    repeated,
    schemas,
)
from mcp_proxy_conformance.discovery.laws.look import DiscoveryExchange, Findings, Look
from mcp_proxy_conformance.discovery.oracle import UNKNOWN, is_hidden
from mcp_proxy_conformance.discovery.remediation import judge

MEMBERS = ("name", "server", "description", "status")
LONG = 1000
POLICY, USERS = "disabled_by_config", ("disabled_by_user", "pending_approval")
PURE = "disabled_by_config alone"
VOUCHED = (ToolState(config=True), ToolState(user=True), ToolState(config=True, user=True))
"""The locks under which a tool's text remains vouched for."""


def members(look: Look, findings: Findings) -> None:
    """Law: under locks by config or user an entry has four strings, no schema and no remedy.

    The strings are name, server, description and status. Only tools of proven locks are judged.
    """
    for exchange, entry, key in _entries(look):
        if look.bench.states[key] in VOUCHED:
            faults = [f"no text in {m}" for m in MEMBERS
                      if not isinstance(entry.members.get(m), str)]  # fmt: skip
            faults += [f"a schema in {name}" for name in schemas(entry.members)]
            faults += [f"a remediation in {name}" for name in remedies(entry.members)]
            findings.truth(
                ["FR-003.members"], exchange.request, faults, holds=not faults,
                wanted=", ".join(MEMBERS), topic=f"members of {key}",
            )  # fmt: skip


def names(look: Look, findings: Findings) -> None:
    """Law: a locked entry's name has a callable entry's form or is bare; its server is right.

    The server is judged of tools whose name no other server has.
    """
    shown = look.bench.armed.entries.values()
    forms = {"{tool}", *map(_form, shown)}
    known = {entry.name for entry in shown} | {
        form.replace("{tool}", key.tool).replace("{server}", key.server)
        for form in forms
        for key in look.bench.tools
    }
    for exchange in look.every(True):
        odd = sorted({entry.name for entry in exchange.answer.disabled} - known)
        findings.truth(
            ["FR-003.name"], exchange.request, odd, holds=not odd, wanted="",
            counts=bool(exchange.answer.disabled and shown), topic="names",
        )  # fmt: skip
    for exchange, entry, key in _entries(look):
        if look.is_own(key):
            server = entry.members.get("server")
            findings.truth(["FR-003.server"], exchange.request, server, holds=server == key.server,
                           wanted=key.server, topic=f"server of {key}")  # fmt: skip


def descriptions(look: Look, findings: Findings) -> None:
    """Law: under locks by config or user an entry's description is that of the callable tool.

    Only texts of one line and at most 1000 letters count. Under quarantine alone an entry has
    neither description nor schema.
    """
    armed = look.bench.armed
    for exchange, entry, key in _entries(look):
        state, own = look.bench.states[key], armed.entries.get(key)
        text = look.bench.tools[key].description
        plain = len(text) <= LONG and not has_lines(text)
        if state in VOUCHED and own and own.description and plain:
            findings.truth(
                ["FR-003.description"], exchange.request, entry.description,
                holds=entry.description == own.description,
                wanted=json.dumps(own.description, ensure_ascii=False),
                topic=f"description of {key}",
            )  # fmt: skip
        if state == ToolState(quarantined=True):
            exposed = {m: entry.members.get(m) for m in ("description", *schemas(entry.members))}
            exposed = {
                name: value for name, value in exposed.items() if value and str(value).strip()
            }
            findings.truth(["FR-003.withheld"], exchange.request, exposed, holds=not exposed,
                           wanted="", topic=f"entry of {key}")  # fmt: skip


def canaries(look: Look, findings: Findings) -> None:
    """Law: no answer, flagged or not, contains a canary of a text that is not vouched for.

    A canary is a word planted in an unapproved or quarantined text. Judged are tools of proven
    locks whose name no other server has.
    """
    planted = {word: key for key in look.proven
               if look.is_own(key) and is_hidden(look.bench.states[key])
               for word in look.bench.tools[key].canaries}  # fmt: skip
    for exchange in (*look.every(True), *look.every(ABSENT)) if planted else ():
        text = exchange.answer.text_without_echo()
        leaked = sorted(word for word in planted if word in text)
        among = ["FR-003.withheld"] if leaked and _in_entries(exchange, leaked) else []
        findings.truth(["FR-003.canary", *among], exchange.request, leaked, holds=not leaked,
                       counts=look.is_alive, wanted="",
                       shows=["FR-003.canary"])  # fmt: skip


def texts_of_map(look: Look, findings: Findings) -> None:
    """Law: each text of the remediation map is not blank, fits its status, is not in an entry.

    There is no second map, and no entry has a text that tells the user what to do.
    """
    texts = _texts(look)
    for exchange in look.every(True):
        maps = other_maps(exchange.answer, look.bench.surface.members.remediation)
        findings.truth(["FR-005.once"], exchange.request, maps, holds=not maps, wanted="",
                       topic="further maps", counts=bool(exchange.answer.remediation))  # fmt: skip
        for status, text in (exchange.answer.remediation or {}).items():
            is_text = isinstance(text, str) and bool(text.strip())
            findings.truth(
                ["FR-005.text"],
                exchange.request,
                text,
                holds=is_text,
                wanted="a text",
                topic=status,
            )
            if is_text:
                _classed(look, findings, exchange, status, text)
        for entry in exchange.answer.disabled:
            known_texts = {text for of_status in texts.values() for text in of_status}
            known_texts |= {text for text in (exchange.answer.remediation or {}).values() if text}
            again = repeated(known_texts, entry.members)
            findings.truth(
                ["FR-005.once", "FR-003.members"], exchange.request, list(again), holds=not again,
                wanted="", topic=f"entry {entry.name}",
                shows=["FR-005.once"], counts=bool(known_texts),
            )  # fmt: skip
    for exchange, entry, key in _entries(look):
        advised = advice(look.bench, key, entry)
        findings.truth(["FR-005.once"], exchange.request, advised, holds=not advised, wanted="",
                       topic=f"advice in entry {entry.name}")  # fmt: skip


def _classed(
    look: Look, findings: Findings, exchange: DiscoveryExchange, status: str, text: str
) -> None:
    """Judge the map's text for a status by its words; one that is not recognised breaks nothing.

    That for config must also differ from this look's texts for a user's lock or a pending tool.
    """
    plain = _plain(look, exchange, status, text)
    outcome = judge(plain, status, pins=look.bench.started.target.pins)
    cited = ["FR-004.unknown"] if status == UNKNOWN else ["FR-005.class"]
    cited += ["SC-003.discovery"] if status == POLICY else []
    findings.truth(cited, exchange.request, plain, holds=outcome != "convicted",
                   wanted="", topic=f"text of {status}", counts=outcome == "conveys")  # fmt: skip
    texts = _texts(look)
    if status != POLICY or not texts.keys() & {*USERS}:
        return
    pure = texts.get(PURE, set())
    user, pending = (texts.get(word, set()) for word in USERS)
    cited = ["FR-005.text"] if plain in pure else ["SC-003.discovery", "FR-005.class"]
    findings.truth(cited, exchange.request, plain, holds=plain not in user | (pending - pure),
                   wanted="a text other than that for a lock of the user",
                   topic=f"text of {status}",
                   shows=["FR-005.text"])  # fmt: skip


def _plain(look: Look, exchange: DiscoveryExchange, status: str, text: str) -> str:
    """Return the text with the names of the answer's tools of that status masked."""
    for entry in exchange.answer.disabled:
        if entry.key in look.bench.tools and entry.status == status:
            text = masked(look.bench, text, entry.key)
    return text


def _texts(look: Look) -> dict[str, set[str]]:
    """Return this look's remediation texts, masked, by status; under PURE for config locks alone.

    They are collected once per look, and kept in its memory.
    """
    place = ("texts", look.number)
    if place not in look.memory:
        texts: dict[str, set[str]] = {}
        for exchange in look.every(True):
            for status, text in (exchange.answer.remediation or {}).items():
                if isinstance(text, str) and text.strip():
                    texts.setdefault(status, set()).add(_plain(look, exchange, status, text))
                    if _is_pure(look, exchange, status):
                        texts.setdefault(PURE, set()).add(_plain(look, exchange, status, text))
        look.memory[place] = texts
    shared: dict[str, set[str]] = look.memory[place]
    return shared


def _is_pure(look: Look, exchange: DiscoveryExchange, status: str) -> bool:
    """Whether the status is config's, and config alone locks each locked tool of the answer."""
    states = [look.bench.states.get(entry.key) for entry in exchange.answer.disabled]
    return status == POLICY and all(state == ToolState(config=True) for state in states)


def _entries(look: Look) -> Iterator[tuple[DiscoveryExchange, Entry, ToolKey]]:
    """Yield (exchange, locked entry, tool) of flagged answers, for tools whose locks are proven."""
    for exchange in look.every(True):
        for entry in exchange.answer.disabled:
            key = look.named(entry)
            if key is not None and key in look.proven:
                yield exchange, entry, key


def _in_entries(exchange: DiscoveryExchange, words: list[str]) -> bool:
    """Whether a locked entry contains one of these words."""
    text = str([dict(entry.members) for entry in exchange.answer.disabled])
    return any(word in text for word in words)


def _form(entry: Entry) -> str:
    """Return an entry's name with `{tool}` and `{server}` for the names of these."""
    form = entry.name.replace(entry.key.tool, "{tool}")
    return form.replace(entry.key.server, "{server}") if entry.key.server else form
