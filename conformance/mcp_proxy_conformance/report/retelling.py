"""What every rendering says in the same words: clauses, names of results, how to see them again."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any

from mcp_proxy_conformance.requirement import UnknownClause, catalogue

SENT = {"content-type", "accept", "mcp-session-id", "mcp-protocol-version", "authorization"}
OPEN = ("fail", "inconclusive", "error")
"""Verdicts whose results are told one by one."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """What a clause asks, and where that is written."""

    text: str
    source: str


def sentence(clause_id: str) -> Sentence:
    """The sentence and source of a clause; of one that another version had, that it is unknown."""
    try:
        source = catalogue().source(clause_id)
        return Sentence(catalogue().clause(clause_id).text, f"{source.text} {source.at}")
    except UnknownClause:
        return Sentence("This version of the suite has no such clause.", "no source")


def name(result: dict[str, Any]) -> str:
    """The check, with its case in brackets; as `--check` takes it."""
    check: str = result["check"]
    return f"{check}[{result['case']}]" if result["case"] else check


def again(result: dict[str, Any]) -> str:
    """How the result is seen again."""
    return f"the same command and --check {quoted(name(result))}"


def request(result: dict[str, Any], report: dict[str, Any]) -> str:
    """The last request that the result rests on, as a command; empty when there is none."""
    cited = [report["messages"][place] for place in result["messages"]]
    last = next((one for one in reversed(cited) if _is_request(one)), None)
    return "" if last is None else _curl(last)


def profile_of(report: dict[str, Any]) -> str:
    """The profile with its version."""
    return f"{report['profile']['id']}@{report['profile']['version']}"


def target_of(report: dict[str, Any]) -> str:
    """The target, its version, and the wire on which the verdict was reached."""
    target = report["target"]
    wire = f", wire {target['wire']}" if target["wire"] else ""
    return f"{target['kind']} {target['version']}".rstrip() + wire


def quoted(text: str) -> str:
    """The text as one word of a shell."""
    escaped = text.replace("'", "'\\''")
    return f"'{escaped}'"


def _is_request(message: dict[str, Any]) -> bool:
    sent = message["edge"] == "client" and message["direction"] == "sent"
    return sent and bool(message["body"]) and bool(message["headers"])


def _curl(message: dict[str, Any]) -> str:
    headers = "".join(
        f"-H {quoted(f'{header}: {value}')} "
        for header, value in message["headers"].items()
        if header.lower() in SENT
    )
    return f"curl -s {shlex.quote(message['peer'])} {headers}-d {quoted(message['body'])}"
