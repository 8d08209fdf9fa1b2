"""Messages of the reference relay: members are kept as they are written."""

import pytest

from mcp_relay_reference import message


@pytest.mark.parametrize(
    ("text", "members"),
    [
        ("{}", {}),
        ('{"a":1.0,"b":[1, {"c":2}]}', {"a": "1.0", "b": '[1, {"c":2}]'}),
        (' { "a" : 1e400 , "“" : "\\ud800" } ', {"a": "1e400", "“": '"\\ud800"'}),
        ('{"a":1,"a":2}', {"a": "2"}),
        ("[1]", {}),
        ("", {}),
    ],
)
def test_members_are_read_as_they_are_written(text: str, members: dict[str, str]) -> None:
    """Members of an object are its values' texts, numbers and escapes unchanged.

    The last of equal names counts; what is no object has none.
    """
    assert message.members_of(text) == members


def test_a_message_is_written_from_its_members() -> None:
    """A message made of members of another keeps their texts, under another id."""
    sent = message.read(b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"n":9007199254740993.0}}')

    changed = message.of(sent.members() | {"id": '"x"'})

    assert changed.line == (
        b'{"jsonrpc":"2.0","id":"x","method":"m","params":{"n":9007199254740993.0}}'
    )
