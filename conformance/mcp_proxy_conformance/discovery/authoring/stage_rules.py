"""Lint rules for stages: steps that name what exists, query words distinct and findable."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import combinations

from mcp_proxy_conformance.authoring.documents import Document
from mcp_proxy_conformance.authoring.finding import LintFinding
from mcp_proxy_conformance.catalogue.world import Step, Tool, ToolKey, World

LONGEST = 40
"""Characters of a server's and a tool's name together."""
FOLDED = ("s", "ing", "ed", "ly", "er")
"""Ends of words that a stemmer folds."""
NEAR = 2
"""Letters in which two words must differ by more."""
SHORT = 3
"""Letters of filler words that are near to everything."""


def stage_findings(document: Document) -> Iterator[LintFinding]:
    """Yield the findings on a stage whose data are valid under the schema.

    They are on unknown names in steps and scopes; only if no step has one, on words that are
    too similar, and on tools whose texts have the wrong words.
    """
    world: World = document.value
    strangers = [
        (n, fault) for n, step in enumerate(world.steps) if (fault := _stranger(world, step))
    ]
    for number, fault in strangers:
        yield document.finding_at(("steps", number), fault, "use a name of this stage")
    for place, name, servers in _beyond(world):
        yield document.finding_at(place, f"there is no server {name!r}", f"name one of {servers}")
    if strangers:
        return
    for fault in unlike(world):
        yield document.finding_at(("servers",), fault, "choose another word")
    for owner, fault in misplaced(world):
        yield document.finding_at(
            _place(world, owner), fault, "correct its name or its description"
        )


def _stranger(world: World, step: Step) -> str:
    """Return a fault if the step names an unknown agent, server or tool; else empty.

    Of a query (`ask`) or a restart, only the agent is looked at; a tool that a step adds need not
    exist.
    """
    if step.agent is not None and step.agent not in world.agents:
        return f"there is no agent {step.agent!r}"
    if step.ask is not None or step.restart is not None:
        return ""
    name = step.refresh or step.server
    server = next((known for known in world.servers if known.name == name), None)
    if server is None:
        return f"there is no server {name!r}"
    there = {key.tool for key in world.tools() if key.server == name}
    wanted = [*step.tools, *filter(None, (step.change, step.call))]
    return next((f"{name} has no tool {tool!r}" for tool in wanted if tool not in there), "")


def _beyond(world: World) -> Iterator[tuple[tuple[str | int, ...], str, str]]:
    """Yield (place, name, known names as text) for each unknown server in an agent's scope."""
    names = [server.name for server in world.servers]
    for agent, servers in world.agents.items():
        for number, name in enumerate(servers):
            if name not in names:
                yield ("agents", agent, number), name, ", ".join(names)


def _place(world: World, owner: ToolKey) -> tuple[str | int, ...]:
    """Return the place of a tool in the stage's file; ("steps",) if a step adds it."""
    for number, server in enumerate(world.servers):
        for at, tool in enumerate(server.tools):
            if owner == ToolKey(server.name, tool.name):
                return ("servers", number, "tools", at)
    return ("steps",)


def tokens(text: str) -> list[str]:
    """Return the words of a text, in lower case; an underscore parts words."""
    return re.findall(r"[^\W_]+", text.lower())


def texts(tool: Tool) -> set[str]:
    """Return every word, in lower case, of a tool's name, description, schema and annotations."""
    sent = (tool.name, tool.description, tool.input_schema, tool.annotations)
    return {word for part in sent for word in tokens(str(part))}


def unlike(world: World) -> Iterator[str]:
    """Yield a fault for each query word, server name or canary that is too like another word.

    Two of these must not contain each other or be `near`. No other word of a tool's or a changing
    step's text may contain one of these or, if it has more than three letters, be near to it. Also
    for each of these with an ending that stemmers drop.
    """
    tools = world.tools().values()
    canaries = [canary for tool in tools for canary in tool.canaries]
    made = [*world.queries(), *(server.name for server in world.servers), *canaries]
    changed = (tokens(step.description or "") for step in world.steps)
    filler = set[str]().union(*map(texts, tools), *changed) - set(made)
    for word, other in combinations(made, 2):
        if word in other or other in word or near(word, other):
            yield f"the words {word!r} and {other!r} are too similar"
    for word in made:
        for other in sorted(filler):
            if word in other or (len(other) > SHORT and near(word, other)):
                yield f"the word {word!r} is too similar to {other!r}, a word of a tool's text"
    for word in made:
        if word.endswith(FOLDED):
            yield f"the word {word!r} has an ending that search engines drop ({', '.join(FOLDED)})"


def misplaced(world: World) -> Iterator[tuple[ToolKey, str]]:
    """Yield (tool, fault) for each tool with wrong query words in its texts or a too long name.

    Only its first fault: words of other tools, a description or a name without its own, over 40
    characters together with its server's name.
    """
    reserved = {*world.queries(), *(server.name for server in world.servers)}
    for name, tool in world.tools().items():
        own = {tool.word, *tool.groups}
        if texts(tool) & reserved != own:
            fault = "have other words of the stage than its `word` and `groups`"
            yield name, f"the texts of {name} {fault}"
        elif not set(tokens(tool.description)) >= own:
            yield name, f"the description of {name} lacks its `word` or one of its `groups`"
        elif set(tool.name.split("_")) & reserved != {tool.word}:
            yield name, f"the name of {name} lacks its `word` or has another word of the stage"
        elif len(name.server) + len(name.tool) > LONGEST:
            yield name, f"{name} has more than {LONGEST} characters, without the colon"


def near(word: str, other: str) -> bool:
    """Whether two words are at most two edits apart, so that a search may confuse them."""
    if abs(len(word) - len(other)) > NEAR:
        return False
    return (Counter(word) - Counter(other)).total() <= NEAR and _edits(word, other) <= NEAR


@cache
def _edits(word: str, other: str) -> int:
    """Return the edit distance of two words: letters to insert, delete or replace."""
    if not word or not other:
        return len(word) + len(other)
    swap = _edits(word[1:], other[1:]) + (word[0] != other[0])
    return min(swap, _edits(word[1:], other) + 1, _edits(word, other[1:]) + 1)
