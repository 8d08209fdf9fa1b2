"""Program that acts as an adapter or a loader and echoes all secrets that it was handed.

`python echo_program.py HOW WORD…`; HOW is the kind of answer that holds them.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from canaries import cut, forms

HOW = {"error": "error", "refused": "refused"}


def handed() -> list[str]:
    """Return all forms and excerpts of each secret: words after HOW, and CANARY_… variables.

    Words of 8 characters or more count, as do their parts behind `=`.
    """
    values = [value for name, value in os.environ.items() if name.startswith("CANARY_")]
    words = [
        part for word in sys.argv[2:] for part in (word, word.partition("=")[2]) if len(part) > 7
    ]
    known = [*words, *values]
    return [form for value in known for form in (*forms(value), *cut(value))]


def outcome(server: dict[str, Any], text: str) -> dict[str, Any]:
    """Return an available server's outcome whose error is the text.

    Its tools are the text and the text's first 40 characters.
    """
    return {
        "server_id": server["server_id"],
        "status": "available",
        "tools": [text, text[:40]],
        "error": text,
        "attempts": 1,
    }


def answer(how: str, query: dict[str, Any], text: str) -> dict[str, Any]:
    """Return the members of the answer to the request `query`, with the text where `how` says.

    `strange` and `loads` are answers of loaders, whose hello declares every capability; `url` puts
    it into a URL and a header; any other way is the name of the one member that has it.
    """
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
    """For each line of input, print all secrets to standard error and answer as HOW says.

    `dies` exits with the secrets as the message; `line` prints one of them instead of JSON.
    """
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
