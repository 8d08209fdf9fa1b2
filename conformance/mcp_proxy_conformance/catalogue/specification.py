"""A specification as the engine knows it; those that are installed, found by entry points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

GROUP = "mcp_proxy_conformance.specifications"
"""The group of entry points; each is a Specification."""


class Command(NamedTuple):
    """A command that is imported on use: its place as `module:name`, its sentence for help."""

    place: str
    sentence: str


def imported(place: str) -> Any:
    """Return what stands at `module:name`, which is imported now."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def at(place: str) -> Callable[..., Any]:
    """Return a function that calls the one at `module:name`; it is imported when that is called."""
    return lambda *arguments: imported(place)(*arguments)  # noqa: PLW0108 - imported late


@dataclass(frozen=True, slots=True, kw_only=True)
class Specification:
    """All that the engine knows of a specification; its functions are imported when called (`at`).

    `root` is the folder of its package, `fixtures` that of its data files, `kinds` are the kinds of
    targets that it judges, `descriptions` the place of the class of the target files of each of
    them that can have one, `folders` the folder, below the root, of the checks of each of its
    profiles. `target(request, scratch)` makes of a RunRequest the Target to judge,
    `profile(target)` names the profile for it if none is asked for, and `subject(request,
    target, profile, scratch)` is the Subject that drives it, its files in the folder `scratch`;
    each raises BadTarget, BadCase or LookupError for what cannot be used. `named(environment)`
    is what variables name, if anything, as the subject of a request. `plugin` is a pytest
    plugin with fixtures of its checks. `runs` are the commands of `run`, `commands` those
    beside it, by their names. `cases()` are its shipped cases, `scenarios()` those made of its
    space, `giving` is the decorator by which a check takes those of an area, `page(case)` the
    lines that `explain` adds on one, `locked(id)` the sets of locks on the tools that it is
    about. `linted()` are the kinds of files that lint knows for it. `space()` is a PlayedSpace,
    if it has one. `proof()` is what the selftest tries; each clause of the profiles `proven`
    needs mutants, and a check of a trial has `check_s` seconds.
    """

    name: str
    root: Path
    fixtures: Path
    kinds: tuple[str, ...]
    folders: Mapping[str, str]
    target: Callable[..., Any]
    profile: Callable[..., str]
    subject: Callable[..., Any]
    descriptions: Mapping[str, str] = field(default_factory=dict)
    named: Callable[..., Any] = lambda _: None
    plugin: str = ""
    runs: Mapping[str, Command] = field(default_factory=dict)
    commands: Mapping[str, Command] = field(default_factory=dict)
    cases: Callable[..., Any] = lambda: ()
    scenarios: Callable[..., Any] = lambda: ()
    giving: str = ""
    page: Callable[..., Any] = lambda _: ()
    locked: Callable[..., frozenset[tuple[str, ...]]] = lambda _: frozenset()
    linted: Callable[..., Any] = lambda: ()
    space: Callable[..., Any] | None = None
    proof: Callable[..., Any] | None = None
    proven: tuple[str, ...] = ()
    check_s: int = 120

    @property
    def checks(self) -> tuple[Path, ...]:
        """The folders of its checks, each once."""
        return tuple(self.root / name for name in dict.fromkeys(self.folders.values()))


@cache
def specifications() -> tuple[Specification, ...]:
    """Return the installed specifications, in order of name, loaded once."""
    found: list[Specification] = [each.load() for each in entry_points(group=GROUP)]
    return tuple(sorted(found, key=lambda each: each.name))


def data_files(pattern: str) -> list[Path]:
    """Return the data files of all specifications that fit a pattern, such as `profiles/*.toml`.

    Those of one specification come after those of another, each in order of name.
    """
    return [path for each in specifications() for path in sorted(each.fixtures.glob(pattern))]


def target_files(kind: str) -> dict[str, Path]:
    """Return the target files of the known targets of a kind by their names, in order."""
    folder, stem = judging(kind).fixtures / "targets", attrgetter("stem")
    return {file.stem: file for file in sorted(folder.glob("*.toml"), key=stem)}


def folders_of(profiles: Iterable[str]) -> tuple[Path, ...]:
    """Return the folders of the checks of the profiles with these ids, each once."""
    known = {
        name: each.root / folder
        for each in specifications()
        for name, folder in each.folders.items()
    }
    return tuple(dict.fromkeys(known[name] for name in profiles if name in known))


def is_shipped(check: Path) -> bool:
    """Whether the file is in a folder of checks of a specification."""
    return any(check.is_relative_to(folder) for each in specifications() for folder in each.checks)


def judging(kind: str) -> Specification:
    """Return the specification that judges targets of this kind; LookupError without one."""
    for each in specifications():
        if kind in each.kinds:
            return each
    raise LookupError(f"no installed specification judges targets of kind {kind!r}")
