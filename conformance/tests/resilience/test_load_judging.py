"""How loads are judged: what shows a secret, what a pass rests on, when a failure counts."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from mcp_proxy_conformance.resilience.loader_target import embedded_target
from mcp_proxy_conformance.resilience.showing import shows
from mcp_proxy_conformance.run.request import Selection
from mcp_proxy_conformance.selftest.trial import trial, tried
from mcp_proxy_mutants.loader.changed import ChangedLoad
from mcp_proxy_mutants.loader.mutants import load_mutants

HELD = "pass-Lt6GhD3qYu1"
MARKED = "p%40ss%2F-Ku7RnE2x"
BASIC = base64.b64encode(f"crane:{HELD}".encode()).decode()


def line(error: str) -> bytes:
    """An answer with that error."""
    return json.dumps({"id": 1, "ok": {"outcomes": [{"error": error}]}}).encode()


@pytest.mark.parametrize(
    ("secret", "error"),
    [
        (HELD, f"cannot reach http://crane:{HELD}@host/"),
        (HELD, f"sent Basic {BASIC}"),
        (HELD, base64.urlsafe_b64encode(b"??" + HELD.encode()).decode()),
        (HELD, "".join(f"%{ord(letter):02x}" for letter in HELD)),
        (MARKED, "wrong password p@ss/-Ku7RnE2x"),
        (MARKED, f"http://crane:{MARKED}@host/"),
        (BASIC, f"for crane:{HELD}"),
        ("schl\u00fcssel-9", "wrong key schl\u00fcssel-9"),
    ],
)
def test_a_secret_is_found_however_it_is_spelled(secret: str, error: str) -> None:
    """Plain, percent-encoded, in base64, and behind the escapes of JSON."""
    assert shows(secret, line(error))


def test_no_secret_is_found_where_none_is() -> None:
    """Neither in a part of it nor in nothing."""
    assert not shows(HELD, line(f"the password {HELD[:8]}… was not taken"))
    assert not shows(HELD, b"")


def verdicts(place: Path, change: Any, clause: str, *, confirm: bool) -> set[str]:
    """What the checks of a clause say of a changed loader."""
    given = trial(
        embedded_target(change, patience=0.2),
        profile="resilience",
        selection=Selection(clauses=frozenset({clause})),
        confirm=confirm,
    )
    return {one["verdict"] for one in tried(given, place).every}


class Lapse:
    """A loader whose first load of all is a failure."""

    def __init__(self) -> None:
        self.loads = 0

    def __call__(self, told: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
        """Once, an outcome is missing."""
        self.loads += bool(asked["servers"])
        return told | {"outcomes": told["outcomes"][:-1]} if self.loads == 1 else told


@pytest.mark.parametrize(("confirm", "verdict"), [(True, "inconclusive"), (False, "fail")])
def test_a_lapse_that_does_not_come_again_is_no_failure(
    tmp_path: Path, verdict: str, *, confirm: bool
) -> None:
    """A second load is asked for where failures are confirmed."""
    once = ChangedLoad(id="once", text="It lapses once.", tell=Lapse())

    assert verdict in verdicts(tmp_path, once, "O1.one-each", confirm=confirm)


@pytest.mark.parametrize(("confirm", "verdict"), [(True, "fail"), (False, "fail")])
def test_a_lasting_failure_counts(tmp_path: Path, verdict: str, *, confirm: bool) -> None:
    """Whether it is confirmed or not."""
    fault = next(one for one in load_mutants() if one.id == "501-is-permanent")

    assert verdict in verdicts(tmp_path, fault, "T3.server-error", confirm=confirm)


def test_a_loader_that_warns_of_nobody_settles_nothing(tmp_path: Path) -> None:
    """Lines that are not there cannot differ."""
    silent = ChangedLoad(
        id="silent", text="It never warns.", tell=lambda told, _: told | {"warnings": {}}
    )

    assert verdicts(tmp_path, silent, "W1.lines", confirm=False) == {"inconclusive"}
