"""Answer bodies, JSON or event streams, as they are rewritten by the hooks of a wire mutant."""

from __future__ import annotations

import contextlib
import json

from mcp_proxy_conformance.discovery.selftest.exchange import Json, WireExchange, WireFault, dump


def rewritten(fault: WireFault, exchange: WireExchange, body: bytes) -> bytes:
    """Return a JSON answer changed by the mutant's hooks; the same bytes if none changes it.

    `refusal` changes the message of a JSON-RPC error to a call of an upstream tool, the other
    hooks a result. Raises ValueError if the body is not JSON.
    """
    answer = json.loads(body)
    if not isinstance(answer, dict):
        return body
    error, result = answer.get("error"), answer.get("result")
    part: dict[str, Json] | None = None
    if isinstance(error, dict) and fault.refusal is not None and exchange.called is not None:
        again = fault.refusal(exchange, str(error.get("message", "")))
        part = None if again is None else {"error": error | {"message": again}}
    elif isinstance(result, dict):
        changed = _changed(fault, exchange, result)
        part = None if changed is None else {"result": changed}
    return body if part is None else dump(answer | part).encode("utf-8", "replace")


def _changed(fault: WireFault, exchange: WireExchange, result: dict[str, Json]) -> Json | None:
    """Return a result as the mutant changes it, maybe in place; None if it does not.

    The hook `result`, if set, gets a copy of it, and the other hooks are not used; else the hooks
    on texts (`refusal`, `spelled`, `document`) get the text of a `tools/call` with exactly one text
    item.
    """
    if fault.result is not None:
        return fault.result(exchange, json.loads(json.dumps(result)))
    content = result.get("content")
    if exchange.method != "tools/call" or not isinstance(content, list):
        return None
    texts = [place for place, item in enumerate(content) if item.get("type") == "text"]
    text = content[texts[0]].get("text") if len(texts) == 1 else None
    refused = bool(result.get("isError"))
    again = (
        None
        if not isinstance(text, str)
        else _rewritten_text(fault, exchange, text, refused=refused)
    )
    if again is None or again == text:
        return None
    content[texts[0]] = content[texts[0]] | {"text": again}
    return result


def _rewritten_text(
    fault: WireFault, exchange: WireExchange, text: str, *, refused: bool
) -> str | None:
    """Return the text of a tool's answer as the mutant rewrites it; None if it does not.

    The text of a refused call of an upstream tool goes to the hook `refusal`; of another answer
    to `spelled` or, if that is not set and it is a JSON object of a built-in tool, to
    `document`.
    """
    if refused:
        judged = fault.refusal is not None and exchange.called is not None
        return fault.refusal(exchange, text) if judged and fault.refusal else None
    if fault.spelled is not None:
        return fault.spelled(exchange, text)
    if fault.document is None or exchange.called is not None:
        return None
    try:
        document = json.loads(text)
    except ValueError:
        return None
    if not isinstance(document, dict):
        return None
    before = dump(document)
    changed = fault.document(exchange, document)
    return None if changed is None or dump(changed) == before else dump(changed)


def events_rewritten(fault: WireFault, exchange: WireExchange, body: bytes) -> bytes:
    """Return an event stream's body, the JSON of each `data` line changed as by `rewritten`.

    Lines without a result or error, or that are not JSON, stay.
    """
    lines = body.split(b"\n")
    for place, line in enumerate(lines):
        if line.startswith(b"data:") and (b'"result"' in line or b'"error"' in line):
            with contextlib.suppress(ValueError):
                lines[place] = b"data: " + rewritten(fault, exchange, line[5:].strip())
    return b"\n".join(lines)
