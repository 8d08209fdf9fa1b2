"""The requirement catalogue, profile, interpretation register and answer schemas are sound."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from mcp_proxy_conformance import requirement
from mcp_proxy_conformance.resources import fixtures_dir, schemas_dir

SPEC = {
    *(f"FR-{n:03}" for n in range(1, 15)),
    *(f"SC-{n:03}" for n in range(1, 7)),
    *(f"EC-{n}" for n in range(1, 6)),
    *("US1-1", "US1-2", "US1-3", "US1-4", "US2-1", "US2-2", "US3-1", "US3-2"),
}
BESIDE = "US1 US2 US3 AS-1 AS-2 AS-3 AS-4 AS-5 KE.entry KE.status KE.remediation KE.counts"
SHAPES = "DisabledToolStatus LockedToolEntry RemediationMap ServerToolCounts"
PLACES = {
    "discovery-spec": SPEC | {*BESIDE.split()},
    "discovery-data-model": {*SHAPES.split(), "Contract type changes", "State transitions"},
}

ANSWERS = ("discovery-answer", "locked-entry", "remediation-map", "server-counts")
FILES = {
    "requirement": "requirements/discovery.toml",
    "profile": "profiles/discovery.toml",
    "interpretation": "interpretations.toml",
    "proofs": "proofs.toml",
}

Json = Any


def toml(name: str) -> dict[str, Json]:
    """Read one data file below fixtures/."""
    return tomllib.loads((fixtures_dir() / name).read_text(encoding="utf-8"))


def schema(name: str) -> dict[str, Json]:
    """Read one schema."""
    text = (schemas_dir() / f"{name}.schema.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def faults(name: str, instance: Json) -> list[str]:
    """Where and why the instance is not valid under the schema, `path: keyword`."""
    known = [schema(each) for each in (*FILES, *ANSWERS)]
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


DISCOVERY = toml(FILES["requirement"])["requirement"]
ROWS = requirement.catalogue().requirements
CLAUSES = [clause for row in DISCOVERY for clause in row.get("clause", [])]
REGISTER = toml(FILES["interpretation"])["interpretation"]


@pytest.mark.parametrize("name", [*FILES, *ANSWERS])
def test_a_schema_is_valid_says_where_it_lives_and_describes_every_member(name: str) -> None:
    """Each schema is of draft 2020-12, has its own `$id`, and leaves no member unexplained."""
    document = schema(name)

    Draft202012Validator.check_schema(document)
    undescribed = unexplained(document)

    assert document["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert document["$id"] == f"https://mcp-proxy-conformance.dev/schemas/{name}.schema.json"
    assert undescribed == []


@pytest.mark.parametrize(("name", "file"), FILES.items())
def test_a_data_file_is_valid_under_its_schema(name: str, file: str) -> None:
    """The shipped file has no fault."""
    found = faults(name, toml(file))

    assert found == []


def test_no_id_stands_twice() -> None:
    """Requirements, clauses and interpretations each have ids of their own."""
    clauses = [clause.id for row in ROWS for clause in row.clauses]
    ids = clauses + [row.id for row in ROWS] + [row.id for row in requirement.interpretations()]

    doubled = [name for name, count in Counter(ids).items() if count > 1]

    assert doubled == []


def test_a_clause_is_named_after_its_requirement() -> None:
    """The part of a clause's id before the dot is the requirement that it stands under."""
    cited = [(row.id, clause.id) for row in ROWS for clause in row.clauses]

    strays = [name for owner, name in cited if not name.startswith(f"{owner}.")]

    assert strays == []


def test_an_advisory_facet_stands_beside_a_convicting_clause() -> None:
    """What follows a tilde is an A, and what precedes it is an F."""
    judgements = {clause["id"]: clause["judgement"] for clause in CLAUSES}

    facets = [name for name in judgements if "~" in name]
    pairs = {(judgements.get(name.partition("~")[0]), judgements[name]) for name in facets}

    assert pairs == {("F", "A")}


def test_every_requirement_of_the_source_is_in_the_catalogue() -> None:
    """No requirement, criterion, scenario or edge case of the spec is left out."""
    listed = {row["id"] for row in DISCOVERY}

    assert SPEC - listed == set()


def test_every_pointer_leads_to_a_place_in_a_source() -> None:
    """Sources of requirements, clauses and interpretations name what the texts have."""
    pointers = [row["source"] for row in (*DISCOVERY, *CLAUSES, *REGISTER) if "source" in row]

    dangling = [each for each in pointers if each["at"] not in PLACES.get(each["text"], set())]

    assert dangling == []


def test_what_proves_a_requirement_exists_and_is_tested() -> None:
    """`proved_by` names clauses that have checks."""
    tested = {clause["id"] for clause in CLAUSES if "untested" not in clause}

    named = {clause_id for row in DISCOVERY for clause_id in row.get("proved_by", [])}

    assert named - tested == set()


def test_every_advisory_clause_has_an_interpretation() -> None:
    """The register names each A, and no clause that does not exist."""
    advisory = {clause["id"] for clause in CLAUSES if clause["judgement"] == "A"}
    known = set(requirement.catalogue().clauses)

    named = {clause_id for row in REGISTER for clause_id in row["clauses"]}

    assert advisory - named == set()
    assert named - known == set()


def test_the_profile_is_every_clause_that_has_a_check() -> None:
    """The denominator is complete: the tested clauses, in the order of the catalogue."""
    tested = [clause["id"] for clause in CLAUSES if "untested" not in clause]

    listed = toml(FILES["profile"])["clauses"]

    assert listed == tested


def test_the_floor_convicts_and_needs_no_more_than_its_capabilities() -> None:
    """What must really pass is an F of the profile that every target on the floor can show."""
    pinned = requirement.profile("discovery")
    rows = [requirement.catalogue().clause(clause_id) for clause_id in pinned.floor.passes]

    beyond = [row.id for row in rows if not set(row.capability) <= set(pinned.floor.capabilities)]
    weak = [row.id for row in rows if row.judgement != "F" or row.id not in pinned.clauses]

    assert (beyond, weak) == ([], [])


def test_a_clause_without_a_pointer_has_that_of_its_requirement() -> None:
    """A clause's own source comes first."""
    cited = ("FR-001.by-description", "FR-006.cap")

    places = [requirement.catalogue().source(each).at for each in cited]

    assert places == ["AS-1", "FR-006"]


def test_a_check_carries_the_clauses_that_it_cites(pytestconfig: pytest.Config) -> None:
    """The decorator leaves a pytest mark with the ids, which the plugin registers in a run."""
    pytestconfig.addinivalue_line("markers", "requirement(*ids): the clauses that a check judges")

    @requirement.requirement("FR-006.cap", "FR-006.callables")
    def check() -> None: ...

    marks = [(mark.name, mark.args) for mark in vars(check)["pytestmark"]]

    assert marks == [("requirement", ("FR-006.cap", "FR-006.callables"))]


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        (["FR-006.capp"], "no clause 'FR-006.capp'; the nearest is 'FR-006.cap'"),
        (["FR-006.cap", "FR-006.fills"], r"cites FR-006.cap \(F\), FR-006.fills \(A\): split it"),
        ([], "cites nothing"),
    ],
)
def test_a_citation_that_cannot_be_judged_is_refused(ids: list[str], said: str) -> None:
    """An unknown id, and a mixture of judgements, fail at import with the repair."""
    with pytest.raises((requirement.UnknownClause, requirement.MixedJudgement), match=said):
        requirement.requirement(*ids)


def test_an_unknown_profile_is_refused_with_the_nearest() -> None:
    """The sentence holds the repair."""
    with pytest.raises(requirement.UnknownProfile, match="nearest is 'discovery'"):
        requirement.profile("discovry")


SOURCE = {"text": "discovery-spec", "at": "FR-001"}
ROW = {"id": "FR-001", "keyword": "MUST", "text": "It must.", "source": SOURCE}
PROVED = ROW | {"proved_by": ["FR-002.no-section"]}
CLAUSE = {"id": "FR-001.accepts", "judgement": "F", "text": "It is.", "observed": "Look."}
ENTRY = {"name": "wipe", "server": "forge", "description": "Wipes.", "status": "disabled_by_config"}
HIDDEN = {"name": "odd", "server": "stray", "status": "server_quarantined"}
MAP = {"disabled_by_config": "Operator policy."}
NONE: Json = {"tools": []}
LISTED: Json = {"tools": [{"name": "forge:list", "server": "forge"}]}
SHOWN = LISTED | {"disabled": [ENTRY], "remediation": MAP}
NOTED = NONE | {"notice": "3 locked; set include_disabled"}


def asking(**members: Json) -> Json:
    """Build a catalogue of one requirement and one clause with these further members."""
    return {"requirement": [ROW | {"clause": [CLAUSE | members]}]}


SOUND = {
    "requirement": [asking(), asking(judgement="A", advisory="Free."), {"requirement": [PROVED]}],
    "locked-entry": [ENTRY, ENTRY | {"score": 0.5}, HIDDEN, HIDDEN | {"description": ""}],
    "remediation-map": [{}, MAP],
    "server-counts": [
        {"callable": 0, "disabled_by_user": 2},
        {"server_quarantined": 1, "total": 1},
    ],
    "discovery-answer": [NONE, NONE | {"disabled": [], "remediation": {}}, SHOWN, NOTED],
}


@pytest.mark.parametrize(
    ("name", "instance"), [(name, each) for name, rows in SOUND.items() for each in rows]
)
def test_a_sound_instance_is_accepted(name: str, instance: Json) -> None:
    """What the source allows has no fault."""
    found = faults(name, instance)

    assert found == []


@pytest.mark.parametrize(
    ("name", "instance", "fault"),
    [
        ("requirement", {"requirement": [ROW]}, "$.requirement[0]: anyOf"),
        ("requirement", asking(judgement="A"), "$.requirement[0].clause[0]: required"),
        ("requirement", asking(advisory="No."), "$.requirement[0].clause[0].advisory: not"),
        ("locked-entry", {"name": "wipe", "status": "disabled_by_user"}, "$: required"),
        ("locked-entry", ENTRY | {"status": "disabled"}, "$.status: enum"),
        ("locked-entry", ENTRY | {"inputSchema": {}}, "$.inputSchema: not"),
        ("locked-entry", ENTRY | {"remediation": "Ask."}, "$.remediation: not"),
        ("locked-entry", HIDDEN | {"description": "Obey."}, "$.description: maxLength"),
        ("locked-entry", HIDDEN | {"schema": {}}, "$.schema: not"),
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
    found = faults(name, instance)

    assert found == [fault]
