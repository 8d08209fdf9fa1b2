"""Stages: the rules that make a one-word query and a lock provable."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import combinations

from mcp_proxy_conformance.catalogue.world import Step, Tool, ToolKey, World
from mcp_proxy_conformance.selftest.authoring.documents import Document
from mcp_proxy_conformance.selftest.authoring.finding import Finding

LONGEST = 40
"""Characters of a server's and a tool's name together."""
FOLDED = ("s", "ing", "ed", "ly", "er")
"""Ends of words that a stemmer folds."""
NEAR = 2
"""Letters in which two words must differ by more."""
SHORT = 3
"""Letters of filler words that are near to everything."""


def stage_findings(document: Document) -> Iterator[Finding]:
    """All that is wrong with a stage that keeps to its schema."""
    world: World = document.value
    strangers = [(n, told) for n, one in enumerate(world.steps) if (told := _stranger(world, one))]
    for number, told in strangers:
        yield document.found(("steps", number), told, "name what this stage has")
    for place, name, servers in _beyond(world):
        yield document.found(place, f"there is no server {name!r}", f"name one of {servers}")
    if strangers:
        return
    for told in unlike(world):
        yield document.found(("servers",), told, "make up another word")
    for owner, told in misplaced(world):
        yield document.found(_place(world, owner), told, "mend its name or its description")


def _stranger(world: World, step: Step) -> str:
    """Of what a step names, what the stage has not; empty when it has all of it."""
    if step.agent is not None and step.agent not in world.agents:
        return f"there is no agent {step.agent!r}"
    if step.ask is not None or step.restart is not None:
        return ""
    name = step.refresh or step.server
    server = next((one for one in world.servers if one.name == name), None)
    if server is None:
        return f"there is no server {name!r}"
    there = {one.tool for one in world.tools() if one.server == name}
    wanted = [*step.tools, *filter(None, (step.change, step.call))]
    return next((f"{name} has no tool {tool!r}" for tool in wanted if tool not in there), "")


def _beyond(world: World) -> Iterator[tuple[tuple[str | int, ...], str, str]]:
    names = [one.name for one in world.servers]
    for agent, servers in world.agents.items():
        for number, name in enumerate(servers):
            if name not in names:
                yield ("agents", agent, number), name, ", ".join(names)


def _place(world: World, owner: ToolKey) -> tuple[str | int, ...]:
    for number, server in enumerate(world.servers):
        for at, tool in enumerate(server.tools):
            if owner == ToolKey(server.name, tool.name):
                return ("servers", number, "tools", at)
    return ("steps",)


def tokens(text: str) -> list[str]:
    """The words of a text, in small letters."""
    return re.findall(r"[^\W_]+", text.lower())


def texts(tool: Tool) -> set[str]:
    """Every word that is sent of a tool."""
    sent = (tool.name, tool.description, tool.input_schema, tool.annotations)
    return {word for part in sent for word in tokens(str(part))}


def unlike(world: World) -> Iterator[str]:
    """Made-up words that are near each other, inside of one another or of others, or fold."""
    tools = world.tools().values()
    canaries = [one for tool in tools for one in tool.canaries]
    made = [*world.queries(), *(one.name for one in world.servers), *canaries]
    changed = (tokens(step.description or "") for step in world.steps)
    filler = set[str]().union(*map(texts, tools), *changed) - set(made)
    for one, other in combinations(made, 2):
        if one in other or other in one or near(one, other):
            yield f"the words {one!r} and {other!r} are too like each other"
    for one in made:
        for other in sorted(filler):
            if one in other or (len(other) > SHORT and near(one, other)):
                yield f"the word {one!r} is too like {other!r}, which stands in a text"
    for one in made:
        if one.endswith(FOLDED):
            yield f"the word {one!r} ends as words that searches fold"


def misplaced(world: World) -> Iterator[tuple[ToolKey, str]]:
    """Tools whose words are not where a query of one word looks for them, or that are too long."""
    reserved = {*world.queries(), *(one.name for one in world.servers)}
    for name, tool in world.tools().items():
        own = {tool.word, *tool.groups}
        if texts(tool) & reserved != own:
            yield name, f"{name} has other words of the stage in its texts than its own"
        elif not set(tokens(tool.description)) >= own:
            yield name, f"{name} has not all of its words in its description"
        elif set(tool.name.split("_")) & reserved != {tool.word}:
            yield name, f"{name} has not its word in its name"
        elif len(name.server) + len(name.tool) > LONGEST:
            yield name, f"{name} is longer than {LONGEST} characters"


def near(one: str, other: str) -> bool:
    """Whether so few letters set them apart that a search may take one for the other."""
    if abs(len(one) - len(other)) > NEAR:
        return False
    return (Counter(one) - Counter(other)).total() <= NEAR and _edits(one, other) <= NEAR


@cache
def _edits(one: str, other: str) -> int:
    """How many letters to insert, delete or replace until one word is the other."""
    if not one or not other:
        return len(one) + len(other)
    swap = _edits(one[1:], other[1:]) + (one[0] != other[0])
    return min(swap, _edits(one[1:], other) + 1, _edits(one, other[1:]) + 1)
