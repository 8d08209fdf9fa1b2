"""Spaces: pairs and constraints, cuts, scenarios that cover, what failing rows have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from mcp_proxy_conformance.catalogue.specification import specifications
from mcp_proxy_conformance.run.space.covering import covering, packed, scenario
from mcp_proxy_conformance.run.space.space import (
    BadSpace,
    Constraint,
    Dimension,
    Row,
    Space,
    cut_all,
    read_space,
)
from mcp_proxy_conformance.run.space.symptoms import (
    Observed,
    Symptom,
    coverage,
    smaller,
    wherever,
)

TEXT = """
name = "tea"
version = 2
[[dimension]]
name = "water"
value = [{ name = "hot", sentence = "." }, { name = "cold", sentence = "." }]
[[dimension]]
name = "leaf"
value = [{ name = "green", sentence = "." }, { name = "black", sentence = ".", needs = "milk" },
         { name = "white", sentence = ".", since = 2 }]
[[dimension]]
name = "cups"
common = true
value = [{ name = "one", sentence = "." }, { name = "two", sentence = "." }]
[[constraint]]
where = { water = ["cold"] }
only = { leaf = ["green"] }
sentence = "only green leaves give something to cold water"
"""
ODD = Symptom(("T.taste",), "taste bitter")


@pytest.fixture
def tea(tmp_path: Path) -> Space:
    """A space of twelve combinations, of which eight are admissible."""
    path = tmp_path / "space.toml"
    path.write_text(TEXT, encoding="utf-8")
    return read_space(path)


def test_a_constraint_excludes_pairs_both_ways(tea: Space) -> None:
    """Cold water excludes all leaves but one, with the constraint's sentence."""
    excluded = {pair for pair, sentence in tea.pairs.items() if sentence}

    assert excluded == {
        (("water", "cold"), ("leaf", "black")), (("water", "cold"), ("leaf", "white")),
    }  # fmt: skip


def test_a_constraint_of_two_dimensions_holds_where_both_do(tea: Space) -> None:
    """Two cups of cold water exclude nothing alone, only what is not green beside both."""
    both = Constraint(
        where={"water": ("cold",), "cups": ("two",)}, only={"leaf": ("green",)}, sentence="dull"
    )
    tea = msgspec.structs.replace(tea, constraint=(both,))
    row = {"water": "cold", "leaf": "white"}

    assert not any(tea.pairs.values())
    assert [tea.excluded(row | {"cups": cups}) for cups in ("one", "two")] == ["", "dull"]


@pytest.mark.parametrize(
    ("capabilities", "version", "left"),
    [
        ({"milk"}, None, {"leaf": "black", "cups": "two"}),
        (set(), None, {"cups": "two"}),
        ({"milk"}, 1, {"leaf": "black", "cups": "two"}),
    ],
)
def test_a_value_that_is_not_played_becomes_the_default(
    tea: Space, capabilities: set[str], version: int | None, left: Row
) -> None:
    """Values that need a capability, or came later, are replaced; the row stays."""
    assert tea.cut({"leaf": "black", "cups": "two"}, capabilities, version) == left
    assert tea.cut({"leaf": "white"}, set(), 1) == {}


def test_the_covering_set_has_every_pair_and_keeps_its_seeds(tea: Space) -> None:
    """Each admissible pair is in a row, seeds come first, the same input gives the same rows."""
    seeds: list[Row] = [{"leaf": "white", "cups": "two"}]

    rows = covering(tea, seeds)

    assert rows[:1] == seeds
    assert rows == covering(tea, seeds)
    assert {pair for row in rows for pair in tea.pairs_of(row)} == {
        pair for pair, sentence in tea.pairs.items() if not sentence
    }


def test_a_pair_that_no_row_can_have_is_told(tea: Space) -> None:
    """Four constraints leave green leaves neither milk nor sugar; none of them says so."""
    more = msgspec.convert(
        [{"name": each, "value": [{"name": word, "sentence": "."} for word in ("no", "yes")]}
         for each in ("milk", "sugar")], list[Dimension])  # fmt: skip
    rules = ("milk no sugar yes", "sugar yes milk yes", "milk yes sugar no", "sugar no milk no")
    four = tuple(
        Constraint(where={"leaf": ("green",), one: (word,)}, only={two: (other,)}, sentence=".")
        for one, word, two, other in map(str.split, rules)
    )
    tea = msgspec.structs.replace(tea, dimension=(*tea.dimension, *more), constraint=four)

    with pytest.raises(BadSpace, match=r"no row has .*leaf=green.*; say why in a constraint"):
        covering(tea, [])


def test_a_scenario_has_rows_with_equal_common_values(tea: Space) -> None:
    """Rows that differ in a common dimension, or do not fit, come into different scenarios."""
    rows: list[Row] = [{}, {"cups": "two"}, {"water": "cold"}, {"leaf": "white"}]

    scenarios = packed(tea, rows, lambda several: len(several) <= 2)

    assert sorted(len(each.rows) for each in scenarios) == [1, 1, 2]
    assert {each.id for each in scenarios} == {scenario(each.rows).id for each in scenarios}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ('only = { leaf = ["red"] }', "names leaf=red, which is not there"),
        ("only = 3", "Expected `object`, got `int`"),
        ('only = { leaf = ["black"] }\nwere = 1', "unknown field `were`"),
    ],
)
def test_a_space_that_cannot_be_used_is_refused(change: str, sentence: str, tmp_path: Path) -> None:
    """The sentence names the file and what is wrong in it."""
    path = tmp_path / "space.toml"
    path.write_text(TEXT.replace('only = { leaf = ["green"] }', change), encoding="utf-8")

    with pytest.raises(BadSpace, match=r"space\.toml: ") as error:
        read_space(path)
    assert sentence in str(error.value)


def test_what_failing_rows_have_in_common_is_told(tea: Space) -> None:
    """The value, or the pair, that tells failing rows from the others, with the numbers."""
    rows: list[tuple[Row, bool]] = [
        ({"leaf": "white", "cups": "two"}, True),
        ({"leaf": "white"}, False),
        ({"cups": "two"}, False),
        ({}, False),
    ]
    observed = [
        Observed(scenario="a", row=row, symptoms=frozenset({ODD} if fails else ()))
        for row, fails in rows
    ]

    assert wherever(tea, ODD, observed) == (
        "wherever leaf=white, cups=two (1 of 1 observations; without: 0 of 3)"
    )


def test_a_failing_row_is_made_smaller(tea: Space) -> None:
    """Values without which it fails as well become defaults, in two rounds of replays."""
    rounds: list[int] = []

    def fails(rows: Any) -> list[bool]:
        rounds.append(len(rows))
        return [row.get("leaf") == "white" for row in rows]

    assert smaller(tea, {"leaf": "white", "cups": "two"}, fails, float("inf")) == {"leaf": "white"}
    assert rounds == [2, 1]


def test_coverage_counts_pairs_within_one_row(tea: Space) -> None:
    """A pair is looked at if one row has both values; others have the reason that tells most."""
    observed = [
        Observed(scenario="a", row={"water": "cold"}),
        Observed(scenario="a", row={"cups": "two"}, status="masked", reason="it hung"),
        Observed(scenario="b", row={"cups": "two"}, status="left_out", reason="no time"),
    ]

    found = coverage(tea, observed, set(), None)

    assert found.looked_at == 3
    assert {(each.status, each.reason): len(each.tuples) for each in found.uncovered} == {
        ("excluded", "only green leaves give something to cold water"): 2,
        ("masked", "it hung"): 3,
        ("capability", "milk is not declared"): 3,
        ("unarmed", "no scenario that is played here has both"): 5,
    }


@pytest.mark.parametrize(
    "played", [each.space() for each in specifications() if each.space is not None],
    ids=lambda played: played.space.name,
)  # fmt: skip
def test_the_committed_scenarios_cover_their_space(played: Any) -> None:
    """Every admissible pair is in a row, every id is its content's, every value has a sentence."""
    rows = [row for each in played.scenarios for row in each.rows]
    covered = {pair for row in rows for pair in played.space.pairs_of(row)}

    assert [
        pair for pair, why in played.space.pairs.items() if not why and pair not in covered
    ] == []
    assert [row for row in rows if played.space.excluded(played.space.defaults | row)] == []
    assert {each.id for each in played.scenarios} == {scenario(s.rows).id for s in played.scenarios}
    assert all(value.sentence for each in played.space.dimension for value in each.value)


@pytest.mark.parametrize(
    "played", [each.space() for each in specifications() if each.space is not None],
    ids=lambda played: played.space.name,
)  # fmt: skip
def test_without_a_capability_every_other_pair_is_still_played(played: Any) -> None:
    """A cut replaces values, so that pairs of the values that are left stay in some row."""
    space = played.space
    rows = [row for each in cut_all(space, played.scenarios, (), None) for row in each.rows]
    covered = {pair for row in rows for pair in space.pairs_of(row)}
    played_pairs = space.reduced(()).pairs

    assert [pair for pair, why in played_pairs.items() if not why and pair not in covered] == []
