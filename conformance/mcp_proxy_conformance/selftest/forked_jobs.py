"""Runner of jobs in forked processes, several at once with a time limit; yields each outcome."""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

Job = TypeVar("Job")
Done = TypeVar("Done")
EVERY_S = 0.01
GRACE_S = 10.0
INTERRUPTING = (signal.SIGINT, signal.SIGTERM)
"""Signals ignored while jobs are ended: a second one must not leave processes behind."""


@dataclass(frozen=True, slots=True)
class JobOutcome(Generic[Job, Done]):
    """A finished job: its value, or None and the reason of its failure; duration in seconds."""

    job: Job
    value: Done | None
    failure: str
    seconds: float


def forked(
    work: Callable[[Job], Done],
    jobs: Sequence[Job],
    folder: Path,
    *,
    at_once: int = 2,
    limit_s: float = 120.0,
) -> Iterator[JobOutcome[Job, Done]]:
    """Run `work` on each job in a forked process, `at_once` at a time; yield outcomes as they end.

    A job that raises or takes longer than `limit_s` has an outcome with the reason; nothing is
    raised. Output and results stay in a folder `job-N` each in `folder`. The caller must run no
    thread, since a fork copies only its own; if it stops iterating, running jobs get SIGTERM,
    then SIGKILL after 10 s.
    """
    gc.collect()
    gc.freeze()
    waiting = list(enumerate(jobs))
    running: dict[int, tuple[Job, Path, float]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                number, job = waiting.pop(0)
                place = folder / f"job-{number}"
                with _unheard():
                    running[_start(work, job, place)] = (job, place, time.monotonic())
            for pid in list(running):
                job, place, began = running[pid]
                ended, status = os.waitpid(pid, os.WNOHANG)
                seconds = time.monotonic() - began
                if not ended and seconds < limit_s:
                    continue
                _end([pid], running=not ended)
                del running[pid]
                yield _outcome(
                    job, place, seconds, code=os.waitstatus_to_exitcode(status) if ended else None
                )
            time.sleep(EVERY_S)
    finally:
        before = {number: signal.signal(number, signal.SIG_IGN) for number in INTERRUPTING}
        _end(list(running), running=True)
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _unheard() -> Iterator[None]:
    """Block SIGINT and SIGTERM in this thread during the block, so that none arrives in a fork."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start(work: Callable[[Job], Done], job: Job, place: Path) -> int:
    """Fork a process, in a process group of its own, that runs `work(job)`; return its process id.

    It leaves in the folder `place` its `output`, and either `value`, pickled, or `failure`, a
    traceback.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPTING)
        os.setpgid(0, 0)
        place.mkdir(parents=True, exist_ok=True)
        with (place / "output").open("wb") as output:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
        value = pickle.dumps(work(job))
        (place / "value").write_bytes(value)
        code = 0
    except BaseException:  # noqa: BLE001 - nothing of the parent may run in the child
        (place / "failure").write_text(traceback.format_exc(), encoding="utf-8")
    finally:
        os._exit(code)


def _outcome(job: Job, place: Path, seconds: float, *, code: int | None) -> JobOutcome[Job, Done]:
    """Return the outcome of a job by the files that its process left in the folder `place`.

    `code` is its exit code, None if it was ended for taking too long. The reason of a failure
    is the last line of its traceback, or names the exit code if it left none.
    """
    if code is None:
        return JobOutcome(job, None, f"it did not end within {seconds:.0f} s", seconds)
    if (place / "value").exists():
        return JobOutcome(job, pickle.loads((place / "value").read_bytes()), "", seconds)  # noqa: S301 - our own
    failure = place / "failure"
    text = (
        failure.read_text(encoding="utf-8")
        if failure.exists()
        else f"its process ended with the code {code}"
    )
    return JobOutcome(job, None, text.strip().rpartition("\n")[2], seconds)


def _end(pids: Sequence[int], *, running: bool) -> None:
    """End the jobs with these process ids and kill their process groups.

    Those still `running` get SIGTERM and up to 10 s first, to end their targets themselves, and
    are waited for.
    """
    left = set(pids) if running else set()
    for pid in left:
        os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + GRACE_S
    while left and time.monotonic() < deadline:
        left -= {pid for pid in left if os.waitpid(pid, os.WNOHANG)[0]}
        time.sleep(EVERY_S)
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
    for pid in left:
        os.waitpid(pid, 0)
