"""Laws of a locked entry: its members, its texts, and what it withholds."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_proxy_conformance.catalogue.world import ToolKey, ToolState
from mcp_proxy_conformance.discovery.answer import Entry
from mcp_proxy_conformance.discovery.bench import ABSENT
from mcp_proxy_conformance.discovery.laws.look import Findings, Look, Told
from mcp_proxy_conformance.discovery.locked import masked, repeated, schemas
from mcp_proxy_conformance.discovery.oracle import is_hidden
from mcp_proxy_conformance.discovery.remediation import judge

MEMBERS = ("name", "server", "description", "status")
LONG = 1000
POLICY, USERS = "disabled_by_config", ("disabled_by_user", "pending_approval")
PURE = "disabled_by_config alone"
VOUCHED = (ToolState(config=True), ToolState(user=True), ToolState(config=True, user=True))
"""The locks that leave a tool's text as vouched for as it was."""


def members(look: Look, found: Findings) -> None:
    """Of a tool that somebody vouched for: four strings, no schema, no remedy."""
    for one, entry, key in _entries(look):
        if look.bench.states[key] in VOUCHED:
            faults = [f"{m} is {entry.members.get(m)!r:.80}" for m in MEMBERS
                      if not isinstance(entry.members.get(m), str)]  # fmt: skip
            faults += [f"{name} is a schema" for name in schemas(entry.members)]
            faults += [f"{name} is a remedy" for name in entry.members if "remed" in name.lower()]
            found.truth(
                ["FR-003.members"], one.of, faults, holds=not faults,
                wanted=f"of {key}: name, server, description, status", topic=f"members of {key}",
            )  # fmt: skip


def names(look: Look, found: Findings) -> None:
    """The name has a form that callable entries have, or is the bare one; the server owns it."""
    shown = look.bench.armed.entries.values()
    forms = {"{tool}", *map(_form, shown)}
    known = {entry.name for entry in shown} | {
        form.replace("{tool}", key.tool).replace("{server}", key.server)
        for form in forms
        for key in look.bench.tools
    }
    for one in look.every(True):
        odd = sorted({entry.name for entry in one.answer.disabled} - known)
        found.truth(
            ["FR-003.name"], one.of, odd, holds=not odd, wanted="names as of callable tools",
            counts=bool(one.answer.disabled and shown), topic="names",
        )  # fmt: skip
    for one, entry, key in _entries(look):
        if look.is_own(key):
            server = entry.members.get("server")
            found.truth(["FR-003.server"], one.of, server, holds=server == key.server,
                        wanted=f"{key.server} as the server of {key}")  # fmt: skip


def descriptions(look: Look, found: Findings) -> None:
    """A text that somebody vouched for is that of the callable tool; the others are withheld."""
    armed = look.bench.armed
    for one, entry, key in _entries(look):
        state, own = look.bench.states[key], armed.entries.get(key)
        text = look.bench.tools[key].description
        if state in VOUCHED and own and own.description and len(text) <= LONG and "\n" not in text:
            found.truth(
                ["FR-003.description"], one.of, entry.description,
                holds=entry.description == own.description, wanted=repr(own.description),
                topic=f"description of {key}",
            )  # fmt: skip
        if state == ToolState(quarantined=True):
            told = {m: entry.members.get(m) for m in ("description", *schemas(entry.members))}
            told = {name: value for name, value in told.items() if value and str(value).strip()}
            found.truth(["FR-003.withheld"], one.of, told, holds=not told,
                        wanted=f"nothing of what the server of {key} says of it")  # fmt: skip


def canaries(look: Look, found: Findings) -> None:
    """No answer tells a planted word of a text that nobody approved, or that is in quarantine."""
    planted = {word: key for key in look.proven
               if look.is_own(key) and is_hidden(look.bench.states[key])
               for word in look.bench.tools[key].canaries}  # fmt: skip
    for one in (*look.every(True), *look.every(ABSENT)) if planted else ():
        text = one.answer.text_without_echo()
        told = sorted(word for word in planted if word in text)
        among = ["FR-003.withheld"] if told and _in_entries(one, told) else []
        found.truth(["FR-003.canary", *among], one.of, told, holds=not told, counts=look.is_alive,
                    wanted="no word of a withheld text", shows=["FR-003.canary"])  # fmt: skip


def remedies(look: Look, found: Findings) -> None:
    """Each text of the map says something, of its own class, and stands in no entry."""
    texts = _texts(look)
    for one in look.every(True):
        for status, text in (one.answer.remediation or {}).items():
            said = isinstance(text, str) and bool(text.strip())
            found.truth(["FR-005.text"], one.of, text, holds=said, wanted=f"a text for {status}")
            if said:
                _classed(look, found, one, status, text)
        for entry in one.answer.disabled:
            every = {text for told in texts.values() for text in told}
            every |= {text for text in (one.answer.remediation or {}).values() if text}
            again = repeated(every, entry.members)
            found.truth(
                ["FR-005.once", "FR-003.members"], one.of, list(again), holds=not again,
                wanted="no remedy in an entry", topic=f"remedies in {entry.name}",
                shows=["FR-005.once"], counts=bool(every),
            )  # fmt: skip


def _classed(look: Look, found: Findings, one: Told, status: str, text: str) -> None:
    """Layers 1 to 3 of reading a remedy: equality with the target's own, then the strict core."""
    plain = _plain(look, one, status, text)
    outcome = judge(plain, status, pins=look.bench.started.target.pins)
    policy = ["SC-003.discovery"] if status == POLICY else []
    found.truth(["FR-005.class", *policy], one.of, plain, holds=outcome != "convicted",
                wanted=f"the remedy of {status}", counts=outcome == "conveys")  # fmt: skip
    texts = _texts(look)
    if status != POLICY or not texts.keys() & {*USERS}:
        return
    pure = texts.get(PURE, set())
    user, pending = (texts.get(word, set()) for word in USERS)
    cited = ["FR-005.text"] if plain in pure else ["SC-003.discovery", "FR-005.class"]
    found.truth(cited, one.of, plain, holds=plain not in user | (pending - pure),
                wanted="another text than for a lock of the user",
                shows=["FR-005.text"])  # fmt: skip


def _plain(look: Look, one: Told, status: str, text: str) -> str:
    """The text without the names of the tools that it is told for."""
    for entry in one.answer.disabled:
        if entry.key in look.bench.tools and entry.status == status:
            text = masked(look.bench, text, entry.key)
    return text


def _texts(look: Look) -> dict[str, set[str]]:
    """By status, the texts told in this look; under PURE those for config locks alone."""
    place = ("texts", look.number)
    if place not in look.memory:
        texts: dict[str, set[str]] = {}
        for one in look.every(True):
            for status, text in (one.answer.remediation or {}).items():
                if isinstance(text, str) and text.strip():
                    texts.setdefault(status, set()).add(_plain(look, one, status, text))
                    if _is_pure(look, one, status):
                        texts.setdefault(PURE, set()).add(_plain(look, one, status, text))
        look.memory[place] = texts
    found: dict[str, set[str]] = look.memory[place]
    return found


def _is_pure(look: Look, one: Told, status: str) -> bool:
    """Whether only locks by config are told of, and lie on those tools alone."""
    states = [look.bench.states.get(entry.key) for entry in one.answer.disabled]
    return status == POLICY and all(state == ToolState(config=True) for state in states)


def _entries(look: Look) -> Iterator[tuple[Told, Entry, ToolKey]]:
    """Every entry of a tool whose lock was proven, with the answer that it stands in."""
    for one in look.every(True):
        for entry in one.answer.disabled:
            key = look.named(entry)
            if key is not None and key in look.proven:
                yield one, entry, key


def _in_entries(one: Told, words: list[str]) -> bool:
    told = str([dict(entry.members) for entry in one.answer.disabled])
    return any(word in told for word in words)


def _form(entry: Entry) -> str:
    form = entry.name.replace(entry.key.tool, "{tool}")
    return form.replace(entry.key.server, "{server}") if entry.key.server else form
