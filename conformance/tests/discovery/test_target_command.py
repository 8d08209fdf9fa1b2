"""The command adapter: requests sent, new addresses, refusals, broken programs, retried starts."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from mcp_proxy_conformance.catalogue.resources import schemas_dir
from mcp_proxy_conformance.catalogue.world import World, server, tool, world
from mcp_proxy_conformance.discovery.targets.adapter import UpstreamAddress
from mcp_proxy_conformance.discovery.targets.command import CommandAdapter
from mcp_proxy_conformance.targets import process
from mcp_proxy_conformance.targets.line_program import WAITING_MOST
from mcp_proxy_conformance.targets.target import (
    AdapterError,
    Refused,
    TargetNotStarted,
    Unsupported,
)

WORLD = world(server("forge", tool("zorvik_list")), agents={"junior": ("forge",)})
PLACES = {"forge": UpstreamAddress(url="http://127.0.0.1:1/mcp")}
STARTED = '{"id":1,"ok":{"url":"http://127.0.0.1:9/mcp","agents":{"junior":{"A":"b"}},"new":1}}'
ADAPTER = """
import sys, time
for line, answer in zip(sys.stdin, {answers!r}):
    exec(answer[1:]) if answer.startswith("!") else print(answer, flush=True)
sys.stdin.read()
"""


def ok(members: str) -> str:
    """Return an adapter's answer to request 1 whose `ok` has these members, given as JSON."""
    return f'{{"id":1,"ok":{{{members}}}}}'


@pytest.fixture
def adapters() -> Iterator[list[CommandAdapter]]:
    """Yield an empty list; the adapters that a test puts into it are stopped at its end."""
    made: list[CommandAdapter] = []
    yield made
    for adapter in made:
        adapter.stop()


def saying(made: list[CommandAdapter], *answers: str, answer_s: float = 10.0) -> CommandAdapter:
    """Return an adapter, added to `made`, whose program answers each request with the next line.

    A line that begins with `!` is Python that the program runs instead. `answer_s`: seconds.
    """
    program = [sys.executable, "-c", ADAPTER.format(answers=list(answers))]
    made.append(CommandAdapter(program, answer_s=answer_s))
    return made[-1]


def test_what_is_sent_keeps_to_the_schema(tmp_path: Path, adapters: list[CommandAdapter]) -> None:
    """The seven requests that an adapter's program receives are valid under the adapter schema.

    A stdio server has its command and allow list; `counter` returns the count answered.
    """
    copy = tmp_path / "lines"
    keep = f"!open({str(copy)!r}, 'a').write(line); print({{}}, flush=True)"
    answers = [STARTED, *(f'{{"id":{number},"ok":{{"count":3}}}}' for number in range(2, 9))]
    noted = [keep.replace("{}", repr(answer)) for answer in answers]
    mixed = World(
        servers=(*WORLD.servers, *world(server("mill", tool("grind_all"), allow=("a",))).servers),
        agents=WORLD.agents,
    )
    adapter = saying(adapters, *noted)
    places = PLACES | {"mill": UpstreamAddress(command=("shim", "1"))}

    adapter.start(mixed, places, tmp_path / "target")
    adapter.lock("quarantine", "forge", ())
    adapter.unlock("approval", "forge", ["zorvik_list"])
    adapter.restart()
    adapter.refresh("forge")
    count = adapter.counter()
    adapter.indeterminate("forge", ["zorvik_list"], on=True)

    schema = json.loads((schemas_dir() / "adapter.schema.json").read_text(encoding="utf-8"))
    sent = [json.loads(line) for line in copy.read_text().splitlines()]
    for line in sent:
        jsonschema.validate(line, schema, cls=jsonschema.Draft202012Validator)
    assert (len(sent), count) == (7, 3)
    assert sent[0]["world"]["servers"][1] == {
        "name": "mill", "trusted": True, "command": ["shim", "1"], "allow": ["a"],
    }  # fmt: skip


def test_an_answer_may_move_the_target(tmp_path: Path, adapters: list[CommandAdapter]) -> None:
    """An answer with a new URL makes `lock` return a new access, with the old headers.

    For an answer without changes `unlock` returns None.
    """
    moved = '{"id":2,"ok":{"url":"http://127.0.0.1:10/mcp"}}'
    adapter = saying(adapters, STARTED, moved, '{"id":3,"ok":{}}')

    first = adapter.start(WORLD, PLACES, tmp_path)
    second = adapter.lock("config", "forge", ["zorvik_list"])
    third = adapter.unlock("config", "forge", ["zorvik_list"])

    assert (first.url, first.agents) == ("http://127.0.0.1:9/mcp", {"junior": {"A": "b"}})
    assert second is not None
    assert (second.url, second.agents) == ("http://127.0.0.1:10/mcp", first.agents)
    assert third is None


def test_an_agent_left_out_keeps_its_headers(
    tmp_path: Path, adapters: list[CommandAdapter]
) -> None:
    """An answer with new headers of one agent leaves the other agent's as they were."""
    both = world(
        server("forge", tool("zorvik_list")), agents={"junior": ("forge",), "senior": ("forge",)}
    )
    first = STARTED.replace('"agents":{', '"agents":{"senior":{"A":"a"},')
    later = '{"id":2,"ok":{"agents":{"senior":{"A":"c"}}}}'
    adapter = saying(adapters, first, later, '{"id":3,"ok":{"agents":{"senior":{"A":"d"}}}}')
    adapter.start(both, PLACES, tmp_path)

    moved = [adapter.refresh("forge"), adapter.refresh("forge")]

    agents = [access.agents for access in moved if access is not None]
    assert agents == [{"junior": {"A": "b"}, "senior": {"A": letter}} for letter in "cd"]


def test_refusals_and_unsupported_operations_are_distinguished(
    tmp_path: Path, adapters: list[CommandAdapter]
) -> None:
    """The answers `refused`, `unsupported` and `error` raise Refused, Unsupported, AdapterError.

    The adapter answers requests after that.
    """
    adapter = saying(
        adapters,
        STARTED,
        '{"id":2,"refused":"409 denied by config"}',
        '{"id":3,"unsupported":true}',
        '{"id":4,"error":"REST 500: boom"}',
        '{"id":5,"ok":{}}',
    )
    adapter.start(WORLD, PLACES, tmp_path)

    with pytest.raises(Refused, match="409 denied by config"):
        adapter.lock("user", "forge", ["zorvik_list"])
    with pytest.raises(Unsupported):
        adapter.restart()
    with pytest.raises(AdapterError, match="answers refresh with an error: REST 500: boom"):
        adapter.refresh("forge")
    assert adapter.refresh("forge") is None


@pytest.mark.parametrize(
    ("answers", "complaint"),
    [
        (["!sys.exit(7)"], "it ended with exit code 7 before it answered start"),
        (["!time.sleep(9)"], "it did not answer start within 0.5 s"),
        (["listening on 8080"], "'listening on 8080'"),
        (["[1]"], "'[1]'"),
        (['{"id":2,"ok":{}}'], """'{"id":2,"ok":{}}'"""),
        (['{"id":1,"ok":{}}'], "its answer to start has no url"),
        (['{"id":1,"ok":{"url":"http://x/mcp"}}'], "no headers for agents: junior"),
        (['{"id":1,"ok":{"url":"ftp://x"}}'], "'ftp://x'"),
        (['{"id":1,"unsupported":true}'], "it does not support start"),
        (['{"id":1,"refused":"no"}'], "it refused the request start: no"),
        (['{"id":1,"ok":{},"error":"x"}'], "exactly one of ok, refused, unsupported and error"),
        (["{" * 5000], "…"),
        (["!sys.stderr.write('KABOOM'); sys.exit(1)"], "KABOOM"),
        (['{"id":1,"ok":{},"new":' + "[" * 9000 + "]" * 9000 + "}"], "which nests too deeply"),
        ([ok('"url":"http://127.0.0.1:99999/mcp"')], "the url 'http://127.0.0.1:99999/mcp'"),
        ([ok('"url":"http://[/mcp"')], "the url 'http://[/mcp'"),
        ([ok('"url":"http://a..b/mcp"')], "the url 'http://a..b/mcp'"),
        ([ok('"headers":{"A":"b\\n"}')], "a header in headers that cannot be sent (the header 'A'"),
        ([ok('"agents":{"x":{"\\u0100":""}}')], "a header in agents.x that cannot be sent"),
        ([ok('"stdio":{"command":[]}')], "a stdio.command that names no program"),
        ([ok('"stdio":{"command":["a\\u0000"]}')], "a stdio.command with characters that"),
        ([ok('"stdio":{"command":["a"],"env":{"B=":""}}')], "in stdio.env the variable 'B='"),
        ([ok('"count":-1')], "$.ok.count"),
        (
            ["!sys.stdout.buffer.write(b'\\xff\\n'); sys.stdout.flush()"],
            "\N{REPLACEMENT CHARACTER}",
        ),
    ],
)
def test_a_broken_start_is_reported_in_one_sentence(
    tmp_path: Path,
    adapters: list[CommandAdapter],
    answers: list[str],
    complaint: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An unusable answer to `start`, or none, raises TargetNotStarted, which names the fault.

    The message has less than 1000 characters; the program is ended.
    """
    late = "time.sleep" in answers[0]
    monkeypatch.setattr(
        "mcp_proxy_conformance.discovery.targets.command.START_S", 0.5 if late else 10.0
    )
    adapter = saying(adapters, *answers)

    with pytest.raises(TargetNotStarted) as error:
        adapter.start(WORLD, PLACES, tmp_path)

    assert complaint in str(error.value)
    assert str(error.value).startswith("the adapter broke: ")
    assert not adapter.alive()
    assert len(str(error.value)) < 1000


def test_after_a_break_every_request_says_so(
    tmp_path: Path, adapters: list[CommandAdapter]
) -> None:
    """After a request without an answer within 0.3 s, the next one raises the same AdapterError."""
    adapter = saying(adapters, STARTED, "!time.sleep(3)", '{"id":3,"ok":{}}', answer_s=0.3)
    adapter.start(WORLD, PLACES, tmp_path)

    with pytest.raises(AdapterError, match=r"did not answer lock within 0\.3 s"):
        adapter.lock("user", "forge", ["zorvik_list"])
    with pytest.raises(AdapterError, match=r"did not answer lock within 0\.3 s"):
        adapter.unlock("user", "forge", ["zorvik_list"])


def test_a_stray_line_is_quoted(tmp_path: Path, adapters: list[CommandAdapter]) -> None:
    """A line printed without a request makes the next one raise AdapterError, which quotes it."""
    chatty = f"!print({STARTED!r}); print('GET /mcp 200', flush=True)"
    adapter = saying(adapters, chatty, '{"id":2,"ok":{}}')
    adapter.start(WORLD, PLACES, tmp_path)

    with pytest.raises(AdapterError, match="'GET /mcp 200'"):
        adapter.lock("user", "forge", ["zorvik_list"])


def test_a_flood_is_reported_and_does_not_delay_the_end(
    tmp_path: Path, adapters: list[CommandAdapter]
) -> None:
    """A program that prints endlessly makes the next request raise AdapterError, and is ended."""
    flood = "[print('flood', flush=True) for _ in range(9 ** 9)]"
    adapter = saying(adapters, f"!print({STARTED!r}, flush=True); {flood}")
    adapter.start(WORLD, PLACES, tmp_path)
    program = adapter._program
    assert program is not None
    until = time.monotonic() + 5
    while program._lines.qsize() < WAITING_MOST and time.monotonic() < until:
        time.sleep(0.01)

    with pytest.raises(AdapterError, match="it printed 'flood' before the request lock"):
        adapter.lock("user", "forge", ["zorvik_list"])
    assert not adapter.alive()


def test_the_end_drains_an_adapter_that_is_blocked(
    tmp_path: Path, adapters: list[CommandAdapter]
) -> None:
    """`stop` reads the output of a program that is blocked on it, so that it ends by itself."""
    mark = tmp_path / "done"
    many = "[print('x' * 999) for _ in range(999)]"
    adapter = saying(adapters, f"!print({STARTED!r}, flush=True); {many}; open({str(mark)!r}, 'w')")
    adapter.start(WORLD, PLACES, tmp_path / "target")

    adapter.stop()

    assert mark.exists()


def test_a_child_that_holds_the_output_open_does_not_hide_the_end(
    tmp_path: Path, adapters: list[CommandAdapter]
) -> None:
    """A program that exits while its child keeps the output open raises TargetNotStarted in 8 s."""
    leaving = "!import subprocess; subprocess.Popen(['sleep', '20']); sys.exit(7)"
    adapter = saying(adapters, leaving)
    began = time.monotonic()

    with pytest.raises(TargetNotStarted, match="it ended with exit code 7 before it answered"):
        adapter.start(WORLD, PLACES, tmp_path)
    assert time.monotonic() - began < 8


def test_credentials_of_a_bad_answer_are_not_quoted(
    tmp_path: Path, adapters: list[CommandAdapter]
) -> None:
    """An unusable answer is quoted with each value in headers, agents and env redacted."""
    way_in = '"headers":{"A":"s3cret"},"agents":{"junior":{"B":"s3cret"}}'
    stdio = '"stdio":{"command":["x"],"env":{"KEY":"s3cret"}}'
    adapter = saying(adapters, ok(f'"url":3,{way_in},{stdio}'))

    with pytest.raises(TargetNotStarted) as error:
        adapter.start(WORLD, PLACES, tmp_path)

    assert "s3cret" not in str(error.value)
    assert str(error.value).count('":"(redacted)"') == 3
    assert '"url":3' in str(error.value)


def test_an_adapter_that_reads_no_more_is_reported_at_once(
    tmp_path: Path, adapters: list[CommandAdapter]
) -> None:
    """A program that closed its input makes `lock` raise AdapterError at once, and is ended."""
    deaf = f"!print({STARTED!r}, flush=True); import os; os.close(0); time.sleep(60)"
    made = saying(adapters, deaf, answer_s=30.0)
    made.start(WORLD, PLACES, tmp_path)
    time.sleep(0.2)

    began = time.monotonic()
    with pytest.raises(AdapterError, match="it closed its standard input before it answered lock"):
        made.lock("user", "forge", ["zorvik_list"])

    assert time.monotonic() - began < 10
    assert made.alive() is False


def test_agents_that_nobody_asked_for_are_not_kept(
    tmp_path: Path, adapters: list[CommandAdapter]
) -> None:
    """Of the agents in an answer to `start`, only those of the world are kept."""
    many = ",".join(f'"a{number}":{{"A":"x"}}' for number in range(1000))
    answer = ok(f'"url":"http://127.0.0.1:9/mcp","agents":{{"junior":{{"A":"b"}},{many}}}')
    adapter = saying(adapters, answer)

    access = adapter.start(WORLD, PLACES, tmp_path)

    assert access.agents == {"junior": {"A": "b"}}


@pytest.mark.parametrize("lasts", [2, 99])
def test_a_machine_that_lacks_something_is_asked_again(
    lasts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A start that fails for lack of resources is tried again, up to four times.

    After that TargetNotStarted is raised, which names the repair.
    """
    real, tried = subprocess.Popen, list[int]()

    def scarce(*words: Any, **options: Any) -> Any:
        """Raise EAGAIN for the first `lasts` calls, then start the program."""
        tried.append(1)
        if len(tried) <= lasts:
            raise OSError(errno.EAGAIN, "Resource temporarily unavailable")
        return real(*words, **options)

    monkeypatch.setattr(process, "PAUSES_S", (0.01, 0.01, 0.01))
    monkeypatch.setattr(subprocess, "Popen", scarce)
    if lasts < 4:
        with process.spawned([sys.executable, "-c", ""], stdin=subprocess.DEVNULL) as child:
            child.communicate(timeout=30)
        assert (len(tried), child.returncode) == (3, 0)
    else:
        with pytest.raises(TargetNotStarted, match="unavailable; free some processes, open"):
            process.spawned([sys.executable], stdin=subprocess.DEVNULL)
        assert len(tried) == 4
