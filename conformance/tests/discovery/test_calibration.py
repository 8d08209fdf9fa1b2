"""Calibrated byte comparison of answers to absent and false: what moves is forgiven, else found."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable

import pytest

from mcp_proxy_conformance.discovery.calibration import (
    Exact,
    absent_against_false,
    differences,
    volatile,
)
from mcp_proxy_conformance.discovery.forms import without_flag
from mcp_proxy_conformance.verdict.result import Inconclusive

FRAME = b'{"content":[{"type":"text","text":""}]}'
TOOL = {"name": "forge:list", "server": "forge", "description": "a/b", "score": 1.5}
OTHER = {"name": "forge:drop", "server": "forge", "description": "b", "score": 1.25}
BODY = {"query": "q", "tools": [TOOL, OTHER], "total": 2}


def exact(body: object, frame: bytes = FRAME) -> Exact:
    """Return an answer whose text is this body as JSON; `frame` is the result's other bytes."""
    return Exact(result=frame, text=json.dumps(body).encode())


def steady(absent: Exact, false: Exact) -> Callable[[str], Exact]:
    """Return a target, a function that answers form `A` (the flag absent) with `absent`.

    It answers the other forms with `false`.
    """
    return lambda form: absent if form == "A" else false


def drawing(make: Callable[[], object]) -> Callable[[str], Exact]:
    """Return a target, a function that answers any form of the flag with a new body of `make`."""
    return lambda _form: exact(make())


def test_equal_answers_differ_nowhere() -> None:
    """A target that answers with and without the flag false by the same bytes has no difference."""
    assert absent_against_false(steady(exact(BODY), exact(BODY))) == ()


def counter() -> Callable[[], object]:
    """Return a function that makes bodies with a number that grows at each call."""
    count = itertools.count()
    return lambda: BODY | {"calls": next(count)}


def clock() -> Callable[[], object]:
    """Return a function that makes bodies with a time that moves at every fifth call."""
    count = itertools.count()
    return lambda: BODY | {"at": f"12:00:{next(count) // 5:02}"}


def score() -> Callable[[], object]:
    """Return a function that makes bodies with new scores of two tools, in the same order."""
    dice = random.Random(7)  # noqa: S311 - a fixed seed
    return lambda: BODY | {"tools": [t | {"score": dice.random()} for t in (TOOL, OTHER)]}


def jitter() -> Callable[[], object]:
    """Return a function that makes bodies with a duration: 1 at each seventh call or so, else 0."""
    dice = random.Random(11)  # noqa: S311 - a fixed seed
    return lambda: BODY | {"took_ms": int(dice.random() < 0.15)}


@pytest.mark.parametrize("target", [counter, clock, score])
@pytest.mark.parametrize("skip", range(7))
def test_what_moves_by_itself_accuses_nobody(
    target: Callable[[], Callable[[], object]], skip: int
) -> None:
    """A counter, a clock or random scores make no difference, after any number of earlier calls."""
    make = target()
    for _ in range(skip):
        make()

    deviations = absent_against_false(drawing(make))

    assert deviations == ()


def test_a_jitter_accuses_nobody() -> None:
    """A duration that is 1 at times, else 0, makes no difference in sixty comparisons."""
    make = jitter()

    deviations = [absent_against_false(drawing(make)) for _ in range(60)]

    assert deviations == [()] * 60


FALSE_FORMS = {
    "an extra space": (b'"total": 2', b'"total":  2', "text"),
    "an escaped slash": (b"a/b", b"a\\/b", "text.tools[forge:list].description"),
    "a spelled-out letter": (b'"q"', b'"\\u0071"', "text.query"),
    "another order": (b'"query": "q", ', b"", "text.tools"),
    "an extra member": (b"}]", b'}], "disabled": []', "text.disabled"),
    "an extra member inside": (b"1.25", b'1.25, "status": null', "text.tools[forge:drop].st"),
    "another number": (b"1.25", b"1.250", "text.tools[forge:drop].score"),
    "a last line": (b'"total": 2}', b'"total": 2}\n', "text"),
    "no document": (b'"total": 2}', b'"total": 2', "text"),
}


@pytest.mark.parametrize("name", FALSE_FORMS)
def test_a_difference_of_the_false_form_is_found(name: str) -> None:
    """An answer to false that is spelled otherwise gives three differences.

    The first has its place, byte offset and both sides, even where the values are equal.
    """
    usual = exact(BODY)
    old, new, at = FALSE_FORMS[name]
    other = Exact(result=FRAME, text=usual.text.replace(old, new))
    assert other != usual

    deviations = absent_against_false(steady(usual, other))

    assert len(deviations) == 3
    assert deviations[0].at.startswith(at)
    assert deviations[0].usual != deviations[0].actual
    assert f"byte {deviations[0].offset}" in repr(deviations[0])


def test_a_difference_beside_moving_members_is_found() -> None:
    """A member that only `false` changes is found, beside a moving one of the same name."""
    count = itertools.count()

    def ask(form: str) -> Exact:
        """Return an answer with a new first score.

        In form `F`, the flag false, with another second one.
        """
        changed = {"score": next(count)}
        tools = [TOOL | changed, OTHER | ({"score": 9} if form == "F" else {})]
        return exact(BODY | {"tools": tools})

    deviations = absent_against_false(ask)

    assert {deviation.at for deviation in deviations} == {"text.tools[forge:drop].score"}


def test_a_difference_around_the_text_is_found() -> None:
    """A member beside the text that only answers to the flag false have is a difference."""
    marked = FRAME[:-1] + b',"isError":false}'

    deviations = absent_against_false(steady(exact(BODY), exact(BODY, marked)))

    assert {deviation.at for deviation in deviations} == {"result.isError"}


def test_a_difference_that_does_not_repeat_counts_for_nothing() -> None:
    """If one answer to the flag false differs and later ones do not, there is no difference."""
    odd = iter([exact(BODY | {"total": 3})])
    usual = exact(BODY)

    deviations = absent_against_false(lambda form: next(odd, usual) if form == "F" else usual)

    assert deviations == ()


@pytest.mark.parametrize(
    ("bodies", "member"),
    [
        ([BODY, BODY | {"tools": [OTHER, TOOL]}], "text.tools"),
        ([BODY, BODY | {"tools": [TOOL]}], "text.tools"),
        ([BODY, BODY | {"more": 1}], "text"),
        ([{"name": "a"}, {"name": "b"}], "text.name"),
        ([{"server": "a"}, {"server": "b"}], "text.server"),
        ([{"at": 1}, {"at": [1]}], "text.at"),
        ([{"at": []}, {"at": [1]}], "text.at"),
        (["a", "b"], "text"),
    ],
)
def test_names_keys_and_lengths_may_not_move(bodies: list[object], member: str) -> None:
    """Answers to equal requests that differ in a name, member or length raise Inconclusive.

    The reason names the member.
    """
    answers = [exact(body) for body in bodies]

    with pytest.raises(Inconclusive, match="does not agree with itself") as raised:
        volatile(answers)

    assert f": {member} is " in str(raised.value)


def test_moving_space_leaves_nothing_to_compare_with() -> None:
    """Answers to equal requests that differ in blanks outside of members raise Inconclusive."""
    wide = Exact(result=FRAME, text=exact(BODY).text + b" ")

    with pytest.raises(Inconclusive, match="does not agree with itself"):
        differences([exact(BODY), wide], [exact(BODY)])


def test_a_container_is_never_cut_out() -> None:
    """A member that moves in usual answers is a difference where it becomes an object.

    Any other value of it is none.
    """
    usual = [exact({"at": 1}), exact({"at": 2})]

    deviations = differences(usual, [exact({"at": {"disabled": []}}), exact({"at": 3})])

    assert [deviation.at for deviation in deviations] == ["text.at"]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (b'{"request":{"query":"q","include_disabled":false}}', b'{"request":{"query":"q"}}'),
        (b'{"request":{"include_disabled":false,"query":"q"}}', b'{"request":{"query":"q"}}'),
        (b'{"a":[{"query": "q" ,\n "include_disabled": false }]}', b'{"a":[{"query": "q" }]}'),
        (b'{"query":"q","include_disabled":false,"tools":[]}', None),
        (b'{"request":{"query":"p","include_disabled":false}}', None),
        (b'{"request":{"query":"q","include_disabled":0}}', None),
        (b'{"request":{"include_disabled":false}}', None),
        (b"include_disabled, not JSON", None),
    ],
)
def test_the_flag_is_cut_out_of_a_repeated_request_only(text: bytes, kept: bytes | None) -> None:
    """`without_flag` cuts the flag out of objects that are exactly the request's arguments.

    Other objects, and a text that is not JSON, are unchanged.
    """
    arguments = {"query": "q", "include_disabled": False}

    assert without_flag(text, arguments) == (text if kept is None else kept)
