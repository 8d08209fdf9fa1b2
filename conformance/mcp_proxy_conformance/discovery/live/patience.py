"""How long to wait for an endpoint that is busy: HTTP 429 and 503, and what they say of it."""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime

BUSY = (429, 503)
"""HTTP statuses after which the same request may be sent again."""
AGAIN = 3
"""So many times, at most."""
PAUSE_S, LONGEST_S = 1.0, 86_400.0


def pause(told: str | None) -> float:
    """The seconds that a Retry-After asks for, as a number or as a date; without one, a second."""
    told = (told or "").strip()
    if told.isascii() and told.isdigit():
        return float(told[:9])
    try:
        wanted = parsedate_to_datetime(told).timestamp() - time.time()
    except (ValueError, OverflowError):
        return PAUSE_S
    return min(max(wanted, 0.0), LONGEST_S)
