"""Imports: one-way arrows between rooms and packages, no circles; ARCHITECTURE.md's names exist.

A room is a folder of the package; ROOMS has their order.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import needs
import pytest

import mcp_proxy_conformance

PACKAGE = Path(mcp_proxy_conformance.__file__).parent
ENGINE = (
    "catalogue", "verdict", "wire", "upstream", "targets", "report", "run", "plugin", "selftest",
    "authoring", "cli",
)  # fmt: skip
SPECIFICATIONS = ("discovery", "resilience", "fidelity")
ROOMS = (*ENGINE, *SPECIFICATIONS, "api")
"""Bottom up: a room may import from those before it, but no specification from another."""
ROOM_OF = {"autoload": "plugin", "__main__": "cli"}
"""The rooms of the modules outside of folders."""
NAMED = re.compile(rf"{PACKAGE.name}(?:\.\w+)+")
Imports = Mapping[str, AbstractSet[str]]


def imports() -> dict[str, set[str]]:
    """Return the other modules that each module of the suite's package imports anywhere, by module.

    The package itself is left out.
    """
    paths = {_name(path): path for path in PACKAGE.rglob("*.py")}
    return {
        name: {target for target in _targets(path, paths.keys()) if target != name}
        for name, path in paths.items()
        if name
    }


def _name(path: Path) -> str:
    """Return the dotted name of a module within the package; empty for the package itself."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _targets(path: Path, known: AbstractSet[str], text: str | None = None) -> Iterator[str]:
    """Yield the known modules of the package that a file, or `text` for it, imports, with repeats.

    An imported name counts as its module; so does a module that a text names, as what imports it
    while the program runs does.
    """
    tree = ast.parse(path.read_text(encoding="utf-8") if text is None else text)
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            names = [
                name
                for name in NAMED.findall(node.value)
                if (name.split(".")[1:2] in [[each] for each in SPECIFICATIONS])
            ]
        for name in names:
            package, _, inside = name.partition(".")
            if package == PACKAGE.name:
                target = inside if inside in known else inside.rpartition(".")[0]
                if target in known and target:
                    yield target


def room(module: str) -> str:
    """Return the room of a module: its folder, or that of ROOM_OF. KeyError if it has none."""
    first = module.partition(".")[0]
    return first if first in ROOMS else ROOM_OF[first]


def offences(modules: Imports) -> set[str]:
    """Return the imports that point to a later room, and one import of each cycle of modules.

    Each is a text, `module -> imported`.
    """
    upwards = {
        f"{name} -> {target}"
        for name, targets in modules.items()
        for target in targets
        if ROOMS.index(room(target)) > ROOMS.index(room(name))
        or (room(name) != room(target) and {room(name), room(target)} <= {*SPECIFICATIONS})
    }
    return upwards | _closing(
        {
            name: {target for target in targets if f"{name} -> {target}" not in upwards}
            for name, targets in modules.items()
        }
    )


def _closing(modules: Imports) -> set[str]:
    """Return one import, as `module -> imported`, of each cycle among the modules.

    Empty without any.
    """
    try:
        TopologicalSorter(modules).prepare()
    except CycleError as error:
        target, name, *_ = error.args[1]
        rest = {
            module: targets - ({target} if module == name else set())
            for module, targets in modules.items()
        }
        return {f"{name} -> {target}"} | _closing(rest)
    return set()


def test_no_arrow_points_upwards() -> None:
    """No module imports from a later room, and no two import each other, directly or not."""
    upward = sorted(offences(imports()))

    assert upward == [], (
        f"{upward[0]}: a lower room may not import from a higher one ({', '.join(ROOMS)}), nor two "
        "modules from each other; pass what is needed as a value, or move it down"
    )


@needs.every
def test_the_page_names_what_is_there() -> None:
    """Every module and folder that .github/ARCHITECTURE.md names exists.

    It may be below the top of the repository, or in any folder of conformance and reference.
    """
    top = PACKAGE.parents[1]
    page = (top / ".github" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:[a-z_]+/)*[a-z_*]+(?:\.py|/))`", page))

    own = (top / "conformance", top / "reference")

    lost = sorted(
        entry
        for entry in named
        if not any(top.glob(entry)) and not any(any(folder.rglob(entry)) for folder in own)
    )

    assert lost == []


PACKAGES = (
    "mcp_proxy_reference",
    "mcp_relay_reference",
    "mcp_proxy_mutants",
    "mcp_proxy_conformance",
)
IN_FULL = {
    "mcp_proxy_reference": {"mcp_proxy_reference"},
    "mcp_relay_reference": {"mcp_relay_reference"},
    "mcp_proxy_mutants": {"mcp_proxy_reference", "mcp_relay_reference", "mcp_proxy_mutants"},
}
"""The packages of ours that each package may import, directly or not."""


@needs.every
@pytest.mark.parametrize("package", IN_FULL)
def test_the_reference_knows_nothing_of_who_changes_and_who_judges_it(package: str) -> None:
    """The reference imports no other package of ours, the mutants only it and themselves."""
    top = PACKAGE.parents[1]
    folder = next(
        root for root in (top / "reference", top / "conformance") if (root / package).exists()
    )
    texts = [path.read_text(encoding="utf-8") for path in (folder / package).rglob("*.py")]
    named = {
        import_name
        for text in texts
        for import_name in re.findall(r"^\s*(?:from|import) (\w+)", text, re.MULTILINE)
    }

    assert texts
    assert named & set(PACKAGES) == IN_FULL[package]


def test_every_module_has_a_room() -> None:
    """Each module is in a folder of ROOMS or listed in ROOM_OF, which lists no others."""
    standing = {module.partition(".")[0] for module in imports()}

    assert {name for name in standing if name not in ROOMS} == ROOM_OF.keys()


@pytest.mark.parametrize(
    ("planted", "arrow"),
    [
        ({"wire.http": {"discovery.answer"}}, "wire.http -> discovery.answer"),
        ({"report.page": {"run.session"}}, "report.page -> run.session"),
        ({"catalogue.world": {"cli.main"}}, "catalogue.world -> cli.main"),
        ({"run.session": {"fidelity.bench"}}, "run.session -> fidelity.bench"),
        ({"fidelity.tools": {"discovery.answer"}}, "fidelity.tools -> discovery.answer"),
        ({"discovery.answer": {"fidelity.tools"}}, "discovery.answer -> fidelity.tools"),
    ],
)
def test_a_planted_arrow_is_seen(planted: Imports, arrow: str) -> None:
    """`offences` returns an import from an earlier room to a later one, and nothing else."""
    assert offences(planted) == {arrow}


@pytest.mark.parametrize(
    "line",
    [
        "from mcp_proxy_conformance.discovery.answer import Answer",
        "import mcp_proxy_conformance.discovery.answer",
        "import_module('mcp_proxy_conformance.discovery.answer')",
        "PLACE = 'mcp_proxy_conformance.discovery.answer:Answer'",
    ],
)
def test_each_way_to_name_a_specification_is_seen(line: str) -> None:
    """A module that names one of a specification, by an import or in a text, imports it."""
    found = set(_targets(PACKAGE / "run" / "planted.py", {"discovery.answer"}, line))

    assert found == {"discovery.answer"}


def test_a_planted_circle_is_seen() -> None:
    """`offences` returns one import for a cycle of three modules of one room."""
    circle = {"wire.a": {"wire.b"}, "wire.b": {"wire.c"}, "wire.c": {"wire.a"}}

    assert len(offences(circle)) == 1
