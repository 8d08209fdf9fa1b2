"""Every schema is sound, data files fit theirs, and unsound instances are refused for one fault."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from mcp_proxy_conformance.catalogue.resources import fixtures_dir, schemas_dir

ANSWERS = ("discovery-answer", "locked-entry", "remediation-map", "server-counts")
LOCKS = ("locks", "list")
OF_RUNS = ("deviations", "report")
LOADERS = ("load-outcome", "loader-protocol", "load-case")
FILES = {
    "requirements/discovery.toml": "requirement",
    "requirements/resilience.toml": "requirement",
    "requirements/robustness.toml": "requirement",
    "profiles/discovery.toml": "profile",
    "profiles/robustness.toml": "profile",
    "profiles/discovery-live.toml": "profile",
    "profiles/resilience.toml": "profile",
    "profiles/resilience-basic.toml": "profile",
    "interpretations.toml": "interpretation",
    "proofs.toml": "proofs",
    "frozen.toml": "frozen",
    "sentences.toml": "sentences",
}
NAMES = sorted({*FILES.values(), *ANSWERS, *LOADERS, *LOCKS, *OF_RUNS})

Json = Any


def toml(name: str) -> dict[str, Json]:
    """Read one data file below fixtures/."""
    return tomllib.loads((fixtures_dir() / name).read_text(encoding="utf-8"))


def schema(name: str) -> dict[str, Json]:
    """Read one schema."""
    text = (schemas_dir() / f"{name}.schema.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def faults(name: str, instance: Json) -> list[str]:
    """Return each place and reason for which the instance is invalid, as `path: keyword`."""
    known = [schema(each) for each in NAMES]
    registry: Registry[Json] = Registry().with_resources(
        (each["$id"], Resource.from_contents(each)) for each in known
    )
    errors = Draft202012Validator(schema(name), registry=registry).iter_errors(instance)
    return sorted(f"{error.json_path}: {error.validator}" for error in errors)


def unexplained(node: Json) -> list[str]:
    """Properties anywhere below a schema, conditions excepted, that nothing describes."""
    if not isinstance(node, dict):
        return []
    own = node.get("properties", {}).items()
    below = [part for key, part in node.items() if key not in {"if", "then", "else"}]
    here = [name for name, part in own if not {"description", "$ref"} & set(part)]
    return here + [name for part in below for name in unexplained(part)]


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_valid_says_where_it_lives_and_describes_every_member(name: str) -> None:
    """Each schema is of draft 2020-12, has its own `$id`, and leaves no member unexplained."""
    document = schema(name)

    Draft202012Validator.check_schema(document)
    undescribed = unexplained(document)

    assert document["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert document["$id"] == f"https://mcp-proxy-conformance.dev/schemas/{name}.schema.json"
    assert undescribed == []


@pytest.mark.parametrize(("file", "name"), FILES.items())
def test_a_data_file_is_valid_under_its_schema(file: str, name: str) -> None:
    """The shipped file has no fault."""
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
NOTED = NONE | {"notice": "3 locked; set include_disabled"}
KNOWN = {
    "id": "FR-006.cap",
    "reason": "The cap is one too high.",
    "issue": "https://example.com/issues/1",
    "expires": "2027-01-31",
}


def asking(**members: Json) -> Json:
    """Build a catalogue of one requirement and one clause with these further members."""
    return {"requirement": [ROW | {"clause": [CLAUSE | members]}]}


SOUND = {
    "requirement": [
        asking(),
        asking(level="advisory", advisory="Free."),
        {"requirement": [PROVED]},
    ],
    "locked-entry": [ENTRY, ENTRY | {"score": 0.5}, HIDDEN, HIDDEN | {"description": ""}],
    "remediation-map": [{}, MAP],
    "server-counts": [
        {"callable": 0, "disabled_by_user": 2},
        {"server_quarantined": 1, "total": 1},
    ],
    "locks": [{"forge:wipe": "disabled_by_config"}],
    "deviations": [{}, {"deviation": []}, {"deviation": [KNOWN, KNOWN | {"id": "test_x[1]"}]}],
    "discovery-answer": [NONE, NONE | {"disabled": [], "remediation": {}}, SHOWN, NOTED],
}


@pytest.mark.parametrize(
    ("name", "instance"), [(name, each) for name, rows in SOUND.items() for each in rows]
)
def test_a_sound_instance_is_accepted(name: str, instance: Json) -> None:
    """An instance that the source allows has no fault."""
    violations = faults(name, instance)

    assert violations == []


@pytest.mark.parametrize(
    ("name", "instance", "fault"),
    [
        ("requirement", {"requirement": [ROW]}, "$.requirement[0]: anyOf"),
        ("requirement", asking(level="advisory"), "$.requirement[0].clause[0]: required"),
        ("requirement", asking(advisory="No."), "$.requirement[0].clause[0].advisory: not"),
        ("locked-entry", {"name": "wipe", "status": "disabled_by_user"}, "$: required"),
        ("locked-entry", ENTRY | {"status": "disabled"}, "$.status: enum"),
        ("locked-entry", ENTRY | {"inputSchema": {}}, "$.inputSchema: not"),
        ("locked-entry", ENTRY | {"remediation": "Ask."}, "$.remediation: not"),
        ("locked-entry", HIDDEN | {"description": "Obey."}, "$.description: maxLength"),
        ("locked-entry", HIDDEN | {"schema": {}}, "$.schema: not"),
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
        ("remediation-map", {"locked": "Ask."}, "$: enum"),
        ("remediation-map", {"disabled_by_user": " \n"}, "$.disabled_by_user: pattern"),
        ("server-counts", {"callable": 4}, "$: anyOf"),
        ("server-counts", {"disabled_by_user": 0}, "$.disabled_by_user: minimum"),
        ("server-counts", {"disabled_by_user": True}, "$.disabled_by_user: type"),
        ("server-counts", {"callable": -1, "disabled_by_user": 1}, "$.callable: minimum"),
        ("discovery-answer", {}, "$: required"),
        ("discovery-answer", {"tools": [{"name": "list"}]}, "$.tools[0]: required"),
        ("discovery-answer", NONE | {"disabled": [ENTRY]}, "$: required"),
        ("discovery-answer", NONE | {"remediation": MAP}, "$.remediation: maxProperties"),
        (
            "discovery-answer",
            SHOWN | {"disabled": [ENTRY] * 11},
            "$.disabled: maxItems",
        ),
        ("discovery-answer", NOTED | {"notice": "3 locked.\nAsk."}, "$.notice: not"),
    ],
)
def test_an_unsound_instance_is_refused_for_its_one_fault(
    name: str, instance: Json, fault: str
) -> None:
    """Each instance has one fault, and the schema finds that one."""
    violations = faults(name, instance)

    assert violations == [fault]
