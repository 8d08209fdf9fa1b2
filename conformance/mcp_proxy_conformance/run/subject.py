"""A subject of a run: a driven proxy, a loader or an endpoint, and how checks reach it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from mcp_proxy_conformance.catalogue.case import OwnCase
from mcp_proxy_conformance.catalogue.requirement import Profile
from mcp_proxy_conformance.run.collection import Place
from mcp_proxy_conformance.run.judgement import Ending, attempt
from mcp_proxy_conformance.targets.adapter import Target
from mcp_proxy_conformance.verdict.cited import CitedMessage, StageTold
from mcp_proxy_conformance.verdict.credentials import credentials
from mcp_proxy_conformance.verdict.outcome import GREEN, Outcome
from mcp_proxy_conformance.verdict.record import beyond, not_declared
from mcp_proxy_conformance.verdict.result import NotApplicable, Result

Check = Callable[[Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """The result of the first probe: why nothing can be checked, and the messages."""

    stopped: Outcome | None = None
    results: tuple[Result, ...] = ()
    messages: Mapping[str, CitedMessage] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rests:
    """The basis of a result: the ending as it is reported, the messages, further lines.

    `cut` are the paths that comparisons left out.
    """

    ending: Ending
    messages: Mapping[str, CitedMessage] = field(default_factory=dict)
    lines: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()


class Subject:
    """Defaults of all subjects, which each subject overrides where it differs."""

    target: Target
    wire = ""
    """The revision of the protocol in use, once known."""
    own_case: OwnCase | None = None
    indivisible = ""
    """Why its checks cannot run in several processes; empty if they can."""
    is_redacted = False
    """Whether pytest's own output of a failure is limited to the redacted reason."""

    def probe(self) -> Probed:
        """Probe whether there is anything to check."""
        raise NotImplementedError

    def plan(self, places: Sequence[Place], *, partial_run: bool) -> None:
        """Prepare the targets of all these checks, in their order; some may not apply."""

    def applicable(self, places: Sequence[Place]) -> Sequence[Place]:
        """Return the places whose checks apply."""
        return [place for place in places if self.lacking(place) is None]

    def count(self, places: Sequence[Place]) -> None:
        """Count the checks of each place: after the last one its target ends."""

    def soon(self, places: Sequence[Place]) -> None:
        """Prepare the targets that the next checks need."""

    def lacking(self, place: Place) -> NotApplicable | None:
        """Return why checks of a place do not apply; None where they do."""
        return self.not_declared(place.needs)

    def beyond(self, profile: Profile) -> Mapping[str, NotApplicable]:
        """Return the clauses that no check judges on this target, and why."""
        return beyond(profile, self.target.capabilities)

    def not_declared(self, needs: Iterable[str]) -> NotApplicable | None:
        """Return the reason for the first undeclared one of these capabilities; None if none."""
        return not_declared(needs, self.target.capabilities)

    def open(self, place: Place) -> Any:
        """Return the bench of a check; raises AdapterError if there is none."""
        raise NotImplementedError

    def judge(self, check: Check, bench: Any, place: Place) -> Ending:
        """Return the ending of a check on that bench; a failure is confirmed."""
        del place
        return attempt(partial(check, bench))

    def rests(self, place: Place, ending: Ending) -> Rests:
        """Return the basis of the check that just ended."""
        del place
        return Rests(ending=ending)

    def stage(self, name: str) -> StageTold | None:
        """Return the current record of the stage that checks of that place use."""
        del name
        return None

    def done_with(self, place: Place) -> None:
        """Count that one check less needs that place."""

    @property
    def stages(self) -> Sequence[StageTold]:
        """Every stage that was started."""
        return ()

    @property
    def credentials(self) -> Sequence[Mapping[str, str]]:
        """Headers that authenticate to the target, besides those of the stages."""
        return ()

    @property
    def secrets(self) -> Sequence[str]:
        """Credentials of environment and command line, which are removed from all output."""
        return tuple(credentials(words=self.target.command))

    @property
    def green(self) -> Outcome:
        """Outcome of a run in which every clause passes or does not apply."""
        return GREEN

    @property
    def unsettled(self) -> str:
        """Why a run with open clauses is incomplete; empty if the names of the clauses suffice."""
        return ""

    @property
    def requests(self) -> int | None:
        """The number of requests sent, where it is counted."""
        return None

    def finish(self) -> None:
        """Do the work that the report must include."""

    def hurry(self) -> None:
        """Begin to end targets started ahead: no further check will run."""

    def close(self) -> None:
        """End every target."""
        self.target.close()
