"""A small faithful relay: one upstream MCP server, over HTTP or stdio, for many clients."""
