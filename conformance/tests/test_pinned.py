"""Pinned public names, in pinned.json: none may vanish or appear unnoticed.

Members and words of JSON schemas may appear. After an intended change, rewrite the file with
today's names:

    python conformance/tests/test_pinned.py > pinned.new
    mv pinned.new conformance/tests/pinned.json
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import needs
import pytest

from mcp_proxy_conformance import api, plugin
from mcp_proxy_conformance.catalogue.interpretation import interpretations
from mcp_proxy_conformance.catalogue.requirement import catalogue, versions
from mcp_proxy_conformance.catalogue.resources import schemas_dir
from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.cli.groups import PROGRAM
from mcp_proxy_conformance.discovery.case import cases
from mcp_proxy_conformance.report.document import FORMAT
from mcp_proxy_conformance.resilience.load_case import load_cases
from mcp_proxy_conformance.verdict import outcome

pytestmark = [needs.discovery, needs.fidelity, needs.resilience]
PINNED = Path(__file__).with_name("pinned.json")
MEANT = "if that is meant, change conformance/tests/pinned.json"
GROWS = ".schema.json"
"""The endings of titles of sections to which names may be added."""
PROTOCOLS = ("adapter", "loader-protocol")

Names = Mapping[str, Sequence[str]]
"""The names of each section, by its title."""
Json = Any


def today() -> Names:
    """Return today's public names by section, such as `clauses` or `commands`."""
    sections = _of_data() | _of_runs() | _of_commands() | _of_reports()
    for name in PROTOCOLS:
        sections |= _of_protocol(name)
    return {title: sorted(set(names)) for title, names in sections.items()}


def _of_data() -> dict[str, list[str]]:
    """Return sections: ids of clauses (with level), profiles, cases and interpretations."""
    return {
        "clauses": [f"{clause.id} {clause.level}" for clause in catalogue().clauses.values()],
        "profiles": [version.name for version in versions()],
        "cases": [*(case.id for case in cases()), *(case.id for case in load_cases())],
        "interpretations": [reading.id for reading in interpretations()],
    }


def _of_runs() -> dict[str, list[str]]:
    """Return names by section: the plugin and its options, the public API, the exit codes."""
    codes = [
        f"{name} {code}"
        for name, code in vars(outcome).items()
        if name.isupper() and type(code) is int  # TYPE_CHECKING is a bool
    ]
    parser = pytest.Parser(_ispytest=True)
    plugin.pytest_addoption(parser)
    groups = [parser._anonymous, *parser._groups]
    return {
        "plugin": [plugin.__name__],
        "names of the api": list(api.__all__),
        "options of the plugin": [
            word for g in groups for option in g.options for word in option.names()
        ],
        "exit codes": codes,
    }


def _of_commands() -> dict[str, list[str]]:
    """Return sections: every command, and for each its options that are not hidden."""
    commands = dict(_commands(main, PROGRAM))
    sections = {f"options of {path}": _options(command) for path, command in commands.items()}
    return {"commands": list(commands), **sections}


def _commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    """Yield (full name in words, command) of a command, then of each command below it."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from _commands(below, f"{path} {name}")


def _options(command: click.Command) -> list[str]:
    """Return the options of a command that are not hidden, in all their spellings."""
    shown = [
        parameter
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.hidden
    ]
    return [word for parameter in shown for word in (*parameter.opts, *parameter.secondary_opts)]


def _of_reports() -> dict[str, list[str]]:
    """Return sections: the format of report.json, its members, those of its clauses and results."""
    members = _schema("report")["properties"]
    return {
        "format of report.json": [FORMAT],
        "members of report.schema.json": list(members),
        **{
            f"members of each of {name} in report.schema.json": [
                *members[name]["items"]["properties"]
            ]
            for name in ("clauses", "results")
        },
    }


def _of_protocol(name: str) -> dict[str, list[str]]:
    """Return sections of a protocol's schema: the members of all messages, and fixed words."""
    nodes = list(_nodes(_schema(name)))
    words = [word for node in nodes for word in (node.get("const"), *node.get("enum", ()))]
    return {
        f"members of {name}.schema.json": [
            key for node in nodes for key in node.get("properties", ())
        ],
        f"words of {name}.schema.json": [word for word in words if isinstance(word, str)],
    }


def _schema(name: str) -> Json:
    """Return the JSON schema of that name."""
    return json.loads((schemas_dir() / f"{name}.schema.json").read_text(encoding="utf-8"))


def _nodes(node: Json) -> Iterator[dict[str, Json]]:
    """Yield every object in a JSON value, the value itself included, outer ones first."""
    if isinstance(node, dict):
        yield node
    parts = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for part in parts:
        yield from _nodes(part)


def differences(pinned: Names, current: Names) -> list[str]:
    """Return a sentence for each name that is missing, and for each new one, in order of sections.

    To sections of schemas names may be added: those have no sentence.
    """
    sentences = []
    for title in sorted({*pinned, *current}):
        before, after = set(pinned.get(title, ())), set(current.get(title, ()))
        sentences += [f"{title}: {name} is missing; {MEANT}" for name in sorted(before - after)]
        if not title.endswith(GROWS):
            sentences += [f"{title}: {name} is new; {MEANT}" for name in sorted(after - before)]
    return sentences


def written(names: Names) -> str:
    """Return the text of pinned.json for these names: in order, each on a line of its own."""
    ordered = {title: sorted(set(names[title])) for title in sorted(names)}
    return json.dumps(ordered, indent=2) + "\n"


def pinned_names() -> Names:
    """Return the names in pinned.json by section."""
    names: Names = json.loads(PINNED.read_text(encoding="utf-8"))
    return names


def test_no_public_name_changes_unnoticed() -> None:
    """Today's names are those of pinned.json; the test fails with a sentence for each other one."""
    changes = differences(pinned_names(), today())
    if changes:
        pytest.fail("\n".join(changes), pytrace=False)


def test_the_file_is_in_order() -> None:
    """The text of pinned.json is the one that would be written: sorted, each name once."""
    assert PINNED.read_text(encoding="utf-8") == written(pinned_names())


def test_no_section_of_today_is_empty_by_mistake() -> None:
    """No section of names is empty but the options of commands that have none."""
    empty = [title for title, names in today().items() if not names]

    assert [title for title in empty if not title.startswith(f"options of {PROGRAM} ")] == []


PLANTED: Names = {"clauses": ["FR-001.a F", "FR-001.b F"], "words of x.schema.json": ["lock"]}


@pytest.mark.parametrize(
    ("changed", "sentences"),
    [
        ({}, []),
        ({"clauses": ["FR-001.b F", "FR-001.a F"]}, []),
        ({"clauses": ["FR-001.a F"]}, ["clauses: FR-001.b F is missing"]),
        (
            {"clauses": ["FR-001.a F", "FR-001.b F", "FR-001.c A"]},
            ["clauses: FR-001.c A is new"],
        ),
        (
            {"clauses": ["FR-001.a F", "FR-001.b A"]},
            ["clauses: FR-001.b F is missing", "clauses: FR-001.b A is new"],
        ),
        ({"checks": ["test_a"]}, ["checks: test_a is new"]),
        ({"words of x.schema.json": ["lock", "unlock"]}, []),
        ({"words of x.schema.json": ["unlock"]}, ["words of x.schema.json: lock is missing"]),
    ],
)
def test_a_changed_name_is_reported(changed: Names, sentences: list[str]) -> None:
    """`differences` has a sentence for each missing or new name, none for a schema's new word."""
    changes = differences(PLANTED, {**PLANTED, **changed})

    assert changes == [f"{sentence}; {MEANT}" for sentence in sentences]


def test_a_section_that_vanishes_takes_no_name_with_it_unnoticed() -> None:
    """Against no sections at all, `differences` names each pinned name as missing."""
    changes = differences(PLANTED, {})

    assert [change.partition(" is ")[0] for change in changes] == [
        "clauses: FR-001.a F",
        "clauses: FR-001.b F",
        "words of x.schema.json: lock",
    ]


def test_each_name_of_today_is_missed() -> None:
    """If a section lacks its first name, `differences` has one sentence, that it is missing.

    The other way round, it is that the name is new, or none in a section that may grow.
    """
    now = today()
    for title in (title for title, names in now.items() if names):
        fewer = {**now, title: now[title][1:]}
        back = [] if title.endswith(GROWS) else [f"{title}: {now[title][0]} is new; {MEANT}"]

        assert differences(now, fewer) == [f"{title}: {now[title][0]} is missing; {MEANT}"]
        assert differences(fewer, now) == back


if __name__ == "__main__":
    sys.stdout.write(written(today()))
