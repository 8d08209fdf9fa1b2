"""Content of results: which observed items correspond to the upstream's."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_proxy_conformance.fidelity.content import counterparts
from mcp_proxy_conformance.fidelity.exact_json import plain, read

IMAGE = {"type": "image", "data": "AAAA", "mimeType": "image/png"}


def text(value: str, **members: Any) -> dict[str, Any]:
    """Return a text item of a result; `members` are added."""
    return {"type": "text", "text": value, **members}


@pytest.mark.parametrize(
    ("allowed", "observed", "partners"),
    [
        ([IMAGE], [text(""), IMAGE], [IMAGE]),
        ([IMAGE], [text("[image]")], []),
        ([text("a"), text("b")], [text("note"), text("a"), text("b", x="y")], [1, 2]),
        ([text("a"), text("b")], [text("A"), text("b")], [0, 1]),
        ([text("a"), text("b")], [text("a\nb")], None),
        ([text("a"), text("b")], [text("note"), text("A"), text("b")], None),
        ([], [text("note")], []),
    ],
    ids=[
        "added",
        "replaced",
        "added-of-its-type",
        "changed",
        "merged",
        "changed-and-added",
        "none",
    ],
)
def test_items_correspond_by_type_and_order(
    allowed: list[Any], observed: list[Any], partners: list[Any] | None
) -> None:
    """`counterparts` pairs items by type and order, and leaves items out that were added.

    If items were lost or merged it is None.
    """
    shown = counterparts(_exact(allowed), _exact(observed))

    wanted = (
        None
        if partners is None
        else [observed[each] if isinstance(each, int) else each for each in partners]
    )
    assert (None if shown is None else plain(shown)) == wanted


def _exact(items: list[Any]) -> list[Any]:
    """Return the items as the suite reads them from a message's bytes."""
    exact: list[Any] = read(json.dumps([{**item} for item in items]).encode())
    return exact
