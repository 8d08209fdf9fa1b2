"""The shape of a locked entry: its members, name, server and description: FR-003."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on, stage
from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.answer import Entry
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.contents import has_lines
from mcp_proxy_conformance.discovery.locked_entries import (
    every_entry,
)
from mcp_proxy_conformance.discovery.requests import in_words

MIXED, SCOPE = stage("mixed"), stage("scope")
MEMBERS = ("name", "server", "description", "status")
LONG = 1000

Place = str | tuple[str, str]


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
