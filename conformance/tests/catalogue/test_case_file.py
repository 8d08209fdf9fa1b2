"""Files of cases: shared members, tables of values, numbers as they stand, faults with places."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_proxy_conformance.catalogue.case_file import BadCase, case_texts
from mcp_proxy_conformance.catalogue.resources import fixtures_dir
from mcp_proxy_conformance.discovery.case import read, read_own

TABLE = {"id": "{word}", "when": "{when}", "title": "{n} of {word}", "{word}": ["{n}", "{{n}}"]}


def made(file: dict[str, Any]) -> list[Any]:
    """Return the cases of a file that has these members."""
    return [json.loads(text) for text, *_ in case_texts(json.dumps(file).encode())]


def test_a_case_has_what_is_shared_unless_it_has_its_own() -> None:
    """Each case has the area, the shared members and its own, which win."""
    cases = made({"area": "a", "shared": {"x": [1], "y": 2}, "cases": [{"id": "b", "y": {}}, {}]})

    assert cases == [{"area": "a", "x": [1], "y": {}, "id": "b"}, {"area": "a", "x": [1], "y": 2}]


def test_a_table_is_one_case_a_row() -> None:
    """A placeholder alone in a string becomes the value, one among others the value's text."""
    columns, rows = ["n", "word", "when"], [[1, 'a"b', {"do": None}], [2.5, "c", []]]

    cases = made({"area": "a", "cases": [{**TABLE, "columns": columns, "rows": rows}]})

    assert cases == [
        {
            "area": "a", "id": 'a"b', "when": {"do": None}, "title": '1 of a"b',
            'a"b': [1, "{1}"],
        },
        {"area": "a", "id": "c", "when": [], "title": "2.5 of c", "c": [2.5, "{2.5}"]},
    ]  # fmt: skip


def test_numbers_and_braces_outside_a_table_stay_as_they_are() -> None:
    """The text of each value is kept: the digits of a number, and `{word}` in a case of its own."""
    file = b'{"area": "a", "cases": [{"n": 1.0E2, "text": "{signature}"}]}'

    [(text, place, fault, _)] = case_texts(file)

    assert fault == ""
    assert text == b'{"area":"a","n":1.0E2,"text":"{signature}"}'
    assert place == ("cases", 0)


@pytest.mark.parametrize(
    ("file", "sentence"),
    [
        ({"cases": []}, "own.json: Object missing required field `area`; see schemas/"),
        (
            {"area": "note", "cases": [{"id": "b", "title": 3}]},
            "own.json: b: Expected `str`, got `int` - at `$.title`; see schemas/case.schema.json",
        ),
        (
            {"area": "note", "cases": [{"id": "{n}", "columns": ["n"], "rows": [[1, 2]]}]},
            "own.json: cases/0/rows/0: 2 values for the columns n and the placeholders n; give ",
        ),
        (
            {"area": "note", "cases": [{"id": "{m}", "columns": ["n"], "rows": [[1]]}]},
            "own.json: cases/0/rows/0: 1 values for the columns n and the placeholders m; give ",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_the_place(
    file: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    """BadCase names the file, the case or its place in the file, the fault and the repair."""
    path = tmp_path / "own.json"
    path.write_text(json.dumps(file), encoding="utf-8")

    with pytest.raises(BadCase) as error:
        read(path)

    assert str(error.value).startswith(sentence)


SOUND = json.loads((fixtures_dir() / "discovery" / "note.json").read_text(encoding="utf-8"))


def own(**members: Any) -> dict[str, Any]:
    """Return a sound case of the area `note` with these members added or replaced."""
    first = next(case for case in SOUND["cases"] if "rows" not in case)
    return {"area": "note", **SOUND.get("shared", {}), **first, **members}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"area": "note", "cases": []}, "own.json: it has no case; give it one"),
        (
            {"area": "note", "cases": [{**own(), "columns": ["n"], "rows": []}]},
            "own.json: cases/0: a table without rows; ",
        ),
        ({"area": "note", "cases": [own(), own()]}, "two cases have this id; "),
        (own(id="own-\u00e9"), "it is no id of a case; "),
        (own(given={"stage": "../../x"}), "'../../x' is no name of a stage; "),
        (b'{"id": "\xff"}', "see schemas/case.schema.json"),
        (b'{"a":' * 100_000, "it nests too deeply; flatten it"),
    ],
)
def test_cases_of_ones_own_that_cannot_be_run_are_refused(
    content: dict[str, Any] | bytes, words: str, tmp_path: Path
) -> None:
    """A file of `--case` without a case, or with one that no check would run, is refused."""
    path = tmp_path / "own.json"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())

    with pytest.raises(BadCase) as error:
        read_own(path)

    assert words in str(error.value)
