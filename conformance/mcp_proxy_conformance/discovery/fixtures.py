"""The pytest plugin of discovery: `golden`, the stored answer of a user's check."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from mcp_proxy_conformance.discovery.golden import Golden

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

NAME = "golden"


@pytest.fixture
def golden(snapshot: SnapshotAssertion) -> Iterator[Golden]:
    """Yield the stored answer that a user's check compares with, as `answer == golden`.

    `--snapshot-update` renews it. If the check did not pass, the stored answers that it did not
    reach are kept afterwards: syrupy would report them as unused, or remove them.
    """
    # syrupy takes a while to import, and the installed checks do without
    from mcp_proxy_conformance.discovery.answer_file import AnswerFile  # noqa: PLC0415

    stored = Golden(snapshot.use_extension(AnswerFile))
    yield stored
    stored.keep()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Have `golden` set up first: it keeps what is stored, also if the check gets no bench."""
    if isinstance(item, pytest.Function) and NAME in item.fixturenames:
        item.fixturenames.sort(key=lambda name: name != NAME)
