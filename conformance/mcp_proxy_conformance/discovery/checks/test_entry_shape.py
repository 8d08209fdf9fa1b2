"""The shape of a locked entry: its members, name, server and description: FR-003."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on, stage
from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.answer import Answer, Entry
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.contents import has_lines, remedies, repeated, schemas
from mcp_proxy_conformance.discovery.locked_entries import (
    every_answer,
    every_entry,
    named,
    own_answer,
)
from mcp_proxy_conformance.discovery.requests import in_words

MIXED, SCOPE = stage("mixed"), stage("scope")
MEMBERS = ("name", "server", "description", "status")
LONG = 1000

Place = str | tuple[str, str]


@requirement("FR-003.members")
@on(MIXED)
def test_a_locked_entry_has_name_server_description_and_one_status(bench: Bench) -> None:
    """Entries of config- and user-locked tools have four strings, no schema and no remedy.

    No member repeats a text of the answer's remediation map. Inconclusive unless all config-locked
    tools are revealed, two or more.
    """
    answers = every_answer(bench, _vouched(bench))
    _expect_config(bench, [key for key, _ in answers])

    faults = _by_place(fault for key, answer in answers for fault in _faults(answer, key))

    assert faults == {}


@requirement("FR-003.members~extras")
@on(MIXED)
def test_a_locked_entry_has_no_other_members(bench: Bench) -> None:
    """The members of all locked entries are name, server, description and status.

    The same holds for tools with any kind of lock. Inconclusive unless all config-locked tools
    are revealed, two or more.
    """
    entries = every_entry(bench, bench.armed.refused)
    _expect_config(bench, [key for key, _ in entries])

    extras = {name for _, entry in entries for name in entry.members} - {*MEMBERS}

    assert {"other members": extras} == {"other members": set()}


@requirement("FR-003.name")
@on(MIXED)
def test_a_locked_entry_names_the_tool_as_callable_entries_do_or_barely(bench: Bench) -> None:
    """Every locked entry's name has the form of callable entries, or is the bare tool name.

    Callable entries are those seen before the locks. Inconclusive if no callable or no locked
    entry was seen.
    """
    shown = {entry.name for entry in bench.armed.entries.values()}
    forms = {"{tool}"} | {_form(entry) for entry in bench.armed.entries.values()}
    known = shown | {
        form.replace("{tool}", key.tool).replace("{server}", key.server)
        for form in forms
        for key in bench.tools
    }

    answers = [own_answer(bench, key) for key in bench.armed.refused]
    answers += [answer for _, answer in every_answer(bench, _vouched(bench))]
    names = {answer.reply.named(entry.name) for answer in answers for entry in answer.disabled}
    bench.require(shown and names, "no answer had a locked entry")

    assert names - known == set()


@requirement("FR-003.name~one-form")
@on(MIXED)
def test_callable_and_locked_entries_of_one_answer_name_tools_in_one_form(bench: Bench) -> None:
    """In an answer with callable and locked entries, all names have the same form.

    It is the answer to the query that found the most tools; inconclusive if it lists only one
    kind.
    """
    word = _shared_word(bench)

    answer = bench.asked(word, include_disabled=True)
    bench.require(answer.tools and answer.disabled, "no answer had both callable and locked tools")

    place = (
        in_words({"query": word, "include_disabled": True}),
        "form of the names of locked entries",
    )
    callable_forms = {_form(entry) for entry in answer.tools}
    locked_forms = {_form(entry) for entry in answer.disabled}
    assert {place: locked_forms} == {place: callable_forms}


@requirement("FR-003.server")
@on(MIXED)
def test_a_locked_entry_names_the_server_that_owns_the_tool(bench: Bench) -> None:
    """The entry names the server that owns the tool, for every kind of lock revealed.

    An entry without a server counts as wrong. Inconclusive unless all config-locked tools are
    revealed, two or more.
    """
    entries = every_entry(bench, bench.armed.refused)
    _expect_config(bench, [key for key, _ in entries])

    others = _other_servers(entries)

    assert others == {}


@requirement("FR-003.server")
@on(SCOPE)
def test_entries_of_one_answer_name_each_its_own_server(bench: Bench) -> None:
    """If tools of two servers match a query, each entry names the server that owns its tool.

    An entry without a server counts as wrong. Inconclusive if tools of one server only are
    revealed.
    """
    entries = every_entry(bench, bench.armed.refused)
    bench.require(
        len({key.server for key, _ in entries}) > 1, "the flag revealed tools of one server only"
    )

    others = _other_servers(entries)

    assert others == {}


@requirement("FR-003.description")
@on(MIXED)
def test_a_locked_entry_has_the_description_of_the_callable_tool(bench: Bench) -> None:
    """Plain, marked-up, non-Latin and emoji descriptions are the same as before the lock.

    Compared are tools locked by config alone or by the user alone, texts of one line and at
    most 1,000 characters. Inconclusive if none has non-ASCII text.
    """
    observed, expected = _descriptions(bench, lambda t: len(t) <= LONG and not has_lines(t))
    marked = [text for texts in expected.values() for text in texts if not text.isascii()]
    bench.require(marked, "no answer had a description with non-ASCII text")

    assert observed == expected


@requirement("FR-003.description~long")
@on(MIXED)
def test_a_long_description_is_the_same_when_locked(bench: Bench) -> None:
    """A description of more than a thousand characters is the same as before the lock.

    Compared are tools locked by config alone or by the user alone; inconclusive if none has
    such a text.
    """
    observed, expected = _descriptions(bench, lambda text: len(text) > LONG)
    bench.require(expected, "no answer had a long description")

    assert observed == expected


@requirement("FR-003.description~multiline")
@on(MIXED)
def test_a_description_of_many_lines_is_the_same_when_locked(bench: Bench) -> None:
    """A description with line breaks is the same as before the lock.

    Compared are tools locked by config alone or by the user alone; inconclusive if none has
    such a text.
    """
    observed, expected = _descriptions(bench, has_lines)
    bench.require(expected, "no answer had a description with line breaks")

    assert observed == expected


def _vouched(bench: Bench) -> tuple[ToolKey, ...]:
    return (*bench.locked(config=True), *bench.locked(user=True))


def _expect_config(bench: Bench, keys: Collection[ToolKey]) -> None:
    """Raise Inconclusive unless `keys` has all config-locked tools, and these are two or more."""
    expected = len(bench.locked(config=True))
    revealed = len(set(keys) & set(bench.locked(config=True)))
    bench.require(
        expected > 1 and revealed == expected,
        f"the flag revealed {revealed} of {expected} config-locked tools",
    )


def _by_place(facts: Iterable[tuple[Place, Any]]) -> dict[Place, list[Any]]:
    values: dict[Place, list[Any]] = {}
    for place, value in facts:
        listed = values.setdefault(place, [])
        listed += [] if value in listed else [value]
    return values


def _faults(answer: Answer, key: ToolKey) -> Iterator[tuple[Place, Any]]:
    """Yield ((tool, kind of fault), what is faulty) for the tool's entry in the answer.

    Faulty is a member's name for `missing`, `schema` and `remedy`; its value for `MEMBER is not
    text`; for `remediation text`, a text of the remediation map that the entry repeats. Without an
    entry all members are missing.
    """
    entry = named(answer, key)
    members = entry.members if entry is not None else {}
    faults = [("missing", name) for name in MEMBERS if name not in members]
    sent = [(name, members[name]) for name in MEMBERS if name in members]
    faults += [(f"{m} is not text", value) for m, value in sent if not isinstance(value, str)]
    faults += [("schema", name) for name in schemas(members)]
    faults += [("remedy", name) for name in remedies(members)]
    texts = (answer.remediation or {}).values()
    faults += [("remediation text", text) for text in repeated(texts, members)]
    for fault, value in faults:
        yield (str(key), fault), value


def _other_servers(entries: Iterable[tuple[ToolKey, Entry]]) -> dict[Place, list[Any]]:
    """Map each tool to the servers that its entries name wrongly, None for a missing one.

    Tools whose entries all name the right server are left out.
    """
    owners = [(key, entry.members.get("server")) for key, entry in entries]
    others = [(str(key), server) for key, server in owners if server != key.server]
    return _by_place(sorted(others, key=str))


def _form(entry: Entry) -> str:
    """Return an entry's name with `{tool}` and `{server}` in the place of their names."""
    form = entry.name.replace(entry.key.tool, "{tool}")
    return form.replace(entry.key.server, "{server}") if entry.key.server else form


def _shared_word(bench: Bench) -> str:
    shown = bench.armed.shown
    return max(bench.world.queries(), key=lambda word: len(shown.get(word, ())))


def _descriptions(
    bench: Bench, chosen: Callable[[str], bool]
) -> tuple[dict[Place, Any], dict[Place, list[str]]]:
    """Return two maps by tool: descriptions of its locked entries, and of its entry while callable.

    Only texts that `chosen` accepts count. Each value is a list of distinct texts; but where the
    only text of a locked tool is wrong, it stands without a list, for the report.
    """
    entries, before = every_entry(bench, _vouched(bench)), bench.armed.entries
    wanted = [
        (key, entry)
        for key, entry in entries
        if key in before and before[key].description and chosen(bench.tools[key].description)
    ]
    locked = _by_place((str(key), entry.description) for key, entry in wanted)
    expected = _by_place((str(key), before[key].description) for key, _ in wanted)
    wrong = {name: texts for name, texts in locked.items() if texts != expected[name]}
    single = {name: texts[0] for name, texts in wrong.items() if len(texts) == 1}
    return locked | single, expected
