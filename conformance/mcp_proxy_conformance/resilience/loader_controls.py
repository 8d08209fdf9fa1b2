"""Controls of the loader checks: programs that load nothing pass no clause, the reference all."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from mcp_proxy_conformance.catalogue.requirement import catalogue
from mcp_proxy_conformance.resilience.embedded import Load
from mcp_proxy_conformance.resilience.loader_description import OF_LOADERS
from mcp_proxy_conformance.resilience.loader_target import embedded_target, program_target
from mcp_proxy_conformance.selftest.control import Control, unobserved
from mcp_proxy_conformance.selftest.trial import Verdicts
from mcp_proxy_conformance.targets.target import Target

ENDS = "raise SystemExit(0)"
EMPTY = "import sys\nfor _ in sys.stdin: print('{}', flush=True)"
EVERY_LOAD_IS_EMPTY = (
    "import json, sys\n"
    "for line in sys.stdin:\n"
    "    number = json.loads(line)['id']\n"
    "    print(json.dumps({'id': number, 'ok': {'outcomes': []}}), flush=True)"
)


class _Says:
    """A loader that connects to nothing and reports one and the same outcome for every server."""

    def __init__(self, outcome: Mapping[str, Any]) -> None:
        """Keep the outcome, whose members are reported beside each server's id."""
        self._outcome = outcome

    def start(self) -> Load:
        """Return an async load function that reports the kept outcome for each requested server."""

        async def load(request: dict[str, Any]) -> dict[str, Any]:
            """Return the kept outcome for each server of the request, beside its `server_id`."""
            ids = [server["server_id"] for server in request["servers"]]
            return {"outcomes": [{"server_id": name, **self._outcome} for name in ids]}

        return load


def _says(status: str, error: str | None, attempts: int) -> Callable[[], Target]:
    """Return a function that makes a target whose loader reports this outcome for every server.

    Its list of tools is empty.
    """
    outcome: dict[str, Any] = {"status": status, "tools": [], "error": error, "attempts": attempts}
    return lambda: embedded_target(_Says(outcome))


def _unchanged() -> Target:
    """Return the unchanged loader of the reference as a target in this process."""
    from mcp_proxy_mutants.resilience.changed import ChangedLoad  # noqa: PLC0415

    return embedded_target(
        ChangedLoad(id="unchanged", text="The unchanged loader of the reference.")
    )


def _program(source: str) -> Callable[[], Target]:
    """Return a function that makes a target whose loader is this Python source, run as a program.

    It declares every capability of loaders.
    """
    return lambda: program_target([sys.executable, "-c", source], OF_LOADERS)


def _no_clause(*exits: int) -> Callable[[Verdicts], str]:
    """Return the `misses` of a Control on which no required clause may pass.

    That is a function from the verdicts of a run to a text on what is wrong, "" if nothing is. The
    run must also end with one of the exit codes `exits`.
    """

    def misses(verdicts: Verdicts) -> str:
        """Return a text if required clauses pass or, else, if the exit code is wrong; "" if not."""
        firm = {
            clause
            for clause in verdicts.clauses_passed
            if catalogue().clause(clause).level == "required"
        }
        if firm:
            return unobserved(firm)
        return "" if verdicts.exit in exits else f"exit {verdicts.exit}: {verdicts.why}"

    return misses


NO_LOADERS = (
    ("loader-that-ends", "A program that ends at once.", _program(ENDS), (3,)),
    (
        "loader-of-empty-objects",
        "A program whose every answer is an empty JSON object.",
        _program(EMPTY),
        (3,),
    ),
    (
        "loader-of-no-outcomes",
        "A program whose loads never have an outcome.",
        _program(EVERY_LOAD_IS_EMPTY),
        (1, 4),
    ),
    (
        "all-available",
        "Every server is reported as available, without tools.",
        _says("available", None, 1),
        (1, 4),
    ),
    ("all-denied", "Every server is reported as denied.", _says("denied", "Denied.", 1), (1, 4)),
    (
        "all-transient",
        "Every server is reported as transient.",
        _says("transient", "Wait.", 1),
        (1, 4),
    ),
)
LOADER_CONTROLS = (
    *(
        Control(id=name, text=text, target=target, misses=_no_clause(*exits), profile="resilience")
        for name, text, target, exits in NO_LOADERS
    ),
    Control(
        id="loader",
        text="The unchanged loader of the reference.",
        target=_unchanged,
        misses=lambda verdicts: (
            "" if verdicts.exit == 0 else f"exit {verdicts.exit}: {verdicts.why}"
        ),
        profile="resilience",
    ),
)
