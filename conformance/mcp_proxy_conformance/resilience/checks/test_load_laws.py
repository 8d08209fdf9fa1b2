"""Laws of loads, one check each, tried on generated servers; a breach is shrunk to a case."""

from __future__ import annotations

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.resilience.driven_loader import GENERATED, LoadBench, each_load
from mcp_proxy_conformance.resilience.load_case import LoadCase


@requirement(
    "T1.timeout", "T1.notification", "T2.cut", "T2.notification", "T3.server-error",
    "T3.notification", "T4.authorization-timeout", "D1.notification",
    "P2.refused", "P3.not-found", "P4.malformed", "D1.denied", "D2.ambiguous", "O2.word",
    "O3.loaded", "R2.heals", "X.failed",
)  # fmt: skip
@on(GENERATED, needs=("classifies", "retries"))
def test_any_script_ends_in_a_class_that_the_table_allows(bench: LoadBench) -> None:
    """Whatever a server does in each attempt, its status is one that the source allows.

    Inconclusive if the loader loads none of the generated servers.
    """
    bench.law("status").conclude()


@requirement(
    "T1.retried", "T2.retried", "T3.retried", "T4.retried", "P3.once", "D1.once", "D2.once",
    "O5.bounded", "R1.once", "R2.heals", "R4.stops",
)  # fmt: skip
@on(GENERATED, needs=("classifies", "retries"))
def test_any_script_is_tried_as_often_as_its_signals_ask(bench: LoadBench) -> None:
    """Transient failures are retried up to the maximum; every other result ends the attempts."""
    bench.law("attempts").conclude()


@requirement("I4.bounded", "I1.isolated", "O1.one-each")
@on(GENERATED)
def test_any_generated_load_is_answered(bench: LoadBench) -> None:
    """No load hangs or breaks off, whatever its servers do in each attempt.

    The servers and what each does are generated.
    """
    bench.law("ends").conclude()


@requirement("O6.claimed")
@on(GENERATED, needs=("attempts",))
def test_the_attempts_claimed_are_those_seen_under_any_script(bench: LoadBench) -> None:
    """The attempts that the loader reports are those counted at the servers."""
    bench.law("claims").conclude()


@requirement(
    "O1.one-each", "O3.no-tools", "O3.own-tools", "O3.loaded", "O4.error", "O4.none", "S2.no-tools"
)  # fmt: skip
@on(GENERATED)
def test_outcomes_have_their_form_under_any_script(bench: LoadBench) -> None:
    """Each server has one outcome, either with its own tools or with an error."""
    bench.law("outcomes").conclude()


@requirement("I3.order")
@on(GENERATED)
def test_no_order_of_generated_servers_changes_a_status(bench: LoadBench) -> None:
    """Loads of the same servers forwards and backwards end in the same statuses."""
    bench.law("order").conclude()


@requirement("I1.isolated")
@on(GENERATED)
def test_generated_servers_end_beside_others_as_they_do_alone(bench: LoadBench) -> None:
    """Each server of a load has the same outcome as when it is loaded alone."""
    bench.law("isolation").conclude()


@requirement("I5.clears")
@on(GENERATED)
def test_whatever_has_cleared_is_available_in_the_next_load(bench: LoadBench) -> None:
    """Servers that have recovered are available in the next load, whatever failed before."""
    bench.law("clears").conclude()


@each_load("law")
def test_what_was_once_generated_ends_as_it_should(bench: LoadBench, case: LoadCase) -> None:
    """Servers with several failures in a row have the outcomes that their cases expect."""
    bench.judged(case).conclude()
