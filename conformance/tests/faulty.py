"""`python faulty.py FAULT… -- serve …`: the reference as a process, with faults of its replies."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from mcp_proxy_conformance.targets.launch import REFERENCE, Launch
from mcp_proxy_reference import __main__ as program
from mcp_proxy_reference.changed import fresh
from mcp_proxy_reference.faults import faults
from mcp_proxy_reference.policy import Policy


def with_faults(*names: str) -> Launch:
    """How to start it, in the place of the reference as it is."""
    return replace(REFERENCE, command=(sys.executable, __file__, *names, "--"), host=())


def main(arguments: Sequence[str]) -> None:
    """Serve with every fault that is named before `--`."""
    at = arguments.index("--")
    chosen = [one for one in faults() if one.id in arguments[:at]]
    replies = [fresh(one.change)["reply"] for one in chosen]

    async def reply(agent: Any, session: Any, message: Any, respond: Any) -> Any:
        for one in replies:
            respond = partial(one, agent, session, message, respond)
        return await respond()

    program.__dict__["Policy"] = lambda: replace(Policy(), reply=reply)
    program.main(arguments[at + 1 :])


if __name__ == "__main__":
    main(sys.argv[1:])
