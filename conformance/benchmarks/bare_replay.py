"""A whole discovery run on the reference beside a bare replay of the requests that it sent.

`python bare_replay.py --rounds 5` runs the profile once to record it: each world that was started,
and all that was posted to it, the requests of arming included. Then, in turn: the command
`mcp-proxy-conformance run --profile discovery`, and the same worlds started one after another and
sent the same bytes by the standard library's HTTP client, which reads the answers and throws them
away. It prints one line of JSON, with seconds as medians; a run that is not conformant ends it.
Operator actions are not replayed, nor what went over standard streams.
"""

from __future__ import annotations

import argparse
import http.client
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from amounts import positive

from mcp_proxy_conformance.catalogue.world import World
from mcp_proxy_conformance.discovery.targets.adapter import ProxyTarget
from mcp_proxy_conformance.discovery.targets.kinds import target_of
from mcp_proxy_conformance.discovery.targets.started import Started
from mcp_proxy_conformance.run.invocation import invoke, prepare
from mcp_proxy_conformance.selftest.trial import trial
from mcp_proxy_conformance.targets.description import describe
from mcp_proxy_conformance.wire.transcript import Message

SESSION, AUTHORIZATION, ADMIN = "mcp-session-id", "authorization", ""
COMMAND = (sys.executable, "-m", "mcp_proxy_conformance", "run", "--profile", "discovery")


@dataclass(slots=True)
class Recorded:
    """Record of a started world: who holds which credential, posted messages, session ids."""

    world: World
    holders: dict[str, str]
    requests: list[Message]
    sessions: list[str]


@dataclass(slots=True)
class Replayed:
    """Totals of a replay: seconds of starting and ending, seconds of requests, HTTP statuses."""

    starts_s: float = 0.0
    requests_s: float = 0.0
    statuses: Counter[int] = field(default_factory=Counter)


def reference() -> ProxyTarget:
    """Return the bundled reference as a target, as a run of the command line starts it."""
    return target_of(describe(kind="reference", file=None, given={}, environment={}))


def recorded(scratch: Path) -> list[Recorded]:
    """Run the profile once, in this process; return a record of each world that got requests.

    They are in the order in which their targets were closed.
    """
    records: list[Recorded] = []
    with _recording_on_close(records):
        prepare(scratch / "out")
        invoke(replace(trial(reference(), confirm=True), out=scratch / "out"), silent=True)
    return [record for record in records if record.requests]


@contextmanager
def _recording_on_close(records: list[Recorded]) -> Iterator[None]:
    """Have `Started.close` append a record of each target that is closed during the block."""
    end = Started.close

    def close(started: Started) -> None:
        """Append a record of the target, then close it as usual."""
        records.append(_record(started))
        end(started)

    Started.close = close  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        Started.close = end  # type: ignore[method-assign]


def _record(started: Started) -> Recorded:
    """Return a target's world, holders by credential, HTTP requests, and issued session ids."""
    messages = [message for message in started.transcript.since(0) if message.edge == "client"]
    holders = {value: name for name, value in _credentials(started).items()}
    issued = (
        next((value for key, value in message.headers if key.lower() == SESSION), "")
        for message in messages
        if message.direction == "received"
    )
    return Recorded(
        world=started.world,
        holders=holders,
        requests=[
            message
            for message in messages
            if message.direction == "sent" and message.peer.startswith("http")
        ],
        sessions=[session for session in issued if session],
    )


def _credentials(started: Started) -> dict[str, str]:
    """Map each agent's name, and "" for the administrator, to its Authorization header.

    Those without one are left out.
    """
    sets = {ADMIN: started.access.headers, **started.access.agents}
    return {
        name: value
        for name, headers in sets.items()
        for header, value in headers.items()
        if header.lower() == AUTHORIZATION
    }


def replayed(records: list[Recorded], target: ProxyTarget, scratch: Path) -> Replayed:
    """Start each recorded world, send it the recorded requests, and end it; return the totals.

    Starting and ending count apart from requests.
    """
    totals = Replayed()
    for record in records:
        began = time.monotonic()
        started = Started(target, record.world, scratch)
        ready = time.monotonic()
        totals.statuses.update(_sent(record, started))
        done = time.monotonic()
        started.close()
        totals.starts_s += ready - began + time.monotonic() - done
        totals.requests_s += done - ready
    return totals


def _sent(record: Recorded, started: Started) -> Iterator[int]:
    """Send the requests again, in order over one connection, and yield the status of each answer.

    Credentials and session ids are replaced by those of this target.
    """
    place = urlsplit(started.access.url)
    credentials, sessions = _credentials(started), iter(record.sessions)
    known: dict[str, str] = {}
    with closing(http.client.HTTPConnection(place.netloc)) as connection:
        for message in record.requests:
            headers = {name: value for name, value in message.headers if name.lower() != "host"}
            for name, value in headers.items():
                if name.lower() == AUTHORIZATION:
                    headers[name] = credentials.get(record.holders.get(value, value), value)
                elif name.lower() == SESSION:
                    headers[name] = known.get(value, value)
            method = message.note.partition(" ")[0]
            connection.request(method, urlsplit(message.peer).path, message.raw, headers)
            answer = connection.getresponse()
            answer.read()
            if session := answer.getheader(SESSION):
                known[next(sessions)] = session
            yield answer.status


def run_once(out: Path) -> float:
    """Run the profile by the command line; return its seconds, its start included.

    Raises:
        subprocess.CalledProcessError: It was not conformant.
    """
    began = time.monotonic()
    command = [*COMMAND, "--out", str(out)]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - our own command
    return time.monotonic() - began


def main() -> None:
    """Record a run, measure runs and replays in turn, and print the medians as a line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--rounds", type=positive, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        records = recorded(scratch)
        runs, replays = [], []
        for _ in range(options.rounds):
            runs.append(run_once(scratch / "run"))
            target = reference()
            replays.append(replayed(records, target, scratch / "replay"))
            target.close()
    run_s = statistics.median(runs)
    requests_s = statistics.median(replay.requests_s for replay in replays)
    starts_s = statistics.median(replay.starts_s for replay in replays)
    figures = {
        "worlds": len(records),
        "requests": sum(len(record.requests) for record in records),
        "run_s": round(run_s, 2),
        "replay_s": round(requests_s, 2),
        "starts_s": round(starts_s, 2),
        "run_to_replay_with_starts": round(run_s / (requests_s + starts_s), 2),
        "statuses": {str(k): n for k, n in sorted(replays[-1].statuses.items())},
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
