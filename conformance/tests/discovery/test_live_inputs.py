"""Inputs for a live endpoint: files of locks, tools' names, query words, URLs, headers, agents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.answer import Entry
from mcp_proxy_conformance.discovery.live.endpoint import (
    BadEndpoint,
    agents_of,
    headers_of,
    in_environment,
    in_variables,
    place_named,
    read_locks,
)
from mcp_proxy_conformance.discovery.live.words import VERBS, Names, WordQueue, bare


def entry(name: str, server: str | None, status: str | None = None) -> Entry:
    """Return an entry of an answer with this name; members that are None are left out."""
    members: dict[str, Any] = {"name": name, "server": server, "status": status}
    present = {member: value for member, value in members.items() if value is not None}
    return Entry(key=ToolKey(server or "", name), name=name, members=present)


def keys(*entries: Entry) -> list[str]:
    """Return the tools of these entries as `server:tool`, in order.

    How names are spelled is learned from all of them together.
    """
    names = Names.of(entries)
    return [str(names.key(listed)) for listed in entries]


def test_a_file_of_locks_names_tools_and_their_status(tmp_path: Path) -> None:
    """`read_locks` returns {tool: status} of a locks file."""
    file = tmp_path / "locks.toml"
    file.write_text('"forge:delete_repo" = "disabled_by_config"\n', encoding="utf-8")

    assert read_locks(file) == {ToolKey("forge", "delete_repo"): "disabled_by_config"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('"forge:wipe" = "disabled_by_conf"', "did you mean 'disabled_by_config'?"),
        ('"forge:wipe" = "locked"', "did you mean '"),
        ('"wipe" = "disabled_by_user"', "'wipe' is not a tool of a server; write SERVER:TOOL"),
        ('":wipe" = "disabled_by_user"', "write SERVER:TOOL"),
        ('"forge:wipe" = 5', "has no status; write"),
        ("[forge]\nwipe = 'disabled_by_user'", "'forge' has no status"),
        ("", "names no tools"),
        ("forge:wipe", "is not a TOML file"),
    ],
)
def test_a_bad_file_of_locks_is_reported_with_its_repair(
    text: str, sentence: str, tmp_path: Path
) -> None:
    """A locks file with a wrong line raises BadEndpoint, which names the file and the repair."""
    file = tmp_path / "locks.toml"
    file.write_text(text, encoding="utf-8")

    with pytest.raises(BadEndpoint) as caught:
        read_locks(file)

    assert (sentence in str(caught.value), str(file) in str(caught.value)) == (True, True)


def test_a_file_that_is_not_there_is_reported(tmp_path: Path) -> None:
    """A locks file that does not exist raises BadEndpoint with the system's reason."""
    with pytest.raises(BadEndpoint, match="No such file"):
        read_locks(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("server", "name", "own"),
    [
        ("forge", "forge:list", "list"),
        ("forge", "forge__list", "list"),
        ("forge", "list@forge", "list"),
        ("forge", "forgery", "forgery"),
        ("forge", "forge", "forge"),
        ("forge", "forge:", "forge:"),
        ("", "forge:list", "forge:list"),
    ],
)
def test_a_servers_name_is_cut_off_its_tools(server: str, name: str, own: str) -> None:
    """`bare` cuts the server's name off a tool's name, before or behind, with the separator.

    A name that only begins so, or is that name alone, or has no server, is left whole.
    """
    assert bare(server, name) == own


def test_a_bare_name_that_begins_like_its_server_is_left_whole() -> None:
    """If `git` has tools with bare names, its `git-log` and `log` are two tools."""
    names = keys(entry("git-log", "git"), entry("log", "git"), entry("push", "git"))

    assert names == ["git:git-log", "git:log", "git:push"]


def test_locked_entries_may_go_by_their_bare_names() -> None:
    """A locked entry may have a bare name where callable ones include the server's name.

    An entry without a server belongs to the known server in its name.
    """
    names = keys(
        entry("git:log", "git"), entry("push", "git", "disabled_by_user"), entry("git:pull", None)
    )

    assert names == ["git:log", "git:push", "git:pull"]


def test_words_that_were_named_come_first_and_none_twice() -> None:
    """WordQueue yields the named words first, as written, then verbs and words heard in answers.

    Those are in lower case; none comes twice, and `the` never.
    """
    words = WordQueue(["Zorvik", "list"])
    words.hear("deleteRepoHTTP of the forge", None, "日本語")

    read_words = list(iter(words.next, None))

    assert read_words[:2] == ["Zorvik", "list"]
    assert set(VERBS) < {*read_words}
    assert {"repo", "http", "forge", "日本語"} <= {*read_words}
    assert ("the" in read_words, len(read_words) == len(set(read_words))) == (False, True)


def test_a_password_in_a_url_becomes_a_header() -> None:
    """`place_named` cuts user and password out of a URL, and returns them as a header."""
    assert place_named("http://me:pw@x.test:1/mcp?a=b") == (
        "http://x.test:1/mcp?a=b",
        {"Authorization": "Basic bWU6cHc="},
    )


def test_headers_and_credentials_are_read() -> None:
    """`headers_of` reads `Name: value`; `agents_of` merges several headers of one agent."""
    assert headers_of(["A: b:c", "D:e"], "--header") == {"A": "b:c", "D": "e"}
    assert agents_of(["north=A: b=c", "north=D: e"]) == {"north": {"A": "b=c", "D": "e"}}


def test_variables_describe_an_endpoint_and_the_queries_sent_first() -> None:
    """The environment's endpoint has its URL, and the queries of its variable, one a line."""
    url = "http://127.0.0.1:1/mcp"
    named = {"MCP_PROXY_CONFORMANCE_URL": url, "MCP_PROXY_CONFORMANCE_QUERY": " delete\n\nwipe it"}

    endpoint = in_environment(named)

    assert endpoint is not None
    assert (endpoint.url, endpoint.queries) == (url, ("delete", "wipe it"))
    assert endpoint.by_variables


@pytest.mark.parametrize(
    ("sentence", "worded"),
    [
        (
            "name one with --query or --expect",
            "name one with MCP_PROXY_CONFORMANCE_QUERY or MCP_PROXY_CONFORMANCE_EXPECT",
        ),
        (
            "not asked for; add --call",
            "not asked for; add --call (--call: `mcp-proxy-conformance run endpoint`)",
        ),
        ("use --query-all or --force", "use --query-all or --force"),
    ],
)
def test_a_sentence_names_variables_or_whose_option_it_is(sentence: str, worded: str) -> None:
    """Options become variables; one without a variable stays, with the command that has it."""
    assert in_variables(sentence) == worded
