"""`explain CASE`: a case with the tools, locks and steps that it touches, readably short."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from mcp_proxy_conformance.authoring.case_page import case_page
from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.discovery.authoring.case_page import MOST
from mcp_proxy_conformance.selftest.shipped import shipped

CHANGED = """\
withheld-changed  (fixtures/discovery/withheld.json)
  A changed tool is listed without the new text and schema that nobody approved.

source: FR-003, FR-004
clauses: FR-003.withheld, FR-003.canary, FR-001.reveals-changed

when: {"do": "discover", "query": "convert_poruda", "include_disabled": true, "limit": 10}, \
as the administrator
then: {
  "disabled": {"limebuba:convert_poruda": ["pending_approval"]},
  "withheld": ["limebuba:convert_poruda"]
}

it touches 1 of the 26 tools of the stage mixed:
  server limebuba: not trusted: its tools need approval
    limebuba:convert_poruda: locked by approval (changed); listed as pending_approval

after these steps:
  unlock approval on limebuba: convert_poruda
  refresh limebuba
  change limebuba:convert_poruda
  refresh limebuba
"""


def _explained(case: str) -> str:
    """Return the output of `explain CASE`, which must exit with 0."""
    done = CliRunner().invoke(main, ["explain", case])
    assert done.exit_code == 0
    return done.output


def test_a_case_is_explained_with_the_tools_locks_and_steps_it_touches() -> None:
    """`explain withheld-changed` prints the case, and of its stage one tool and four steps.

    The other 25 tools of the stage are left out.
    """
    assert _explained("withheld-changed") == CHANGED


@pytest.mark.parametrize(
    ("case", "line"),
    [
        ("limits-500-at-1", "    ... and "),
        ("limits-1-at-1", "denies makapu, kimagum, fimefebu, falatup, mipigap and 495 more"),
        ("order-agent-absent", ", as everywhere; it may see tibenuf, nokalop"),
        ("counts-two-reasons", "polish_nobodap: locked by config, user; counted as"),
        ("counts-two-reasons", "    tuzubak:rotate_tovafu: callable"),
        ("cut-close-initialize", '"script": [{"do": "close"}]'),
        ("cut-close-initialize", 'then: {"alpha": {"status": ["transient"]'),
    ],
)  # fmt: skip
def test_what_a_case_rests_on_is_explained(case: str, line: str) -> None:
    """The page that `explain` prints for this case contains this line or part of one."""
    assert line in _explained(case)


def test_every_case_has_a_page_that_one_can_read() -> None:
    """The page of every shipped case has more than 4 and fewer than 70 lines."""
    for case in shipped().cases:
        assert 4 < len(list(case_page(case))) < MOST + 30, case.id
