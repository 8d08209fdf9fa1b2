"""Numbers that a benchmark is given."""

from __future__ import annotations

import argparse


def positive(told: str) -> int:
    """A whole number above 0; raises argparse.ArgumentTypeError."""
    if not (told.isascii() and told.isdecimal() and int(told) > 0):
        raise argparse.ArgumentTypeError(f"{told!r} is no whole number above 0")
    return int(told)
