"""Checks of a live endpoint, where nothing can be set up: its answers are compared."""
