"""What users depend on changes only on purpose: today's public names are those of pinned.json.

Every name may neither vanish nor appear unnoticed; members and words of JSON schemas may appear.
After a change that is meant, rewrite the file with what today's names are:

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
import pytest

from mcp_proxy_conformance import plugin
from mcp_proxy_conformance.catalogue.case import cases
from mcp_proxy_conformance.catalogue.index import checks
from mcp_proxy_conformance.catalogue.interpretation import interpretations
from mcp_proxy_conformance.catalogue.load_case import load_cases
from mcp_proxy_conformance.catalogue.requirement import catalogue, versions
from mcp_proxy_conformance.catalogue.resources import schemas_dir
from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.cli.groups import PROGRAM
from mcp_proxy_conformance.report.document import FORMAT
from mcp_proxy_conformance.verdict import outcome

PINNED = Path(__file__).with_name("pinned.json")
MEANT = "if that is meant, change conformance/tests/pinned.json"
GROWS = ".schema.json"
"""How the title of a section ends to which names may be added."""
PROTOCOLS = ("adapter", "loader-protocol")

Names = Mapping[str, Sequence[str]]
"""The names of each section, by its title."""
Json = Any


def today() -> Names:
    """The names that there are now."""
    found = _of_data() | _of_runs() | _of_commands() | _of_reports()
    for name in PROTOCOLS:
        found |= _of_protocol(name)
    return {title: sorted(set(names)) for title, names in found.items()}


def _of_data() -> dict[str, list[str]]:
    """What is known of requirements, checks and cases."""
    return {
        "clauses": [f"{one.id} {one.judgement}" for one in catalogue().clauses.values()],
        "profiles": [one.name for one in versions()],
        "checks": [one.name for one in checks()],
        "cases": [*(one.id for one in cases()), *(one.id for one in load_cases())],
        "interpretations": [one.id for one in interpretations()],
    }


def _of_runs() -> dict[str, list[str]]:
    """The plugin, what it is asked with, and what a run comes to."""
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
        "options of the plugin": [
            word for g in groups for one in g.options for word in one.names()
        ],
        "exit codes": codes,
    }


def _of_commands() -> dict[str, list[str]]:
    """Every command, and the options of each that its help tells of, --help itself left out."""
    every = dict(_commands(main, PROGRAM))
    told = {f"options of {path}": _options(command) for path, command in every.items()}
    return {"commands": list(every), **told}


def _commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    """A command and all below it, each with the words that name it."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from _commands(below, f"{path} {name}")


def _options(command: click.Command) -> list[str]:
    """The options of a command that are not hidden, as they are typed."""
    shown = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
    return [word for one in shown for word in (*one.opts, *one.secondary_opts)]


def _of_reports() -> dict[str, list[str]]:
    """The format of a report, and its members."""
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
    """The members of all messages of a protocol, and the words that stand in them."""
    nodes = list(_nodes(_schema(name)))
    words = [word for one in nodes for word in (one.get("const"), *one.get("enum", ()))]
    return {
        f"members of {name}.schema.json": [
            key for one in nodes for key in one.get("properties", ())
        ],
        f"words of {name}.schema.json": [word for word in words if isinstance(word, str)],
    }


def _schema(name: str) -> Json:
    """Read one schema."""
    return json.loads((schemas_dir() / f"{name}.schema.json").read_text(encoding="utf-8"))


def _nodes(node: Json) -> Iterator[dict[str, Json]]:
    """Every object in a JSON document, itself included."""
    if isinstance(node, dict):
        yield node
    parts = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for part in parts:
        yield from _nodes(part)


def differences(pinned: Names, found: Names) -> list[str]:
    """One sentence for each name that is missing, or new where nothing may be added."""
    told = []
    for title in sorted({*pinned, *found}):
        before, after = set(pinned.get(title, ())), set(found.get(title, ()))
        told += [f"{title}: {name} is missing; {MEANT}" for name in sorted(before - after)]
        if not title.endswith(GROWS):
            told += [f"{title}: {name} is new; {MEANT}" for name in sorted(after - before)]
    return told


def written(names: Names) -> str:
    """The text of the file: sections by title, their names in order, one a line."""
    ordered = {title: sorted(set(names[title])) for title in sorted(names)}
    return json.dumps(ordered, indent=2) + "\n"


def pinned_names() -> Names:
    """The names that the file has."""
    found: Names = json.loads(PINNED.read_text(encoding="utf-8"))
    return found


def test_no_public_name_changes_unnoticed() -> None:
    """Nothing that users depend on has vanished, and nothing new stands beside it."""
    found = differences(pinned_names(), today())
    if found:
        pytest.fail("\n".join(found), pytrace=False)


def test_the_file_is_in_order() -> None:
    """Its names are sorted, each once and on a line of its own, as the command writes them."""
    assert PINNED.read_text(encoding="utf-8") == written(pinned_names())


def test_no_section_of_today_is_empty_by_mistake() -> None:
    """Only a command may have nothing to pin: the groups, and what takes arguments alone."""
    empty = [title for title, names in today().items() if not names]

    assert [title for title in empty if not title.startswith(f"options of {PROGRAM} ")] == []


PLANTED: Names = {"clauses": ["FR-001.a F", "FR-001.b F"], "words of x.schema.json": ["lock"]}


@pytest.mark.parametrize(
    ("changed", "told"),
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
def test_a_planted_change_is_told(changed: Names, told: list[str]) -> None:
    """What is missing or new is named in a sentence that says what to do, and nothing else is."""
    found = differences(PLANTED, {**PLANTED, **changed})

    assert found == [f"{one}; {MEANT}" for one in told]


def test_a_section_that_vanishes_takes_no_name_with_it_unnoticed() -> None:
    """Each of its names is missing, those of a schema too."""
    found = differences(PLANTED, {})

    assert [one.partition(" is ")[0] for one in found] == [
        "clauses: FR-001.a F",
        "clauses: FR-001.b F",
        "words of x.schema.json: lock",
    ]


def test_each_name_of_today_is_missed() -> None:
    """A name taken out of any section is told, and of those that do not grow one more name too."""
    now = today()
    for title in (title for title, names in now.items() if names):
        fewer = {**now, title: now[title][1:]}
        back = [] if title.endswith(GROWS) else [f"{title}: {now[title][0]} is new; {MEANT}"]

        assert differences(now, fewer) == [f"{title}: {now[title][0]} is missing; {MEANT}"]
        assert differences(fewer, now) == back


if __name__ == "__main__":
    sys.stdout.write(written(today()))
