"""Base class of a run's subjects (proxy, loader, relay, endpoint), and the result of a probe."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from mcp_proxy_conformance.catalogue.own_case import OwnCase
from mcp_proxy_conformance.catalogue.requirement import Profile
from mcp_proxy_conformance.run.collection import Place
from mcp_proxy_conformance.run.judgement import Ending, attempt
from mcp_proxy_conformance.targets.target import Target
from mcp_proxy_conformance.verdict.cited import CitedMessage, CitedStage
from mcp_proxy_conformance.verdict.coverage import Coverage
from mcp_proxy_conformance.verdict.credentials import credentials
from mcp_proxy_conformance.verdict.outcome import GREEN, Outcome
from mcp_proxy_conformance.verdict.record import beyond, not_declared
from mcp_proxy_conformance.verdict.result import NotApplicable, Result
from mcp_proxy_conformance.wire.conversation import ServerInfo

Check = Callable[[Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """Result of the probe before the first check; `stopped` is why nothing can be checked."""

    stopped: Outcome | None = None
    results: tuple[Result, ...] = ()
    messages: Mapping[str, CitedMessage] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rests:
    """The basis of a result: the ending as it is reported, the messages, further lines of evidence.

    `cut` are the paths of members that comparisons left out.
    """

    ending: Ending
    messages: Mapping[str, CitedMessage] = field(default_factory=dict)
    lines: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()


class Subject:
    """Base of the subjects of a run: the operations that a session calls, with defaults."""

    target: Target
    wire = ""
    """The revision of the protocol in use, once known."""
    server: ServerInfo = ServerInfo()
    """The name and version that the target gives of itself, once known."""
    own_cases: Sequence[OwnCase] = ()
    scenarios: Sequence[OwnCase] = ()
    """The scenarios that are played with this target, in place of the committed ones."""
    remarks: Sequence[str] = ()
    """Sentences about what is judged, for the user to read before the first check."""
    broken = ""
    """Why nothing can be judged, if that was found out when it was made."""
    indivisible = ""
    """Why its checks cannot run in several processes; empty if they can."""
    reuses = False
    """Whether a fresh world may be a stage that has served others, so that it comes after them."""
    is_redacted = False
    """Whether pytest's own output of a failure is limited to the redacted reason."""

    def probe(self) -> Probed:
        """Find out, before the first check, whether the target can be checked."""
        raise NotImplementedError

    def plan(self, places: Sequence[Place], *, partial_run: bool) -> None:
        """Start ahead the targets of these places, in the order of their checks; here nothing.

        `partial_run`: whether only some checks of the profile are run.
        """

    def is_early(self, place: Place) -> bool:
        """Whether a place's check may run in a thread beside others: begun first, judged last.

        Here none.
        """
        del place
        return False

    def begin(self, checks: Sequence[tuple[Place, Check]]) -> None:
        """Begin the checks of early places (see `is_early`); `judge` returns their endings.

        Here nothing.
        """

    def applicable(self, places: Sequence[Place]) -> Sequence[Place]:
        """Return the places that lack no capability or option, in their order."""
        return [place for place in places if self.lacking(place) is None]

    def count(self, places: Sequence[Place]) -> None:
        """Note how many checks use each place; `places` has one item per check.

        The target of a place ends after its last check. Here nothing.
        """

    def soon(self, places: Sequence[Place]) -> None:
        """Start the targets of these places, which the next checks need; here nothing."""

    def lacking(self, place: Place) -> NotApplicable | None:
        """Return why the checks of a place do not apply; None if they do."""
        return self.not_declared(place.needs)

    def beyond(self, profile: Profile) -> Mapping[str, NotApplicable]:
        """Map each clause of the profile that no check judges on this target to the reason."""
        return beyond(profile, self.target.capabilities)

    def not_declared(self, needs: Iterable[str]) -> NotApplicable | None:
        """Return a NotApplicable for the first of `needs` that is not declared; else None."""
        return not_declared(needs, self.target.capabilities)

    def open(self, place: Place) -> Any:
        """Return the bench by which a check reaches the target; start the target if needed.

        Raises AdapterError if it does not start, and whatever its preparation raised.
        """
        raise NotImplementedError

    def judge(self, check: Check, bench: Any, place: Place) -> Ending:
        """Call `check(bench)` once and return how it ended; subclasses confirm failures."""
        del place
        return attempt(partial(check, bench))

    def rests(self, place: Place, ending: Ending, cited: Collection[str]) -> Rests:
        """Return the ending with the basis of a check's result; here no messages and no lines.

        `cited` are the ids of the messages that its findings were read from.
        """
        del place, cited
        return Rests(ending=ending)

    def stage(self, name: str) -> CitedStage | None:
        """Return the record of the stage now in use at the place of that name; here None."""
        del name
        return None

    def done_with(self, place: Place) -> None:
        """Take note that a check of that place has ended; here nothing."""

    @property
    def stages(self) -> Sequence[CitedStage]:
        """The records of all started stages; by default none."""
        return ()

    @property
    def credentials(self) -> Sequence[Mapping[str, str]]:
        """Headers that authenticate to the target, besides those of the stages; by default none."""
        return ()

    @property
    def secrets(self) -> Sequence[str]:
        """Credentials in the environment and in the command line, to be redacted in all output."""
        return tuple(credentials(words=self.target.command))

    @property
    def green(self) -> Outcome:
        """Outcome of a run in which no clause is broken or open."""
        return GREEN

    @property
    def unsettled(self) -> str:
        """Why a run with open clauses is incomplete; empty if naming the clauses is enough."""
        return ""

    @property
    def requests(self) -> int | None:
        """The number of requests sent; None if it is not counted."""
        return None

    def coverage(self) -> Coverage | None:
        """Return what was looked at of the space that its scenarios play; here there is none."""
        return None

    def finish(self) -> None:
        """Do what must be done before the report is made; here nothing."""

    def hurry(self) -> None:
        """Begin to end targets that were started ahead, as the run's time is over; here nothing."""

    def close(self) -> None:
        """End every target and release the target's host; here only the latter."""
        self.target.close()
