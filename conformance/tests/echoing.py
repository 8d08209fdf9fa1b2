"""An adapter or a loader that repeats whatever it was handed, in every form, wherever it can."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from canaries import cut, forms

HOW = {"error": "error", "refused": "refused"}


def handed() -> list[str]:
    """Words of the command and values of the environment, whole and cut."""
    values = [value for name, value in os.environ.items() if name.startswith("CANARY_")]
    words = [one for word in sys.argv[2:] for one in (word, word.partition("=")[2]) if len(one) > 7]
    known = [*words, *values]
    return [one for value in known for one in (*forms(value), *cut(value))]


def outcome(server: dict[str, Any], told: str) -> dict[str, Any]:
    """It says of each server that it has a tool, and what it knows."""
    return {
        "server_id": server["server_id"],
        "status": "available",
        "tools": [told, told[:40]],
        "error": told,
        "attempts": 1,
    }


def answer(how: str, asked: dict[str, Any], told: str) -> dict[str, Any]:
    """One line."""
    if how == "strange":
        return {"ok": {"outcomes": [outcome(server, told) | {"status": told}
                                    for server in asked["servers"]], "warnings": told}}  # fmt: skip
    if how == "loads":
        outcomes = [outcome(server, told) for server in asked["servers"]]
        warnings: dict[str, list[str]] = {"transient": [], "permanent": [told], "denied": []}
        return {"ok": {"outcomes": outcomes, "warnings": warnings}}
    if how == "url":
        return {"ok": {"url": f"http://127.0.0.1:1/{told}", "headers": {"X-Told": told}}}
    return {HOW.get(how, how): told}


def main() -> None:
    """Answer as the first word says; everything goes to standard error first."""
    how, every = sys.argv[1], handed()
    for number, line in enumerate(sys.stdin):
        text = " ".join(every)
        sys.stderr.write("\n".join([text, *every, ""]))
        sys.stderr.flush()
        if how == "dies":
            sys.exit(text)
        if how == "line":
            told = every[number % len(every)]
        else:
            asked = json.loads(line)
            told = json.dumps({"id": asked["id"]} | answer(how, asked, text))
        sys.stdout.write(told + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
