"""The request of a failure as a curl command, which sends exactly the same bytes."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec
import pytest
from hand_written_reports import HOSTILE, Json
from page_runs import message_of

from mcp_proxy_conformance.report.document import ReportedMessage
from mcp_proxy_conformance.report.phrases import curl, word
from mcp_proxy_conformance.verdict.redaction import inert


@dataclass(slots=True)
class Heard:
    """The requests that a server on the loopback received."""

    url: str
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def heard() -> Iterator[Heard]:
    """Serve on 127.0.0.1 until the file's tests end; yield the record of requests received."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            """Record the request's body, headers by lower-case name, and path; answer with 204."""
            length = int(self.headers["Content-Length"])
            record.bodies.append(self.rfile.read(length))
            record.headers.append({name.lower(): value for name, value in self.headers.items()})
            record.paths.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *words: object) -> None:
            """Discard the line that the server would log."""
            del words

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        record = Heard(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield record
        server.shutdown()
        thread.join()


def run(line: str) -> None:
    """Run a line in sh; it must exit with 0 and print nothing, within 30 s.

    The test is skipped if curl is not installed.
    """
    if shutil.which("curl") is None:
        pytest.skip("there is no curl; Debian's package is `curl`")
    done = subprocess.run(["sh", "-c", line], capture_output=True, check=False, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def request_message(heard: Heard, body: str, path: str = "/mcp", **headers: str) -> ReportedMessage:
    """Return a report's message of a request that was sent to that server.

    It has this body, path and headers; `Content-Type` is JSON unless given.
    """
    own = {"Content-Type": "application/json", **headers}
    document = message_of("sent", body) | {"peer": heard.url + path, "headers": own}
    return msgspec.convert(document, ReportedMessage)


BODIES = {
    "plain": '{"jsonrpc":"2.0","id":1}',
    "quotes": """{"a":"it's \\"so\\"'","b":"''"}""",
    "at sign": "@/etc/hostname",
    "at sign within": '{"to":"@x"}',
    "percent": '{"100%":"%s %d %n %%","u":"%41"}',
    "backslashes": '"\\\\ \\n \\101 \\c \\"',
    "lines": '{\n  "a": 1\r\n}\n',
    "tab": '{\t"a":\t1}',
    "unicode": '{"a":"żółć 🦊 漢字"}',
    "turned around": '{"a":"\u202eevil\u2066\u200b\ufeff"}',
    "control": '{"a":"\x00\x01\x1b[2J\x7f\x85"}',
    "shell": '{"a":"$(id) `id` $HOME !! ; & | > * ? [a-z] {1,2} ~ #"}',
    "dashes": "--data-binary -n\n",
    "octal": "\n1\x010\x0177%-5\\",
    "spaces": "  {}  ",
    "hostile": HOSTILE,
    "long": '{"a":"' + "é\n" * 6000 + '"}',
}


@pytest.mark.parametrize("name", BODIES)
def test_the_line_sends_the_bytes_of_the_body(name: str, heard: Heard) -> None:
    """The curl command of any odd body is one printable line that sends exactly its bytes."""
    line = curl(request_message(heard, BODIES[name]))

    run(line)

    assert heard.bodies[-1] == BODIES[name].encode()
    assert inert(line) == line
    assert line.isprintable()


def test_headers_come_as_they_were(heard: Heard) -> None:
    """The curl command sends odd and empty headers exactly, but for Host, which is curl's own."""
    odd = """a'b "c" $(id) %s \\ @x"""
    request = request_message(heard, "{}", **{"Mcp-Session-Id": odd, "Accept": "", "Host": "other"})

    run(curl(request))

    received = heard.headers[-1]
    assert (received["mcp-session-id"], received["accept"]) == (odd, "")
    assert received["content-type"] == "application/json"
    assert received["host"] != "other"


@pytest.mark.parametrize(
    "path", ["/mcp", "/mcp?a=1&b=$(x)", "/m[1-3]c{p,q}", "/it's", "/mcp?q=%7B#part"]
)
def test_the_endpoint_is_taken_as_it_is(path: str, heard: Heard) -> None:
    """The curl command requests an odd path as it is, without its fragment.

    No shell and no curl expands it.
    """
    run(curl(request_message(heard, "{}", path)))

    assert heard.paths[-1] == path.partition("#")[0]


def test_a_word_with_a_control_character_is_one_word() -> None:
    """`word` quotes a text with control characters in ASCII, and sh reads the same text."""
    text = "a\u202e b%s\x1b"
    line = f"printf %s {word(text)}"

    done = subprocess.run(["sh", "-c", line], capture_output=True, check=True, timeout=30)

    assert done.stdout.decode() == text
    assert line.isascii()


@pytest.mark.parametrize("lost", [{"cut": 7}, {"body": r'{"method":"\xff\xfe"}'}])
def test_there_is_no_line_for_what_the_report_does_not_hold(lost: Json) -> None:
    """`curl` is empty for a body that was cut, or that is not text."""
    assert curl(msgspec.convert(message_of("sent", "{}") | lost, ReportedMessage)) == ""
