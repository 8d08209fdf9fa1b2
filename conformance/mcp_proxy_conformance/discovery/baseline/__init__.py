"""Recordings of what a build answers by default, to be compared byte for byte with another's."""
