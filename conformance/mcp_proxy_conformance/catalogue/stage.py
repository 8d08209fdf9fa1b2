"""Stages: named, hand-written worlds that checks share, and the decorator that chooses one."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeVar, cast

import msgspec

from mcp_proxy_conformance.catalogue.specification import data_files
from mcp_proxy_conformance.catalogue.world import World

Check = TypeVar("Check", bound=Callable[..., object])


class BadStage(ValueError):
    """A stage file that cannot be read; the message names the file, the place and the repair."""


@cache
def stage(name: str) -> World:
    """Return the stage of that name from fixtures/discovery/stages, read once.

    Raises BadStage if there is none, or it does not fit the schema.
    """
    files = {path.stem: path for path in data_files("stages/*.json")}
    if (path := files.get(name)) is None:
        raise BadStage(f"there is no stage {name!r}; known stages: {', '.join(sorted(files))}")
    try:
        return msgspec.json.decode(path.read_bytes(), type=World)
    except msgspec.ValidationError as error:
        raise BadStage(f"{path.name}: {error}; see schemas/stage.schema.json") from None


def on(
    world: World, *, fresh: bool = False, needs: tuple[str, ...] = (), long: bool = False
) -> Callable[[Check], Check]:
    """Return a decorator that gives a check its world, on a shared or a `fresh` target.

    A world without an id is always fresh. On a target without the capabilities `needs` the check is
    not applicable. `long`: it takes many seconds, so that a run may begin it before other checks.
    """
    import pytest  # noqa: PLC0415 - checks alone are marked; readers of stages go without

    mark = pytest.mark.on(world, fresh=fresh or not world.id, needs=needs, long=long)
    return cast("Callable[[Check], Check]", mark)
