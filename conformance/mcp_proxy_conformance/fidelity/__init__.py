"""Fidelity: what a relay of MCP must pass on unchanged, judged against a direct connection."""
