"""Targets whose requests without a limit get few tools: nothing missing there proves anything."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_proxy_conformance.discovery.targets.embedded import embedded
from mcp_proxy_conformance.discovery.targets.kinds import target_of
from mcp_proxy_conformance.discovery.targets.launch import GENERAL
from mcp_proxy_conformance.discovery.targets.proxy_description import ProxyDescription
from mcp_proxy_conformance.run.request import Selection
from mcp_proxy_conformance.selftest.trial import trial, tried
from mcp_proxy_mutants.discovery.changed import Changed
from mcp_proxy_mutants.discovery.variants import variants

RUN_S, CHECK_S = 600, 120
"""Seconds that a run and one of its checks may take: the machine may be busy with other runs."""
CASES = ("limits-1-at-1", "limits-9-at-10", "limits-none-at-5", "limits-11-at-10")

LOCKED = {"scrub_latefiro": "disabled_by_config", "monitor_lagitop": "disabled_by_user"}


@pytest.mark.proof(parts=40)
@pytest.mark.timeout(RUN_S)
@pytest.mark.parametrize("limit", range(1, 21))
def test_the_reference_is_conformant_with_any_default_limit(
    limit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A whole run of the reference ends with 0 if its requests without a limit get 1 to 20 tools.

    It is a program of its own, over HTTP and stdio, as in any run of the reference.
    """
    monkeypatch.setitem(GENERAL, "tools_limit", limit)

    verdicts = tried(
        trial(target_of(ProxyDescription(kind="reference")), profile="discovery+robustness"),
        tmp_path,
        check_s=CHECK_S,
    )

    wrong = [result for result in verdicts.results if result["verdict"] != "not_applicable"]
    assert (wrong, verdicts.exit, verdicts.headline) == ([], 0, "conformant")


def test_a_stdio_without_the_locks_and_few_tools_by_default_is_not_accused(tmp_path: Path) -> None:
    """Over stdio, a configuration without the locks is seen as such, whatever the default limit."""
    changed = next(each for each in variants() if each.id == "open-over-stdio")
    name = "test_over_stdio_locked_tools_are_told_and_kept_as_elsewhere"

    results = tried(trial(embedded(changed), Selection(checks=(name,))), tmp_path).every

    assert [(each["verdict"], each["cause"]) for each in results] == [
        ("not_applicable", "not_here")
    ]


def test_a_case_that_no_cap_can_cut_shows_what_is_revealed(tmp_path: Path) -> None:
    """A case whose locked matches fit the answer shows what it reveals; without any, it says so."""
    target = embedded(Changed(id="unchanged", text="The reference itself."))

    results = tried(trial(target, Selection(checks=CASES)), tmp_path).every

    assert {each["case"]: (sorted(each["clauses"]), each["cause"]) for each in results} == {
        "limits-1-at-1": (["FR-001.reveals-config"], ""),
        "limits-9-at-10": (["FR-001.reveals-config"], ""),
        "limits-none-at-5": (["FR-005.keys", "FR-006.cap"], "not_here"),
        "limits-11-at-10": (["FR-001.reveals-config", "FR-006.cap"], ""),
    }


@pytest.mark.parametrize(
    "then",
    [
        {"disabled_count": {"min": 2, "max": 10}},
        {"disabled": {f"tuzubak:{name}": [status] for name, status in LOCKED.items()}},
        {"tools": {"has": ["tuzubak:rotate_tovafu", "tuzubak:widen_bivimum"]}},
    ],
    ids=["locked entries", "locked tools", "callable tools"],
)
def test_a_case_that_the_default_limit_cuts_does_not_apply(
    then: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A case without a limit that wants two tools accuses no target that lists one by default."""
    monkeypatch.setitem(GENERAL, "tools_limit", 1)
    case = {"id": "opt-in-two", "area": "opt-in", "title": "Two tools are listed.",
            "source": ["FR-001"], "clauses": ["FR-001.reveals-config"], "given": {"stage": "mixed"},
            "when": {"do": "discover", "query": "pipekan", "include_disabled": True},
            "then": then}  # fmt: skip
    (tmp_path / "case.json").write_text(json.dumps(case), encoding="utf-8")
    target = embedded(Changed(id="unchanged", text="The reference itself."))

    (result,) = tried(replace(trial(target), case=tmp_path / "case.json"), tmp_path / "out").every

    assert (result["verdict"], result["cause"]) == ("not_applicable", "not_here")
