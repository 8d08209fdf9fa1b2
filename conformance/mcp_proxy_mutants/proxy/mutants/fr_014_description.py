"""Mutants of the flag's description in the discovery tool."""

from mcp_proxy_mutants.proxy.mutant import Mutant, mutant
from mcp_proxy_reference import policy as std

MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "flag-undescribed-at-calls",
        "One of two endpoints describes discovery without the flag.",
        "FR-014.described",
        description=lambda endpoint: (
            ""
            if endpoint == "/mcp/call"
            else "Set include_disabled to true to also list locked tools."
        ),
    ),
    mutant(
        "flag-described-in-camel-case",
        "The description spells the flag includeDisabled.",
        "FR-014.described",
        description=lambda _: "Set includeDisabled to true to also list locked tools.",
    ),
    mutant(
        "flag-undescribed",
        "The discovery tool's own description does not mention the flag.",
        "FR-014.described",
        description=lambda _: "",
    ),
    mutant(
        "undescribed-elsewhere",
        "At one endpoint, the discovery tool's description does not mention the flag.",
        "FR-014.described",
        description=lambda path: std.description(path) if path == "/mcp" else "",
    ),
    mutant(
        "described-unnamed",
        "The description mentions locked tools, but not the flag's name.",
        "FR-014.described",
        description=lambda _: "Locked tools can be listed too, if you ask for them.",
    ),
)
