"""Reader and writer of a recording of answers: a manifest, and a file for each answer."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Literal

import msgspec

from mcp_proxy_conformance.catalogue.bounded import read_bytes
from mcp_proxy_conformance.discovery.baseline.body import (
    ENDING,
    BadBody,
    Body,
    Phase,
    parsed,
    written,
)
from mcp_proxy_conformance.targets.description import BadTarget

FORMAT = "mcp-proxy-conformance-baseline/1"
FILE = "manifest.json"
Kind = Literal["pre_feature", "previous"]

_NAME = re.compile(r"[^a-z0-9]+")


class BadBaseline(BadTarget):
    """An unusable recording; the message says in one sentence which, where and why."""


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of the manifest; an unknown member is a mistake or another version."""


class Kept(_Part, frozen=True, kw_only=True):
    """The entry of one answer in a manifest: its phase, its file, and the digest of the file."""

    phase: Phase
    file: str
    sha256: str


class Accepted(_Part, frozen=True, kw_only=True):
    """A difference between builds that was accepted: the reason, and how many answers changed."""

    reason: str
    changed: int


class Manifest(_Part, frozen=True, kw_only=True):
    """Metadata and index of a recording; `members` are the target's own names of its members."""

    format: str
    kind: Kind
    stage: str
    suite: str
    target: dict[str, str]
    members: dict[str, str]
    bodies: tuple[Kept, ...]
    accepted: tuple[Accepted, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A recording in memory: facts of the target, and every answer with its bytes."""

    kind: Kind
    stage: str
    target: Mapping[str, str]
    members: Mapping[str, str]
    bodies: Sequence[Body]
    accepted: tuple[Accepted, ...] = ()


def write(recording: Recording, folder: Path) -> None:
    """Write manifest and answers into a new folder, or over an older recording in it.

    The older one's answers are deleted. Raises BadBaseline for any other folder that is not
    empty.
    """
    if folder.exists() and any(folder.iterdir()) and not (folder / FILE).exists():
        raise BadBaseline(f"{folder} is not empty and contains no recording; name another folder")
    for phase in ("open", "locked"):
        shutil.rmtree(folder / phase, ignore_errors=True)
        (folder / phase).mkdir(parents=True)
    kept = tuple(_kept(body, place, folder) for place, body in enumerate(recording.bodies, 1))
    manifest = Manifest(
        format=FORMAT,
        kind=recording.kind,
        stage=recording.stage,
        suite=version("mcp-proxy-conformance"),
        target=dict(recording.target),
        members=dict(recording.members),
        bodies=kept,
        accepted=recording.accepted,
    )
    text = json.dumps(msgspec.to_builtins(manifest), indent=1, ensure_ascii=False)
    (folder / FILE).write_text(text + "\n", encoding="utf-8")


def _kept(body: Body, place: int, folder: Path) -> Kept:
    """Write an answer into file number `place` of its phase's folder; return its manifest entry."""
    assert body.phase is not None
    raw = written(body)
    words = "-".join(str(value) for value in body.request.values())
    name = f"{body.phase}/{place:03}-{_NAME.sub('-', words.lower()).strip('-')[:40]}.{ENDING}"
    (folder / name).write_bytes(raw)
    return Kept(phase=body.phase, file=name, sha256=hashlib.sha256(raw).hexdigest())


def read(folder: Path, *, stage: str) -> Recording:
    """Read the recording in a folder.

    Raises BadBaseline if there is none, it was made on another stage, or one of its files was
    changed.
    """
    try:
        manifest = msgspec.json.decode(read_bytes(folder / FILE), type=Manifest)
    except OSError as error:
        raise BadBaseline(f"{folder} contains no recording: {error.strerror}: {FILE}") from None
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        place = folder / FILE
        raise BadBaseline(f"{place}: {error}; see schemas/baseline.schema.json") from None
    if manifest.format != FORMAT:
        raise BadBaseline(
            f"{folder} has the format {manifest.format!r}, not {FORMAT!r}; record it again"
        )
    if manifest.stage != stage:
        raise BadBaseline(
            f"{folder} was recorded on {manifest.stage}, not on {stage}; record it again"
        )
    return Recording(
        kind=manifest.kind,
        stage=manifest.stage,
        target=manifest.target,
        members=manifest.members,
        bodies=[_body(kept, folder) for kept in manifest.bodies],
        accepted=manifest.accepted,
    )


def _body(kept: Kept, folder: Path) -> Body:
    """Read a recorded answer; raise BadBaseline if its file is missing, changed or malformed."""
    try:
        raw = read_bytes(folder / kept.file)
    except OSError as error:
        raise BadBaseline(f"{folder / kept.file}: {error.strerror}; record it again") from None
    if hashlib.sha256(raw).hexdigest() != kept.sha256:
        raise BadBaseline(
            f"{folder / kept.file} was changed after it was recorded; record it again"
        )
    try:
        return parsed(raw, phase=kept.phase)
    except BadBody as error:
        raise BadBaseline(f"{folder / kept.file}: {error}; record it again") from None
