"""Fault servers: how attempts are counted, logs, healing, shared origins, bad scripts."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import urlsplit

import pytest

from mcp_proxy_conformance.upstream.faults import BadScript, FaultServers, read_scripts, server_log

UNAVAILABLE = {"do": "status", "code": 503}
HEALTHY = {"do": "healthy"}
STATELESS = {"MCP-Protocol-Version": "2026-07-28"}
HANDSHAKE = ["initialize", "notifications/initialized", "tools/list"]


def ask(url: str, method: str, headers: dict[str, str] | None = None, **params: Any) -> Any:
    """Post one JSON-RPC request, or a notification by its name; return (status, headers).

    A notification has no id. The answer must come within 5 s.
    """
    place = urlsplit(url)
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    if method.startswith("notifications/"):
        del message["id"]
    connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=5)
    try:
        connection.request("POST", place.path, json.dumps(message), headers or {})
        response = connection.getresponse()
        response.read()
        return response.status, response.headers
    finally:
        connection.close()


def attempt(url: str, *methods: str, **headers: str) -> list[int]:
    """Post these methods in turn, with these headers; return the statuses of their answers.

    A status of 400 or more is the last: the methods after it are not sent.
    """
    codes: list[int] = []
    for method in methods:
        codes.append(ask(url, method, headers)[0])
        if codes[-1] >= 400:
            break
    return codes


def serving(*script: dict[str, Any]) -> FaultServers:
    """Return a load, not started, of one server `a` that plays this script."""
    return FaultServers(read_scripts([{"server_id": "a", "script": script}]))


def test_each_attempt_meets_its_own_behaviour_and_the_last_one_stays() -> None:
    """A script of two failures and health gives two attempts of 503, then healthy ones.

    All four are counted, and each log entry has its attempt.
    """
    with serving(UNAVAILABLE, UNAVAILABLE, HEALTHY) as servers:
        codes = [attempt(servers.url("a"), *HANDSHAKE) for _ in range(4)]
        entries = [(entry.attempt, entry.method) for entry in servers.log("a")]

    assert codes == [[503], [503], [200, 202, 200], [200, 202, 200]]
    assert servers.attempts("a") == 4
    assert entries[:3] == [(1, "initialize"), (2, "initialize"), (3, "initialize")]
    assert entries[3:5] == [(3, "notifications/initialized"), (3, "tools/list")]


def test_a_fault_of_the_listing_counts_with_the_attempt_that_it_ends() -> None:
    """A fault on tools/list answers a repeated tools/list of the same attempt, too.

    The next `initialize` begins the second attempt, which is healthy.
    """
    with serving({**UNAVAILABLE, "on": "tools/list"}, HEALTHY) as servers:
        first = attempt(servers.url("a"), *HANDSHAKE)
        again = attempt(servers.url("a"), "tools/list")
        second = attempt(servers.url("a"), *HANDSHAKE)

    assert (first, again, second) == ([200, 202, 503], [503], [200, 202, 200])
    assert servers.attempts("a") == 2


@pytest.mark.parametrize("methods", [("tools/list",), ("server/discover", "tools/list")])
def test_a_loader_without_a_handshake_is_counted_by_what_it_begins_with(
    methods: tuple[str, ...],
) -> None:
    """Without a handshake, each first tools/list or server/discover begins an attempt."""
    with serving(UNAVAILABLE, HEALTHY) as servers:
        codes = [attempt(servers.url("a"), *methods, **STATELESS) for _ in range(2)]

    assert codes == [[503], [200] * len(methods)]
    assert servers.attempts("a") == 2


def test_the_next_page_opens_no_attempt() -> None:
    """A tools/list with a cursor belongs to the attempt of the first page: one is counted."""
    with serving(HEALTHY) as servers:
        attempt(servers.url("a"), "tools/list", **STATELESS)
        ask(servers.url("a"), "tools/list", STATELESS, cursor="more")

    assert servers.attempts("a") == 1


def test_a_look_for_the_era_is_no_attempt_of_its_own() -> None:
    """`server/discover` followed by a handshake is one attempt, refused or not."""
    with serving(UNAVAILABLE, HEALTHY) as servers:
        url = servers.url("a")
        probes = [attempt(url, "server/discover", **STATELESS) + attempt(url, *HANDSHAKE)]
        probes += [attempt(url, "server/discover", **STATELESS) + attempt(url, *HANDSHAKE)]

    assert probes == [[503, 503], [200, 200, 202, 200]]
    assert servers.attempts("a") == 2


def test_an_initialize_of_another_revision_is_no_attempt_of_its_own() -> None:
    """Two `initialize` of different revisions are one attempt, answered by one behaviour.

    A third, of the same revision as the second, begins the next attempt.
    """
    with serving({"do": "status", "code": 400}, HEALTHY) as servers:
        for revision in ("2026-07-28", "2025-11-25", "2025-11-25"):
            ask(servers.url("a"), "initialize", protocolVersion=revision)

    assert [entry.attempt for entry in servers.log("a")] == [1, 1, 2]
    assert [entry.status for entry in servers.log("a")] == [400, 400, 200]


def test_a_late_request_is_counted_with_its_session() -> None:
    """A request with the first attempt's session id belongs to it, even after a second began."""
    with serving(HEALTHY) as servers:
        session = ask(servers.url("a"), "initialize")[1]["Mcp-Session-Id"]
        ask(servers.url("a"), "initialize")
        ask(servers.url("a"), "tools/list", {"Mcp-Session-Id": session})

    assert [entry.attempt for entry in servers.log("a")] == [1, 2, 1]


def test_other_requests_are_noted_and_open_nothing() -> None:
    """A GET, a DELETE and a POST that is not JSON-RPC are logged under attempt 0.

    They get 404 or 405, 200 and 400.
    """
    with serving(HEALTHY) as servers:
        place = urlsplit(servers.url("a"))
        connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=5)
        codes = []
        for method, path in (
            ("GET", "/.well-known/oauth-protected-resource"),
            ("GET", place.path),
            ("DELETE", place.path),
            ("POST", place.path),
        ):
            connection.request(method, path, b"[")
            with connection.getresponse() as response:
                codes.append(response.status)
        connection.close()
        entries = servers.log("a")

    assert codes == [404, 405, 200, 400]
    assert [(entry.verb, entry.attempt) for entry in entries] == [
        ("GET", 0),
        ("GET", 0),
        ("DELETE", 0),
        ("POST", 0),
    ]
    assert ({entry.connection for entry in entries}, servers.attempts("a")) == ({1}, 0)


def test_two_servers_share_an_origin_and_nothing_else() -> None:
    """Two servers on one host and port have different paths, scripts and counts of attempts."""
    scripts = [
        {"server_id": "guest", "script": [HEALTHY], "same_origin_as": "host"},
        {"server_id": "host", "script": [UNAVAILABLE]},
    ]
    with FaultServers(read_scripts(scripts)) as servers:
        urls = [servers.url("host"), servers.url("guest")]
        codes = [attempt(url, "initialize") for url in urls]

    assert len({urlsplit(url).netloc for url in urls}) == 1
    assert codes == [[503], [200]]
    assert (servers.attempts("host"), servers.attempts("guest")) == (1, 1)


def test_two_servers_share_a_url_and_are_known_by_their_authorization() -> None:
    """A request belongs to the server whose authorization it has, or else to the URL's own one."""
    scripts = [
        {"server_id": "own", "script": [UNAVAILABLE]},
        {"server_id": "guest", "script": [HEALTHY], "same_url_as": "own", "authorization": "B x"},
    ]
    with FaultServers(read_scripts(scripts)) as servers:
        guest, own = servers.connection("guest"), servers.connection("own")
        codes = [attempt(own["url"], "initialize", **each["headers"]) for each in (guest, own, own)]

    assert (guest["url"], guest["headers"]) == (own["url"], {"Authorization": "B x"})
    assert codes == [[200], [503], [503]]
    assert (servers.attempts("guest"), servers.requests("own")) == (1, 2)


def test_a_redirect_to_itself_never_ends() -> None:
    """A redirect to `itself` has the URL that was requested, again and again."""
    with serving({"do": "redirect", "to": "itself"}) as servers:
        url = servers.url("a")
        places = [ask(url, "initialize")[1]["Location"] for _ in range(3)]

    assert places == [url] * 3


def test_a_port_refuses_once_an_attempt_has_failed() -> None:
    """After the 503 of the first attempt the port refuses connections, until it is healed."""
    with serving(UNAVAILABLE, {"do": "refuses"}) as servers:
        url = servers.url("a")
        first = attempt(url, "initialize")
        for _ in range(2):
            with pytest.raises(ConnectionRefusedError):
                ask(url, "initialize")
        counted = servers.attempts("a"), servers.requests("a")
        servers.heal("a")
        healed = attempt(url, *HANDSHAKE)

    assert (first, counted, healed) == ([503], (None, 1), [200, 202, 200])


def test_a_server_insists_on_its_session() -> None:
    """With `insists`, a request without a session id gets 400; with one, it is answered."""
    script = {"server_id": "a", "script": [HEALTHY], "dialect": {"session": "insists"}}
    with FaultServers(read_scripts([script])) as servers:
        url = servers.url("a")
        session = {"Mcp-Session-Id": ask(url, "initialize")[1]["Mcp-Session-Id"]}
        codes = [ask(url, "tools/list", headers)[0] for headers in ({}, session, STATELESS)]

    assert codes == [400, 200, 200]


def test_a_session_ends_with_its_attempt_and_with_its_load() -> None:
    """With `insists`, an initialize that carries an older session id gets 404."""
    script = {"server_id": "a", "script": [HEALTHY], "dialect": {"session": "insists"}}
    with FaultServers(read_scripts([script])) as servers:
        url, codes = servers.url("a"), []
        for heals in (False, True, False):
            code, headers = ask(url, "initialize")
            stale = {"Mcp-Session-Id": headers["Mcp-Session-Id"]}
            if heals:
                servers.heal("a")
            codes.append((code, ask(url, "initialize", stale)[0]))

    assert codes == [(200, 404)] * 3


@pytest.mark.parametrize(
    ("given", "code"), [({}, 401), ({"X-Key": "k"}, 200), ({"X-Key": "j"}, 401)]
)
def test_a_guarded_server_knows_a_header_of_any_name(given: dict[str, str], code: int) -> None:
    """Without the header that the loader is given, or with another value of it, it denies."""
    script = {"server_id": "a", "script": [HEALTHY], "guarded": True,
              "header": "X-Key", "authorization": "k"}  # fmt: skip
    with FaultServers(read_scripts([script])) as servers:
        handed = servers.connection("a")["headers"]

        assert ask(servers.url("a"), "initialize", given)[0] == code

    assert handed == {"X-Key": "k"}


def test_what_one_server_hands_out_is_seen_where_it_comes_back() -> None:
    """A log has the cookie, session id and Authorization of a request, whoever handed them out.

    Here a cookie and a session id of two other servers are sent to a third.
    """
    scripts = [
        {"server_id": "cookie", "script": [{"do": "set_cookie"}]},
        {"server_id": "session", "script": [{"do": "session", "on": "any"}]},
        {"server_id": "other", "script": [HEALTHY]},
    ]
    with FaultServers(read_scripts(scripts)) as servers:
        cookie = ask(servers.url("cookie"), "initialize")[1]["Set-Cookie"].partition(";")[0]
        session = ask(servers.url("session"), "tools/list", STATELESS)[1]["Mcp-Session-Id"]
        secret = {"Cookie": cookie, "Mcp-Session-Id": session, "Authorization": "Bearer x"}
        ask(servers.url("other"), "tools/list", secret)
        (entry,) = servers.log("other")

    assert servers.token("cookie") in (entry.cookie or "")
    assert (entry.session, entry.authorization) == (servers.token("session"), "Bearer x")


@pytest.mark.parametrize("name", ["", "..", "a/b?c#d", "503 timeout", "ß\U0001f600", "1-2"])
def test_any_id_has_a_url(name: str) -> None:
    """A server of any id, even an empty one, is reached by its URL."""
    with FaultServers(read_scripts([{"server_id": name, "script": [HEALTHY]}])) as servers:
        assert attempt(servers.url(name), "initialize") == [200]
    assert servers.attempts(name) == 1


def test_a_healed_server_is_counted_anew() -> None:
    """After `heal` a failing server answers well, and its attempts count from 0 again."""
    with serving(UNAVAILABLE) as servers:
        before = attempt(servers.url("a"), "initialize")
        servers.heal("a")
        after = attempt(servers.url("a"), *HANDSHAKE)

    assert (before, after, servers.attempts("a")) == ([503], [200, 202, 200], 1)


def test_a_log_keeps_the_first_entries_and_counts_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A log keeps its first two entries, as MOST is set to 2 here, with long texts cut.

    Later requests are counted as dropped, and as attempts.
    """
    monkeypatch.setattr(server_log, "MOST", 2)
    with serving(HEALTHY) as servers:
        for _ in range(5):
            ask(servers.url("a"), "initialize", {"Authorization": "x" * 5000})
        entries = servers.log("a")

    assert [len(entry.authorization or "") for entry in entries] == [server_log.LONGEST] * 2
    assert (servers.dropped("a"), servers.attempts("a")) == (3, 5)


@pytest.mark.parametrize(
    ("documents", "complaint"),
    [
        ([{"script": [{"do": "statu"}]}], r"'statu' - at `\$\[0\]\.script\[0\]\.do`"),
        ([{"script": [{"do": "reset", "code": 1}]}], "unknown field `code`"),
        ([{"script": []}], "length >= 1"),
        ([{"script": [{"do": "refused"}, HEALTHY]}], "has other behaviours beside refused"),
        ([{"script": [HEALTHY]}] * 2, "two servers have the id 'a'"),
        ([{"script": [{"do": "redirect", "to": "b"}]}], "redirects to 'b'"),
        ([{"script": [HEALTHY], "same_origin_as": "a"}], "name one with its own"),
        (
            [
                {"script": [HEALTHY], "same_origin_as": "b"},
                {"server_id": "b", "script": [{"do": "refused"}]},
            ],
            "make both speak HTTP",
        ),
        ([{"script": [UNAVAILABLE], "transport": "stdio"}], "status has no meaning"),
        ([{"script": [HEALTHY, {"do": "refuses"}]}], "refuses after no failure"),
        (
            [{"script": [HEALTHY], "same_url_as": "b"}, {"server_id": "b", "script": [HEALTHY]}],
            "give it an authorization",
        ),
    ],
)
def test_a_script_that_cannot_be_played_is_refused(
    documents: list[dict[str, Any]], complaint: str
) -> None:
    """A script that cannot be played raises BadScript, which names the place or the server."""
    with pytest.raises(BadScript, match=complaint):
        read_scripts([{"server_id": "a", **document} for document in documents])
