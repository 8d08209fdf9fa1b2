"""Many servers of mixed faults in one load, hundreds, repeatedly: time, memory, outcomes.

`python many_servers.py --servers 200 --rounds 5` has the reference's own loader load them, after
one load that does not count, and prints one line of JSON. It ends with 1 when a server gets in each
round an outcome that the source text does not allow, a load does not end in time, or this process,
which plays the servers, has grown by more than 20 MB. Faults of only some rounds are printed, too.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from itertools import cycle, islice
from pathlib import Path

from amounts import positive

from mcp_proxy_conformance.resilience.blame import blamed
from mcp_proxy_conformance.resilience.load_case import Behaviour, GivenLoad, LoadCase, LoadServer
from mcp_proxy_conformance.resilience.loader import LoaderProgram
from mcp_proxy_conformance.resilience.loads import Load, Loads
from mcp_proxy_conformance.resilience.scenarios import expected, is_waited_for, script_of, space
from mcp_proxy_conformance.resilience.walk import Reads

COMMAND = (sys.executable, "-m", "mcp_proxy_reference.load")
MOST_BYTES, MOST_S, ATTEMPTS = 20 << 20, 60.0, 2
SHORT_S, LONG_S = 1.0, 10.0
"""Timeouts of servers that never answer, and of those that are late when so many answer at once."""


def mixed(count: int) -> LoadCase:
    """Return a load of `count` servers whose scripts cycle through all events of the space but one.

    A script has two answers in turn, or one fault of the whole connection; two attempts are
    allowed. It is loaded once.
    """
    events = [script_of({"event": name})[0] for name in space().values["event"]]
    played = [event for event in events if event.do not in ("slow", "refuses", "exits")]
    exchanges = [event for event in played if not is_alone(event)]
    pairs = list(zip(exchanges, [*exchanges[1:], exchanges[0]], strict=True))
    scripts = [*pairs, *((event,) for event in played if is_alone(event))]
    servers = [
        LoadServer(
            server_id=f"s{number}",
            tools=("tool",),
            timeout_s=SHORT_S if any(map(is_waited_for, script)) else LONG_S,
            script=script,
        )
        for number, script in enumerate(islice(cycle(scripts[::-1]), count))
    ]
    return LoadCase(
        id="mixed", area="benchmark", title="Many servers.", source=(), clauses=(),
        given=GivenLoad(max_attempts=ATTEMPTS, servers=tuple(servers), controls=False),
        then={server.server_id: expected(server, ATTEMPTS, Reads()) for server in servers},
    )  # fmt: skip


def is_alone(event: Behaviour) -> bool:
    """Whether the event is the only one of its server: of the whole connection, or a greeting."""
    return event.is_of_connection or event.do == "banner"


def wrong(load: Load) -> dict[str, str]:
    """Return {server: description} for each whose outcome is missing or not allowed."""
    faults = {}
    for server in load.case.given.servers:
        outcome = load.loaded.outcome(server.server_id)
        attempts = load.attempts[server.server_id]
        if outcome is None or blamed(server, ATTEMPTS, outcome.status, attempts, Reads()):
            faults[server.server_id] = f"{server.script[0].do}: {outcome}, {attempts} attempts seen"
    return faults


def peak() -> int:
    """Return the peak memory of this process so far, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def main() -> int:
    """Load the servers in rounds and print the figures; return the exit code.

    It is 1 if a server is wrong in each round, memory grew too much, or a load took over 60 s.
    """
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--servers", type=positive, default=200)
    parser.add_argument("--rounds", type=positive, default=5)
    options = parser.parse_args()
    case, seconds, rounds, begun = mixed(options.servers), [], [], 0
    statuses: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        loads = Loads(partial(LoaderProgram, COMMAND), Path(folder))
        for number in range(options.rounds + 1):
            began = time.monotonic()
            load = loads.anew(case)
            if number == 0:
                begun = peak()
                continue
            seconds.append(round(time.monotonic() - began, 2))
            rounds.append(wrong(load))
            statuses.update(str(outcome.status) for outcome in load.loaded.answer.outcomes)
        loads.close()
    grown = peak() - begun
    ever = {name: text for round_faults in rounds for name, text in round_faults.items()}
    faults = {
        name: text
        for name, text in ever.items()
        if all(name in round_faults for round_faults in rounds)
    }
    figures = {
        "servers": options.servers,
        "seconds": seconds,
        "grown_mb": round(grown / (1 << 20), 1),
        "statuses": dict(statuses),
        "wrong": faults,
        "wrong_at_times": {name: text for name, text in ever.items() if name not in faults},
    }
    print(json.dumps(figures))
    return int(bool(faults) or grown > MOST_BYTES or max(seconds, default=0.0) > MOST_S)


if __name__ == "__main__":
    sys.exit(main())
