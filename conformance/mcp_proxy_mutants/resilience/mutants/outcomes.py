"""Loader mutants of the outcomes: missing or extra ones, their ids, status words and errors."""

from collections.abc import Callable
from typing import Any
from unicodedata import normalize
from urllib.parse import quote

from mcp_proxy_mutants.resilience.changed import Edit
from mcp_proxy_mutants.resilience.mutant import Fresh, LoadMutant, load_mutant
from mcp_proxy_mutants.resilience.pieces import each, is_in, not_available, when
from mcp_proxy_reference.loader import Json

OutcomeEntry = dict[str, Any]
STRAY: OutcomeEntry = {
    "server_id": "total",
    "status": "available",
    "tools": [],
    "error": None,
    "attempts": 1,
}


def _kept(keeps: Callable[[OutcomeEntry], bool]) -> Edit:
    """Return a hook `edit` that keeps only the outcomes that `keeps` accepts."""
    return lambda answer, _: (
        answer | {"outcomes": [outcome for outcome in answer["outcomes"] if keeps(outcome)]}
    )


def _as_often(answer: Json, request: Json) -> Json:
    """Return the answer with each server's outcome as often as it had attempts, at least once."""
    del request
    outcomes = [
        outcome for outcome in answer["outcomes"] for _ in range(max(outcome["attempts"], 1))
    ]
    return answer | {"outcomes": outcomes}


def _timed_out_as_often(answer: Json, request: Json) -> Json:
    """Return the answer with a second outcome, at the end, for each server that timed out.

    It is known by its error text.
    """
    del request
    late = [outcome for outcome in answer["outcomes"] if "in time" in str(outcome["error"])]
    return answer | {"outcomes": [*answer["outcomes"], *late]}


def _with_ids(spell: Callable[[str], str]) -> Edit:
    """Return a hook `edit` that passes each outcome's server id through `spell`."""
    return each(lambda outcome: outcome | {"server_id": spell(outcome["server_id"])})


def _one_of_a_kind(answer: Json, request: Json) -> Json:
    """Return the answer with one outcome, the last, for ids that are alike.

    Alike are ids that differ only in case or punctuation.
    """
    del request
    plain = {"".join(filter(str.isalnum, o["server_id"].lower())): o for o in answer["outcomes"]}
    return answer | {"outcomes": [*plain.values()]}


def _by_origin(answer: Json, request: Json) -> Json:
    """Return the answer with one outcome, the first, for all servers of one origin.

    Servers without a URL keep their own.
    """
    by_origin: dict[str, OutcomeEntry] = {}
    urls = {
        server["server_id"]: str(server.get("url") or server["server_id"])
        for server in request["servers"]
    }
    for outcome in answer["outcomes"]:
        by_origin.setdefault("/".join(urls[outcome["server_id"]].split("/")[:3]), outcome)
    return answer | {"outcomes": [*by_origin.values()]}


def _without_url(answer: Json, request: Json) -> Json:
    """Return the answer without the outcomes of servers that have no URL."""
    usable = {server["server_id"] for server in request["servers"] if server.get("url")}
    return answer | {
        "outcomes": [outcome for outcome in answer["outcomes"] if outcome["server_id"] in usable]
    }


def _last_errors() -> Edit:
    """Return a hook `edit`: an available server has the error of its last load that failed.

    A server is known by its whole entry in the request; one that never failed has no error.
    """
    kept: dict[str, str] = {}

    def edit(answer: Json, request: Json) -> Json:
        urls = {each["server_id"]: f"{each['server_id']} {each}" for each in request["servers"]}
        outcomes = []
        for outcome in answer["outcomes"]:
            key = urls[outcome["server_id"]]
            outcomes.append(outcome | {"error": outcome["error"] or kept.get(key)})
            if outcome["error"]:
                kept[key] = outcome["error"]
        return answer | {"outcomes": outcomes}

    return edit


MUTANTS: tuple[LoadMutant, ...] = (
    load_mutant("only-the-available", "Servers that failed have no outcome.",
                "O1.one-each", edit=_kept(is_in("available"))),
    load_mutant("only-the-failed", "Servers that are available have no outcome.",
                "O1.one-each", "R1.once", edit=_kept(not_available)),
    load_mutant("denied-left-out", "Servers that are denied have no outcome.",
                "O1.one-each", "D1.denied",
                edit=_kept(lambda outcome: not is_in("denied")(outcome))),
    load_mutant("late-left-out", "Servers that do not answer in time have no outcome.",
                "O1.one-each", "T1.timeout",
                edit=_kept(lambda outcome: "in time" not in str(outcome["error"]))),
    load_mutant("cut-left-out", "Servers whose connection is cut have no outcome.",
                "O1.one-each", "T2.cut",
                edit=_kept(lambda outcome: "closed" not in str(outcome["error"]))),
    load_mutant("unusable-left-out", "Connections that cannot be used have no outcome.",
                "O1.one-each", "P4.malformed", edit=_without_url),
    load_mutant("outcome-of-each-attempt", "Each attempt has an outcome.",
                "O1.one-each", edit=_as_often),
    load_mutant("late-told-twice", "Servers that do not answer in time have two outcomes.",
                "O1.one-each", edit=_timed_out_as_often),
    load_mutant("a-total", "One more outcome sums up the others.",
                "I6.none", "O1.one-each",
                edit=lambda answer, _: answer | {"outcomes": [*answer["outcomes"], STRAY]}),
    load_mutant("a-placeholder", "A load without servers has an outcome.",
                "I6.none",
                edit=lambda answer, _: answer | {"outcomes": answer["outcomes"] or [STRAY]}),
    load_mutant("ids-lowered", "Ids are reported in lower case.",
                "O1.one-each", edit=_with_ids(str.lower)),
    load_mutant("ids-encoded", "Ids are reported percent-encoded.",
                "O1.one-each", edit=_with_ids(lambda name: quote(name, safe=""))),
    load_mutant("ids-slugged", "Ids are reported with underscores in place of punctuation.",
                "O1.one-each",
                edit=_with_ids(lambda name: "".join(c if c.isalnum() else "_" for c in name))),
    load_mutant("ids-in-ascii", "Ids lose their non-ASCII letters.",
                "O1.one-each",
                edit=_with_ids(lambda name: name.encode("ascii", "replace").decode())),
    load_mutant("ids-cut-at-a-colon", "Ids are cut at a colon.",
                "O1.one-each", edit=_with_ids(lambda name: name.partition(":")[0])),
    load_mutant("ids-without-blanks", "Ids lose their spaces.",
                "O1.one-each", edit=_with_ids(lambda name: name.replace(" ", ""))),
    load_mutant("ids-alike-merged",
                "Ids that differ only in case and punctuation share an outcome.",
                "O1.one-each", edit=_one_of_a_kind),
    load_mutant("origins-merged", "Servers of one origin share an outcome.",
                "O1.one-each", edit=_by_origin),
    load_mutant("words-in-capitals", "Statuses are reported in capitals.",
                "O2.word",
                edit=each(lambda outcome: outcome | {"status": outcome["status"].upper()})),
    load_mutant("available-is-ok", "An available server is reported as `ok`.",
                "O2.word", edit=when(is_in("available"), status="ok")),
    load_mutant("transient-is-retrying", "A transient server is reported as `retrying`.",
                "O2.word", edit=when(is_in("transient"), status="retrying")),
    load_mutant("denied-is-forbidden", "A denied server is reported as `forbidden`.",
                "O2.word", "D1.denied", edit=when(is_in("denied"), status="forbidden")),
    load_mutant("failed-without-status", "A permanent failure has no status.",
                "O2.word", edit=when(is_in("permanent"), status=None)),
    load_mutant("no-errors", "No outcome has an error.",
                "O4.error", edit=when(lambda _: True, error=None)),
    load_mutant("denied-without-error", "A denial has no error.",
                "O4.error", edit=when(is_in("denied"), error=None)),
    load_mutant("late-without-error", "The error of a timeout is empty.",
                "O4.error",
                edit=when(lambda outcome: "in time" in str(outcome["error"]), error="")),
    load_mutant("cut-without-error", "The error of a cut connection is blank.",
                "O4.error",
                edit=when(lambda outcome: "closed" in str(outcome["error"]), error=" ")),
    load_mutant("unusable-without-error", "A malformed connection has no error.",
                "O4.error",
                edit=when(lambda outcome: "usable" in str(outcome["error"]), error=None)),
    load_mutant("refused-without-error", "A closed port has no error.",
                "O4.error",
                edit=when(lambda outcome: "listens" in str(outcome["error"]), error=None)),
    load_mutant("unknown-name-without-error", "A host name that does not resolve has no error.",
                "O4.error",
                edit=when(lambda outcome: "host name" in str(outcome["error"]), error=None)),
    load_mutant("not-found-without-error", "A 404 has no error.",
                "O4.error", edit=when(lambda outcome: "path" in str(outcome["error"]), error=None)),
    load_mutant("remark-beside-success", "An available server has a remark as its error.",
                "O4.none", edit=when(is_in("available"), error="Loaded.")),
    load_mutant("error-beside-recovery",
                "A server that recovered between attempts has the error of the first.",
                "O4.none",
                edit=when(lambda outcome: is_in("available")(outcome) and outcome["attempts"] > 1,
                          error="The first attempt failed.")),
    load_mutant("errors-outlive-their-load",
                "An available server has the error of its last load that failed.",
                "O4.none", edit=Fresh(_last_errors)),
    load_mutant("errors-are-objects", "An error is an object that contains a text.",
                "O4.error",
                edit=each(lambda outcome: outcome | {"error": {"message": outcome["error"]}})),
    load_mutant("errors-are-true", "The error is true instead of a text.",
                "O4.error", edit=when(not_available, error=True)),
    load_mutant("ids-as-numbers",
                "An id of digits is reported without leading zeros, like a number.",
                "O1.one-each",
                edit=_with_ids(lambda name: str(int(name)) if name.isdecimal() else name)),
    load_mutant("ids-stripped", "Spaces around an id are removed.",
                "O1.one-each", edit=_with_ids(str.strip)),
    load_mutant("ids-normalised", "Ids are reported in a Unicode normal form.",
                "O1.one-each", edit=_with_ids(lambda name: normalize("NFC", name))),
    load_mutant("ids-cut-at-a-slash", "Ids are cut at a slash.",
                "O1.one-each", edit=_with_ids(lambda name: name.partition("/")[0])),
    load_mutant("ids-cut-at-a-point", "Ids are cut at a dot.",
                "O1.one-each", edit=_with_ids(lambda name: name.partition(".")[0])),
    load_mutant("ids-without-quotes", "Ids lose their quotation marks.",
                "O1.one-each", edit=_with_ids(lambda name: name.replace('"', ""))),
)  # fmt: skip
