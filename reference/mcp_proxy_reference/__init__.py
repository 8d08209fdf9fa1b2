"""A small MCP tool proxy whose locked tools agents can discover: the reference."""
