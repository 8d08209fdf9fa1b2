"""Checks of the discovery profile, one module per area."""
