"""Cases as pytest's parameters: shipped ones, and a user's own in their place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp_proxy_conformance.catalogue.case_file import CitingCase
from mcp_proxy_conformance.catalogue.requirement import catalogue
from mcp_proxy_conformance.catalogue.world import World

if TYPE_CHECKING:
    import pytest


class OwnCase(NamedTuple):
    """A case, its world, and what it needs besides what its clauses need.

    Of a scenario each clause is judged where it can be: what only some of them need, it does not.
    """

    case: CitingCase
    world: World
    needs: tuple[str, ...] = ()
    scenario: bool = False


def parametrise(metafunc: pytest.Metafunc, own: Sequence[OwnCase]) -> None:
    """Replace the shipped cases of a check by a user's, at pytest's collection.

    Checks whose cases are of another area, or another kind (discovery, load, relay), stay as they
    are.
    """
    import pytest  # noqa: PLC0415 - checks alone are marked; readers of cases go without

    marks = metafunc.definition.own_markers
    for at, mark in enumerate(marks):
        if mark.name == "parametrize" and mark.args[0] == "case" and mark.args[1]:
            kinds = {(type(each.values[0]), each.values[0].area) for each in mark.args[1]}
            mine = [
                parameter(*one[:3], scenario=one.scenario)
                for one in own
                if (type(one.case), one.case.area) in kinds
            ]
            if mine:
                marks[at] = pytest.mark.parametrize("case", mine).mark


def parameter(
    case: CitingCase, world: World, needs: tuple[str, ...] = (), *, scenario: bool = False
) -> Any:
    """Return a case as a pytest parameter, marked with its clauses and its world.

    The target must declare the capabilities of the clauses (of a scenario: what all need) and those
    in `needs`; the case runs on a shared target. Raises UnknownClause for a clause that is not in
    the catalogue.
    """
    import pytest  # noqa: PLC0415 - as above

    words = [{*catalogue().clause(clause).capability} for clause in case.clauses]
    needed = set.intersection(*words) if scenario else set().union(*words)
    needs = tuple(sorted(needed.union(needs)))
    return pytest.param(
        case,
        id=case.id,
        marks=[
            pytest.mark.requirement(*case.clauses),
            pytest.mark.on(world, fresh=False, needs=needs),
        ],
    )
