"""Parts of trials that take a run each: the one that an environment variable names, or all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

from mcp_proxy_conformance.run.collection import shard_of

T = TypeVar("T")


def part_of(variable: str, trials: Sequence[T]) -> Sequence[T]:
    """Return the part of the trials that a variable names, such as 1/8; all if it is not set."""
    part = shard_of(os.environ.get(variable, "1/1"))
    return trials[part.number - 1 :: part.of]
