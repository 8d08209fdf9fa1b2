"""Parts of the proof: together they are all tests, and a part has few of each kind."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from proof_parts import of_other_parts


def item(name: str, *marks: pytest.MarkDecorator) -> Any:
    """Return a collected test of this name with these marks."""
    return SimpleNamespace(nodeid=name, iter_markers=lambda _: [mark.mark for mark in marks])


PROOF, OF_THREE = pytest.mark.proof, pytest.mark.proof(parts=3)
ALWAYS = [item("quick[0]"), item("quick[1]"), item("whole", PROOF), item("many[0]")]
MANY = [item(f"many[{number}]", PROOF, OF_THREE) for number in range(1, 8)]
ALONE = [item("first", OF_THREE), item("second", OF_THREE)]


def test_the_parts_are_together_all_tests() -> None:
    """Of six following parts, a test of three is in two, one of two in three, any other in all.

    A part has two or three of the seven parameters of a test.
    """
    every = [*ALWAYS, *MANY, *ALONE]

    parts = [
        [each for each in every if each not in of_other_parts(every, str(number))]
        for number in range(1042, 1048)
    ]

    assert [sum(each in part for part in parts) for each in every] == [6, 6, 3, 6] + [2] * 9
    assert {sum(each in part for each in MANY) for part in parts} == {2, 3}


def test_without_a_number_nothing_is_left_out() -> None:
    """Without the number of a part all tests are run."""
    assert of_other_parts([*ALWAYS, *MANY, *ALONE], None) == []
