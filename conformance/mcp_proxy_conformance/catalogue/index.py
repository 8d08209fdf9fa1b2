"""What checks and cases there are, read from the check modules without running them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache

from mcp_proxy_conformance.catalogue.case import Case, cases
from mcp_proxy_conformance.catalogue.load_case import LoadCase, load_cases
from mcp_proxy_conformance.catalogue.resources import checks_dir

__all__ = ["Check", "cases", "checks", "names", "names_like"]

_GIVING = ("each_case", "each_load")
_Areas = Mapping[str, Sequence[Case | LoadCase]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check function: where it stands, what it cites, its one sentence, its areas of cases."""

    module: str
    name: str
    clauses: tuple[str, ...]
    sentence: str
    areas: tuple[tuple[str, str], ...] = ()


@cache
def checks() -> tuple[Check, ...]:
    """Every shipped check, in order of module and line."""
    return checks_of(cases(), load_cases())


def checks_of(discovery: Sequence[Case], loads: Sequence[LoadCase]) -> tuple[Check, ...]:
    """The shipped checks as they would be with these cases in their areas."""
    areas: _Areas = {"each_case": discovery, "each_load": loads}
    return tuple(_check(module, one, areas) for module, one in _functions())


@cache
def _functions() -> tuple[tuple[str, ast.FunctionDef], ...]:
    found: list[tuple[str, ast.FunctionDef]] = []
    for path in sorted(checks_dir().rglob("test_*.py")):
        module = str(path.relative_to(checks_dir()))
        nodes = ast.parse(path.read_text(encoding="utf-8")).body
        functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
        found += [(module, one) for one in functions if one.name.startswith("test_")]
    return tuple(found)


def checks_in(folder: str) -> tuple[Check, ...]:
    """The checks of one folder, such as `discovery`."""
    return tuple(one for one in checks() if one.module.startswith(f"{folder}/"))


def _check(module: str, node: ast.FunctionDef, areas: _Areas) -> Check:
    sentence = (ast.get_docstring(node) or "").partition("\n\n")[0]
    return Check(
        module=module,
        name=node.name,
        clauses=tuple(_cited(node, areas)),
        areas=tuple(_areas(node)),
        sentence=" ".join(sentence.split()),
    )


def _cited(node: ast.FunctionDef, areas: _Areas) -> list[str]:
    found: list[str] = []
    for name, words in _decorated(node):
        if name == "requirement":
            found += words
        found += [c for case in areas.get(name, ()) if case.area in words for c in case.clauses]
    return list(dict.fromkeys(found))


@cache
def cited_by_case() -> dict[str, tuple[str, ...]]:
    """The clauses that each case cites, those of proxies before those of loaders."""
    found = {case.id: case.clauses for case in cases()}
    return found | {load.id: load.clauses for load in load_cases()}


def _areas(node: ast.FunctionDef) -> list[tuple[str, str]]:
    """The areas whose cases it is given, each with the decorator that says so."""
    return [(name, word) for name, words in _decorated(node) for word in words if name in _GIVING]


def _decorated(node: ast.FunctionDef) -> Iterator[tuple[str, list[str]]]:
    for call in node.decorator_list:
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            words = [one.value for one in call.args if isinstance(one, ast.Constant)]
            yield call.func.id, [str(word) for word in words]


def split(name: str) -> tuple[str, str]:
    """The check and the case of a printed name such as `module::check[case]`; either may be ""."""
    check, bracket, case = name.rpartition("::")[2].partition("[")
    if bracket:
        return check, case.removesuffix("]")
    return ("", check) if check in cited_by_case() else (check, "")


def names() -> tuple[str, ...]:
    """Every check and every case."""
    return (*(check.name for check in checks()), *cited_by_case())


def names_like(name: str) -> tuple[bool, str]:
    """Whether there is a check or case of that name, and the nearest name that there is."""
    known = names()
    check, case = split(name)
    if (wanted := check or case) in known:
        return True, wanted
    near = get_close_matches(wanted, known, 1, 0.0)
    return False, near[0] if near else ""
