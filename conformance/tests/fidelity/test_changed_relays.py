"""Changed relays: what each breaks or takes, and clauses beside; the selftest tries them all."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from mcp_proxy_conformance.catalogue.interpretation import interpretations
from mcp_proxy_conformance.catalogue.requirement import catalogue, profile
from mcp_proxy_conformance.fidelity.profiles import OF_RELAYS
from mcp_proxy_conformance.run.request import Selection
from mcp_proxy_conformance.selftest.gather import trials
from mcp_proxy_mutants.fidelity.changed import Got, Sent, by_message
from mcp_proxy_mutants.fidelity.json_text import read, write
from mcp_proxy_mutants.fidelity.mutant import ChangedRelay
from mcp_proxy_mutants.fidelity.mutants import relay_mutants
from mcp_proxy_mutants.fidelity.variants import relay_variants

BOTH = profile("fidelity+integrity")
CLAUSES = catalogue().clauses
REPORTED: Mapping[str, str] = {
    "relay-serves-ended-sessions": "RLY.apart.session.unknown",
    "relay-asks-by-whose-cursor": "RLY.apart.session.cursor",
    "relay-fetches-pages-ahead": "RLY.apart.session.cursor",
    "relay-waits-for-the-dead": "RLY.down.no-empty-success.silence",
}
"""Variants, and the advisory clause that reports each."""
CONTENT = tuple(
    f"RLY.down.{name}"
    for name in (
        "content.text", "content.media", "content.resource-link", "content.embedded",
        "content.audience", "error-kind.tool-error",
    )
)  # fmt: skip
"""Clauses on what content items hold."""
SPARED: Mapping[str, Sequence[str]] = {
    "relay-adds-a-text": CONTENT,
    "relay-merges-texts": CONTENT,
    "relay-has-one-message": ("RLY.apart.answers",),
}
"""Clauses that these mutants do not break, though what they change is close to them."""
RUN_S = 300.0
TRIALS = {trial.changed.id: trial for trial in trials() if trial.profile == OF_RELAYS}


def judged(changed: ChangedRelay, folder: Path, only: Sequence[str]) -> Mapping[str, str]:
    """Judge a changed relay by these clauses; return {clause: verdict}."""
    return TRIALS[changed.id].tried(folder, Selection(clauses=frozenset(only))).clauses


def test_each_changed_relay_has_a_name_of_its_own() -> None:
    """No two mutants or variants of relays share an id."""
    names = Counter(changed.id for changed in (*relay_mutants(), *relay_variants()))

    assert [name for name, count in names.items() if count > 1] == []


def test_each_mutant_breaks_required_clauses_of_relays() -> None:
    """Each clause that a mutant of relays breaks is a required one of `fidelity` or `integrity`."""
    required = {name for name in BOTH.clauses if CLAUSES[name].level == "required"}

    assert [mutant.id for mutant in relay_mutants() if not required.issuperset(mutant.breaks)] == []


def test_each_required_clause_is_broken_by_two_mutants() -> None:
    """Each required clause of both profiles is broken by two mutants."""
    broken = Counter(name for mutant in relay_mutants() for name in mutant.breaks)
    required = {name for name in BOTH.clauses if CLAUSES[name].level == "required"}

    assert {name for name in required if broken[name] < 2} == set()


def test_each_variant_takes_an_interpretation() -> None:
    """Each variant of relays takes at least one interpretation or advisory clause.

    All of them exist.
    """
    advisory = {name for name, clause in CLAUSES.items() if clause.level == "advisory"}
    known = advisory | {row.id for row in interpretations()}

    taken = {variant.id: set(variant.takes) for variant in relay_variants()}

    assert [name for name, takes in taken.items() if not takes or takes - known] == []


def test_a_filter_writes_what_it_read() -> None:
    """`write(read(text))` keeps the spelling of numbers, lone surrogates and other letters."""
    text = rb'{"a":[1.0,-0,1e400,9007199254740993,"\ud800\u00e9"],"":{"b":null}}'

    assert write(read(text)) == text


def test_a_filter_changes_the_events_of_a_stream() -> None:
    """`by_message` changes notifications of a stream, or leaves them out.

    The answer is unchanged.
    """
    told = b'{"method":"notifications/message","params":{"data":1.0}}'
    left_out = b'{"method":"notifications/tools/list_changed"}'
    answer = b'{"id":1, "result":{}}'

    async def forward(_: Sent) -> Got:
        """Return a response with a stream of three messages, in the place of the relay."""
        return Got(status=200, headers={}, events=_each(told, left_out, answer))

    async def passed() -> list[bytes]:
        """Return the messages of the stream that come out of the filter."""
        around = by_message(down=_renamed)
        asked = Sent(method="POST", headers={}, session=None, body=b"{}")
        events = (await around(asked, forward)).events
        assert events is not None
        return [event async for event in events]

    assert asyncio.run(passed()) == [told.replace(b"message", b"renamed"), answer]


async def _each(*events: bytes) -> AsyncIterator[bytes]:
    """Yield these messages in order."""
    for event in events:
        yield event


def _renamed(message: dict[str, Any], _: dict[str, Any]) -> Any:
    """Return None for a change of tools, other notifications under a changed name.

    An answer is returned as it is.
    """
    method = message.get("method", "")
    if method == "notifications/tools/list_changed":
        return None
    return message | {"method": method.replace("message", "renamed")} if method else message


@pytest.mark.proof(parts=6)
@pytest.mark.timeout(2 * RUN_S)
@pytest.mark.parametrize("name", SPARED)
def test_a_mutant_is_not_accused_of_what_stands_beside(name: str, tmp_path: Path) -> None:
    """Clauses near to those that a mutant of relays breaks do not fail in a run by them."""
    mutant = next(mutant for mutant in relay_mutants() if mutant.id == name)

    verdicts = judged(mutant, tmp_path, SPARED[name])

    assert [clause for clause in SPARED[name] if verdicts[clause] == "fail"] == []


@pytest.mark.proof(parts=120)
@pytest.mark.timeout(2 * RUN_S)
@pytest.mark.parametrize("name", [*REPORTED])
def test_a_variant_is_reported(name: str, tmp_path: Path) -> None:
    """In a run by an advisory clause that a variant takes, that clause fails."""
    variant = next(each for each in relay_variants() if each.id == name)

    verdicts = judged(variant, tmp_path, [REPORTED[name]])

    assert verdicts[REPORTED[name]] == "fail"
