"""`FEATURELESS`, the reference without locked-tool discovery: a baseline to compare bytes with."""

from mcp_proxy_mutants.discovery.changed import Changed

FEATURELESS = Changed(
    id="without-the-feature",
    text="Locked tools are left out and never mentioned; the flag is an unknown argument.",
    change={
        "flag": lambda _arguments: False,
        "flag_schema": None,
        "description": lambda _endpoint: "",
        "sections": lambda _entries, _remediation: {},
        "note": lambda _flag, _callables, _locked: None,
        "counts": lambda _tools: None,
        "opted_in": lambda _flagged: 0,
    },
)
