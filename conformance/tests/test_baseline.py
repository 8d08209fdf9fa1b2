"""Recordings of default output: what they hold, what they refuse, and what a comparison finds."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from mcp_proxy_conformance.baseline.comparing import answers_changed, entries_changed
from mcp_proxy_conformance.baseline.manifest import BadBaseline, Recording, read, write
from mcp_proxy_conformance.baseline.recorder import STAGE, record
from mcp_proxy_conformance.cli.baseline import baseline
from mcp_proxy_conformance.discovery.calibration import Exact
from mcp_proxy_conformance.resources import schemas_dir
from mcp_proxy_conformance.target.embedded import embedded
from mcp_proxy_conformance.verdict import Inconclusive
from mcp_proxy_reference.changed import Changed, Fresh
from mcp_proxy_reference.facts import Json, Request
from mcp_proxy_reference.featureless import FEATURELESS
from mcp_proxy_reference.policy import render

UNCHANGED = Changed(id="unchanged", text="The reference itself.")


def recorded(changed: Changed, folder: Path) -> Recording:
    """A recording of the reference, changed in that way."""
    target = embedded(changed, settle_s=0.1)
    try:
        return record(target, folder, "pre_feature")
    finally:
        target.close()


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """The reference without the feature."""
    return recorded(FEATURELESS, tmp_path_factory.mktemp("before"))


@pytest.fixture(scope="module")
def after(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """The reference with the feature."""
    return recorded(UNCHANGED, tmp_path_factory.mktemp("after"))


def changes(old: Recording, new: Recording) -> dict[str, str]:
    """Where they differ, as text."""
    found = answers_changed(old.bodies, new.bodies, new.members)
    found |= entries_changed(old.bodies, new.bodies, new.members)
    return {key: repr(one) for key, one in found.items()}


def test_the_feature_changes_no_byte_of_the_reference(before: Recording, after: Recording) -> None:
    """Over more than 300 answers, of 60 queries and more, listings included."""
    assert changes(before, after) == {}
    assert len(before.bodies) >= 300
    assert len({one.request.get("query") for one in before.bodies}) >= 60
    assert sum("list" in one.request for one in before.bodies) >= 4


def test_the_note_is_all_that_the_feature_adds(before: Recording, after: Recording) -> None:
    """Some requests of the locked stage find nothing callable, and get a note."""
    noted = [one.key for one in after.bodies if b'"notice"' in one.exact.text]

    assert len(noted) >= 4
    assert not any(b'"notice"' in one.exact.text for one in before.bodies)


def spaced(text: str) -> str:
    """One space behind the first colon."""
    return text.replace(":", ": ", 1)


def reordered(text: str) -> str:
    """The members of the document in the opposite order."""
    document = json.loads(text)
    return render(dict(reversed(document.items())))


def moved(text: str) -> str:
    """The first member at the end."""
    document = json.loads(text)
    first = next(iter(document))
    return render({**{n: v for n, v in document.items() if n != first}, first: document[first]})


def duplicated(text: str) -> str:
    """The last member once more."""
    name = list(json.loads(text))[-1]
    told = json.dumps(json.loads(text)[name])
    return f'{text[:-1]},"{name}":{told}}}'


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
    name: str, before: Recording, tmp_path: Path
) -> None:
    """A default answer that is spelled otherwise is found, with the place where it is."""
    change, place = ONE_BYTE[name]

    def spelled(document: Json) -> str:
        text = render(document)
        chosen = document.get("query") == "issue" or "servers" in document
        return change(text) if chosen else text

    changed = Changed(id="spelled", text=name, change={"render": spelled})

    found = changes(before, recorded(changed, tmp_path))

    assert found
    assert all("'issue'" in key or "list" in key for key in found)
    assert any(one.startswith(f"<{place}") for one in found.values()), found


def counting() -> Callable[[Json, Request], Json]:
    """Answers have a counter, a clock and a score of chance."""
    from itertools import count  # noqa: PLC0415
    from random import random  # noqa: PLC0415
    from time import time_ns  # noqa: PLC0415

    numbers = count()

    def answer(document: Json, _request: Request) -> Json:
        told = [one | {"score": random()} for one in document["tools"]]  # noqa: S311
        return document | {"tools": told, "served": next(numbers), "at": time_ns()}

    return answer


def test_what_moves_by_itself_accuses_nobody(tmp_path: Path) -> None:
    """A counter, a clock and a random score are noted as moving, and not compared."""
    restless = Changed(id="restless", text="Restless.", change={"answer": Fresh(counting)})

    old, new = (recorded(restless, tmp_path / name) for name in ("old", "new"))

    assert changes(old, new) == {}
    assert all(("text", "served") in one.moving for one in old.bodies if "list" not in one.request)


def test_a_member_that_begins_to_move_is_a_difference(before: Recording, tmp_path: Path) -> None:
    """It stood still in the old build."""
    members = Changed(
        id="restless",
        text="The total moves.",
        change={"answer": Fresh(lambda: _total_of(iter(range(10_000))))},
    )

    found = changes(before, recorded(members, tmp_path))

    assert found
    assert all("text.total" in one for one in found.values())


def _total_of(numbers: Iterator[int]) -> Callable[[Json, Request], Json]:
    return lambda document, _request: document | {"total": next(numbers)}


def test_a_build_that_does_not_agree_with_itself_is_not_recorded(tmp_path: Path) -> None:
    """Names come and go between equal requests."""
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
        recorded(other, tmp_path)


def test_a_recording_is_read_as_it_was_written(before: Recording, tmp_path: Path) -> None:
    """Its manifest is valid, its files are the answers, and no literal of the run is in them."""
    write(before, tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))
    schema = json.loads((schemas_dir() / "baseline.schema.json").read_text(encoding="utf-8"))

    jsonschema.validate(manifest, schema)
    again = read(tmp_path, stage=STAGE)
    assert list(again.bodies) == list(before.bodies)
    files = b"".join(one.read_bytes() for one in tmp_path.rglob("*.json"))
    assert re.search(rb"127\.0\.0\.1|/tmp/", files) is None


def spoil_file(folder: Path) -> None:
    """One byte of an answer is another."""
    one = next((folder / "open").iterdir())
    one.write_bytes(one.read_bytes().replace(b"tools", b"toolz", 1))


def lose_file(folder: Path) -> None:
    """An answer is gone."""
    next((folder / "locked").iterdir()).unlink()


def edit(name: str, value: Any) -> Callable[[Path], None]:
    """A member of the manifest is another."""

    def spoil(folder: Path) -> None:
        path = folder / "manifest.json"
        told = json.loads(path.read_text(encoding="utf-8")) | {name: value}
        path.write_text(json.dumps(told), encoding="utf-8")

    return spoil


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (spoil_file, "is not what was recorded; record anew"),
        (lose_file, "No such file or directory; record anew"),
        (edit("stage", "plain/0"), "was recorded on plain/0, not on plain/1; record anew"),
        (edit("format", "other/9"), "has the format 'other/9'"),
        (edit("kind", "next"), "Invalid enum value 'next' - at `$.kind`"),
        (edit("surplus", 1), "contains unknown field `surplus`"),
        (lambda folder: (folder / "manifest.json").unlink(), "holds no recording"),
        (lambda folder: (folder / "manifest.json").write_text("{"), "see schemas/baseline"),
    ],
)
def test_a_recording_that_was_tampered_with_is_refused(
    before: Recording, tmp_path: Path, spoil: Callable[[Path], object], sentence: str
) -> None:
    """One sentence says what is wrong, and where."""
    write(before, tmp_path)
    spoil(tmp_path)

    with pytest.raises(BadBaseline, match=re.escape(sentence)) as caught:
        read(tmp_path, stage=STAGE)

    assert "\n" not in str(caught.value)
    told = CliRunner().invoke(baseline, ["diff", str(tmp_path), str(tmp_path)])
    assert (told.exit_code, told.output.count("\n")) == (2, 1)


def test_recordings_are_compared_and_accepted(before: Recording, tmp_path: Path) -> None:
    """`diff` tells the place; `accept` wants a reason, takes the bytes, changes the kind."""
    old, new = tmp_path / "old", tmp_path / "new"
    write(before, old)
    first, *rest = before.bodies
    other = Exact(result=first.exact.result, text=first.exact.text.replace(b'"total"', b'"sum"'))
    write(replace(before, bodies=[replace(first, exact=other), *rest]), new)
    tool = CliRunner()

    shown = tool.invoke(baseline, ["diff", str(old), str(new)])
    refused = tool.invoke(baseline, ["accept", str(old), str(new), "--reason", " "])
    taken = tool.invoke(baseline, ["accept", str(old), str(new), "--reason", "renamed"])
    equal = tool.invoke(baseline, ["diff", str(old), str(new)])

    assert (shown.exit_code, "open: query 'issue'\n  <text." in shown.output) == (1, True)
    assert (refused.exit_code, "blank" in refused.output) == (2, True)
    assert (taken.exit_code, equal.exit_code, equal.output) == (0, 0, "0 bytes differ\n")
    manifest = json.loads((old / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["accepted"] == [{"reason": "renamed", "changed": 1}]
    assert manifest["kind"] == "previous"


def test_nothing_is_written_into_a_folder_of_something_else(
    before: Recording, tmp_path: Path
) -> None:
    """A folder that holds other files is left as it is."""
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")

    with pytest.raises(BadBaseline, match="is not empty and holds no recording"):
        write(before, tmp_path)

    assert [one.name for one in tmp_path.iterdir()] == ["notes.txt"]
