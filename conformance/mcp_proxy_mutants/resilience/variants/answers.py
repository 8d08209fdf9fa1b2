"""Loader variants of the answer: tool names, order, errors, attempt counts, warnings, omissions."""

from dataclasses import replace

from mcp_proxy_mutants.resilience.pieces import OutcomeEntry, each, ended, is_in, warns, when
from mcp_proxy_mutants.resilience.variant import LoadVariant, load_variant
from mcp_proxy_reference.loader import MEANING, Connection, Json, Outcome, Signal

BASIC = ("classifies", "retries", "attempts", "warnings")
PREFIX = "mcp__"


def _in_reverse_order(answer: Json, request: Json) -> Json:
    """Return the answer with its outcomes sorted by id, as text, in descending order."""
    del request
    outcomes = sorted(
        answer["outcomes"], key=lambda outcome: str(outcome["server_id"]), reverse=True
    )
    return answer | {"outcomes": outcomes}


def _plain(answer: Json, request: Json) -> Json:
    """Return an answer in which any failure is `failed`, without attempts and warnings.

    Outcomes keep id, tools and error only.
    """
    del request
    return {
        "outcomes": [
            {
                "server_id": outcome["server_id"],
                "status": outcome["status"] if outcome["status"] == "available" else "failed",
                "tools": outcome["tools"],
                "error": outcome["error"],
            }
            for outcome in answer["outcomes"]
        ]
    }


def _quoted(signal: Signal, connection: Connection, text: str) -> str:
    """Return the error with the type of the exception and the server's response body, if any.

    With a body, the HTTP status is named too.
    """
    del connection
    body = signal.body.decode(errors="replace").strip()
    exception = type(signal.__context__ or signal).__name__
    return f"{text} {exception} (HTTP {signal.code}): {body}" if body else f"{text} {exception}"


def _in_lines(signal: Signal, connection: Connection, text: str) -> str:
    """Return the error in three lines: the usual text, the server's id, the kind of signal."""
    return f"{text}\nServer: {connection.server_id}\nSignal: {signal.kind}\n"


def _named(outcomes: list[OutcomeEntry], *statuses: str) -> list[str]:
    """Return the ids of the servers with one of these statuses."""
    return [str(outcome["server_id"]) for outcome in outcomes if outcome["status"] in statuses]


def _marks(due: object, outcomes: list[OutcomeEntry]) -> dict[str, list[str]]:
    """Return the warnings by status: for each server a line with a symbol and its id."""
    del due
    marks = {"transient": "\N{HOURGLASS}", "permanent": "\N{CROSS MARK}", "denied": "\N{LOCK}"}
    return {
        word: [f"{mark} {name}" for name in _named(outcomes, word)] for word, mark in marks.items()
    }


def _with_causes(due: object, outcomes: list[OutcomeEntry]) -> dict[str, list[str]]:
    """Return the warnings by status: a line for each server that names possible causes."""
    del due
    causes = {
        "transient": "is still starting up, try again later: a timeout, 503, a reset, a cut stream",
        "permanent": "needs attention: 404, a host or page that is gone or missing, refused",
        "denied": "denied access: 401 or 403, forbidden",
    }
    return {
        word: [f"{name} {cause}" for name in _named(outcomes, word)]
        for word, cause in causes.items()
    }


def _in_german(due: object, outcomes: list[OutcomeEntry]) -> dict[str, list[str]]:
    """Return German warnings in two classes, with denied servers among the permanent ones."""
    del due
    later, lost = _named(outcomes, "transient"), _named(outcomes, "permanent", "denied")
    return {
        "transient": [f"Noch nicht bereit: {', '.join(later)}"] if later else [],
        "permanent": [f"Bitte ansehen: {', '.join(lost)}"] if lost else [],
    }


def _with_more(outcome: OutcomeEntry) -> OutcomeEntry:
    """Return the outcome with further members: transport, elapsed time and server version."""
    return outcome | {"transport": "http", "elapsed_ms": 12, "server": {"version": None}}


def _untried(outcome: Outcome) -> Outcome:
    """Return the outcome; a closed port or unknown host name counts as no attempt."""
    unmade = outcome.error in (MEANING["refused"][1], MEANING["dns"][1])
    return replace(outcome, attempts=0) if unmade else outcome


def _tried(outcome: Outcome) -> Outcome:
    """Return the outcome with at least one attempt, even for an unusable connection."""
    return replace(outcome, attempts=max(outcome.attempts, 1))


VARIANTS: tuple[LoadVariant, ...] = (
    load_variant("tools-with-a-prefix", "Tool names have a declared prefix.",
                 "tool-name-prefix", tool_prefix=PREFIX,
                 edit=each(lambda outcome: outcome | {
                     "tools": [PREFIX + tool for tool in outcome["tools"]]})),
    load_variant("tools-sorted", "Tools are reported in reverse order of their names.",
                 edit=each(lambda outcome: outcome | {
                     "tools": sorted(outcome["tools"], reverse=True)})),
    load_variant("outcomes-sorted", "Outcomes are reported in another order.",
                 "order-of-outcomes", "I3.order~outcomes", edit=_in_reverse_order),
    load_variant("outcomes-with-more", "Outcomes have additional members.",
                 edit=each(_with_more)),
    load_variant("empty-error-beside-success", "An available server has an empty error.",
                 "error-beside-success", edit=when(is_in("available"), error="")),
    load_variant("errors-in-lines", "An error has several lines.",
                 "one-line-errors", "O4.error~one-line", says=_in_lines),
    load_variant("errors-quote", "Errors quote the server's answer.",
                 "quoted-text", "S1.secrets~server-text", "quoted-secret", "S1.secrets~echoed",
                 says=_quoted),
    load_variant("unusable-counts-once", "A malformed connection is reported with one attempt.",
                 "attempts-of-the-malformed", together=ended(_tried)),
    load_variant("recovered-counts-once",
                 "An available server is reported with one attempt, however many it took.",
                 "attempts-of-the-recovered", edit=when(is_in("available"), attempts=1)),
    load_variant("unreachable-counts-none",
                 "A server that no connection was made to is reported without an attempt.",
                 "attempts-without-a-port", together=ended(_untried)),
    load_variant("unknown-names-tried-again", "A server whose name is unknown is tried again.",
                 "attempts-without-a-port", "P1.unknown-name~once",
                 again=lambda signal, status, attempts, most: attempts < most
                 and (status == "transient" or signal.kind == "dns")),
    load_variant("warnings-in-marks",
                 "Warnings have one line for each server: a symbol and its name.",
                 "words-of-warnings", "W1.lines~wording", edit=warns(_marks)),
    load_variant("warnings-with-causes", "Warnings name causes, in words that are ids elsewhere.",
                 "words-of-warnings", edit=warns(_with_causes)),
    load_variant("warnings-in-german",
                 "Warnings are in German, and denied servers need attention too.",
                 "words-of-warnings", "W1.lines~wording", edit=warns(_in_german)),
    load_variant("neither-numbers-nor-warnings", "Neither attempts nor warnings are reported.",
                 lacks=("attempts", "warnings"),
                 edit=lambda answer, _: {"outcomes": [
                     outcome | {"attempts": None} for outcome in answer["outcomes"]]}),
    load_variant("available-or-failed", "Servers are reported only as available or failed.",
                 "only-two-statuses", lacks=BASIC, profile="resilience-basic", edit=_plain),
    load_variant("available-or-failed-once",
                 "Servers are reported only as available or failed, after one attempt.",
                 "only-two-statuses", lacks=(*BASIC, "stdio"), profile="resilience-basic",
                 edit=_plain, again=lambda *_: False),
)  # fmt: skip
