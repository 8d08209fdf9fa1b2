"""The members of a locked entry: FR-003."""

from __future__ import annotations

from collections.abc import Callable, Collection

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on, stage
from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.answer import Answer, Entry
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.locked import (
    every_answer,
    every_entry,
    named,
    own_answer,
    repeated,
    schemas,
)

MIXED, SCOPE = stage("mixed"), stage("scope")
MEMBERS = ("name", "server", "description", "status")
LONG = 1000

Described = set[tuple[str, str | None]]


@requirement("FR-003.members")
@on(MIXED)
def test_a_locked_entry_has_name_server_description_and_one_status(bench: Bench) -> None:
    """Every entry of a config- or user-locked tool has the four strings, no schema, no remedy."""
    answers = every_answer(bench, _vouched(bench))
    _expect_config(bench, [key for key, _ in answers])

    faults = {(str(key), fault) for key, answer in answers for fault in _faults(answer, key)}

    assert faults == set()


@requirement("FR-003.members~extras")
@on(MIXED)
def test_a_locked_entry_has_no_other_members(bench: Bench) -> None:
    """The members of all locked entries are name, server, description and status."""
    entries = every_entry(bench, bench.armed.refused)
    _expect_config(bench, [key for key, _ in entries])

    extras = {name for _, entry in entries for name in entry.members} - {*MEMBERS}

    assert extras == set()


@requirement("FR-003.name")
@on(MIXED)
def test_a_locked_entry_names_the_tool_as_callable_entries_do_or_barely(bench: Bench) -> None:
    """No locked entry has a name of another form than those seen while tools were callable."""
    shown = {entry.name for entry in bench.armed.entries.values()}
    forms = {"{tool}"} | {_form(entry) for entry in bench.armed.entries.values()}
    known = shown | {_spelled(form, key) for form in forms for key in bench.tools}

    answers = [own_answer(bench, key) for key in bench.armed.refused]
    answers += [answer for _, answer in every_answer(bench, _vouched(bench))]
    names = {entry.name for answer in answers for entry in answer.disabled}
    bench.require(shown and names, "no locked entry was seen")

    assert names - known == set()


@requirement("FR-003.name~one-form")
@on(MIXED)
def test_callable_and_locked_entries_of_one_answer_name_tools_in_one_form(bench: Bench) -> None:
    """In an answer with callable and locked entries, all names have one form."""
    word = _shared_word(bench)

    answer = bench.asked(word, include_disabled=True)
    bench.require(answer.tools and answer.disabled, "no answer has entries of both kinds")

    callable_forms = {_form(entry) for entry in answer.tools}
    locked_forms = {_form(entry) for entry in answer.disabled}
    assert locked_forms == callable_forms


@requirement("FR-003.server")
@on(MIXED)
def test_a_locked_entry_names_the_server_that_owns_the_tool(bench: Bench) -> None:
    """The entry's server is the tool's own, for every kind of lock that is revealed."""
    entries = every_entry(bench, bench.armed.refused)
    _expect_config(bench, [key for key, _ in entries])

    owners = {(str(key), entry.members.get("server")) for key, entry in entries}

    assert owners == {(str(key), key.server) for key, _ in entries}


@requirement("FR-003.server")
@on(SCOPE)
def test_entries_of_one_answer_name_each_its_own_server(bench: Bench) -> None:
    """A word shared by tools of two servers lists each with the server that owns it."""
    entries = every_entry(bench, bench.armed.refused)
    bench.require(len({key.server for key, _ in entries}) > 1, "one server's tools were revealed")

    owners = {(str(key), entry.members.get("server")) for key, entry in entries}

    assert owners == {(str(key), key.server) for key, _ in entries}


@requirement("FR-003.description")
@on(MIXED)
def test_a_locked_entry_has_the_description_of_the_callable_tool(bench: Bench) -> None:
    """Plain, marked-up, non-Latin and emoji descriptions are the same as before the lock."""
    observed, expected = _descriptions(bench, lambda text: len(text) <= LONG and "\n" not in text)
    marked = [text for _, text in expected if text and not text.isascii()]
    bench.require(marked, "no marked-up, non-Latin or emoji text was told")

    assert observed == expected


@requirement("FR-003.description~long")
@on(MIXED)
def test_a_long_description_is_the_same_when_locked(bench: Bench) -> None:
    """A description of more than a thousand characters is the same as before the lock."""
    observed, expected = _descriptions(bench, lambda text: len(text) > LONG)
    bench.require(expected, "no long description was told")

    assert observed == expected


@requirement("FR-003.description~multiline")
@on(MIXED)
def test_a_description_of_many_lines_is_the_same_when_locked(bench: Bench) -> None:
    """A description with line breaks is the same as before the lock."""
    observed, expected = _descriptions(bench, lambda text: "\n" in text)
    bench.require(expected, "no description with line breaks was told")

    assert observed == expected


def _vouched(bench: Bench) -> tuple[ToolKey, ...]:
    """The tools whose text nobody withholds: locked by config alone or by the user alone."""
    return (*bench.locked(config=True), *bench.locked(user=True))


def _expect_config(bench: Bench, keys: Collection[ToolKey]) -> None:
    expected = len(bench.locked(config=True))
    revealed = len(set(keys) & set(bench.locked(config=True)))
    bench.require(
        expected > 1 and revealed == expected, f"{revealed} of {expected} config locks revealed"
    )


def _faults(answer: Answer, key: ToolKey) -> list[str]:
    entry = named(answer, key)
    members = entry.members if entry is not None else {}
    faults = [f"{m} is {members.get(m)!r}" for m in MEMBERS if not isinstance(members.get(m), str)]
    faults += [f"{name} is a schema" for name in schemas(members)]
    faults += [f"{name} is a remedy" for name in members if "remediation" in name.lower()]
    texts = (answer.remediation or {}).values()
    return faults + [f"holds the remedy {text!r}" for text in repeated(texts, members)]


def _form(entry: Entry) -> str:
    form = entry.name.replace(entry.key.tool, "{tool}")
    return form.replace(entry.key.server, "{server}") if entry.key.server else form


def _spelled(form: str, key: ToolKey) -> str:
    return form.replace("{tool}", key.tool).replace("{server}", key.server)


def _shared_word(bench: Bench) -> str:
    """The word that most tools share, callable and locked ones among them."""
    shown = bench.armed.shown
    return max(bench.world.queries(), key=lambda word: len(shown.get(word, ())))


def _descriptions(bench: Bench, chosen: Callable[[str], bool]) -> tuple[Described, Described]:
    """The descriptions of locked entries, and those of the same tools while callable."""
    entries, before = every_entry(bench, _vouched(bench)), bench.armed.entries
    wanted = [
        (key, entry)
        for key, entry in entries
        if key in before and before[key].description and chosen(bench.tools[key].description)
    ]
    locked = {(str(key), entry.description) for key, entry in wanted}
    return locked, {(str(key), before[key].description) for key, _ in wanted}
