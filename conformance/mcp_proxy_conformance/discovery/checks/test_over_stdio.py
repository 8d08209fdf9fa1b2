"""Config locks over stdio, where it is served: revealed on request, capped, noted, enforced."""

from __future__ import annotations

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.catalogue.surface import FLAG
from mcp_proxy_conformance.catalogue.world import CONFIG, ToolKey, server, tool, world
from mcp_proxy_conformance.discovery.bench import ABSENT, Bench
from mcp_proxy_conformance.discovery.forms import unequal
from mcp_proxy_conformance.discovery.oracle import cap
from mcp_proxy_conformance.discovery.rejections import CONFIG_WORD, read_as
from mcp_proxy_conformance.discovery.requests import in_words
from mcp_proxy_conformance.targets.waits import poll
from mcp_proxy_conformance.verdict.comparison import Comparison, messages_read
from mcp_proxy_conformance.verdict.result import NotApplicable

SHARED, FREE = "gremtol", ToolKey("forge", "zorvik_list")
NAMES = (
    "mobela", "tunrag", "felopi", "kadrus", "wibnot", "jolmek", "rastip", "cundov", "hepgal",
    "vimbok", "nastru", "dopliz",
)  # fmt: skip
LOCKED = tuple(ToolKey("forge", f"{name}_dig") for name in NAMES)
FORGE = world(
    server(
        "forge",
        tool("zorvik_list"),
        *(tool(key.tool, groups=(SHARED,), locked=CONFIG) for key in LOCKED),
    )
)


@requirement(
    "FR-001.reveals-config", "FR-002.absent-is-false", "FR-002.no-section",
    "FR-002.no-locked-names", "FR-005.keys", "FR-006.cap", "FR-008.config", "FR-009.note",
    "FR-011.never-reaches",
)  # fmt: skip
@on(FORGE)
def test_over_stdio_locked_tools_are_told_and_kept_as_elsewhere(bench: Bench) -> None:
    """Over stdio, config locks are revealed on request only, capped, explained and enforced.

    Not applicable if stdio is not served, or serves a configuration without the locks: a locked
    tool is listed and called. Inconclusive if a lock of the twelve tools has no effect over HTTP,
    or no callable tool is found over stdio.
    """
    if bench.started.access.stdio is None:
        raise NotApplicable("stdio is not served", cause="not_declared")
    bench.require(set(LOCKED) <= set(bench.armed.refused), "a lock had no effect", "no_effect")
    view, compared = bench.over("stdio"), Comparison()
    within = bench.started.target.ready_s
    shown = poll(lambda: FREE in view.widest("zorvik").callables(), bool, within)
    bench.require(shown, "no callable tool was found over stdio")
    listed = set(LOCKED).intersection(view.widest(SHARED).callables())
    if any(view.call(key).reached for key in listed):
        raise NotApplicable("the lock is no part of the configuration that is served over stdio")

    _compare_flagged(view, compared)
    _compare_default(view, compared)
    compared.messages = ()
    _compare_calls(view, compared)

    compared.conclude()


def _compare_flagged(view: Bench, compared: Comparison) -> None:
    """Record in `compared` the statuses, cap and map's keys of flagged answers, at three limits."""
    for limit in (ABSENT, 1, 100):
        answer = view.discover(SHARED, include_disabled=True, limit=limit)
        path = in_words({"query": SHARED, "include_disabled": True} | (
            {} if limit is ABSENT else {"limit": limit}
        ))  # fmt: skip
        statuses = set(map(str, answer.statuses().values()))
        most = cap(None if limit is ABSENT else limit)
        compared.one_of(f"{path}, statuses", sorted(statuses), ([CONFIG_WORD],),
                        breaks=["FR-001.reveals-config"])  # fmt: skip
        compared.truth(f"{path}, locked entries", len(answer.disabled), allowed=f"at most {most}",
                       holds=len(answer.disabled) <= most, breaks=["FR-006.cap"])  # fmt: skip
        compared.one_of(f"{path}, keys of the map", sorted(answer.remediation or {}),
                        (sorted(statuses),), breaks=["FR-005.keys"])  # fmt: skip


def _compare_default(view: Bench, compared: Comparison) -> None:
    """Record in `compared` if the default answer hides locked tools, and has its note and bytes.

    The note is due if no callable tool is listed. The bytes of two queries are compared with those
    of the same queries with the flag false.
    """
    answer, names = view.discover(SHARED), view.surface.members
    path = in_words({"query": SHARED})
    sections = sorted({names.disabled, names.remediation} & set(answer.body))
    compared.one_of(f"{path}, members", sections, ([],), breaks=["FR-002.no-section"])
    text = answer.text_without_echo()
    leaked = [name for name in NAMES if name in text]
    compared.one_of(f"{path}, names", leaked, ([],), breaks=["FR-002.no-locked-names"])
    if not answer.tools:
        compared.truth(f"{path}, note", answer.note, holds=FLAG in (answer.note or ""),
                       allowed=f"a note that names {FLAG}", breaks=["FR-009.note"])  # fmt: skip
    unlike = unequal(view, [{"query": SHARED}, {"query": "zorvik"}])
    for request, differences in unlike.items() or ((path, ()),):
        places = [each.place for each in differences]
        compared.messages = messages_read(request)
        compared.one_of(f"{request}, bytes with the flag false", places, ([],),
                        breaks=["FR-002.absent-is-false"])  # fmt: skip


def _compare_calls(view: Bench, compared: Comparison) -> None:
    """Record in `compared` whether calls of two locked tools are refused, as operator policy.

    Nothing is recorded unless a call of a callable tool is reached; a refusal that is not
    recognised breaks nothing.
    """
    free = view.call(FREE)
    for key in LOCKED[:2] if free.reached else ():
        reached = view.call(key).reached
        compared.one_of(f"call of {key}", reached, (False,), breaks=["FR-011.never-reaches"])
        outcome = "" if reached else read_as(view, key, CONFIG_WORD)
        compared.truth(f"rejection of {key}", outcome, holds=outcome != "convicted",
                       allowed="operator policy", breaks=["FR-008.config"],
                       shows=["FR-008.config"] if outcome == "conveys" else [])  # fmt: skip
