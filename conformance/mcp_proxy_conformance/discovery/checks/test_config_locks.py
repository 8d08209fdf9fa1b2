"""Texts and counts of config-locked tools, which must ask for no act of the user: SC-003."""

from __future__ import annotations

from collections.abc import Iterable

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on, stage
from mcp_proxy_conformance.catalogue.world import CONFIG, USER, ToolKey, server, tool, world
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.contents import masked, strings
from mcp_proxy_conformance.discovery.counts import USERS, of_users, shut, states_of
from mcp_proxy_conformance.discovery.locked_entries import every_answer, every_entry, own_texts
from mcp_proxy_conformance.discovery.rejections import (
    ACT_OF_USERS,
    OWN_OF_USERS,
    compare_with_policy,
    has_sentence,
    is_policy_first,
    texts_of_server,
)
from mcp_proxy_conformance.discovery.remediation import Judgement, expect_read, judge
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import NotApplicable

MIXED = stage("mixed")
COMBOS = stage("combos")
COLON = world(
    server(
        "forge",
        tool("zorvik_list"),
        tool("mobel_drop", locked=USER),
        tool("gatun:wipe", word="gatun", locked=(USER, CONFIG)),
    )
)
POLICY = "disabled_by_config"
LEAN = ("name", "server", "description", "status")

ToolText = tuple[str, str]
"""The tool, and a text with its names masked."""
Texts = dict[ToolText, str]
"""Texts as the target sent them, by their masked forms."""
Wrong = dict[tuple[str, str], list[str]]
"""The wrong texts of a tool or server, for each reason that they are wrong."""


@requirement("SC-003.discovery")
@on(MIXED)
def test_the_remedy_of_a_config_lock_is_no_act_of_the_user(bench: Bench) -> None:
    """Neither remediation map nor entry gives the remedy of a user lock for a config lock.

    Read are the texts for config-denied tools. Inconclusive if answers have none, or if none is
    wrong but one cannot be read.
    """
    wrong = _wrong_remedies(bench)

    assert wrong == {}


@requirement("SC-003.listing")
@on(COMBOS)
def test_further_locks_do_not_move_a_config_denied_tool_to_a_users_reason(bench: Bench) -> None:
    """With further locks, no server counts more tools as user-locked or pending than may be so.

    A config-denied tool must be counted under another reason, whatever else locks it.
    Inconclusive if no server has a counts block.
    """
    counts, allowed = _users_counts(bench)

    assert counts == allowed


@requirement("SC-003.rejection")
@on(COMBOS)
def test_further_locks_do_not_make_the_rejection_tell_an_act_of_the_user(bench: Bench) -> None:
    """Whatever else locks the tool or its server, the rejection asks for no act on the tool.

    A text that cannot be read leaves the clause open. Inconclusive if no config-denied call was
    refused.
    """
    compared = _compared_rejections(bench)

    compared.conclude()


@requirement("SC-003.rejection")
@on(COLON, long=True)
def test_a_colon_in_a_name_turns_no_policy_into_an_act_of_the_user(bench: Bench) -> None:
    """The rejection of a denied tool whose name contains a colon asks for no act on the tool.

    The tool is `gatun:wipe`, which config and the user lock. Not applicable if its calls are not
    refused, inconclusive if config does not deny it.
    """
    key = ToolKey("forge", "gatun:wipe")
    if key not in bench.armed.refused:  # a name that a proxy cannot address may be left out
        raise NotApplicable(f"{key} is not locked")
    compared = _compared_rejections(bench)

    compared.conclude()


@requirement("SC-003.rejection~quarantined")
@on(COMBOS, needs=("quarantine",))
def test_the_rejection_on_a_quarantined_server_tells_no_act_on_the_tool(bench: Bench) -> None:
    """The rejection of a config-denied, quarantined tool does not say to enable or approve it.

    It also contains none of the target's own texts for a user lock. Servers that are off are
    left out; inconclusive if no such call was refused.
    """
    states = bench.states
    denied = [k for k in _denied(bench) if states[k].quarantined and not states[k].server_off]
    bench.require(denied, "no call of a config-denied tool of a quarantined server was refused")

    texts = _rejections(bench, denied)
    wrong = _wrong_texts(
        bench, texts, {text for _, text in _rejections(bench, _liftable_by_users(bench))}
    )

    assert wrong == {}


def _wrong_remedies(bench: Bench) -> Wrong:
    """Return, by tool and reason, the texts of answers that give a config lock a user's remedy.

    Read are texts of the remediation map and of unusual members of entries. One that the target
    gives for config and user locks alike is not taken for a user's. Inconclusive if there are none
    in the map, or if none is wrong but one cannot be read.
    """
    texts = _texts_in_discovery(bench)
    bench.require(texts, "no answer had a remediation text for a config lock")
    wrong = _wrong_texts(
        bench, texts | _texts_in_extras(bench), _users_texts(bench) - _texts_for_both(bench)
    )
    return _require_read(bench, texts, wrong)


def _compared_rejections(bench: Bench) -> Comparison:
    """Compare each config-denied tool's rejection with a user's remedy, which it must not give.

    Return the comparison, not yet concluded; a text that could not be read leaves the clause open.
    Raises Inconclusive without such a refusal.
    """
    denied = [key for key in _denied(bench) if _is_sure(bench, key)]
    bench.require(denied, "no call of a config-denied tool was refused")
    remedies = _users_texts(bench)
    rejections = {
        status: {text for _, text in _rejections(bench, keys)}
        for status, keys in _liftable(bench).items()
    }
    servers, pins = texts_of_server(bench), bench.started.target.pins
    compared = Comparison()
    for key in denied:
        text = masked(bench, bench.refusal(key), key)
        compare_with_policy(compared, key, text, bench.states[key], theirs=rejections,
                            users=remedies, servers=servers, pins=pins)  # fmt: skip
    return compared


def _require_read(bench: Bench, texts: Texts, wrong: Wrong) -> Wrong:
    """Return `wrong`; but raise Inconclusive if it is empty and one of `texts` cannot be read.

    They are texts for config locks.
    """
    if not wrong:
        expect_read(_outcomes(bench, texts))
    return wrong


def _users_counts(bench: Bench) -> tuple[dict[ToolText, int], dict[ToolText, int]]:
    """Return the listed counts of reasons that users can lift, and the allowed ones.

    Both are by (server, reason). An allowed count is the listed one, or the highest possible if
    that is lower. In a quarantine, any tool but a denied one may have such a reason. Inconclusive
    without any counts block.
    """
    servers = bench.list().servers
    names = (*_reachable(bench), *shut(bench))
    judged = {name: servers[name] for name in names if name in servers}
    bench.require(
        any(isinstance(e.counts, dict) for e in judged.values()), "no counts block was seen"
    )
    counts, allowed = dict[ToolText, int](), dict[ToolText, int]()
    for name, entry in judged.items():
        most = of_users(states_of(bench, name))
        shown = entry.counts if isinstance(entry.counts, dict) else {}
        own = {(name, word): shown[word] for word in USERS if isinstance(shown.get(word), int)}
        counts |= own
        allowed |= {(name, word): min(count, most[word]) for (_, word), count in own.items()}
    return counts, allowed


def _denied(bench: Bench) -> list[ToolKey]:
    """Return the tools that config denies and whose call was refused."""
    return sorted(key for key in bench.armed.refused if bench.states[key].config)


def _reachable(bench: Bench) -> list[str]:
    """Return the servers that are neither off nor quarantined."""
    shut = {
        key.server for key, state in bench.states.items() if state.server_off or state.quarantined
    }
    return [server.name for server in bench.world.servers if server.name not in shut]


def _liftable_by_users(bench: Bench) -> tuple[ToolKey, ...]:
    """Return the refused tools that a user's act alone would make callable, user locks first."""
    return tuple(key for keys in _liftable(bench).values() for key in keys)


def _liftable(bench: Bench) -> dict[str, tuple[ToolKey, ...]]:
    """Return, by status, the refused tools that a user's act alone would make callable.

    They are locked by the user alone, or pending or changed alone.
    """
    waiting = (*bench.locked(approval="pending"), *bench.locked(approval="changed"))
    return {"disabled_by_user": bench.locked(user=True), "pending_approval": waiting}


def _users_texts(bench: Bench) -> set[str]:
    """Return the target's own remedies, names masked, for locks that users alone can lift.

    Empty if answers showed none.
    """
    texts = own_texts(bench, _liftable_by_users(bench))
    return {text for status in USERS for text in texts.get(status, ())}


def _texts_for_both(bench: Bench) -> set[str]:
    """Return the remedies, masked, that the target gives for config and user locks alike.

    That they are alike is judged under FR-005.text, not here.
    """
    texts = own_texts(bench, [*bench.locked(config=True), *bench.locked(user=True)])
    return texts.get(POLICY, set()) & texts.get("disabled_by_user", set())


def _texts_in_discovery(bench: Bench) -> Texts:
    """Return remediation texts for config-denied tools, under config's or a user's status.

    Keys are tool and masked text, values the texts as sent.
    """
    texts: Texts = {}
    for key, answer in every_answer(bench, _denied_on_enabled(bench)):
        if (status := answer.status(key)) in (POLICY, *USERS):
            remedy = (answer.remediation or {}).get(status)
            texts |= {(str(key), masked(bench, text, key)): text for text in strings(remedy)}
    return texts


def _texts_in_extras(bench: Bench) -> Texts:
    """Return texts in members of config-denied tools' entries other than LEAN, at any depth.

    Keys are tool and masked text, values the texts as sent.
    """
    entries = every_entry(bench, _denied_on_enabled(bench))
    extras = [(k, [v for m, v in e.members.items() if m not in LEAN]) for k, e in entries]
    texts = [(k, text) for k, values in extras for text in strings(values)]
    return {(str(k), masked(bench, text, k)): text for k, text in texts}


def _denied_on_enabled(bench: Bench) -> list[ToolKey]:
    """Return the config-denied tools whose call was refused, of servers that are not off."""
    return [key for key in _denied(bench) if not bench.states[key].server_off]


def _rejections(bench: Bench, keys: Iterable[ToolKey]) -> Texts:
    """Call these tools; return the texts of their refusals, by (tool, text with names masked).

    Inconclusive if a call is not refused.
    """
    texts = {key: bench.refusal(key) for key in keys}
    return {(str(key), masked(bench, text, key)): text for key, text in texts.items()}


def _wrong_texts(bench: Bench, texts: Texts, users: set[str]) -> Wrong:
    """Return those of the texts for a config lock that give a user's remedy, by (tool, reason).

    `users` are the target's own remedies for locks that users can lift.
    """
    reasons = [(name, _why_wrong(bench, text, users), own) for (name, text), own in texts.items()]
    return _by_reason(reason for reason in reasons if reason[1])


def _by_reason(facts: Iterable[tuple[str, str, str]]) -> Wrong:
    """Group (tool or server, reason, text) triples: the texts by the first two."""
    wrong: Wrong = {}
    for name, why, text in facts:
        wrong.setdefault((name, why), []).append(text)
    return wrong


def _why_wrong(bench: Bench, text: str, users: set[str]) -> str:
    """Return why a text for a config lock is wrong; empty if it is not, or if it cannot be read.

    `users` are the target's own texts for locks that users can lift.
    """
    if any(has_sentence(text, own) for own in users):
        return OWN_OF_USERS
    outcome = judge(text, POLICY, pins=bench.started.target.pins)
    return ACT_OF_USERS if outcome == "convicted" else ""


def _outcomes(bench: Bench, pairs: Iterable[ToolText]) -> dict[str, Judgement]:
    """Judge each pair's text as one for a config lock, by word lists and the target's pins.

    Return the judgements by text.
    """
    pins, texts = bench.started.target.pins, sorted({text for _, text in pairs})
    return {text: judge(text, POLICY, pins=pins) for text in texts}


def _is_sure(bench: Bench, key: ToolKey) -> bool:
    """Whether config is known to deny the tool: a refusal for another lock does not prove it.

    It is known if at most the user locks it as well, or if all locks of its server are proven.
    """
    return is_policy_first(bench.states[key]) or key.server not in bench.armed.doubtful
