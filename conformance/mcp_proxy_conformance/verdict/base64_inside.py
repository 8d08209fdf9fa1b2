"""How bytes look inside of a longer text in base64, wherever in it they begin."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Iterator

BITS_OF_A_BYTE, BITS_OF_A_LETTER = 8, 6


def in_base64(raw: bytes, encode: Callable[[bytes], bytes] = base64.b64encode) -> Iterator[str]:
    """The letters that stand for these bytes whatever stands before and behind them."""
    for before in range(3):
        letters = encode(bytes(before) + raw).decode()
        first = math.ceil(before * BITS_OF_A_BYTE / BITS_OF_A_LETTER)
        yield letters[first : (before + len(raw)) * BITS_OF_A_BYTE // BITS_OF_A_LETTER]
