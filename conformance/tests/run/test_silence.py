"""Timeouts of several checks in a row, for which alone a target is given up."""

from __future__ import annotations

import pytest

from mcp_proxy_conformance.run.judgement import IN_A_ROW, Ending, Timeouts, attempt
from mcp_proxy_conformance.targets.target import AdapterError
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable


def ending(error: BaseException | None) -> Ending:
    """Return the ending of a check that raises this error, or that passes for None."""

    def check() -> None:
        """Raise the error, if there is one."""
        if error is not None:
            raise error

    return attempt(check)


def silent() -> Ending:
    """Return the ending of a check whose request timed out after 10 s."""
    return ending(Unreachable("http://127.0.0.1:1/mcp", "wait", "no answer in time", 10.0))


def test_silence_in_a_row_ends_the_run() -> None:
    """The fifth timeout in a row returns an outcome with exit 3 and the last wait's reason.

    The first four return None.
    """
    silence = Timeouts()

    endings = [silence.after(silent(), advisory=False) for _ in range(IN_A_ROW)]

    last = endings.pop()
    assert endings == [None] * (IN_A_ROW - 1)
    assert last is not None
    assert (last.exit, "stopped answering" in last.why) == (3, True)
    assert "no answer in time" in last.why


@pytest.mark.parametrize(
    "between",
    [
        None,
        AssertionError("the check's assertion failed"),
        ProtocolFault("http", "HTTP 200", "HTTP 503", status=503),
        AdapterError("the adapter answers lock with an error"),
    ],
    ids=["an answer", "a breach", "a refusal", "an error of the adapter"],
)
def test_a_target_that_says_anything_is_not_given_up(between: BaseException | None) -> None:
    """Four timeouts, then an answer, breach, refusal or adapter error, then four return None."""
    silence = Timeouts()

    for _ in range(IN_A_ROW - 1):
        silence.after(silent(), advisory=False)
    silence.after(ending(between), advisory=False)
    endings = [silence.after(silent(), advisory=False) for _ in range(IN_A_ROW - 1)]

    assert endings == [None] * (IN_A_ROW - 1)


def test_one_stage_that_cannot_be_set_up_is_one_wait() -> None:
    """Twenty checks with the same ending, one stage's timeout, count as one: all return None."""
    silence, stage = Timeouts(), silent()

    endings = [silence.after(stage, advisory=False) for _ in range(4 * IN_A_ROW)]

    assert endings == [None] * (4 * IN_A_ROW)


def test_advisory_checks_give_no_target_up() -> None:
    """Ten timeouts of advisory checks return None.

    Of required ones, the fifth returns an outcome.
    """
    silence = Timeouts()

    advisory = [silence.after(silent(), advisory=True) for _ in range(2 * IN_A_ROW)]
    firm = [silence.after(silent(), advisory=False) for _ in range(IN_A_ROW)]

    assert advisory == [None] * (2 * IN_A_ROW)
    assert [stop is not None for stop in firm] == [False] * (IN_A_ROW - 1) + [True]
