"""Loaders of many MCP servers: provoked faults, reported outcomes, and the clauses they break."""
