"""Relay mutants of the answer to a call: content items, structured content, kind of error."""

import base64
import html
import unicodedata
from collections.abc import Callable
from typing import Any

from mcp_proxy_mutants.fidelity.changed import Down
from mcp_proxy_mutants.fidelity.json_text import Json, Number, mapped, write
from mcp_proxy_mutants.fidelity.mutant import relay_mutant
from mcp_proxy_mutants.fidelity.places import (
    each_item,
    failed,
    items,
    member,
    returned,
    structured,
    without,
)

KNOWN = ("text", "image", "audio", "resource", "resource_link")
LONGEST = 200
SUCCESS: Json = {"content": []}
Items = list[dict[str, Any]]


def _envelope(change: Callable[[dict[str, Json]], dict[str, Json]]) -> Down:
    """Return a filter that changes the answers to calls, as whole messages."""

    def down(message: dict[str, Json], asked: dict[str, Json]) -> Json:
        answer = "result" in message or "error" in message
        return change(message) if asked.get("method") == "tools/call" and answer else message

    return down


def _result_of(change: Callable[[Json], Json]) -> Down:
    """Return a filter that turns errors of calls into results, which `change` makes of them."""
    return _envelope(
        lambda message: (
            without(message, "error") | {"result": change(message["error"])}
            if "error" in message
            else message
        )
    )


def _error_of_result(message: dict[str, Json]) -> dict[str, Json]:
    """Return an answer with a JSON-RPC error for a result that says isError; another as it is."""
    result = message.get("result") or {}
    if result.get("isError") is not True:
        return message
    texts = [item["text"] for item in result.get("content", []) if "text" in item]
    error = {"code": Number("-32603"), "message": " ".join(texts) or "failed"}
    return without(message, "result") | {"error": error}


def _merged(content: Items) -> Items:
    """Return content in which texts that follow one another are one, on lines of their own."""
    merged: Items = []
    for item in content:
        if merged and item.get("type") == merged[-1].get("type") == "text":
            merged[-1] = merged[-1] | {"text": f"{merged[-1]['text']}\n{item['text']}"}
        else:
            merged.append(item)
    return merged


def _urlsafe(item: Json) -> Json:
    """Return an item with its data in the other alphabet of base64, without padding."""
    data = str(item.get("data", "")).translate(str.maketrans("+/", "-_"))
    return item | {"data": data.rstrip("=")}


def _inside(item: Json, change: Callable[[dict[str, Json]], Json]) -> Json:
    """Return a content item with its embedded resource changed; one without a resource as it is."""
    return item | {"resource": change(item["resource"])} if "resource" in item else item


def _decoded(resource: dict[str, Json]) -> Json:
    """Return a resource with its `blob` as `text`, decoded; one without as it is."""
    if "blob" not in resource:
        return resource
    text = base64.b64decode(resource["blob"]).decode("utf-8", "replace")
    return without(resource, "blob") | {"text": text}


def _annotated(change: Callable[[dict[str, Json]], Json]) -> Down:
    """Return a filter that changes the annotations of content items that have any."""
    return items(
        lambda content: [
            item | {"annotations": change(item["annotations"])} if "annotations" in item else item
            for item in content
        ]
    )


def _double(value: Json) -> Json:
    """Return an integer as that of the nearest double; any other value as it is."""
    if not isinstance(value, Number):
        return value
    return Number(str(int(float(value)))) if value.is_integer else value


def _without_null(value: Json) -> Json:
    """Return an object without null members; any other value as it is."""
    if not isinstance(value, dict):
        return value
    return {name: inner for name, inner in value.items() if inner is not None}


def _standard(code: Json) -> Json:
    """Return an error code that JSON-RPC defines as it is, and -32603 for any other."""
    standard = isinstance(code, Number) and code.startswith(("-326", "-327"))
    return code if standard else Number("-32603")


def _is_empty(error: dict[str, Json]) -> bool:
    """Whether the data of an error are missing, null, false, 0 or empty."""
    data = error.get("data")
    return not data or data == Number("0")


MUTANTS = (
    relay_mutant(
        "relay-answers-ids-as-texts",
        "An answer has the request's id as a text.",
        "RLY.down.envelope",
        down=_envelope(lambda message: message | {"id": str(message["id"])}),
    ),
    relay_mutant(
        "relay-quotes-codes",
        "The code of an error is a text.",
        "RLY.down.envelope",
        down=failed(lambda error: error | {"code": str(error["code"])}),
    ),
    relay_mutant(
        "relay-sends-errors-beside-results",
        "An error stands beside an empty result.",
        "RLY.down.envelope",
        down=_envelope(
            lambda answer: answer | {"result": SUCCESS} if "error" in answer else answer
        ),
    ),
    relay_mutant(
        "relay-drops-unknown-content",
        "Content items of unknown types are lost.",
        "RLY.down.content.items",
        down=items(lambda content: [item for item in content if item.get("type") in KNOWN]),
    ),
    relay_mutant(
        "relay-adds-a-text",
        "A text comes before the content items of the upstream.",
        "RLY.down.content.items",
        down=items(lambda content: [{"type": "text", "text": "relayed"}, *content]),
    ),
    relay_mutant(
        "relay-drops-empty-texts",
        "Text items without any text are lost.",
        "RLY.down.content.items",
        down=items(lambda content: [item for item in content if item.get("text") != ""]),
    ),
    relay_mutant(
        "relay-merges-texts",
        "Texts that follow one another become one.",
        "RLY.down.content.items",
        down=items(_merged),
    ),
    relay_mutant(
        "relay-puts-texts-first",
        "Texts come before the other content items.",
        "RLY.down.content.items",
        down=items(lambda content: sorted(content, key=lambda item: item.get("type") != "text")),
    ),
    relay_mutant(
        "relay-cuts-texts",
        "Texts of results end after 200 letters.",
        "RLY.down.content.text",
        down=each_item("text", lambda item: item | {"text": item["text"][:LONGEST]}),
    ),
    relay_mutant(
        "relay-escapes-texts",
        "Markup in texts of results is escaped.",
        "RLY.down.content.text",
        down=each_item(
            "text", lambda item: item | {"text": html.escape(item["text"], quote=False)}
        ),
    ),
    relay_mutant(
        "relay-composes-texts",
        "Texts of results are normalised to composed letters.",
        "RLY.down.content.text",
        down=each_item(
            "text", lambda item: item | {"text": unicodedata.normalize("NFC", item["text"])}
        ),
    ),
    relay_mutant(
        "relay-changes-base64",
        "Data of images are written in the other alphabet of base64.",
        "RLY.down.content.media",
        down=each_item("image", _urlsafe),
    ),
    relay_mutant(
        "relay-generalises-audio",
        "Audio is of the type application/octet-stream.",
        "RLY.down.content.media",
        down=each_item("audio", lambda item: item | {"mimeType": "application/octet-stream"}),
    ),
    relay_mutant(
        "relay-writes-links-out",
        "Links to resources become texts.",
        "RLY.down.content.resource-link",
        "RLY.down.content.items",
        down=each_item(
            "resource_link",
            lambda item: {"type": "text", "text": f"[{item.get('name')}]({item.get('uri')})"},
        ),
    ),
    relay_mutant(
        "relay-lowers-links",
        "The URIs of links to resources are in lower case.",
        "RLY.down.content.resource-link",
        down=each_item("resource_link", lambda item: item | {"uri": item["uri"].lower()}),
    ),
    relay_mutant(
        "relay-loses-sizes-of-links",
        "Links to resources do not say their size.",
        "RLY.down.content.resource-link",
        down=each_item("resource_link", lambda item: without(item, "size")),
    ),
    relay_mutant(
        "relay-decodes-blobs",
        "Data of embedded resources become texts.",
        "RLY.down.content.embedded",
        down=each_item("resource", lambda item: _inside(item, _decoded)),
    ),
    relay_mutant(
        "relay-loses-types-of-resources",
        "The types of embedded resources are lost.",
        "RLY.down.content.embedded",
        down=each_item(
            "resource", lambda item: _inside(item, lambda inner: without(inner, "mimeType"))
        ),
    ),
    relay_mutant(
        "relay-shows-all-to-the-assistant",
        "Annotated content is for the assistant too.",
        "RLY.down.content.audience",
        down=_annotated(lambda notes: notes | {"audience": ["user", "assistant"]}),
    ),
    relay_mutant(
        "relay-rounds-priorities",
        "Priorities of content are 0 or 1.",
        "RLY.down.content.audience",
        down=_annotated(
            lambda notes: (
                notes | {"priority": Number(str(round(float(notes["priority"]))))}
                if "priority" in notes
                else notes
            )
        ),
    ),
    relay_mutant(
        "relay-rounds-results",
        "Integers in structured content go through a double.",
        "RLY.down.structured.value",
        down=structured(lambda value: mapped(value, _double)),
    ),
    relay_mutant(
        "relay-drops-nulls",
        "Null members of structured content are lost.",
        "RLY.down.structured.value",
        down=structured(lambda value: mapped(value, _without_null)),
    ),
    relay_mutant(
        "relay-drops-structure",
        "Structured content is lost.",
        "RLY.down.structured.kept",
        "RLY.down.structured.conforms",
        down=returned(lambda result: without(result, "structuredContent")),
    ),
    relay_mutant(
        "relay-drops-empty-structure",
        "Empty structured content is lost.",
        "RLY.down.structured.kept",
        down=returned(
            lambda result: (
                result if result.get("structuredContent") else without(result, "structuredContent")
            )
        ),
    ),
    relay_mutant(
        "relay-drops-structure-with-lists",
        "Structured content with a list of two or more is lost.",
        "RLY.down.structured.kept",
        down=returned(
            lambda result: (
                without(result, "structuredContent")
                if any(
                    isinstance(value, list) and len(value) > 1
                    for value in (result.get("structuredContent") or {}).values()
                )
                else result
            )
        ),
    ),
    relay_mutant(
        "relay-drops-unnamed-structure",
        "Structured content with a name that is no word is lost.",
        "RLY.down.structured.kept",
        down=returned(
            lambda result: (
                result
                if all(name.isidentifier() for name in result.get("structuredContent") or {})
                else without(result, "structuredContent")
            )
        ),
    ),
    relay_mutant(
        "relay-promises-more",
        "Output schemas require a member of the relay's own.",
        "RLY.down.structured.conforms",
        "RLY.tools.members.output-schema",
        down=member(
            "outputSchema",
            lambda schema: schema | {"required": [*schema.get("required", []), "relayedAt"]},
        ),
    ),
    relay_mutant(
        "relay-wraps-structure",
        "Structured content is wrapped in a member `data`.",
        "RLY.down.structured.conforms",
        "RLY.down.structured.value",
        down=structured(lambda value: {"data": value}),
    ),
    relay_mutant(
        "relay-forgives-tools",
        "Results do not say isError.",
        "RLY.down.error-kind.tool-error",
        down=returned(lambda result: without(result, "isError")),
    ),
    relay_mutant(
        "relay-forgives-silent-tools",
        "Results without content do not say isError.",
        "RLY.down.error-kind.tool-error",
        down=returned(
            lambda result: result if result.get("content") else without(result, "isError")
        ),
    ),
    relay_mutant(
        "relay-raises-tool-errors",
        "A tool's error becomes one of JSON-RPC.",
        "RLY.down.error-kind.tool-error",
        down=_envelope(_error_of_result),
    ),
    relay_mutant(
        "relay-tells-errors-as-texts",
        "A JSON-RPC error becomes a text, as a success.",
        "RLY.down.error-kind.protocol-error",
        down=_result_of(
            lambda error: {"content": [{"type": "text", "text": str(error["message"])}]}
        ),
    ),
    relay_mutant(
        "relay-swallows-errors",
        "A JSON-RPC error becomes a success without content.",
        "RLY.down.error-kind.protocol-error",
        down=_result_of(lambda _: SUCCESS),
    ),
    relay_mutant(
        "relay-has-one-code",
        "Every error has the code -32603.",
        "RLY.down.error-kind.code",
        down=failed(lambda error: error | {"code": Number("-32603")}),
    ),
    relay_mutant(
        "relay-knows-standard-codes",
        "Codes that are not those of JSON-RPC become -32603.",
        "RLY.down.error-kind.code",
        down=failed(lambda error: error | {"code": _standard(error["code"])}),
    ),
    relay_mutant(
        "relay-drops-data",
        "Errors have no data.",
        "RLY.down.error-kind.data",
        down=failed(lambda error: without(error, "data")),
    ),
    relay_mutant(
        "relay-drops-empty-data",
        "Data of errors that are 0, false or empty are lost.",
        "RLY.down.error-kind.data",
        down=failed(lambda error: without(error, "data") if _is_empty(error) else error),
    ),
    relay_mutant(
        "relay-has-one-message",
        "Every error says `Internal error`.",
        "RLY.down.error-kind.data",
        down=failed(lambda error: error | {"message": "Internal error"}),
    ),
    relay_mutant(
        "relay-quotes-data",
        "The data of an error is its JSON text.",
        "RLY.down.error-kind.data",
        down=failed(
            lambda error: (
                error | {"data": write(error["data"]).decode()} if "data" in error else error
            )
        ),
    ),
)
