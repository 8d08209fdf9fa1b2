"""Checks of relays: each act directly and through the relay, compared."""
