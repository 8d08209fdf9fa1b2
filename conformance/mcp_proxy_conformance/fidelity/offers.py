"""The stages `features` and `stateless`: data of their servers, and messages that these send.

The data are resources, templates, prompts and completions; the messages are notifications, log
messages, and requests to the client.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mcp_proxy_conformance.catalogue.world import World
from mcp_proxy_conformance.upstream.relayed import COUNT, Answer, Era, Page, Relayed, subject
from mcp_proxy_conformance.upstream.talk import COMPLETE, LEVELS
from mcp_proxy_conformance.wire.jsonrpc import dumps

FEATURES = World(servers=(), id="features")
"""A server with every feature of the handshake era, which also asks, logs and listens."""
STATELESS = World(servers=(), id="stateless")
"""A server of 2026-07-28 with the same features and data, as far as that revision has them."""
NOTE, DATA, LATER = "memo://notes/1", "file:///data/blob%20%C3%BC.bin", "memo://notes/2?a=1&b=%2F"
EMPTY, WHOSE = "memo://empty", "memo://whose"
MISSING = "memo://no-such-resource"
COUNTED, ASKING = "memo://counted", "memo://asking"
"""Resources whose text is another at each reading; the second asks first. 2026-07-28 lists them."""
BYTES = bytes(range(256))
NEXT = "page/2 =&?"
INSTRUCTIONS = "Begin with “notes”.\nThen call the tools."
RESOURCES: Sequence[Sequence[Mapping[str, Any]]] = (
    (
        {
            "uri": NOTE,
            "name": "note",
            "title": "A note: “Größe”",
            "description": "Line one.\nLine two.",
            "mimeType": "text/plain",
            "size": 17,
            "annotations": {
                "audience": ["user", "assistant"],
                "priority": 0.25,
                "lastModified": "2025-01-12T15:00:58Z",
            },
        },
        {"uri": DATA, "name": "data", "mimeType": "application/octet-stream", "size": 256},
    ),
    ({"uri": LATER, "name": "later"}, {"uri": EMPTY, "name": "empty"}),
)
"""The resources of both pages."""
TEMPLATES: Sequence[Mapping[str, Any]] = (
    {"uriTemplate": "memo://notes/{id}{?a,b}", "name": "notes", "title": "Notes"},
    {
        "uriTemplate": "file:///{+path}",
        "name": "files",
        "description": "A file.",
        "mimeType": "text/plain",
    },
)
READS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    NOTE: [
        {"uri": NOTE, "mimeType": "text/plain", "text": "Größe: 3 µm\r\n\t\u2028“x” \U0001f600"}
    ],
    DATA: [
        {
            "uri": DATA,
            "mimeType": "application/octet-stream",
            "blob": base64.b64encode(BYTES).decode(),
        }
    ],
    LATER: [
        {"uri": LATER, "mimeType": "text/plain", "text": "one"},
        {"uri": f"{LATER}#2", "mimeType": "application/json", "text": '{"n": 9007199254740993}'},
    ],
    EMPTY: [{"uri": EMPTY, "mimeType": "text/plain", "text": ""}],
}
"""The contents of each resource."""
PROMPTS: Sequence[Sequence[Mapping[str, Any]]] = (
    (
        {
            "name": "review",
            "title": "Review: “Größe”",
            "description": "Reviews code.",
            "arguments": [
                {"name": "code", "description": "The code.", "required": True},
                {"name": "style", "required": False},
            ],
        },
    ),
    ({"name": "plain"},),
)
"""The prompts of both pages."""
IMAGE = {"type": "image", "data": base64.b64encode(BYTES[:9]).decode(), "mimeType": "image/png"}
GOT: Mapping[str, Mapping[str, Any]] = {
    "review": {
        "description": "A review of “x”",
        "messages": [
            {"role": "user", "content": {"type": "text", "text": "Review\n\n\tthis: ü \U0001f600"}},
            {"role": "assistant", "content": IMAGE},
            {
                "role": "user",
                "content": {
                    "type": "resource",
                    "resource": {"uri": NOTE, "mimeType": "text/plain", "text": "a note"},
                },
            },
        ],
    },
    "plain": {"messages": []},
}
"""Each prompt, as it is got."""
ARGUMENTS: Mapping[str, Mapping[str, str]] = {
    "review": {"code": 'if a < b:\n\t"ü" \U0001f600', "style": ""},
    "plain": {},
}
COMPLETIONS: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]] = (
    (
        {
            "ref": {"type": "ref/prompt", "name": "review"},
            "argument": {"name": "style", "value": "br“"},
            "context": {"arguments": {"code": "x"}},
        },
        {"values": ["brief", "br“oad”", ""], "total": 12, "hasMore": True},
    ),
    (
        {
            "ref": {"type": "ref/resource", "uri": "memo://notes/{id}{?a,b}"},
            "argument": {"name": "id", "value": ""},
        },
        {"values": []},
    ),
)
"""What is completed, and the completion."""
TELLING = "telling"
"""The tool whose calls are answered after messages of the server's own."""
LOGGED: Mapping[str, Any] = {
    "debug": {"a": [1, None, 2.5], "ü": "x"},
    "info": "Größe \U0001f600",
    "notice": 9007199254740993,
    "warning": None,
    "error": [],
    "critical": True,
    "alert": "",
    "emergency": {"error": {"code": 1}},
}
"""The data that is logged on each level."""
PROGRESS: Sequence[Mapping[str, Any]] = (
    {"progress": 0, "total": 4, "message": "at the start"},
    {"progress": 0.5, "total": 4.5},
    {"progress": 1, "message": "“Größe” \U0001f600"},
    {"progress": 9007199254740993, "total": 9007199254740995},
)
ASKED: Mapping[str, Mapping[str, Any]] = {
    "elicitation/create": {
        "message": "Your “name”, please: ü \U0001f600",
        "requestedSchema": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "title": "Name", "minLength": 1},
                "age": {"type": "integer", "minimum": 0},
                "sure": {"type": "boolean", "default": True},
            },
            "required": ["name"],
        },
    },
    "sampling/createMessage": {
        "messages": [{"role": "user", "content": {"type": "text", "text": "Say “ü”"}}],
        "systemPrompt": "Be brief.",
        "modelPreferences": {"hints": [{"name": "small"}], "costPriority": 0.25},
        "temperature": 0.5,
        "maxTokens": 100,
        "stopSequences": ["\n\n"],
    },
    "roots/list": {},
}
"""What the server asks its client, with the params."""
OF_URL: Mapping[str, Any] = {
    "mode": "url",
    "elicitationId": "7e1c-elicited",
    "url": "https://upstream.example/begin?id=7e1c-elicited",
    "message": "Please sign in at “upstream”.",
}
"""The params of an elicitation of a URL."""


def notification(method: str, params: Mapping[str, Any] | None = None) -> bytes:
    """Return the JSON text of a notification of the server."""
    members = {"jsonrpc": "2.0", "method": method}
    return dumps(members if params is None else {**members, "params": params})


def question(method: str, params: Mapping[str, Any] | None = None) -> bytes:
    """Return the JSON text of a request of the server, by default with its params of ASKED, if any.

    Its id is the placeholder `$id`.
    """
    members: dict[str, Any] = {"jsonrpc": "2.0", "id": "$id", "method": method}
    params = params or ASKED.get(method)
    return dumps({**members, "params": params} if params else members)


def progress(values: Mapping[str, Any]) -> bytes:
    """Return the JSON text of a notification of progress with these values.

    Its token is the placeholder `$token`.
    """
    return notification("notifications/progress", {"progressToken": "$token", **values})


def log(level: str) -> bytes:
    """Return the JSON text of a log message of that level, with its data of LOGGED."""
    params = {"level": level, "logger": "upstream.ü", "data": LOGGED[level]}
    return notification("notifications/message", params)


def featured(tools: Sequence[bytes], era: Era = "handshake") -> Relayed:
    """Return the data of the server of `FEATURES`, or of `STATELESS`, by era.

    `tools` are its tools' entries as JSON texts.
    """
    text = b'{"content":[{"type":"text","text":"done"}]}'
    told = {
        "progress": tuple(map(progress, PROGRESS)),
        "logs": tuple(map(log, LEVELS)),
        "ping": (question("ping"),),
        "all questions": tuple(map(question, ASKED)),
        COMPLETE: (
            question("elicitation/create", OF_URL),
            notification(COMPLETE, {"elicitationId": OF_URL["elicitationId"]}),
        ),
        **{method: (question(method),) for method in ASKED},
    }
    return Relayed(
        pages={None: Page(entries=tuple(tools))},
        answers={
            **{case: Answer(result=text, before=before) for case, before in told.items()},
            **{
                f"late {case}": Answer(result=text, before=before, delay_s=LATE_S)
                for case, before in told.items()
            },
            "whose": Answer(result=b'{"content":[{"type":"text","text":"$client"}]}'),
            "slow": Answer(result=text, delay_s=SLOW_S),
            "late": Answer(result=text, delay_s=2 * LATE_S),
            "needing": Answer(result=text, needs="elicitation"),
        },
        others=_others(era),
        era=era,
        listens=True,
        capabilities=dumps(
            {
                "tools": {"listChanged": True},
                "resources": {"subscribe": True, "listChanged": True},
                "prompts": {"listChanged": True},
                "completions": {},
                "logging": {},
                **({"tasks": TASKS} if era == "handshake" else {}),
            }
        ),
        instructions=INSTRUCTIONS,
    )


TASKS: Mapping[str, Any] = {"list": {}, "requests": {"tools": {"call": {}}}}
"""The capability of a server of tasks."""
SLOW_S, LATE_S = 6.5, 0.25
"""Seconds that a call takes which is to be cancelled meanwhile, or in which others begin."""


def _others(era: Era) -> Mapping[str, Answer]:
    """Return the answers to all requests but those about tools, by method and what it is about."""
    code = -32602 if era == "stateless" else -32002
    not_found = {"code": code, "message": "Resource not found", "data": {"uri": MISSING}}
    counted = {"uri": COUNTED, "mimeType": "text/plain", "text": f"read {COUNT.decode()}"}
    unknown = {"code": -32602, "message": "Unknown prompt"}
    further = [{"uri": uri, "name": uri.removeprefix("memo://")} for uri in (COUNTED, ASKING)]
    first, second = RESOURCES
    resources = (first, [*second, *further]) if era == "stateless" else RESOURCES
    pages = (("resources", resources), ("prompts", PROMPTS))
    return {
        **{
            f"{kind}/list{cursor}": _result({kind: page, **following})
            for kind, (first, second) in pages
            for cursor, page, following in (
                ("", first, {"nextCursor": NEXT}),
                (f" {NEXT}", second, {}),
            )
        },
        "resources/templates/list": _result({"resourceTemplates": TEMPLATES}),
        f"resources/read {WHOSE}": _result({"contents": [{"uri": WHOSE, "text": "$client"}]}),
        **{f"resources/read {uri}": _result({"contents": found}) for uri, found in READS.items()},
        f"resources/read {COUNTED}": _result({"contents": [counted]}),
        f"resources/read {ASKING}": replace(
            _result({"contents": [counted]}), before=(question("elicitation/create"),)
        ),
        "resources/read": Answer(error=dumps(not_found)),
        "resources/subscribe": _result({}),
        "resources/unsubscribe": _result({}),
        **{f"prompts/get {name}": _result(prompt) for name, prompt in GOT.items()},
        "prompts/get": Answer(error=dumps(unknown)),
        **{
            f"completion/complete {subject(params)}": _result({"completion": completion})
            for params, completion in COMPLETIONS
        },
        "logging/setLevel": _result({}),
    }


def _result(value: Mapping[str, Any]) -> Answer:
    return Answer(result=dumps(value))


def is_offered(declared: Mapping[str, Any], capability: str, member: str = "") -> bool:
    """Whether declared capabilities have this one, as an object, and with a member also that."""
    offer = declared.get(capability)
    return isinstance(offer, dict) and (not member or bool(offer.get(member)))
