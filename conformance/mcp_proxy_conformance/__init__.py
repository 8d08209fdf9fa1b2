"""Conformance checks for MCP tool proxies, from outside and on the wire."""
