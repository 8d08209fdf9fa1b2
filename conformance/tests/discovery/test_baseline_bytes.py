"""Byte comparison of recordings: golden bytes, the feature's effect, spellings, moving members."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension

from mcp_proxy_conformance.catalogue.resources import fixtures_dir
from mcp_proxy_conformance.discovery.baseline import recorder
from mcp_proxy_conformance.discovery.baseline.body import Body
from mcp_proxy_conformance.discovery.baseline.comparison import answers_changed, entries_changed
from mcp_proxy_conformance.discovery.baseline.manifest import Recording
from mcp_proxy_conformance.verdict.result import Inconclusive
from mcp_proxy_mutants.discovery.changed import Changed
from mcp_proxy_mutants.discovery.changed_parts import Request
from mcp_proxy_mutants.fresh import Fresh
from mcp_proxy_reference.facts import Json
from mcp_proxy_reference.tools import render

Recorded = Callable[[Changed], Recording]


class Golden(SingleFileSnapshotExtension):
    """Files of bytes in fixtures/discovery/golden, named after what they hold."""

    file_extension = "txt"

    @classmethod
    def dirname(cls, *, test_location: Any) -> str:
        """Return the folder fixtures/discovery/golden, whatever the test."""
        del test_location
        return str(fixtures_dir() / "discovery" / "golden")

    @classmethod
    def get_snapshot_name(cls, *, test_location: Any, index: Any = 0) -> str:
        """Return as the file's name what the test gave as `index`."""
        del test_location
        return str(index)


@pytest.mark.filterwarnings(r"ignore:\s*Can not relate snapshot")
@pytest.mark.parametrize("phase", ["open", "locked"])
@pytest.mark.parametrize("what", ["admin", "clerk", "listing"])
def test_the_reference_without_the_feature_answers_as_ever(
    phase: str, what: str, snapshot: SnapshotAssertion, before: Recording
) -> None:
    """The default answers of the reference without the feature have the bytes of the files.

    There is a file for each phase and kind of request. No other target is compared with them.
    """
    bodies = [body for body in before.bodies if body.phase == phase and _kind(body) == what]

    recorded_bytes = b"".join(
        body.key.encode() + b"\n" + body.exact.text + b"\n" for body in bodies
    )

    assert recorded_bytes == snapshot(name=f"{phase}-{what}", extension_class=Golden)


def changes(old: Recording, new: Recording) -> dict[str, str]:
    """Return {request: difference} of two recordings, as texts; empty if none differs.

    Whole answers and single entries are compared.
    """
    changed = answers_changed(old.bodies, new.bodies, new.members)
    changed |= entries_changed(old.bodies, new.bodies, new.members)
    return {key: repr(change) for key, change in changed.items()}


def _kind(body: Body) -> str:
    """Return `listing` for a recorded listing, else the agent of the request, `admin` for none."""
    if "list" in body.request:
        return "listing"
    return str(body.request.get("agent", "admin"))


def test_the_feature_changes_no_byte_of_the_reference(before: Recording, after: Recording) -> None:
    """With the feature, the reference's 300 and more default answers are the same as without it.

    They are to 60 queries or more, and have at least four listings.
    """
    assert changes(before, after) == {}
    assert len(before.bodies) >= 300
    assert len({body.request.get("query") for body in before.bodies}) >= 60
    assert sum("list" in body.request for body in before.bodies) >= 4


def test_the_note_is_all_that_the_feature_adds(before: Recording, after: Recording) -> None:
    """With the feature, four or more default answers have a note; without it none has."""
    noted = [body.key for body in after.bodies if b'"notice"' in body.exact.text]

    assert len(noted) >= 4
    assert not any(b'"notice"' in body.exact.text for body in before.bodies)


def spaced(text: str) -> str:
    """Return the text with a space after its first colon, if there is one."""
    return text.replace(":", ": ", 1)


def reordered(text: str) -> str:
    """Return the JSON document with its members in opposite order, as the reference writes it."""
    document = json.loads(text)
    return render(dict(reversed(document.items())))


def moved(text: str) -> str:
    """Return the JSON document with its first member at the end, as the reference writes it."""
    document = json.loads(text)
    first = next(iter(document))
    return render({**{n: v for n, v in document.items() if n != first}, first: document[first]})


def duplicated(text: str) -> str:
    """Return the JSON document with its last member repeated at the end."""
    name = list(json.loads(text))[-1]
    value = json.dumps(json.loads(text)[name])
    return f'{text[:-1]},"{name}":{value}}}'


ONE_BYTE: dict[str, tuple[Callable[[str], str], str]] = {
    "space": (spaced, "text"),
    "member order": (reordered, "text"),
    "escaped slash": (lambda text: text.replace("/", r"\/"), "text.servers"),
    "1.0 for 1": (lambda text: re.sub(r'("total":\d+)', r"\1.0", text, count=1), "text.total"),
    "null for absent": (lambda text: f'{text[:-1]},"disabled":null}}', "text.disabled"),
    "trailing newline": (lambda text: f"{text}\n", "text"),
    "byte order mark": (lambda text: f"\ufeff{text}", "text"),
    "moved member": (moved, "text"),
    "duplicated key": (duplicated, "text"),
    "one more decimal": (lambda text: re.sub(r"(\d\.\d+)", r"\g<1>0", text, count=1), "text.tools"),
}


@pytest.mark.parametrize("name", ONE_BYTE)
def test_a_difference_of_a_byte_is_found_and_named(
    name: str, before: Recording, recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recording in which some answers are spelled otherwise differs in these answers only.

    They are those to `issue`, and listings; a difference names the place.
    """
    change, place = ONE_BYTE[name]

    def spelled(document: Json) -> str:
        """Return the document as the reference writes it; change the spelling for some documents.

        They are answers to `issue`, and listings.
        """
        text = render(document)
        chosen = document.get("query") == "issue" or "servers" in document
        return change(text) if chosen else text

    for times in ("TARGETS", "PASSES"):  # nothing differs from start to start, or time to time
        monkeypatch.setattr(recorder, times, 1)
    changed = Changed(id="spelled", text=name, change={"render": spelled})

    differing = changes(before, recorded(changed))

    assert differing
    assert all('"issue"' in key or "list" in key for key in differing)
    assert any(difference.startswith(f"in {place}") for difference in differing.values()), differing


def counting() -> Callable[[Json, Request], Json]:
    """Return an `answer` decision that adds a counter and the time, and random scores of tools."""
    from itertools import count  # noqa: PLC0415
    from random import random  # noqa: PLC0415
    from time import time_ns  # noqa: PLC0415

    numbers = count()

    def answer(document: Json, _request: Request) -> Json:
        """Return the document with the next number, the time, and a random score for each tool."""
        tools = [tool | {"score": random()} for tool in document["tools"]]  # noqa: S311
        return document | {"tools": tools, "served": next(numbers), "at": time_ns()}

    return answer


@pytest.mark.proof
def test_what_moves_by_itself_accuses_nobody(recorded: Recorded) -> None:
    """Two recordings of a reference with a counter, a clock and random scores do not differ.

    In each answer but listings the counter is recorded as moving.
    """
    restless = Changed(id="restless", text="Restless.", change={"answer": Fresh(counting)})

    old, new = (recorded(restless) for _ in range(2))

    assert changes(old, new) == {}
    assert all(
        ("text", "served") in body.moving for body in old.bodies if "list" not in body.request
    )


def test_a_member_that_begins_to_move_is_a_difference(
    before: Recording, recorded: Recorded
) -> None:
    """If `total` moves in the new recording only, each difference is at `text.total`."""
    members = Changed(
        id="restless",
        text="The total moves.",
        change={"answer": Fresh(lambda: _total_of(iter(range(10_000))))},
    )

    differing = changes(before, recorded(members))

    assert differing
    assert all("text.total" in change for change in differing.values())


def _total_of(numbers: Iterator[int]) -> Callable[[Json, Request], Json]:
    """Return an `answer` decision that takes the member `total` from these numbers in turn."""
    return lambda document, _request: document | {"total": next(numbers)}


def test_a_build_that_does_not_agree_with_itself_is_not_recorded(recorded: Recorded) -> None:
    """Recording a target that drops a tool from every third answer raises Inconclusive."""
    turns = iter(range(100_000))
    other = Changed(
        id="fickle",
        text="Fickle.",
        change={
            "answer": lambda document, _: (
                document | ({"tools": document["tools"][:-1]} if next(turns) % 3 == 0 else {})
            )
        },
    )

    with pytest.raises(Inconclusive, match=r"^open, .*does not agree with itself"):
        recorded(other)
