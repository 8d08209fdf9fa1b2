"""Fidelity: what a relay of MCP must pass on unchanged, judged against the direct way."""
