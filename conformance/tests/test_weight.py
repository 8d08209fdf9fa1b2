"""Weight: no room has more statements, words or nodes per statement than weight.toml says.

What an issue adds to one room it takes out of another; `all` never rises. As a program, with the
repository as its folder, it prints the table of today: `python conformance/tests/test_weight.py`.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
CEILINGS = Path(__file__).with_name("weight.toml")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
LEFT_OUT = {"node_modules", "__pycache__", "build", "dist"}
Weight = dict[str, float]
"""Of a room: `statements` (without docstrings and imports), `words` (of docstrings), `density`."""


def weights(root: Path) -> dict[str, Weight]:
    """Return the weight of each room with Python files under `root`, and of `all` together.

    A room is a folder of the first level; under `conformance`, of the second.
    """
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for path in root.rglob("*.py"):
        folders = path.relative_to(root).parts[:-1]
        if not any(folder.startswith(".") or folder in LEFT_OUT for folder in folders):
            count = _count(path)
            depth = 3 if folders[:1] == ("conformance",) else 2
            counts["/".join(folders[:depth]) or "."].update(count)
            counts["all"].update(count)
    return {
        room: {
            "statements": count["statements"],
            "words": count["words"],
            "density": round(count["nodes"] / max(count["statements"], 1), 1),
        }
        for room, count in sorted(counts.items())
    }


def too_heavy(found: dict[str, Weight], ceilings: dict[str, Weight]) -> list[str]:
    """Return a sentence for each weight above its ceiling, and for each room without one."""
    return [
        f"{room}: {weight:g} {unit}, {weight - most:g} more than weight.toml allows; take out what"
        " nobody needs, or lower another room's ceiling by as much and say there why"
        for room, weights_ in found.items()
        for unit, weight in weights_.items()
        if weight > (most := ceilings.get(room, {}).get(unit, 0))
    ]


def _count(path: Path) -> Counter[str]:
    """Return the statements, words and nodes of a Python file."""
    count: Counter[str] = Counter()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        words = (ast.get_docstring(node) or "").split() if isinstance(node, DOCUMENTED) else []
        count["words"] += len(words)
        count["nodes"] += 1
        count["statements"] += isinstance(node, ast.stmt)
        count["statements"] -= isinstance(node, ast.Import | ast.ImportFrom) or bool(words)
    return count


def test_no_room_is_heavier_than_its_ceiling() -> None:
    """Each room, and all together, weighs at most what weight.toml says."""
    ceilings = tomllib.loads(CEILINGS.read_text(encoding="utf-8"))

    assert too_heavy(weights(ROOT), ceilings) == []


def test_what_is_too_heavy_is_told_with_its_room(tmp_path: Path) -> None:
    """One statement and one word too many are each told; a docstring and imports are no statements.

    A room without a ceiling may hold nothing.
    """
    room = tmp_path / "reference" / "proxy"
    room.mkdir(parents=True)
    (room / "one.py").write_text('"""Two words."""\nimport ast\nx = 1\ny = 2\n', encoding="utf-8")

    found = weights(tmp_path)
    told = too_heavy(found, {"reference/proxy": {"statements": 1, "words": 1, "density": 9}})

    assert found["reference/proxy"] == {"statements": 2, "words": 2, "density": 6.5}
    assert [line.partition(";")[0] for line in told] == [
        "all: 2 statements, 2 more than weight.toml allows",
        "all: 2 words, 2 more than weight.toml allows",
        "all: 6.5 density, 6.5 more than weight.toml allows",
        "reference/proxy: 2 statements, 1 more than weight.toml allows",
        "reference/proxy: 2 words, 1 more than weight.toml allows",
    ]


if __name__ == "__main__":
    for room, weight in weights(ROOT).items():
        sizes = ", ".join(f"{unit} = {size:g}" for unit, size in weight.items())
        sys.stdout.write(f'"{room}" = {{ {sizes} }}\n')
