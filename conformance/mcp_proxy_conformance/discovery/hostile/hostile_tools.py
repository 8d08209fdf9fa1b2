"""Hostile tools, strange but legal, beside ordinary ones: the world of robustness checks."""

from __future__ import annotations

from typing import Any

import msgspec

from mcp_proxy_conformance.catalogue.world import Server, Step, Tool, ToolKey, World

ORDINARY = ToolKey("wumbaf", "fetch_gorlim")
LOCKED = ToolKey("wumbaf", "drop_gorlim")
NEIGHBOUR = ToolKey("quirdo", "count_gorlim")
LOCKED_STRANGE = ToolKey("quirdo", "pack:fesdul")
STRANGE_WORD = "fesdul"
WORD = "gorlim"
DEEP = 40


def _nested(depth: int) -> dict[str, Any]:
    """Return a JSON schema of `depth` objects inside each other, with a string in the last."""
    inner: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        inner = {"type": "object", "properties": {"inner": inner}}
    return inner


def _strange(name: str, text: str, **members: Any) -> Tool:
    """Make a tool with that name, that text as its description, and these further fields."""
    return Tool(name=name, description=text, **members)


STRANGE = (
    _strange("__proto__", "Reads what objects inherit, zanduk.", word="zanduk"),
    _strange("constructor", "Makes a pelvor.", word="pelvor"),
    _strange("null", "Gives back a tigrum.", word="tigrum"),
    _strange("-rf", "Keeps the nasbol.", word="nasbol"),
    _strange("..", "Goes up to the hurvek.", word="hurvek"),
    _strange("a.b/c-d", "Takes a way to the jomtis.", word="jomtis"),
    _strange("0", "Counts the rudwan.", word="rudwan"),
    _strange("brenolk", "", word="brenolk"),
    _strange("very_long", "A walk of the kelsut. " + "It goes on. " * 2000, word="kelsut"),
    _strange(
        "odd_letters",
        "Draws a mofrin: \u202etxet\u202c\u2028\u0000\u001b[2J \U0001f469\u200d\U0001f4bb "
        '<script>x</script> ]]> %s ${x} \\ "',
        word="mofrin",
    ),
    _strange("deep_schema", "Digs a vuntab.", word="vuntab", input_schema=_nested(DEEP)),
    _strange(
        "odd_schema",
        "Bends a sirgol.",
        word="sirgol",
        input_schema={
            "type": "object",
            "properties": {"__proto__": {"$ref": "#"}, "": {}, "a b": {"enum": [None, 1, "x"]}},
            "additionalProperties": {"$ref": "#"},
        },
    ),
)
"""Tools that the protocol allows; the word of each occurs nowhere else."""

HOSTILE = World(
    id="hostile",
    version=1,
    about="Tools with strange but legal names, texts and schemas beside ordinary ones.",
    servers=(
        Server(
            name=ORDINARY.server,
            tools=(
                Tool(name=ORDINARY.tool, description="Fetch gorlim.", groups=(WORD,)),
                Tool(name=LOCKED.tool, description="Drop gorlim.", groups=(WORD,)),
            ),
        ),
        Server(
            name=NEIGHBOUR.server,
            tools=(
                Tool(name=NEIGHBOUR.tool, description="Count gorlim.", groups=(WORD,)),
                *STRANGE,
                Tool(name=LOCKED_STRANGE.tool, description="Pack a fesdul.", word=STRANGE_WORD),
            ),
        ),
    ),
    steps=(
        Step(lock="config", server=LOCKED.server, tools=(LOCKED.tool,)),
        Step(lock="config", server=LOCKED_STRANGE.server, tools=(LOCKED_STRANGE.tool,)),
    ),
)
ORDINARY_ALONE = msgspec.structs.replace(
    HOSTILE,
    servers=tuple(
        msgspec.structs.replace(
            server, tools=tuple(tool for tool in server.tools if WORD in tool.groups)
        )
        for server in HOSTILE.servers
    ),
    steps=HOSTILE.steps[:1],
)
"""The same world without the strange tools."""
