"""Amounts as arguments of the benchmarks: whole numbers above 0."""

from __future__ import annotations

import argparse


def positive(text: str) -> int:
    """Parse a whole number above 0, as argparse's `type`; raises ArgumentTypeError."""
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return int(text)
