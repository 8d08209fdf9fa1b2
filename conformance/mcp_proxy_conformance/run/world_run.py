"""One run of the discovery checks with laws: worlds are generated when a check asks for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from mcp_proxy_conformance.catalogue.case import Case
from mcp_proxy_conformance.catalogue.world import World
from mcp_proxy_conformance.run.collected import Place
from mcp_proxy_conformance.run.judging import Ending, attempt
from mcp_proxy_conformance.run.session import Run
from mcp_proxy_conformance.verdict.comparison import Comparison

if TYPE_CHECKING:
    from mcp_proxy_conformance.discovery.laws.trying import Laws

GENERATED = World(servers=(), id="generated worlds")
FEW = 3


class LawBench:
    """What a check of a law is given."""

    def __init__(self, laws: Laws) -> None:
        """Made by the run."""
        self._laws = laws

    def law(self, name: str) -> Comparison:
        """The findings of the smallest world that breaks that law, and what all worlds showed."""
        return self._laws.compared(name)


@dataclass(slots=True, kw_only=True)
class WorldRun(Run):
    """A run that can generate worlds.

    `examples`: how many, None by the target's speed; `seed`: from what; `again`: whether what
    breaks a law is to be seen again; `own`: the one case that is to be tried, and its stage.
    """

    examples: int | None = None
    seed: int = 0
    again: bool = True
    own: tuple[Case, World] | None = None
    _few: bool = False
    _laws: Laws | None = field(default=None)

    @property
    def laws(self) -> Laws:
        """The generated worlds of this run, made when first asked for."""
        if self._laws is None:
            # hypothesis takes a third of a second to import, and only laws need it
            from mcp_proxy_conformance.discovery.laws.trying import Asked, Laws  # noqa: PLC0415

            asked = Asked(examples=self.examples, seed=self.seed, again=self.again, apart=self._few)
            self._laws = Laws(self.target, self.scratch, self.out, asked)
        return self._laws

    def plan(self, places: list[Place]) -> None:
        """What checks need that are not of laws; a few laws are looked at each by itself."""
        self._few = sum(one.name == GENERATED.id for one in places) <= FEW
        Run.plan(self, [one for one in places if one.name != GENERATED.id])

    def bench(self, place: Place) -> Any:
        """For checks of laws the generated worlds, for others a started target."""
        return LawBench(self.laws) if place.name == GENERATED.id else Run.bench(self, place)

    def judged(self, call: Callable[[Any], Any], bench: Any, place: Place) -> Ending:
        """A breach of a law was seen again before it was told."""
        if place.name != GENERATED.id:
            return Run.judged(self, call, bench, place)
        return attempt(partial(call, bench))

    def done_with(self, place: Place) -> None:
        """Worlds end with what was played on them."""
        if place.name != GENERATED.id:
            Run.done_with(self, place)

    def _more_evidence(self, place: Place, ending: Ending) -> tuple[str, ...]:
        """What the verdict of a law rests on, so that it can be had again."""
        del ending
        if place.name != GENERATED.id or self._laws is None:
            return ()
        return (*self._laws.evidence, *self._laws.basis)

    def close(self) -> None:
        """End every target."""
        if self._laws is not None:
            self._laws.close()
        Run.close(self)
