"""`python -m mcp_proxy_conformance` is the command line."""

from mcp_proxy_conformance.cli import main

main()
