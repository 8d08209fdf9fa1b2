"""Retry-After of a busy live endpoint, within the limits; no redirect leads credentials away."""

from __future__ import annotations

import time
from email.utils import formatdate
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hostile_runs import CANARY
from hostile_target import Asked, Hostile, Way, discovered, serving, texted
from hostile_ways import raw

from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.discovery.live.talk import AGAIN, LONGEST_S, PAUSE_S, seconds_asked

PROOF = pytest.mark.proof(parts=6)
MOVED = ("301 Moved Permanently", "308 x")


def look(url: str, out: Path, *options: str) -> Result:
    """Run `run endpoint` on the URL, in this process, with CANARY as its bearer token.

    The rate is 10,000 requests a second, unless the options say otherwise.
    """
    header = f"Authorization: Bearer {CANARY}"
    command = ["run", "endpoint", "--url", url, "--out", str(out), "--header", header]
    return CliRunner().invoke(main, [*command, "--rate", "10000", *options])


def busy(times: int, status: str, *headers: str) -> Way:
    """Return a way that refuses the first `times` requests with this HTTP status.

    Later ones get a right discovery answer. `headers` are header lines of the refusals.
    """
    left = [None] * times

    async def way(request: Asked) -> None:
        """Refuse the request while a refusal is left, else answer with found tools."""
        if left:
            left.pop()
            await request.http(b"later", *headers, status=status, media="text/plain")
        else:
            await request.result(texted(discovered(request)))

    return way


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, PAUSE_S),
        ("", PAUSE_S),
        ("soon", PAUSE_S),
        ("-3", PAUSE_S),
        ("1.5", PAUSE_S),
        ("\u0663", PAUSE_S),
        ("0", 0.0),
        (" 7 ", 7.0),
        ("9" * 5000, 999_999_999.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", LONGEST_S),
        ("Thu, 99 Jan 99999 00:00:00 GMT", PAUSE_S),
    ],
)
def test_retry_after_is_a_number_or_a_date(header: str | None, seconds: float) -> None:
    """`seconds_asked` returns the wait that a Retry-After asks for, in seconds, at most LONGEST_S.

    It takes whole seconds or a date; anything else, or None, is PAUSE_S.
    """
    assert seconds_asked(header) == seconds


def test_a_date_ahead_is_waited_for() -> None:
    """A Retry-After date one minute ahead is a wait of about sixty seconds."""
    assert 50 < seconds_asked(formatdate(time.time() + 60, usegmt=True)) <= 61


@pytest.mark.parametrize("status", ["429 Too Many Requests", "503 Service Unavailable"])
def test_a_busy_endpoint_is_asked_again(status: str, tmp_path: Path) -> None:
    """An endpoint that refuses calls AGAIN times with Retry-After: 0 is asked again.

    The run is not given up: exit 4 as without that.
    """
    with serving(Hostile({"tools/call": busy(AGAIN, status, "Retry-After: 0")})) as url:
        done = look(url, tmp_path)

    assert (done.exit_code, "stopped answering" in done.stdout) == (4, False)


def test_without_a_time_a_second_is_waited(tmp_path: Path) -> None:
    """A 429 without Retry-After is asked again after PAUSE_S; exit 4 as without that."""
    began = time.monotonic()
    with serving(Hostile({"tools/call": busy(1, "429 Too Many Requests")})) as url:
        done = look(url, tmp_path)

    assert time.monotonic() - began >= PAUSE_S
    assert (done.exit_code, "stopped answering" in done.stdout) == (4, False)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--timeout", "5"), "the endpoint asks to wait 30 s, which is too long; raise --timeout"),
        (("--max-requests", "4"), "all 4 requests are used; raise --max-requests"),
    ],
)
def test_patience_keeps_to_what_was_promised(
    options: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    """A busy endpoint that asks to wait 30 s makes the run exceed no limit: exit 4 in 10 s.

    The output names --timeout or --max-requests to be raised; four requests at most are sent.
    """
    refusing = Hostile({"tools/call": busy(99, "429 Too Many Requests", "Retry-After: 30")})
    began = time.monotonic()

    with serving(refusing) as url:
        done = look(url, tmp_path, *options)

    assert time.monotonic() - began < 10
    assert (done.exit_code, sentence in done.stdout) == (4, True)
    assert len(refusing.seen) <= 4


@pytest.mark.parametrize(
    "status", ["307 Temporary Redirect", *(pytest.param(s, marks=PROOF) for s in MOVED)]
)
@pytest.mark.parametrize(
    "form",
    ["http://127.0.0.1:{port}/mcp", "//127.0.0.1:{port}/mcp", "http://u@127.0.0.1:{port}/\\@x"],
)
@pytest.mark.parametrize("method", ["any", "initialize", "tools/list", "tools/call"])
def test_no_redirect_leads_credentials_away(
    method: str, form: str, status: str, tmp_path: Path
) -> None:
    """A redirect to another port, at whichever method, leads to no request there.

    Exit 3, or 4 if calls alone are redirected; the credential is not printed.
    """
    other = Hostile({})
    with serving(other):
        place = f"Location: {form.format(port=other.port)}"
        with serving(Hostile({method: raw(b"", place, status=status)})) as url:
            done = look(url, tmp_path)

    assert other.seen == []
    assert done.exit_code == (4 if method == "tools/call" else 3)
    assert CANARY not in done.output
