"""`LoaderProgram`: loads of the reference, broken answers, hangs, memory, slow starts."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mcp_proxy_conformance.resilience import loader as loader_module
from mcp_proxy_conformance.resilience.loader import Loaded, LoaderProgram
from mcp_proxy_conformance.targets.target import AdapterError
from mcp_proxy_conformance.wire.held_answers import Held

REFERENCE = (sys.executable, "-m", "mcp_proxy_reference.load")
NOWHERE = {"server_id": "alpha", "command": "/nowhere/at/all"}


def load(loader: LoaderProgram, deadline_s: float = 20.0) -> Loaded:
    """Load one server, whose command does not exist, with at most two attempts.

    Return the load, which is broken off after `deadline_s` seconds.
    """
    return loader.load([NOWHERE], max_attempts=2, base_backoff_s=0.01, deadline_s=deadline_s)


def test_the_references_own_loader_answers(tmp_path: Path) -> None:
    """The reference's loader answers two loads of a missing command with `permanent`.

    It has an error and a warning. A server that was not asked for has no outcome.
    """
    loader = LoaderProgram(REFERENCE, tmp_path)

    loads = [load(loader), load(loader)]
    loader.stop()

    outcomes = [loaded.outcome("alpha") for loaded in loads]
    assert [result.status if result else None for result in outcomes] == ["permanent", "permanent"]
    assert [bool(result.error) for result in outcomes if result] == [True, True]
    assert loads[0].answer.warnings["permanent"] != ()
    assert loads[0].outcome("beta") is None


def python(code: str) -> tuple[str, ...]:
    """Return the command of a loader that reads one line, as `line`, and then runs this code."""
    return (sys.executable, "-c", f"import sys, time; line = sys.stdin.readline(); {code}")


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("print('hello')", "its answer is 'hello'"),
        ("print('{}')", "Object missing required field `id`"),
        ('print(\'{"id": 9, "ok": {"outcomes": []}}\')', "its answer to load 1 is"),
        ("print('{\"id\": 1}')", "exactly one of ok and error"),
        ('print(\'{"id": 1, "ok": {"outcomes": 5}}\')', "Expected `array`, got `int`"),
        ('print(\'{"id": 1, "ok": {"outcomes": [{}]}}\')', "missing required field `server_id`"),
        ("print('[' * 40_000)", "the loader broke"),
        ("print('[' * 100_000)", "its answer has 100001 values; send at most 50000"),
    ],
)
def test_a_line_that_is_not_an_answer_is_an_adapter_error(
    tmp_path: Path, code: str, sentence: str
) -> None:
    """A loader that prints a line that is not an answer raises AdapterError with what is wrong.

    `code` is what the loader runs once it has read the request.
    """
    loader = LoaderProgram(python(code), tmp_path)

    with pytest.raises(AdapterError) as caught:
        load(loader)
    loader.stop()

    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ('print(\'{"id": 1, "error": "no"}\')', "it answered the load with an error: no"),
        ("sys.exit(7)", "ended with exit code 7"),
        ("import os; os.close(1); time.sleep(30)", "closed its standard output"),
        ("sys.exit('out of memory')", "out of memory"),
    ],
)
def test_a_load_that_breaks_off_is_no_error_of_the_suite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, sentence: str
) -> None:
    """If a loader ends, or answers with an error, the load has the reason in `broke`.

    In a load without servers the same raises AdapterError.
    """
    loader = LoaderProgram(python(code), tmp_path)
    monkeypatch.setattr(loader, "_starts", False)

    loaded = load(loader)
    loader.stop()

    assert (loaded.is_answered, loaded.hung, sentence in loaded.broke) == (False, False, True)
    other = LoaderProgram(python(code), tmp_path)
    with pytest.raises(AdapterError, match="the loader broke"):
        other.load([], max_attempts=1, base_backoff_s=0.01, deadline_s=5.0)
    other.stop()


def test_large_answers_of_a_loader_are_counted_together(tmp_path: Path) -> None:
    """Answers that the loads of two programs keep raise AdapterError at 64 MiB in all.

    That is after 30 to 40 answers of 0.9 million characters.
    """
    code = (
        'text = \'x\' * 900_000; [print(\'{"id": %d, "ok": {"outcomes": [{"server_id":'
        ' "%s"}]}}\' % (n, text), flush=True) or sys.stdin.readline() for n in range(1, 99)]'
    )
    held = Held()
    programs = [LoaderProgram(python(code), tmp_path / name, held) for name in ("a", "b")]
    kept: list[Loaded] = []

    with pytest.raises(AdapterError, match="answers that take at most 64 MiB of memory in all"):
        kept.extend(load(programs[number % 2]) for number in range(60))

    for program in programs:
        program.stop(0.0)
    assert 30 < len(kept) < 40


def test_a_loader_that_does_not_start_is_reported(tmp_path: Path) -> None:
    """A loader's command that does not exist raises AdapterError, which names it."""
    with pytest.raises(AdapterError, match="/nowhere/loader"):
        load(LoaderProgram(("/nowhere/loader",), tmp_path))


def test_a_hang_is_no_error_of_the_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A silent loader gives two loads that are `hung`; the first takes less than five seconds."""
    monkeypatch.setattr(loader_module, "FIRST_S", 0.3)
    loader = LoaderProgram(python("time.sleep(60)"), tmp_path)

    first, second = load(loader, 0.3), load(loader, 0.3)
    loader.stop()

    assert [first.hung, second.hung] == [True, True]
    assert first.seconds < 5


def test_the_start_of_a_program_is_in_no_load(tmp_path: Path) -> None:
    """A program that takes 1.5 s to start does not exceed the first load's deadline of 1 s."""
    answer = 'print(\'{"id": %d, "ok": {"outcomes": []}}\', flush=True)'
    code = f"time.sleep(1.5); {answer % 1}; sys.stdin.readline(); {answer % 2}"
    loader = LoaderProgram(python(code), tmp_path)

    first = load(loader, 1.0)
    loader.stop()

    assert (first.hung, first.seconds < 1) == (False, True)
