"""A relay's command line: placeholders filled in, its port, and what is asked of target files."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_proxy_conformance.fidelity.relay_target import (
    Reached,
    RelayFacts,
    command_line,
    relay_target,
)
from mcp_proxy_conformance.targets.description import BadTarget, describe


def test_placeholders_become_words_and_texts() -> None:
    """The word `{upstream}` becomes the words of the upstream's command.

    Within a longer word they are quoted as for a shell. Without a port, `url` is empty.
    """
    target = relay_target(["r", "--url={upstream_url}", "{upstream}", "sh -c '{upstream}'"])

    filled = command_line(target, Reached(command=["a b", "c"], url="http://h/mcp", token=""))

    assert filled.words == ("r", "--url=http://h/mcp", "a b", "c", "sh -c ''a b' c'")
    assert filled.url == ""


def test_a_relay_with_a_port_has_a_url() -> None:
    """The URL of a relay with `{port}` in its command is the declared one, with that port."""
    facts = RelayFacts(url="http://127.0.0.1:{port}/other")
    target = relay_target(["r", "-p", "{port}", "{upstream_url}"], facts)

    filled = command_line(target, Reached(command=[], url="u", token=""))

    assert filled.url == f"http://127.0.0.1:{filled.words[2]}/other"
    assert target.transport == "http"


@pytest.mark.parametrize(
    ("facts", "transport", "path"),
    [
        (RelayFacts(), "http", "/mcp"),
        (RelayFacts(transport="sse"), "sse", "/sse"),
        (RelayFacts(transport="sse", url="http://127.0.0.1:{port}/events"), "sse", "/events"),
    ],
)
def test_each_transport_has_an_endpoint_of_its_own(
    facts: RelayFacts, transport: str, path: str
) -> None:
    """A relay that declares no URL is reached at /mcp, over HTTP+SSE at /sse."""
    target = relay_target(["r", "{port}", "{upstream_url}"], facts)

    filled = command_line(target, Reached(command=[], url="u", token=""))

    assert (target.transport, filled.url) == (
        transport, f"http://127.0.0.1:{filled.words[1]}{path}",
    )  # fmt: skip


def test_a_relay_of_two_upstreams_has_a_command_line_of_its_own() -> None:
    """With a second upstream, the declared command line `several` is filled in, else `command`.

    A command line that itself names two upstreams serves for both.
    """
    first, second = (Reached(command=[name], url=f"http://{name}", token=name) for name in "ab")
    facts = RelayFacts(several=("r", "{upstream_url}", "{upstream_url_2}", "{upstream_token_2}"))
    both = ["r", "{upstream}", "{upstream_2}"]

    filled = [
        command_line(relay_target(["r", "{upstream_url}"], facts), first, second).words,
        command_line(relay_target(["r", "{upstream_url}"], facts), first).words,
        command_line(relay_target(both), first, second).words,
    ]

    assert filled == [("r", "http://a", "http://b", "b"), ("r", "http://a"), ("r", "a", "b")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('kind = "relay"\n[relay]\nseveral = ["r", "{upstream_url}"]', "names no second upstream"),
        ('kind = "relay"\ncommand = ["relay", "{port}"]', "names no upstream"),
        (
            'kind = "relay"\ncommand = ["relay", "{upstream}"]\n[relay]\ntransport = "sse"',
            "serves at a port",
        ),
        (
            'kind = "command"\ncommand = ["p"]\n[relay]\nprefix = "x_"',
            "has no relay, only one of kind relay",
        ),
        ('kind = "relay"\n[relay]\nprefixes = "x_"', "did you mean 'prefix'"),
    ],
)
def test_a_target_file_that_contradicts_itself_is_refused(
    text: str, message: str, tmp_path: Path
) -> None:
    """A target file raises BadTarget if its relay names no upstream, or has an unknown member.

    So it does with a table `relay` for another kind of target.
    """
    file = tmp_path / "target.toml"
    file.write_text(text, encoding="utf-8")

    with pytest.raises(BadTarget, match=message):
        describe(kind=None, file=file, given={}, environment={})
