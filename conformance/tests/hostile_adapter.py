"""`python hostile_adapter.py KIND`: an adapter whose target is hostile in one way."""

from __future__ import annotations

import json
import sys

from hostile_kinds import KINDS
from hostile_target import serving


def main(kind: str) -> None:
    """Serve a hostile target and answer each request of the suite on standard input with `ok`.

    Only `start` does something: it returns the URL; locks are not set.
    """
    with serving(KINDS[kind]()) as url:
        for line in sys.stdin:
            request = json.loads(line)
            answer = {}
            if request["op"] == "start":
                agents = {name: {"X-Agent": name} for name in request["world"]["agents"]}
                answer = {"url": url, "agents": agents}
            sys.stdout.write(json.dumps({"id": request["id"], "ok": answer}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
