"""Amounts as arguments of the benchmarks: `positive` parses a whole number above 0."""

from __future__ import annotations

import argparse


def positive(text: str) -> int:
    """Parse a whole number above 0, in ASCII digits, as argparse's `type`.

    Raises ArgumentTypeError for any other text.
    """
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return int(text)
