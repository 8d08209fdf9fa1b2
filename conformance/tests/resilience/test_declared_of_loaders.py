"""Declarations of a loader: tool prefix, timeout signatures, stdio; classes that change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.resilience.load_bench import LoadBench
from mcp_proxy_conformance.resilience.load_case import load_cases
from mcp_proxy_conformance.resilience.loader_target import are_tools_of, embedded_target
from mcp_proxy_conformance.resilience.loads import Loads
from mcp_proxy_conformance.run.request import Selection
from mcp_proxy_conformance.selftest.trial import trial, tried
from mcp_proxy_conformance.verdict.result import NotApplicable
from mcp_proxy_mutants.resilience.changed import ChangedLoad
from mcp_proxy_mutants.resilience.variants import load_variants
from mcp_proxy_reference.loader import Connection, Signal

CASES = {case.id: case for case in load_cases()}
SIGNATURE = "Quota clock ran out"
DENIAL = 403


@contextmanager
def loading(changed: ChangedLoad, folder: Path, **declared: Any) -> Iterator[LoadBench]:
    """Yield a bench of that loader; `declared` are its declarations besides capabilities.

    Loads and target are closed at the end.
    """
    target = embedded_target(changed, **declared)
    loads = Loads(target.loader, folder)
    try:
        yield LoadBench(loads, target)
    finally:
        loads.close()
        target.close()


def differing(bench: LoadBench, case: str) -> list[str]:
    """Return the paths of the findings on the load case of that id."""
    return [finding.path for finding in bench.judged(CASES[case]).findings]


def prefixed(before: str) -> ChangedLoad:
    """Return the reference's loader with `before` in front of each tool's name.

    `{server_id}` in it is the server's id with `_` for `-`.
    """

    def edit(answer: dict[str, Any], _: dict[str, Any]) -> dict[str, Any]:
        """Put the prefix before each tool of the answer, and return the answer."""
        for outcome in answer["outcomes"]:
            own = before.replace("{server_id}", outcome["server_id"].replace("-", "_"))
            outcome["tools"] = [own + name for name in outcome["tools"]]
        return answer

    return ChangedLoad(id="prefixed", text="It gives tools a prefix.", edit=edit)


@pytest.mark.parametrize(
    ("before", "declared", "wrong"),
    [
        ("", "", []),
        ("mcp_", "mcp_", []),
        ("{server_id}__", "{server_id}__", []),
        ("", "mcp_", []),
        ("mcp_", "", ["alpha", "beta"]),
        ("{server_id}_", "{server_id}__", ["alpha", "beta"]),
        ("beta_", "{server_id}_", ["alpha"]),
    ],
)
def test_only_the_declared_prefix_is_taken_off(
    before: str, declared: str, wrong: list[str], tmp_path: Path
) -> None:
    """Tools with the declared prefix, or with none, are taken for the server's own.

    Any other prefix is a finding for each server.
    """
    with loading(prefixed(before), tmp_path, tool_prefix=declared) as bench:
        differing_paths = differing(bench, "outcome-several-tools")

    assert differing_paths == [f"tools of {name} that it did not list" for name in wrong]


@pytest.mark.parametrize(
    ("claimed", "prefix", "own"),
    [
        (["a_add", "a_a_add"], "a_", True),
        (["add", "a_add"], "a_", True),
        (["a_add", "a_add"], "a_", False),
        (["a_add"], "a_", False),
        (["Größe_1_add", "Größe_1_a_add"], "{server_id}_", True),
        (["Gr_e_1_add", "Gr_e_1_a_add"], "{server_id}_", True),
        (["Gr_e_2_add", "Gr_e_2_a_add"], "{server_id}_", False),
    ],
)
def test_a_listed_name_that_begins_like_the_prefix_is_no_other(
    claimed: list[str], prefix: str, own: bool
) -> None:
    """`are_tools_of` matches claimed names to listed ones, with the prefix taken off once.

    Listed are `add` and `a_add`. Letters of the server's id that no tool name may have may be
    replaced or missing.
    """
    assert are_tools_of("Größe 1", claimed, ["add", "a_add"], prefix) is own


def hears(signal: Signal, _: Connection, __: int) -> Signal:
    """Return a timeout signal if the body has SIGNATURE, in any case of letters; else the signal.

    A loader with this hook knows one declared signature only.
    """
    held = SIGNATURE.lower().encode() in signal.body.lower()
    return Signal("authz_timeout", signal.code, body=signal.body) if held else signal


HEARS = ChangedLoad(id="hears", text="It knows one more signature.", change={"heard": hears})
AS_IT_IS = ChangedLoad(id="as-it-is", text="It is the reference's own.")


@pytest.mark.parametrize(
    ("changed", "wrong"),
    [(HEARS, []), (AS_IT_IS, [f"status of alpha under {SIGNATURE!r}"])],
    ids=lambda value: value.id if isinstance(value, ChangedLoad) else "",
)
def test_each_declared_signature_is_served(
    changed: ChangedLoad, wrong: list[str], tmp_path: Path
) -> None:
    """A loader that does not know one of two declared timeout signatures has a finding on it.

    A loader that treats both as timeouts has none.
    """
    declared = ("ext_authz timeout", SIGNATURE)
    with loading(changed, tmp_path, timeout_signatures=declared) as bench:
        assert differing(bench, "authorization-declared") == wrong


def test_without_a_declared_signature_there_is_nothing_to_ask(tmp_path: Path) -> None:
    """A case on declared signatures is not applicable to a loader that declares none.

    Nor is a case of a denial if its body is a declared signature, in any case of letters.
    """
    with loading(AS_IT_IS, tmp_path) as bench, pytest.raises(NotApplicable, match="no timeout"):
        bench.judged(CASES["authorization-declared"])
    body = CASES["denied-forbidden-policy"].given.servers[0].script[0].body or ""
    with (
        loading(AS_IT_IS, tmp_path, timeout_signatures=(body.upper(),)) as bench,
        pytest.raises(NotApplicable, match="alpha sends contains a declared timeout"),
    ):
        bench.judged(CASES["denied-forbidden-policy"])


def by_turns() -> Any:
    """Return a change of answers by which failures are permanent and transient in turn, by load.

    Control servers keep their status.
    """
    turn = count()

    def edit(answer: dict[str, Any], _: dict[str, Any]) -> dict[str, Any]:
        """Make failed servers permanent in the first load, transient in the next; not controls."""
        word = ("permanent", "transient")[next(turn) % 2]
        for outcome in answer["outcomes"]:
            if outcome["status"] != "available" and not outcome["server_id"].startswith("control"):
                outcome["status"] = word
        return answer

    return edit


@pytest.mark.parametrize(
    "case", ["unnamed-html", "unnamed-429", "unnamed-rpc-error", "unnamed-stdio-exits"]
)
def test_a_class_that_changes_between_two_loads_is_seen(case: str, tmp_path: Path) -> None:
    """A failure that is permanent, then transient, is a finding on the second load.

    Either class by itself is allowed: the unchanged loader has no finding.
    """
    turning = ChangedLoad(id="by-turns", text="It changes its mind.", edit=by_turns())

    with loading(turning, tmp_path) as bench:
        assert "status of alpha in the second load" in differing(bench, case)
    with loading(AS_IT_IS, tmp_path) as bench:
        assert differing(bench, case) == []


@pytest.mark.proof(parts=6)
@pytest.mark.usefixtures("few_scenarios")
def test_only_a_loader_that_declares_stdio_is_given_a_command(tmp_path: Path) -> None:
    """A loader that declares no `stdio` is given no command; such cases are not applicable.

    If it refuses commands and declares stdio, they fail or are inconclusive.
    """
    variant = next(each for each in load_variants() if each.id == "http-only")
    checks = Selection(clauses=frozenset({"X.stdio", "I4.bounded"}))

    def verdicts(lacks: tuple[str, ...], place: Path) -> dict[str, set[str]]:
        """Judge the loader without these capabilities.

        Return {"command": verdicts on cases of commands, "others": verdicts on others}.
        """
        target = embedded_target(variant, lacks, patience=0.5)
        results = tried(trial(target, checks, profile="resilience", examples=1), place).every
        cells = {case.id for case in load_cases() if case.needs}
        return {
            kind: {
                result["verdict"] for result in results if (result["case"] in cells) is is_command
            }
            for kind, is_command in (("command", True), ("others", False))
        }

    assert verdicts(("stdio",), tmp_path / "a")["command"] == {"not_applicable"}
    assert verdicts((), tmp_path / "b")["command"] <= {"fail", "inconclusive"}


@pytest.mark.parametrize("case", ["denied-beside-reset", "denied-beside-close"])
def test_a_denial_before_a_cut_is_read(case: str, tmp_path: Path) -> None:
    """A 403 whose connection is cut afterwards is a denial.

    A loader that reports the cut as transient has a finding.
    """
    cut = ChangedLoad(
        id="cut",
        text="What ends is transient.",
        change={"heard": lambda signal, *_: Signal("reset") if signal.code == DENIAL else signal},
    )

    with loading(AS_IT_IS, tmp_path) as bench:
        assert differing(bench, case) == []
    with loading(cut, tmp_path) as bench:
        assert differing(bench, case) == ["status of alpha"]


@pytest.mark.proof
def test_a_target_file_of_a_loader_is_all_there_is_to_say(tmp_path: Path) -> None:
    """`run --target-file` with a loader's file judges by the timeout signature that it declares.

    The reference's loader, which does not know it, fails T4.declared: exit 1.
    """
    file = tmp_path / "loader.toml"
    file.write_text('kind = "loader"\ntool_prefix = "x_"\ntimeout_signatures = ["gone late"]\n')
    check = "test_load_case[authorization-declared]"
    own = ["--check", check, "--out", str(tmp_path / "out")]

    done = CliRunner().invoke(main, ["run", "--target-file", str(file), *own])

    assert "FAIL  T4.declared" in done.output
    assert "  test_load_case[authorization-declared]" in done.output
    assert done.exit_code == 1
