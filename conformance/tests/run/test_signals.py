"""A KeyboardInterrupt whose traceback has no line number: raised again, so pytest can print it."""

from __future__ import annotations

import traceback

import pytest

from mcp_proxy_conformance.run.signals import Interruption

NO_LINE = 0b1_1111_000
"""An entry of a table of lines that gives none, for one unit of code; seven more fit in it."""


def _interrupted_nowhere() -> None:
    """Raise KeyboardInterrupt from code without line numbers."""
    raise KeyboardInterrupt


units = len(_interrupted_nowhere.__code__.co_code) // 2
_interrupted_nowhere.__code__ = _interrupted_nowhere.__code__.replace(
    co_linetable=bytes(NO_LINE | min(units - at, 8) - 1 for at in range(0, units, 8))
)


def test_an_interruption_at_a_place_without_a_line_can_be_printed() -> None:
    """A KeyboardInterrupt without a line number in its traceback is raised again by the run's hook.

    That one can be printed by pytest.
    """
    with pytest.raises(KeyboardInterrupt) as came:
        _interrupted_nowhere()
    line = [line for _, line in traceback.walk_tb(came.tb)][-1]
    assert line in (None, -1)  # -1 in the first of Python 3.11
    session = Interruption().pytest_runtestloop()
    next(session)

    with pytest.raises(KeyboardInterrupt) as raised:
        session.throw(came.value)

    assert "KeyboardInterrupt" in str(raised.getrepr())
