"""Index of checks, read from their modules without running them, and of cases by name."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from mcp_proxy_conformance.catalogue.case_file import CitingCase
from mcp_proxy_conformance.catalogue.specification import Specification, specifications

__all__ = ["Check", "cases", "checks", "names", "names_like"]

_NAME = re.compile(r"^def (test_\w+)", re.MULTILINE)
_Areas = Mapping[str, Sequence[CitingCase]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check function: cited clauses, first sentence, and (decorator, area) pairs.

    `module` is its file as its specification's package has it, `path` where that is.
    """

    module: str
    path: Path
    name: str
    clauses: tuple[str, ...]
    sentence: str
    areas: tuple[tuple[str, str], ...] = ()


@cache
def checks() -> tuple[Check, ...]:
    """Return every shipped check, one folder after another, by module and line."""
    return tuple(check for folder in _folders() for check in checks_in(folder))


@cache
def cases() -> tuple[CitingCase, ...]:
    """Return every shipped case of all specifications, by their names, each in its order."""
    return tuple(c for each in specifications() for c in (*each.cases(), *each.scenarios()))


@cache
def checks_in(folder: Path) -> tuple[Check, ...]:
    """Return the checks of one folder of checks; only cases of its specification are read."""
    own = _folders()[folder]
    areas = {own.giving: (*own.cases(), *own.scenarios())}
    return tuple(_check(*found, areas) for found in _functions(folder))


def checks_of(others: Mapping[str, Sequence[CitingCase]]) -> tuple[Check, ...]:
    """Return the shipped checks, each with the clauses that it and its cases cite.

    `others` are, by the decorator that gives them, the cases to use in place of the shipped ones.
    """
    areas = {
        each.giving: (*others.get(each.giving, each.cases()), *each.scenarios())
        for each in specifications()
    }
    return tuple(_check(*found, areas) for folder in _folders() for found in _functions(folder))


def _folders() -> dict[Path, Specification]:
    """Map each folder of checks to its specification."""
    return {folder: each for each in specifications() for folder in each.checks}


@cache
def _functions(folder: Path) -> tuple[tuple[str, Path, ast.FunctionDef], ...]:
    """Return (module, path, function) for every check of a folder, by module and line, parsed once.

    Checks are the functions `test_…` at the top of `test_*.py`.
    """
    tests: list[tuple[str, Path, ast.FunctionDef]] = []
    top = _folders()[folder].root.parent
    for path in sorted(folder.glob("test_*.py")):
        nodes = ast.parse(path.read_text(encoding="utf-8")).body
        functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
        module = str(path.relative_to(top))
        tests += [(module, path, each) for each in functions if each.name.startswith("test_")]
    return tuple(tests)


@cache
def _check_names() -> frozenset[str]:
    """Return the name of every check, without parsing a module."""
    texts = (path.read_text(encoding="utf-8") for folder in _folders()
             for path in folder.glob("test_*.py"))  # fmt: skip
    return frozenset(name for text in texts for name in _NAME.findall(text))


def _check(module: str, path: Path, node: ast.FunctionDef, areas: _Areas) -> Check:
    """Return the Check of a parsed function; its sentence is the docstring's first paragraph.

    `areas` maps the names of decorators, such as `each_case`, to all cases of their kind. The
    sentence is on one line, "" without a docstring.
    """
    sentence = (ast.get_docstring(node) or "").partition("\n\n")[0]
    return Check(
        module=module,
        path=path,
        name=node.name,
        clauses=tuple(_cited(node, areas)),
        areas=tuple(_areas(node, areas)),
        sentence=" ".join(sentence.split()),
    )


def _cited(node: ast.FunctionDef, areas: _Areas) -> list[str]:
    """Return the distinct clauses that a check cites by @requirement or by its cases.

    `areas` maps the names of decorators, such as `each_case`, to all cases of their kind.
    """
    clauses: list[str] = []
    for name, words in _decorated(node):
        if name == "requirement":
            clauses += words
        clauses += [c for case in areas.get(name, ()) if case.area in words for c in case.clauses]
    return list(dict.fromkeys(clauses))


@cache
def cited_by_case() -> dict[str, tuple[str, ...]]:
    """Map each shipped case's id to the clauses that it cites."""
    return {case.id: case.clauses for case in cases()}


def _areas(node: ast.FunctionDef, giving: Container[str]) -> list[tuple[str, str]]:
    """Return (decorator, area) for each decorator by which the check runs cases."""
    return [(name, word) for name, words in _decorated(node) for word in words if name in giving]


def _decorated(node: ast.FunctionDef) -> Iterator[tuple[str, list[str]]]:
    """Yield (name, arguments) of each decorator that is a call of a plain name.

    The arguments are its positional constants, as texts.
    """
    for call in node.decorator_list:
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            words = [argument.value for argument in call.args if isinstance(argument, ast.Constant)]
            yield call.func.id, [str(word) for word in words]


def split(name: str) -> tuple[str, str]:
    """Split a name such as `module::check[case]` into (check, case); either may be "".

    A name without brackets is a case's if there is such a case, else a check's.
    """
    check, bracket, case = name.rpartition("::")[2].partition("[")
    if bracket:
        return check, case.removesuffix("]")
    if check in _check_names() or check not in cited_by_case():
        return check, ""
    return "", check


def names() -> tuple[str, ...]:
    """Return the name of every check, then of every case."""
    return (*(check.name for check in checks()), *cited_by_case())


def names_like(name: str) -> tuple[bool, str]:
    """Return (True, the check or case of that name), or (False, the nearest name that exists).

    Of `check[case]` only the check is looked up; the nearest is "" if there are no names.
    """
    check, case = split(name)
    if (wanted := check or case) in _check_names() or wanted in (known := names()):
        return True, wanted
    near = get_close_matches(wanted, known, 1, 0.0)
    return False, near[0] if near else ""
