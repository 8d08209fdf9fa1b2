"""An adapter whose target is a hostile one: `python hostile_adapter.py KIND`."""

from __future__ import annotations

import json
import sys

from hostile_kinds import KINDS
from hostile_target import serving


def main(kind: str) -> None:
    """Take every operation, and do none of them."""
    with serving(KINDS[kind]()) as url:
        for line in sys.stdin:
            asked = json.loads(line)
            told = {}
            if asked["op"] == "start":
                agents = {name: {"X-Agent": name} for name in asked["world"]["agents"]}
                told = {"url": url, "agents": agents}
            sys.stdout.write(json.dumps({"id": asked["id"], "ok": told}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
