"""Checks of the discovery profile, one module an area."""
