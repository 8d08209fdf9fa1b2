"""Schemas: sound, fitting the data files, refusing unsound instances for one fault, as Ajv does."""

from __future__ import annotations

import json
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import strangers
from jsonschema import Draft202012Validator

from mcp_proxy_conformance.catalogue.requirement import catalogue
from mcp_proxy_conformance.catalogue.resources import fixtures_dir, schemas_dir
from mcp_proxy_conformance.catalogue.specification import data_files
from mcp_proxy_conformance.discovery.authoring.bundles import bundled

ANSWERS = (
    "default-answer", "discovery-answer", "discovery-exchange", "locked-entry", "rejection",
    "remediation-map", "server-counts", "server-inspection", "server-listing",
)  # fmt: skip
LOCKS = ("locks", "list")
OF_RUNS = ("deviations", "report")
LOADERS = ("load-outcome", "loader-protocol", "load-case")
OF_FILES = {
    "requirements/*.toml": "requirement",
    "profiles/*.toml": "profile",
    "interpretations.toml": "interpretation",
    "sentences.toml": "sentences",
    "frozen.toml": "frozen",
    "pictures/*.toml": "picture",
    "targets/*.toml": "target",
}
FILES = {
    str(path.relative_to(fixtures_dir())): name
    for pattern, name in OF_FILES.items()
    for path in data_files(pattern)
}
NAMES = sorted({*FILES.values(), *ANSWERS, *LOADERS, *LOCKS, *OF_RUNS})

Json = Any


def toml(name: str) -> dict[str, Json]:
    """Return the members of a TOML file by its path below fixtures/."""
    return tomllib.loads((fixtures_dir() / name).read_text(encoding="utf-8"))


def schema(name: str) -> dict[str, Json]:
    """Return a shipped schema, by its name without `.schema.json`, as an object."""
    text = (schemas_dir() / f"{name}.schema.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def faults(name: str, instance: Json) -> list[str]:
    """Return the errors of the instance under the schema of that name, sorted.

    Each is a text `path: keyword`, with the clauses that the part of the schema names.
    """
    errors = Draft202012Validator(schema(name)).iter_errors(instance)
    return sorted(
        f"{error.json_path}: {error.validator} {error.schema.get('$comment', '')}".rstrip()
        for error in errors
    )


def unexplained(node: Json) -> list[str]:
    """Return the names of properties without description or `$ref`, anywhere in a schema.

    Those in `if`, `then` and `else` are left out.
    """
    if not isinstance(node, dict):
        return []
    own = node.get("properties", {}).items()
    below = [part for key, part in node.items() if key not in {"if", "then", "else"}]
    here = [name for name, part in own if not {"description", "$ref"} & set(part)]
    return here + [name for part in below for name in unexplained(part)]


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_valid_says_where_it_lives_and_describes_every_member(name: str) -> None:
    """Each schema is of draft 2020-12, has its own `$id`, and describes every member."""
    document = schema(name)

    Draft202012Validator.check_schema(document)
    undescribed = unexplained(document)

    assert document["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert document["$id"] == f"https://mcp-proxy-conformance.dev/schemas/{name}.schema.json"
    assert undescribed == []


@pytest.mark.parametrize(("file", "name"), FILES.items())
def test_a_data_file_is_valid_under_its_schema(file: str, name: str) -> None:
    """Each shipped TOML file of FILES is valid under the schema that FILES names."""
    violations = faults(name, toml(file))

    assert violations == []


SOURCE = {"text": "discovery-spec", "at": "FR-001"}
ROW = {"id": "FR-001", "keyword": "MUST", "text": "It must.", "source": SOURCE}
PROVED = ROW | {"proved_by": ["FR-002.no-section"]}
CLAUSE = {"id": "FR-001.accepts", "level": "required", "text": "It is.", "broken": "it is not",
          "observed": "Look."}  # fmt: skip
ENTRY = {"name": "wipe", "server": "forge", "description": "Wipes.", "status": "disabled_by_config"}
HIDDEN = {"name": "odd", "server": "stray", "status": "server_quarantined"}
MAP = {"disabled_by_config": "Operator policy."}
NONE: Json = {"tools": []}
LISTED: Json = {"tools": [{"name": "forge:list", "server": "forge"}]}
SHOWN = LISTED | {"disabled": [ENTRY], "remediation": MAP}
THREE, ELEVEN = ({"disabled": [ENTRY] * n, "remediation": MAP} for n in (3, 11))
TWO = {"disabled": [ENTRY, ENTRY | {"status": "disabled_by_user"}]}
BLOCK = {"callable": 1, "disabled_by_user": 2, "total": 3}
NOTED = NONE | {"notice": "3 locked; set include_disabled"}
KNOWN = {
    "id": "FR-006.cap",
    "reason": "The cap is one too high.",
    "issue": "https://example.com/issues/1",
    "expires": "2027-01-31",
}


def asking(**members: Json) -> Json:
    """Return requirements as data: one, with one required clause to which `members` are added."""
    return {"requirement": [ROW | {"clause": [CLAUSE | members]}]}


SOUND = {
    "requirement": [
        asking(),
        asking(level="advisory", advisory="Free."),
        {"requirement": [PROVED]},
    ],
    "locked-entry": [
        ENTRY, ENTRY | {"score": 0.5, "schema_hash": "a1", "inputSchema": None},
        ENTRY | {"remediation_key": "disabled_by_config"},
        HIDDEN, HIDDEN | {"description": ""}, HIDDEN | {"description": None},
    ],
    "remediation-map": [{}, MAP],
    "server-counts": [
        {"callable": 0, "disabled_by_user": 2},
        {"server_quarantined": 1, "total": 1},
        {"callable": 0},
        BLOCK,
    ],
    "server-listing": [{"servers": [{"name": "forge", "tools": BLOCK}, {"name": "free"}]}],
    "server-inspection": [{"server": {"name": "forge", "tools": BLOCK}}],
    "rejection": [
        {"status": "disabled_by_user", "text": "Ask."}, {"status": "pending_approval", "text": ""},
    ],
    "default-answer": [NONE, LISTED, NOTED, LISTED | {"disabled": True}],
    "discovery-exchange": [
        {"request": {"include_disabled": True}, "answer": SHOWN | NOTED},
        {"request": {"include_disabled": True, "limit": 3}, "answer": THREE},
        {"request": {"limit": 100}, "answer": NOTED},
        *(
            {"request": {"include_disabled": odd}, "answer": answer}
            for odd in ("yes", None, 0)
            for answer in (SHOWN, LISTED | {"notice": "1 locked"})
        ),
    ],
    "locks": [{"forge:wipe": "disabled_by_config"}],
    "deviations": [{}, {"deviation": []}, {"deviation": [KNOWN, KNOWN | {"id": "test_x[1]"}]}],
    "discovery-answer": [
        {}, NONE, NONE | {"disabled": [], "remediation": {}},
        NONE | {"disabled": None, "remediation": None}, SHOWN, NOTED,
    ],
}  # fmt: skip


UNSOUND = [
    ("requirement", {"requirement": [ROW]}, "$.requirement[0]: anyOf"),
    ("requirement", asking(level="advisory"), "$.requirement[0].clause[0]: required"),
    ("requirement", asking(advisory="No."), "$.requirement[0].clause[0].advisory: not"),
    ("locked-entry", {"name": "wipe", "status": "disabled_by_user"}, "$: required FR-003.members"),
    ("locked-entry", ENTRY | {"status": "disabled"}, "$.status: enum FR-004.enum"),
    (
        "locked-entry",
        ENTRY | {"inputSchema": {"type": "object"}},
        "$.inputSchema: not FR-003.members",
    ),
    (
        "locked-entry",
        ENTRY | {"remediation": "Ask."},
        "$.remediation: enum FR-003.members FR-005.once",
    ),
    ("locked-entry", HIDDEN | {"description": "Obey."}, "$.description: enum FR-003.withheld"),
    ("locked-entry", HIDDEN | {"toolSchema": {"a": 1}}, "$.toolSchema: not FR-003.members"),
    ("locks", {}, "$: minProperties"),
    ("locks", {"wipe": "disabled_by_user"}, "$: pattern"),
    ("locks", {"forge:wipe": "locked"}, "$['forge:wipe']: enum"),
    ("deviations", {"deviations": []}, "$: additionalProperties"),
    (
        "deviations",
        {"deviation": [KNOWN | {"why": ""}]},
        "$.deviation[0]: additionalProperties",
    ),
    ("deviations", {"deviation": [dict(list(KNOWN.items())[:3])]}, "$.deviation[0]: required"),
    ("deviations", {"deviation": [KNOWN | {"reason": ""}]}, "$.deviation[0].reason: pattern"),
    ("deviations", {"deviation": [KNOWN | {"issue": "#1"}]}, "$.deviation[0].issue: pattern"),
    ("remediation-map", {"locked": "Ask."}, "$.locked: not FR-005.keys"),
    ("remediation-map", {"disabled_by_user": " \n"}, "$.disabled_by_user: pattern FR-005.text"),
    (
        "remediation-map",
        {"disabled_by_config": "Off. Ask the user to turn it on in the UI."},
        "$.disabled_by_config: not FR-005.class SC-003.discovery",
    ),
    ("server-counts", {"callable": 4}, "$: not SC-005.absent"),
    ("server-counts", {"disabled_by_user": 0}, "$.disabled_by_user: not FR-010.zero-omitted"),
    ("server-counts", {"disabled_by_user": True}, "$.disabled_by_user: type FR-010.block"),
    (
        "server-counts",
        {"callable": -1, "disabled_by_user": 1},
        "$.callable: minimum FR-010.block",
    ),
    ("discovery-answer", TWO, "$: required FR-005.keys"),
    ("discovery-answer", TWO | {"remediation": None}, "$.remediation: type FR-005.keys"),
    ("discovery-answer", TWO | {"remediation": ["Ask."]}, "$.remediation: type FR-005.keys"),
    ("discovery-answer", SHOWN | {"remediation": {}}, "$.remediation: required FR-005.keys"),
    ("discovery-answer", SHOWN | {"disabled": 1}, "$.disabled: type FR-003.members"),
    (
        "discovery-answer",
        NONE | {"remediation": MAP},
        "$.remediation.disabled_by_config: not FR-005.keys",
    ),
    (
        "discovery-answer",
        SHOWN | {"remediation": MAP | {"disabled_by_user": "Ask."}},
        "$.remediation.disabled_by_user: not FR-005.keys",
    ),
    ("discovery-answer", ELEVEN, "$.disabled: maxItems FR-006.cap"),
    (
        "discovery-answer",
        NOTED | {"notice": "3 locked.\nAsk."},
        "$.notice: pattern FR-009.one-line",
    ),
    ("default-answer", LISTED | {"notice": "3 locked"}, "$.notice: enum FR-009.silent"),
    ("default-answer", SHOWN, "$.disabled: not FR-002.no-section"),
    ("default-answer", NOTED | {"disabled": []}, "$.disabled: not FR-002.no-section"),
    ("default-answer", NONE | {"remediation": None}, "$.remediation: not FR-002.no-section"),
    (
        "discovery-exchange",
        {"request": {"include_disabled": True, "limit": 2}, "answer": THREE},
        "$.answer.disabled: maxItems FR-006.cap",
    ),
    (
        "discovery-exchange",
        {"request": {"include_disabled": True, "limit": 2}, "answer": ELEVEN},
        "$.answer.disabled: maxItems FR-006.cap",
    ),
    (
        "discovery-exchange",
        {"request": {"include_disabled": "yes"}, "answer": ELEVEN},
        "$.answer.disabled: maxItems FR-006.cap",
    ),
    (
        "discovery-exchange",
        {"request": {"limit": 2}, "answer": THREE},
        "$.answer.disabled: not FR-002.no-section",
    ),
    (
        "discovery-exchange",
        {"request": {"include_disabled": False}, "answer": {"disabled": None}},
        "$.answer.disabled: not FR-002.no-section",
    ),
    (
        "discovery-exchange",
        {"request": {"include_disabled": False}, "answer": LISTED | {"notice": "1 locked"}},
        "$.answer.notice: enum FR-009.silent",
    ),
    (
        "server-listing",
        {"servers": [{"name": "forge", "tools": {"disabled_by_user": 0}}]},
        "$.servers[0].tools.disabled_by_user: not FR-010.zero-omitted",
    ),
    ("server-inspection", {"server": {"tools": []}}, "$.server.tools: type FR-010.block"),
    ("rejection", {"status": "disabled_by_config", "text": " "}, "$.text: pattern FR-008.pointer"),
]


ROWS: list[tuple[str, Json, list[str]]] = [
    *((name, each, []) for name, rows in SOUND.items() for each in rows),
    *((name, each, [fault]) for name, each, fault in UNSOUND),
]


@pytest.mark.parametrize(("name", "instance", "errors"), ROWS)
def test_an_instance_has_an_error_for_its_one_fault(
    name: str, instance: Json, errors: list[str]
) -> None:
    """A sound instance has no error; one with a fault has one, with its path and clauses."""
    assert faults(name, instance) == errors


SAYING = {
    "additionalProperties", "const", "enum", "maxItems", "maxLength", "minLength", "minProperties",
    "minimum", "not", "pattern", "propertyNames", "required", "type",
}  # fmt: skip
"""The keywords that can refuse an answer by themselves."""
REPEATING = {"anyOf", "contains", "if", "oneOf", "propertyNames"}
"""Keywords whose own error some validators add to those of the parts in them."""


def nameless(node: Json) -> list[Json]:
    """Return the parts of a schema that can refuse an answer, but name no known clause.

    A `type` beside properties or items does not count. Parts that name clauses beside a keyword
    of REPEATING are returned too: a breach would have two errors. Nested parts are searched.
    """
    if isinstance(node, list):
        return [part for each in node for part in nameless(each)]
    if not isinstance(node, dict):
        return []
    structural = {"type"} if {"properties", "items"} & {*node} else set()
    refusing = {key for key in node if key in SAYING - REPEATING} - structural
    named = {*node.get("$comment", "?").split()} <= catalogue().clauses.keys()
    twice = "$comment" in node and REPEATING & {*node}
    here = [node] if twice or (refusing and not named) else []
    deeper = [part for key, part in node.items() if key in ("then", "else", "items", "allOf")]
    for key in ("properties", "patternProperties", "$defs"):
        deeper += node.get(key, {}).values()
    deeper += [node[key] for key in ("additionalProperties", "propertyNames") if key in node]
    return here + [part for each in deeper for part in nameless(each)]


@pytest.mark.parametrize("name", ANSWERS)
def test_each_constraint_on_an_answer_names_its_clauses(name: str) -> None:
    """Each part of a schema of answers that can refuse one names clauses in its `$comment`.

    No keyword beside that adds an error of its own. The document's type needs none.
    """
    document = schema(name)

    anonymous = nameless({key: part for key, part in document.items() if key != "type"})

    assert anonymous == []


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_contains_what_it_refers_to_as_the_files_have_it(name: str) -> None:
    """Each schema that refers to others contains copies of them, up to date."""
    assert schema(name) == bundled(name), (
        "run python -m mcp_proxy_conformance.discovery.authoring.bundles"
    )


AJV = "ajv@8.20.0"
PROGRAM = Path(__file__).parents[1] / "node" / "strict-schemas.mjs"


def test_a_strict_javascript_validator_compiles_the_answer_schemas_and_agrees(
    tmp_path: Path,
) -> None:
    """Ajv in strict mode warns of no schema of answers, and judges as Python does.

    Of its errors on an unsound answer one names clauses. Ajv is installed for this test.
    """
    install = [str(strangers.NODE), str(strangers.NPM), "install", "--prefix", str(tmp_path)]
    subprocess.run(
        [*install, *strangers.NPM_OPTIONS, AJV], check=True, capture_output=True, timeout=90
    )
    rows = [row for row in ROWS if row[0] in ANSWERS]
    given = {"schemas": {n: schema(n) for n in ANSWERS}, "instances": [row[:2] for row in rows]}

    done = subprocess.run(
        [str(strangers.NODE), str(PROGRAM), str(tmp_path)],
        input=json.dumps(given), capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip

    assert json.loads(done.stdout) == {
        "warnings": [],
        "valid": [not errors for _, _, errors in rows],
        "clauses": [[error.split(" ", 2)[-1] for error in errors] for _, _, errors in rows],
    }
