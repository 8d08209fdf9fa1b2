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
from mcp_proxy_conformance.run.invocation import invoke, prepare
from mcp_proxy_conformance.selftest.trial import trial
from mcp_proxy_conformance.targets.adapter import Target
from mcp_proxy_conformance.targets.description import describe
from mcp_proxy_conformance.targets.kinds import target_of
from mcp_proxy_conformance.targets.started import Started
from mcp_proxy_conformance.wire.transcript import Message

SESSION, AUTHORIZATION, ADMIN = "mcp-session-id", "authorization", ""
COMMAND = (sys.executable, "-m", "mcp_proxy_conformance", "run", "--profile", "discovery")


@dataclass(slots=True)
class Recorded:
    """One started world: who held which credential, what was posted, which sessions were given."""

    world: World
    holders: dict[str, str]
    requests: list[Message]
    sessions: list[str]


@dataclass(slots=True)
class Replayed:
    """What replaying came to: seconds of starting and ending, of asking, and HTTP statuses."""

    starts_s: float = 0.0
    requests_s: float = 0.0
    statuses: Counter[int] = field(default_factory=Counter)


def reference() -> Target:
    """The bundled reference, as a run of the command line starts it."""
    return target_of(describe(kind="reference", file=None, given={}, environment={}))


def recorded(scratch: Path) -> list[Recorded]:
    """The worlds of one run, in the order in which they ended."""
    found: list[Recorded] = []
    with _told_of_the_end(found):
        prepare(scratch / "out")
        invoke(replace(trial(reference(), confirm=True), out=scratch / "out"), silent=True)
    return [one for one in found if one.requests]


@contextmanager
def _told_of_the_end(found: list[Recorded]) -> Iterator[None]:
    """Meanwhile every started target leaves its record when it is ended."""
    end = Started.close

    def close(started: Started) -> None:
        found.append(_record(started))
        end(started)

    Started.close = close  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        Started.close = end  # type: ignore[method-assign]


def _record(started: Started) -> Recorded:
    seen = [one for one in started.transcript.since(0) if one.edge == "client"]
    holders = {value: name for name, value in _credentials(started).items()}
    given = (_header(one, SESSION) for one in seen if one.direction == "received")
    return Recorded(
        world=started.world,
        holders=holders,
        requests=[one for one in seen if one.direction == "sent" and one.peer.startswith("http")],
        sessions=[one for one in given if one],
    )


def _credentials(started: Started) -> dict[str, str]:
    """The value of the Authorization header of each agent, and of the administrator."""
    sets = {ADMIN: started.access.headers, **started.access.agents}
    return {
        name: value
        for name, headers in sets.items()
        for header, value in headers.items()
        if header.lower() == AUTHORIZATION
    }


def _header(message: Message, name: str) -> str:
    return next((value for key, value in message.headers if key.lower() == name), "")


def replayed(records: list[Recorded], target: Target, scratch: Path) -> Replayed:
    """Start each world anew and send it what was recorded."""
    told = Replayed()
    for record in records:
        began = time.monotonic()
        started = Started(target, record.world, scratch)
        ready = time.monotonic()
        told.statuses.update(_sent(record, started))
        done = time.monotonic()
        started.close()
        told.starts_s += ready - began + time.monotonic() - done
        told.requests_s += done - ready
    return told


def _sent(record: Recorded, started: Started) -> Iterator[int]:
    """The statuses of the answers, one after another, over one connection."""
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
            if given := answer.getheader(SESSION):
                known[next(sessions)] = given
            yield answer.status


def run_once(out: Path) -> float:
    """Seconds of the command, its start included.

    Raises:
        subprocess.CalledProcessError: It was not conformant.
    """
    began = time.monotonic()
    command = [*COMMAND, "--out", str(out)]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - our own command
    return time.monotonic() - began


def main() -> None:
    """Record once, then measure in turn, and tell."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--rounds", type=positive, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        records = recorded(scratch)
        runs, replays = [], []
        for _ in range(asked.rounds):
            runs.append(run_once(scratch / "run"))
            target = reference()
            replays.append(replayed(records, target, scratch / "replay"))
            target.close()
    run_s = statistics.median(runs)
    requests_s = statistics.median(one.requests_s for one in replays)
    starts_s = statistics.median(one.starts_s for one in replays)
    figures = {
        "worlds": len(records),
        "requests": sum(len(one.requests) for one in records),
        "run_s": round(run_s, 2),
        "replay_s": round(requests_s, 2),
        "starts_s": round(starts_s, 2),
        "run_to_replay_with_starts": round(run_s / (requests_s + starts_s), 2),
        "statuses": {str(k): n for k, n in sorted(replays[-1].statuses.items())},
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
