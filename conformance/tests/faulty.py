"""`python faulty.py MUTANT… -- serve …`: the reference as a process with mutants in its replies."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from mcp_proxy_conformance.discovery.targets.launch import REFERENCE, Launch
from mcp_proxy_conformance.discovery.targets.warm_host_program import host
from mcp_proxy_mutants.discovery.mutants import mutants
from mcp_proxy_mutants.fresh import fresh
from mcp_proxy_reference import __main__ as program
from mcp_proxy_reference.protocol import Protocol

HOST = "host"


def with_faults(*names: str) -> Launch:
    """Return a Launch of the reference with the mutants of these ids, to replace `REFERENCE`.

    It runs this file as a program, or as the host of such programs.
    """
    command = (sys.executable, __file__, *names, "--")
    return replace(REFERENCE, command=command, host=(*command, HOST))


def main(arguments: Sequence[str]) -> None:
    """Run the reference's command line, or its host, with every mutant that is named before `--`.

    Their `reply` decisions are applied one over the other.
    """
    at = arguments.index("--")
    chosen = [mutant for mutant in mutants() if mutant.id in arguments[:at]]
    replies = [fresh(mutant.change)["reply"] for mutant in chosen]

    class Faulty(Protocol):
        """A Protocol that passes each answer through every chosen mutant."""

        async def answer(
            self, agent: Any, endpoint: str, session: str, message: Any, **era: Any
        ) -> Any:
            """Return the usual answer to the message, passed through every chosen mutant."""
            respond = partial(super().answer, agent, endpoint, session, message, **era)
            for reply in replies:
                respond = partial(reply, agent, session, message, respond)
            return await respond()

    program.__dict__["Protocol"] = Faulty
    if arguments[at + 1 :] == [HOST]:
        host()
    else:
        program.main(arguments[at + 1 :])


if __name__ == "__main__":
    main(sys.argv[1:])
