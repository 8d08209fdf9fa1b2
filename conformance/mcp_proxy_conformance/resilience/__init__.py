"""Loading many MCP servers: what is provoked, what a loader says of it, and what it owes."""
