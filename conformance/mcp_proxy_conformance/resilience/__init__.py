"""Package that judges loaders: loads of faulty MCP servers, reported outcomes, laws of loads."""
