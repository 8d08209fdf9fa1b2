"""An adapter or loader that echoes everything it was handed, in every form and place."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from canaries import cut, forms

HOW = {"error": "error", "refused": "refused"}


def handed() -> list[str]:
    """Return words of the command and values of the environment, whole and cut."""
    values = [value for name, value in os.environ.items() if name.startswith("CANARY_")]
    words = [
        part for word in sys.argv[2:] for part in (word, word.partition("=")[2]) if len(part) > 7
    ]
    known = [*words, *values]
    return [form for value in known for form in (*forms(value), *cut(value))]


def outcome(server: dict[str, Any], text: str) -> dict[str, Any]:
    """Return an outcome that echoes the text as a tool and as an error."""
    return {
        "server_id": server["server_id"],
        "status": "available",
        "tools": [text, text[:40]],
        "error": text,
        "attempts": 1,
    }


def answer(how: str, query: dict[str, Any], text: str) -> dict[str, Any]:
    """Return the members of one answer."""
    if query["op"] == "hello" and how in ("strange", "loads"):
        every = ["attempts", "classifies", "retries", "stdio", "warnings"]
        return {"ok": {"capabilities": every, "name": text, "version": text[:40]}}
    if how == "strange":
        return {"ok": {"outcomes": [outcome(server, text) | {"status": text}
                                    for server in query["servers"]], "warnings": text}}  # fmt: skip
    if how == "loads":
        outcomes = [outcome(server, text) for server in query["servers"]]
        warnings: dict[str, list[str]] = {"transient": [], "permanent": [text], "denied": []}
        return {"ok": {"outcomes": outcomes, "warnings": warnings}}
    if how == "url":
        return {"ok": {"url": f"http://127.0.0.1:1/{text}", "headers": {"X-Told": text}}}
    return {HOW.get(how, how): text}


def main() -> None:
    """Answer in the way that the first word names; echo everything to standard error first."""
    how, echoes = sys.argv[1], handed()
    for number, line in enumerate(sys.stdin):
        text = " ".join(echoes)
        sys.stderr.write("\n".join([text, *echoes, ""]))
        sys.stderr.flush()
        if how == "dies":
            sys.exit(text)
        if how == "line":
            answer_line = echoes[number % len(echoes)]
        else:
            request = json.loads(line)
            answer_line = json.dumps({"id": request["id"]} | answer(how, request, text))
        sys.stdout.write(answer_line + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
