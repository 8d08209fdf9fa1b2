"""The client over stdio on real programs: calls, nonsense, ends, deadlines, closing."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcp_proxy_conformance.upstream import Upstreams, UpstreamServer, UpstreamTool
from mcp_proxy_conformance.wire import ProtocolFault, StdioClient, Unreachable, program
from mcp_proxy_conformance.wire.transcript import Transcript

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Run = Callable[..., StdioClient]

MCP = """
import json, os, sys, time

def hear():
    line = sys.stdin.readline()
    return json.loads(line) if line else sys.exit(0)

def say(*lines):
    os.write(1, "".join(f"{line}\\n" for line in lines).encode())

def result(message, **members):
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": members})

def greet(revision="2025-06-18"):
    say(result(hear(), protocolVersion=revision, capabilities={}))
    hear()

NOTE = '{"jsonrpc":"2.0","method":"notifications/message"}'
"""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Yield a function that makes a client, unopened, of a Python program; all are closed later.

    It takes the program's code, which may use the functions of MCP, a transcript and a timeout in
    seconds. The patience of a client at each step of closing is 0.1 s.
    """
    monkeypatch.setattr(program, "PATIENCE_S", 0.1)
    made: list[StdioClient] = []

    def start(code: str, transcript: Transcript | None = None, timeout: float = 5) -> StdioClient:
        """Return an unopened client of a Python program: the functions of MCP, then `code`."""
        command = [sys.executable, "-I", "-S", "-c", MCP + code]
        own, env = transcript or Transcript(), {"SEEN": "yes"}
        made.append(StdioClient(command, env=env, transcript=own, timeout=timeout))
        return made[-1]

    yield start
    for client in made:
        client.close()


def gone(pid: int) -> bool:
    """Return whether a process ends within two seconds; a zombie counts as ended."""
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2][1] != "Z":
                time.sleep(0.01)
                continue
        return True
    return False


def test_the_reference_is_listed_and_called(tmp_path: Path) -> None:
    """Over stdio the reference lists its tools and answers a call, with status 0 and no headers.

    Each line is in the transcript; the note of a sent one is its method.
    """
    (tmp_path / "f").write_text("{}", encoding="utf-8")
    command = [sys.executable, "-m", "mcp_proxy_reference", "serve", "--listen=:0"]
    command += [f"--config={tmp_path / 'f'}", f"--data-dir={tmp_path / 'd'}"]
    transcript = Transcript()

    with StdioClient(command, env={}, transcript=transcript) as client:
        names = {tool["name"] for tool in client.tools()}
        reply = client.call_tool("retrieve_tools", {"query": "anything"})
        assert client.wire == "handshake 2025-11-25 (stdio)"

    messages = transcript.since(0)
    assert {"retrieve_tools", "upstream_servers"} <= names
    assert (json.loads(reply.text)["tools"], reply.status, reply.headers) == ([], 0, ())
    assert {(m.edge, m.peer) for m in messages} == {("client", "stdio")}
    sent = [m.note for m in messages if m.direction == "sent"]
    assert sent == ["initialize", "notifications/initialized", "tools/list", "tools/call"]
    assert len(messages) == len(sent) + 3
    assert reply.raw == reply.received.raw == messages[-1].raw


def test_pages_are_joined_and_notifications_kept() -> None:
    """Over stdio all pages are listed, and a tool that was added since can be called.

    The notification of its addition is in the `before` of the call's reply.
    """
    tools = [UpstreamTool(name=f"tool_{i}") for i in range(5)]
    with Upstreams(Transcript()) as upstreams:
        forge = upstreams.add(UpstreamServer("forge", tools, page_size=2))
        with StdioClient(forge.command, env={}, transcript=Transcript()) as client:
            names = [tool["name"] for tool in client.tools()]
            forge.add_tool(UpstreamTool(name="tool_5"))
            reply = client.call_tool("tool_5")

    assert names == [tool.name for tool in tools]
    assert [each.method for each in reply.before] == ["notifications/tools/list_changed"]
    assert (reply.text, forge.calls("tool_5")) == ("ok tool_5", 1)


def test_large_messages_pass_both_ways_at_once(run: Run) -> None:
    """A program that prints 3000 notifications while it gets a request of 500 KB answers it.

    All of them are in the reply's `before`.
    """
    client = run("greet(); say(*[NOTE] * 3000)\nnow = hear(); say(result(now, **now['params']))")
    text = "caf\u00e9 " * 100_000

    reply = client.request("echo", {"text": text})

    assert (reply.value(), len(reply.before)) == ({"text": text}, 3000)


def test_the_program_gets_exactly_its_environment(run: Run) -> None:
    """A program has exactly the environment that its client was given, not that of this process."""
    client = run("greet()\nsay(result(hear(), env=dict(os.environ)))")

    variables = client.request("env").value()["env"]

    assert variables | {"LC_CTYPE": ""} == {"SEEN": "yes", "LC_CTYPE": ""}


@pytest.mark.parametrize(
    ("code", "kind", "seen"),
    [
        ("print('Listening on port 8080', flush=True); hear(); hear()", "json", "Listening"),
        ("print('bye'); sys.exit(0)", "json", "bye"),
        ("say('[]'); hear(); hear()", "envelope", "[]"),
        ("now = hear(); now['id'] += 1; say(result(now)); hear()", "id", '{"jsonrpc"'),
        ("greet('1999-01-01')", "handshake", '{"jsonrpc"'),
    ],
)
def test_nonsense_is_the_targets_fault(run: Run, code: str, kind: str, seen: str) -> None:
    """A line that is not a message, a wrong id or an unknown revision raises ProtocolFault.

    Its excerpt begins with what the program printed, which is recorded, too.
    """
    transcript = Transcript()

    with pytest.raises(ProtocolFault) as fault:
        run(code, transcript=transcript).open()

    received = [m.raw for m in transcript.since(0) if m.direction == "received"]
    assert (fault.value.kind, fault.value.excerpt.decode()[: len(seen)]) == (kind, seen)
    assert fault.value.excerpt in received[0]


def test_blank_lines_are_no_messages(run: Run) -> None:
    """Over stdio blank lines, and a carriage return at a line's end, are skipped."""
    client = run("say('', '\\r'); greet(); say(NOTE, result(hear()) + '\\r')")

    assert [each.method for each in client.request("ping").before] == ["notifications/message"]


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("sys.exit('no config')", "the program ended with exit code 1 (no config)"),
        ("greet(); hear(); os._exit(3)", "the program ended with exit code 3"),
        ("greet(); hear(); os.kill(os.getpid(), 9)", "the program ended with exit code -9"),
        ("os.close(1); time.sleep(60)", "its output ended"),
        ("os.fork() or time.sleep(60); hear(); os._exit(4)", "the program ended with exit code 4"),
    ],
)
def test_a_program_that_dies_is_unreachable(
    run: Run, monkeypatch: pytest.MonkeyPatch, code: str, reason: str
) -> None:
    """A program that ends makes a request raise Unreachable with its exit code and error output.

    So does one that closes its output, and one whose child keeps its output open: below 3 s.
    """
    monkeypatch.setattr(program, "PATIENCE_S", 0.5)

    with pytest.raises(Unreachable) as end:
        run(code).request("ping")

    assert (end.value.peer, end.value.phase, end.value.reason) == ("stdio", "wait", reason)
    assert end.value.seconds < 3


def test_a_dead_program_stays_dead(run: Run) -> None:
    """After its program has ended, each request raises Unreachable; the program is not restarted.

    The unfinished line that it printed is recorded once, as `cut off`.
    """
    transcript = Transcript()
    client = run("greet(); hear(); os.write(1, b'{\"json'); os._exit(3)", transcript=transcript)

    for _ in range(2):
        with pytest.raises(Unreachable, match="exit code 3"):
            client.request("ping")

    assert [m.raw for m in transcript.since(0) if m.note == "cut off"] == [b'{"json']


def test_a_program_that_cannot_be_started_is_unreachable() -> None:
    """A missing program raises Unreachable, in the phase `connect`, with the system's reason."""
    client = StdioClient(["/nowhere/proxy"], env={}, transcript=Transcript())

    with pytest.raises(Unreachable, match="cannot start '/nowhere/proxy': No such file") as end:
        client.tools()

    assert end.value.phase == "connect"


@pytest.mark.parametrize(
    ("code", "size", "phase"),
    [
        ("time.sleep(60)", 1, "wait"),
        ("os.write(1, b'{'); time.sleep(60)", 1, "wait"),
        ("\nwhile True: say(NOTE); time.sleep(0.01)", 1, "wait"),
        ("time.sleep(60)", 1_000_000, "send"),
    ],
)
def test_silence_ends_at_the_deadline(run: Run, code: str, size: int, phase: str) -> None:
    """A silent, a dripping or a deaf program makes a request of 0.2 s raise Unreachable.

    The phase is `wait`; for the one that reads nothing it is `send`.
    """
    client = run(f"greet(); {code}").open()

    with pytest.raises(Unreachable, match="no answer in time") as end:
        client.request("ping", {"text": "x" * size}, timeout=0.2)

    assert end.value.phase == phase
    assert 0.1 < end.value.seconds < 2


def test_a_late_answer_is_taken_for_no_other(run: Run) -> None:
    """The late answer to a request that timed out is skipped, and the next request gets its own."""
    client = run("greet(); a = hear(); b = hear(); say(result(a), result(b))")
    with pytest.raises(Unreachable):
        client.request("first", timeout=0.1)

    second = client.request("second")

    assert (second.sent.note, second.before) == ("second", ())
    assert json.loads(second.raw)["id"] == json.loads(second.sent.raw)["id"]


def test_more_than_the_bound_is_the_targets_fault(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Output without a line break raises ProtocolFault beyond the bound, here 1 MiB."""
    monkeypatch.setattr(program, "MAX_BODY", 1 << 20)
    client = run("greet()\nwhile True: os.write(1, b'x' * 65536)")
    client.open()

    with pytest.raises(ProtocolFault, match="at most 1048576 bytes"):
        client.request("ping")


@pytest.mark.parametrize("code", ["", "signal.signal(signal.SIGTERM, signal.SIG_IGN)"])
def test_closing_ends_the_program_and_its_children(run: Run, code: str) -> None:
    """`close` ends a program and its child, even if both ignore SIGTERM; the client is unopened."""
    stubborn = f"import signal; {code}\nchild = os.fork() or (time.sleep(60), os._exit(0))"
    answering = "greet(); say(result(hear(), pids=[os.getpid(), child])); time.sleep(60)"
    client = run(f"{stubborn}\n{answering}")
    pids = client.request("pids").value()["pids"]

    client.close()

    assert [gone(pid) for pid in pids] == [True, True]
    assert client.wire == "unopened"


def test_the_end_of_input_is_asked_first(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """`close` lets a program print a last message at the end of its input; it is recorded."""
    monkeypatch.setattr(program, "PATIENCE_S", 5.0)
    transcript = Transcript()
    client = run("greet()\nsys.stdin.read()\nsay('goodbye')", transcript=transcript)
    client.open()

    client.close()

    assert transcript.since(0)[-1].raw == b"goodbye"


def test_a_line_break_in_a_message_is_our_own_fault(run: Run) -> None:
    """`raw_params` with a line break raise ValueError: over stdio they would be two messages."""
    client = run("greet(); hear()")

    with pytest.raises(ValueError, match="line break"):
        client.request("ping", raw_params=b"{\n}")
