"""Relay variant with two upstreams: only tools whose names collide get another name."""

import json
from collections import Counter
from collections.abc import Sequence

from mcp_proxy_mutants.fidelity.mutant import relay_variant
from mcp_proxy_mutants.fidelity.mutants.several import several_by
from mcp_relay_reference import message
from mcp_relay_reference.several import Several, Tool


class _ByCollision(Several):
    """Only tools whose name several upstreams have get another one."""

    def merged(self, tools: Sequence[Tool]) -> list[str]:
        """Keep names that one upstream has; put the number of the upstream after others."""
        times = Counter(tool["name"] for _, tool in tools)
        self.owners, texts = dict[str, tuple[int, str]](), []
        for number, tool in tools:
            own = json.loads(tool["name"])
            name = own if times[tool["name"]] == 1 else f"{own}.{number}"
            self.owners[name] = number, own
            texts.append(message.text_of(tool | {"name": json.dumps(name)}))
        return texts

    def routed(self, name: str) -> tuple[int, str]:
        """Return whose tool that is, -1 for an unknown one."""
        return self.owners.get(name, (-1, name))


VARIANTS = (
    relay_variant(
        "relay-renames-upon-collision",
        "A tool has another name than the upstream's only if two have that name.",
        "relay-colliding-names",
        remote=several_by(_ByCollision),
    ),
)
