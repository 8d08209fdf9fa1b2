"""Recordings of a build's default answers, for a byte comparison with another build's."""
