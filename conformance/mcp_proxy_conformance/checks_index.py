"""What checks and cases there are, read from the check modules without running them."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache

from mcp_proxy_conformance.case import cases
from mcp_proxy_conformance.resilience.load_case import load_cases
from mcp_proxy_conformance.resources import checks_dir

__all__ = ["Check", "cases", "checks", "names_like"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check function: where it stands, what it cites, its one sentence."""

    module: str
    name: str
    clauses: tuple[str, ...]
    sentence: str


@cache
def checks() -> tuple[Check, ...]:
    """Every shipped check, in order of module and line."""
    found: list[Check] = []
    for path in sorted(checks_dir().rglob("test_*.py")):
        module = str(path.relative_to(checks_dir()))
        nodes = ast.parse(path.read_text(encoding="utf-8")).body
        functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
        found += [_check(module, one) for one in functions if one.name.startswith("test_")]
    return tuple(found)


def checks_in(folder: str) -> tuple[Check, ...]:
    """The checks of one folder, such as `discovery`."""
    return tuple(one for one in checks() if one.module.startswith(f"{folder}/"))


def _check(module: str, node: ast.FunctionDef) -> Check:
    sentence = (ast.get_docstring(node) or "").partition("\n\n")[0]
    return Check(
        module=module,
        name=node.name,
        clauses=tuple(_cited(node)),
        sentence=" ".join(sentence.split()),
    )


def _cited(node: ast.FunctionDef) -> list[str]:
    found: list[str] = []
    for call in node.decorator_list:
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            continue
        words = [one.value for one in call.args if isinstance(one, ast.Constant)]
        if call.func.id == "requirement":
            found += [str(word) for word in words]
        elif call.func.id == "each_case":
            found += [c for case in cases() if case.area in words for c in case.clauses]
        elif call.func.id == "each_load":
            found += [c for case in load_cases() if case.area in words for c in case.clauses]
    return list(dict.fromkeys(found))


@cache
def cited_by_case() -> dict[str, tuple[str, ...]]:
    """The clauses that each case cites, those of proxies before those of loaders."""
    found = {case.id: case.clauses for case in cases()}
    return found | {load.id: load.clauses for load in load_cases()}


def split(name: str) -> tuple[str, str]:
    """The check and the case of a printed name such as `module::check[case]`; either may be ""."""
    check, bracket, case = name.rpartition("::")[2].partition("[")
    if bracket:
        return check, case.removesuffix("]")
    return ("", check) if check in cited_by_case() else (check, "")


def names_like(name: str) -> tuple[bool, str]:
    """Whether there is a check or case of that name, and the nearest name that there is."""
    known = [check.name for check in checks()]
    known += cited_by_case()
    check, case = split(name)
    near = get_close_matches(check or case, known, 1, 0.0)
    return (check or case) in known, near[0] if near else ""
