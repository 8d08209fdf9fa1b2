"""Checks of relays: each request sent directly and through the relay, and the outcomes compared."""
