"""`python -m mcp_proxy_reference`."""

import sys

from mcp_proxy_reference.cli import main

if __name__ == "__main__":
    sys.exit(main())
