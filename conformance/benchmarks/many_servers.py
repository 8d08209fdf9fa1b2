"""Hundreds of servers of mixed faults in one load, over and over: time, memory, outcomes.

`python many_servers.py --servers 200 --rounds 5` has the reference's own loader load them, after
one load that does not count, and prints one line of JSON. It ends with 1 when a server gets in each
round an outcome that the source text does not allow, a load does not end in time, or this process,
which plays the servers, has grown by more than 20 MB. What is wrong in some rounds is told, too.
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

import msgspec
from amounts import positive

from mcp_proxy_conformance.catalogue.load_case import LoadCase, Server
from mcp_proxy_conformance.resilience.blame import blamed
from mcp_proxy_conformance.resilience.laws.worlds import GROUPS, WAITED_FOR, case_of, connections
from mcp_proxy_conformance.resilience.loading import LoaderProgram
from mcp_proxy_conformance.resilience.loads import Load, Loads
from mcp_proxy_conformance.resilience.walk import Reads

COMMAND = (sys.executable, "-m", "mcp_proxy_reference.load")
MOST_BYTES, MOST_S, ATTEMPTS = 20 << 20, 60.0, 2
SHORT_S, LONG_S = 1.0, 10.0
"""Timeouts: what is waited for in vain, and what comes late where so many answer at once."""


def mixed(count: int) -> LoadCase:
    """So many servers, each with the next two behaviours, or one of a whole connection."""
    exchanges = [one for group in GROUPS for one in group if one.do != "slow"]
    pairs = list(zip(exchanges, [*exchanges[1:], exchanges[0]], strict=True))
    scripts = [*pairs, *((one,) for one in connections())]
    servers = [
        Server(
            server_id=f"s{number}",
            tools=("tool",),
            timeout_s=SHORT_S if any(one.do in WAITED_FOR for one in script) else LONG_S,
            script=script,
        )
        for number, script in enumerate(islice(cycle(scripts[::-1]), count))
    ]
    case = case_of(servers, ATTEMPTS, Reads())
    return msgspec.structs.replace(case, area="benchmark", again=None, heals=False)


def wrong(load: Load) -> dict[str, str]:
    """The servers whose outcome is missing, or is not allowed, and what it was."""
    found = {}
    for one in load.case.given.servers:
        outcome = load.loaded.outcome(one.server_id)
        seen = load.seen[one.server_id]
        if outcome is None or blamed(one, ATTEMPTS, outcome.status, seen, Reads()):
            found[one.server_id] = f"{one.script[0].do}: {outcome}, {seen} attempts seen"
    return found


def peak() -> int:
    """The most memory that this process ever had, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def main() -> int:
    """Load, and tell."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--servers", type=positive, default=200)
    parser.add_argument("--rounds", type=positive, default=5)
    asked = parser.parse_args()
    case, seconds, rounds, begun = mixed(asked.servers), [], [], 0
    statuses: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        loads = Loads(partial(LoaderProgram, COMMAND), Path(folder))
        for number in range(asked.rounds + 1):
            began = time.monotonic()
            load = loads.anew(case)
            if number == 0:
                begun = peak()
                continue
            seconds.append(round(time.monotonic() - began, 2))
            rounds.append(wrong(load))
            statuses.update(str(one.status) for one in load.loaded.told.outcomes)
        loads.close()
    grown = peak() - begun
    ever = {name: told for one in rounds for name, told in one.items()}
    faults = {name: told for name, told in ever.items() if all(name in one for one in rounds)}
    figures = {
        "servers": asked.servers,
        "seconds": seconds,
        "grown_mb": round(grown / (1 << 20), 1),
        "statuses": dict(statuses),
        "wrong": faults,
        "wrong_at_times": {name: told for name, told in ever.items() if name not in faults},
    }
    print(json.dumps(figures))
    return int(bool(faults) or grown > MOST_BYTES or max(seconds, default=0.0) > MOST_S)


if __name__ == "__main__":
    sys.exit(main())
