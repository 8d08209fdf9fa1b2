"""The checks of a live endpoint, for a run of them or for a test file that imports them all."""
