"""Rules of the stages, by which one-word queries find exact tools and each lock can be proven."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing
from functools import cache

import pytest
from jsonschema import Draft202012Validator

from mcp_proxy_conformance.catalogue.resources import fixtures_dir, schemas_dir
from mcp_proxy_conformance.catalogue.stage import stage
from mcp_proxy_conformance.catalogue.world import Step, ToolKey, World
from mcp_proxy_conformance.discovery.authoring.stage_rules import misplaced, texts, tokens, unlike

FILES = {
    path.stem: path for path in sorted((fixtures_dir() / "discovery" / "stages").glob("*.json"))
}
ORDER = ("add", "approval", "user", "change", "config", "quarantine", "server")

each_stage = pytest.mark.parametrize("name", FILES)


def _touched(world: World, step: Step) -> tuple[str, list[ToolKey]]:
    """Return (kind of a step, tools that it affects); the kind is a word of ORDER, or `refresh`.

    A quarantine, or a server switched off, affects all tools of the server.
    """
    if step.add is not None:
        return "add", [ToolKey(step.server, step.add.name)]
    if step.change is not None:
        return "change", [ToolKey(step.server, step.change)]
    kind = step.lock or step.unlock or "refresh"
    if kind in {"quarantine", "server"}:
        return kind, [key for key in world.tools() if key.server == step.server]
    return kind, [ToolKey(step.server, name) for name in step.tools]


@cache
def _locks(name: str, steps: int | None = None) -> dict[ToolKey, list[str]]:
    """Return {tool: kinds of its locks, in order} after the first `steps` steps, or all if None.

    Denials at the start count; an unlock takes away all locks of its tools.
    """
    world = stage(name)
    denied = {ToolKey(server.name, tool) for server in world.servers for tool in server.deny}
    held = {key: ["config"] if key in denied else [] for key in world.tools()}
    for step in world.steps[:steps]:
        kind, tools = _touched(world, step)
        held |= {key: [] if step.unlock else [*held[key], kind] for key in tools}
    return held


@pytest.mark.parametrize("name", ["stage", "case"])
def test_the_schemas_are_themselves_valid(name: str) -> None:
    """The schemas of stages and cases are valid JSON schemas of draft 2020-12."""
    path = schemas_dir() / f"{name}.schema.json"
    Draft202012Validator.check_schema(json.loads(path.read_bytes()))


@each_stage
def test_a_stage_is_valid_and_can_be_read(name: str) -> None:
    """Each stage file fits its schema and decodes to a world whose id is the file's name."""
    schema = json.loads((schemas_dir() / "stage.schema.json").read_bytes())
    faults = Draft202012Validator(schema).iter_errors(json.loads(FILES[name].read_bytes()))

    assert ([fault.message for fault in faults], stage(name).id) == ([], name)


@each_stage
def test_words_are_unlike_each_other_and_all_other_text(name: str) -> None:
    """No query word, server name or canary of a stage is near to another word, or inside of one.

    None has an ending that search engines drop.
    """
    assert list(unlike(stage(name))) == []


@each_stage
def test_a_word_finds_exactly_the_tools_that_declare_it(name: str) -> None:
    """A tool's word is in its name and description, its group words in the description only.

    Its texts have no other query word or server name.
    """
    assert list(misplaced(stage(name))) == []


@each_stage
def test_an_exact_name_is_a_query_for_one_tool(name: str) -> None:
    """No part of a tool's name is inside a word of another tool's texts.

    In `plain` the tool's `word` counts, not each part of the name.
    """
    tools = stage(name).tools().values()
    words = [word for tool in tools for word in texts(tool)]
    parts = [p for t in tools for p in ([t.word] if name == "plain" else t.name.split("_"))]

    assert [part for part in parts if sum(part in word for word in words) > 1] == []


@each_stage
def test_canaries_lie_in_texts_that_end_up_locked(name: str) -> None:
    """Each canary is in a text of its own tool, which is locked after all steps.

    Of a changed tool it is in the new text only.
    """
    new = {ToolKey(s.server, s.change): s for s in stage(name).steps if s.change is not None}
    for key, tool in stage(name).tools().items():
        step = new.get(key)
        words = tokens(f"{step.description} {step.input_schema}") if step else texts(tool)

        assert set(tool.canaries) <= set(words)
        assert _locks(name)[key] or not tool.canaries
        assert step is None or not set(tool.canaries) & texts(tool)


@each_stage
def test_locks_come_in_order_and_new_texts_are_looked_at_first(name: str) -> None:
    """A tool's steps come as in ORDER; each add or change is followed by a refresh."""
    world, stale = stage(name), set[str]()
    done = [_touched(world, step) for step in world.steps]
    for step, (kind, _) in zip(world.steps, done, strict=True):
        assert step.server not in stale or kind in {"add", "change"}
        stale = stale | {step.server} if kind in {"add", "change"} else stale - {step.refresh or ""}
    ranks = [[ORDER.index(kind) for kind, on in done if key in on] for key in world.tools()]

    assert stale == set()
    assert [rank for rank in ranks if rank != sorted(rank)] == []


@each_stage
def test_every_lock_is_provable(name: str) -> None:
    """Each kind of lock is laid, somewhere on its server, on a tool that was callable before.

    A quarantine may come before it. A server with a pending new tool has an approved new one, too.
    """
    world, unproven, proven = stage(name), set[tuple[str, str]](), set[tuple[str, str]]()
    added = [ToolKey(step.server, step.add.name) for step in world.steps if step.add is not None]
    pending = {key.server for key in added if "add" in _locks(name)[key]}
    for i, step in enumerate(world.steps):
        kind, tools = _touched(world, step)
        held = [_locks(name, i)[key] for key in tools]
        pure = [] in held or all("quarantine" in locks for locks in held) or step.unlock
        (proven if pure else unproven).add((step.server, kind))

    assert unproven - proven == set()
    assert pending <= {key.server for key in added if "add" not in _locks(name)[key]}


def test_nothing_but_the_crowd_is_locked_at_start() -> None:
    """Only in `crowd` tools are denied at the start.

    An allow list names all tools of its server.
    """
    lists = [server for name in FILES for server in stage(name).servers if server.allow is not None]

    assert [name for name in FILES if any(_locks(name, 0).values())] == ["crowd"]
    assert [
        server for server in lists if set(server.allow or ()) != {t.name for t in server.tools}
    ] == []


def test_alone_and_crowd_have_words_for_every_size() -> None:
    """Group words of `alone` and `crowd` match the numbers of tools that cases need, up to 500.

    In `alone` they match locked tools only.
    """
    alone = stage("alone").tools()
    denied = max(stage("crowd").servers, key=lambda server: len(server.tools)).tools
    few, many = (Counter(g for t in some for g in t.groups) for some in (alone.values(), denied))

    assert sorted(few.values()) == [1, 1, 2, 3, 3, 15, 15]
    assert sorted(many.values()) == [1, 9, 10, 11, 12, 15, 500]
    assert [key for key in alone if alone[key].groups and not _locks("alone")[key]] == []


def test_no_two_tools_tie_in_plain() -> None:
    """In `plain`, SQLite's ranking gives no two tools the same score for a stored query.

    Descriptions differ in length; at least 60 distinct requests, of known agents, are stored.
    """
    world, tools = stage("plain"), stage("plain").tools().values()
    queries = {" OR ".join(tokens(request["query"])) for request in world.requests}
    rows = [(f"{tool.name} {tool.description}",) for tool in tools]
    with closing(sqlite3.connect(":memory:")) as engine:
        engine.execute("create virtual table t using fts5(text)")
        engine.executemany("insert into t values (?)", rows)
        score = "select round(bm25(t), 6) from t where t match ?"
        scores = {query: Counter(engine.execute(score, [query])) for query in queries}

    assert {query for query, tally in scores.items() if set(tally.values()) != {1}} == set()
    assert len({len(tokens(tool.description)) for tool in tools}) == len(tools)
    assert len({json.dumps(request) for request in world.requests}) == len(world.requests) >= 60
    assert {request.get("agent") for request in world.requests} <= {None, *world.agents}
