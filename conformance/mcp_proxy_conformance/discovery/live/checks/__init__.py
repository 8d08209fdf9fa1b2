"""Checks of a live endpoint, for a run of the suite or for a test file that imports them all."""
