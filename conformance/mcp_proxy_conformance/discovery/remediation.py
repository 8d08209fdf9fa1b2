"""Judge of remediation and rejection texts: whether they name their lock's or a wrong remedy."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Literal

from mcp_proxy_conformance.discovery.remediation_acts import (
    ANY_ACT,
    APPROVE,
    ENABLE,
    REVIEW,
    Reading,
)
from mcp_proxy_conformance.discovery.remediation_words import (
    TEXTS_KEPT,
    UNREAD,
    has,
    is_english,
    mask,
    words,
)
from mcp_proxy_conformance.verdict.comparison import note_text
from mcp_proxy_conformance.verdict.result import Unread

__all__ = [
    "Judgement",
    "claims_operator_policy",
    "expect_read",
    "judge",
    "mask",
    "names_server",
    "tells_user_act",
]

Judgement = Literal["conveys", "convicted", "unrecognised"]
LONGEST_READ = 2_000
"""Characters; a longer text is not read but left unrecognised."""


def judge(
    text: str, status: str, *, pins: Mapping[str, frozenset[str]] = MappingProxyType({})
) -> Judgement:
    """Judge whether a text is written for the lock class `status`, one of the six status words.

    Return `conveys` if it names that lock's remedy, `convicted` if plainly a wrong one, else
    `unrecognised`, as for any unlisted word. Names in it are masked by the caller. `pins` maps
    exact texts to the classes each is declared to convey: that decides, but a text convicted by
    its words stays so. Unrecognised and pinned texts are noted for the report.
    """
    outcome = _read(text, status)
    if text not in pins or (status in pins[text] and outcome == "convicted"):
        if outcome == "unrecognised" and status in _CONVEYS:
            note_text(text, status, pinned=False)
        return outcome
    if status in _CONVEYS:
        note_text(text, status, pinned=True)
    return "conveys" if status in pins[text] else "convicted"


def expect_read(outcomes: Mapping[str, Judgement]) -> None:
    """Raise Unread for the first text whose outcome is `unrecognised`; `outcomes` are by text."""
    for text, outcome in outcomes.items():
        if outcome == "unrecognised":
            raise Unread(text)


@lru_cache(maxsize=TEXTS_KEPT)
def claims_operator_policy(text: str) -> bool:
    """Whether the text affirms that the operator, a policy or the configuration set the lock.

    One that also denies it, or has an `if`, does not. Only the first 2000 characters are read.
    """
    read = Reading(text[:LONGEST_READ])
    return read.says(_CLAIMED) and not read.says(_DISCLAIMED, r"\bif\b")


@lru_cache(maxsize=TEXTS_KEPT)
def tells_user_act(text: str) -> bool:
    """Whether the text asks somebody but the operator to act, as to enable or approve.

    Merely to use or to change something does not count. Only the first 2000 characters are
    read.
    """
    acts = Reading(text[:LONGEST_READ]).ordered
    return any(act.verb not in ("use", "change") and act.doer != "operator" for act in acts)


def names_server(text: str) -> bool:
    """Whether the text's first 2000 characters speak of the server, or of a quarantine."""
    return Reading(text[:LONGEST_READ]).says(_SERVER)


@lru_cache(maxsize=TEXTS_KEPT)
def _read(text: str, status: str) -> Judgement:
    """Judge a text for the class `status` by its words, without pins; a doubt is `unrecognised`."""
    if status not in _CONVEYS or len(text) > LONGEST_READ or not is_english(text):
        return "unrecognised"
    read = Reading(text)
    if UNREAD in read.text or read.asks_for_acts() or read.says(_ANOTHER_WAY) or _goes_alone(read):
        return "unrecognised"
    if _CONVEYS[status](read):
        return "conveys"
    return "convicted" if _is_beyond_doubt(read) and _is_wrong(read, status) else "unrecognised"


def _goes_alone(read: Reading) -> bool:
    """Whether the text affirms acts that happen by themselves or by the reader alone."""
    return read.says(r"\bself\b") and not read.denies(ANY_ACT, "you")


_CLAIMED = (
    r"(?<!not )(?<!not by )\boperator (?:policy|(?:have )?(?:tool )?lock)"
    r"|\block\S*(?: tool)? (?:by|in|because) (?:tool )?(?:operator|policy)"
    r"|\b(?:because|is|change/ed by) (?:operator )?policy\b|\bpolicy (?:need )?lock"
)
_DISCLAIMED = r"\bnot (?:by |because |is |lock\S* |be )*(?:operator )?(?:policy|operator)\b"
_NOT_THEIRS = (
    r"\bnot (?:[^\s.,]+ ){0,3}?(?:operator|policy)(?: (?:and|operator|policy))*"
    r"|\boperator (?:way )?is not"
)
_LEFT_TO_OPERATOR = (
    r"\bask/?\w* (?:\S+ ){0,3}?operator|\bnot (?:[^\s.]+ ){0,3}way\b|\bonly (?:in |by )?operator"
    r"|\boperator (?:\S+ )?(?:only|can|require|need)|\b(?:require|need|in|to) operator"
    r"|\bnot in user"
)
_LOOPHOLE = (
    r"\b(?:user|you|someone) (?:and|or|is|can be|need) (?:\S+ )?operator\b|\bunless (?!operator)"
    r"|\b(?:user|you|someone|place|tool) prevail"
    rf"|\b(?:user|you|someone) can (?!not|ask|be|need|know|change|accept|approve|{ENABLE})"
    r"|\buntil (?!operator|tool need|.*ask)|\bwhile\b|(?<!not )(?<!not user )(?<!not user can )"
    r"\bgo\b|\bif (?!(?:user |someone )?(?:ask|need|require)|you|tool|be|operator|policy|cause)"
    r"|(?<!not )(?<!not in )(?<!user )\bapproval\b|\buser approval (?!can not)"
)
_ANOTHER_WAY = (
    r"\bor (?:to |can )?(?:ask (?!operator)|require|need|go|use|change)(?![\w/])"
    rf"|\bunless (?!operator|(?:user|someone) (?:have |need to )?(?:{ENABLE}|{APPROVE}|{REVIEW})"
    rf"|(?:server|tool) is )|\byou have (?:go|{ANY_ACT})/ed"
    r"|\bnot (?:need )?exist|(?<!not )\bsuffice"
)
"""Phrases that name a way other than the remedy, or deny that there is one."""
_SPARES_USER = (
    r"\bnot (?:[^\s.]+ ){0,3}?ask(?:/ing\b|(?:/ing)? (?:in )?(?:user|someone))|\buntil later\b"
    r"|\b(?:user|someone) (?:\S+ )?not (?:\S+ ){0,2}be ask"
    r"|\bnot (?:require )?approval|\bapproval (?:is )?not"
)
_APPROVAL = (
    r"\b(?:require|pending|ask|by|in) (?:[^\s.]+ )?(?:in |by |ask )?(?:user |someone )?"
    r"(?:approval|review)\b|\buser approval|\bapproval (?:(?:in tool )?(?:is )?(?:require|pending)"
    rf"|(?:in|by) (?:user|place))"
    rf"|\buntil (?:\S+ )?(?:user|someone) (?:have |is )?(?:{APPROVE}|{REVIEW})/ed"
)
_SECURITY_REVIEW = r"\b(?:user|someone|pending) (?:\S+ ){0,3}review\b"
_SERVER = r"\b(?:server|quarantine|release)\b"
_SERVER_OFF = (
    r"\bserver (?:\S+ ){0,3}?lock|\block\S* server\b|\bserver (?:\S+ ){0,2}?not (?:\S+ )?enable/ed"
)
_UNDETERMINED = r"\bunknown\b|\bnot (?:[^\s.]+ ){0,4}?(?:know|cause)\b"
_BLAMED = (
    r"\b(?:operator|policy|user)\b[^.,]*\block|\block\S*(?: \S+)? by\b|\bnot (?:\S+ )?lock"
    rf"|\bis (?:\S+ ){{0,2}}fault|\bis (?:{ANY_ACT})/ed"
    r"|\bgo(?:/ing)? (?:to |in )*(?:place|tool|policy|server(?! (?:logs|cause)))"
)


def _of_config(read: Reading) -> bool:
    """Whether the text conveys a config lock: operator policy, and no act but the operator's.

    Every act in it is denied or the operator's; to edit the configuration counts as theirs.
    """
    named = read.says(r"\b(?:operator|policy)\b") and not read.says(_DISCLAIMED, _LOOPHOLE)
    edit = any(act.on == "policy" for act in read.ordered) and read.says(_POLICY_TOLD)
    theirs = all(
        act.doer == "operator" or (edit and act.doer == "nobody" and act.verb == "change")
        for act in read.ordered
    )
    return named and theirs and (bool(read.acts) or read.says(_LEFT_TO_OPERATOR))


def _of_user(read: Reading) -> bool:
    """Whether the text conveys a user's lock: it orders only to enable, and names the user.

    It must not deny that to the user, nor describe a lock of an operator or a server.
    """
    return (
        read.tells_only(ENABLE, "user|someone|nobody")
        and read.says(r"\b(?:user|someone|place)\b")
        and not read.denies(ENABLE, "user|someone")
        and _is_no_other(read)
    )


def _of_pending(read: Reading) -> bool:
    """Whether the text conveys a pending approval: it orders just that, or no act and names one.

    It is for the user, or nobody is named; it is not denied, and no other class of lock is
    described.
    """
    prescribed = read.tells_only(f"{APPROVE}|{REVIEW}", "user|someone|nobody")
    awaited = prescribed or (not read.ordered and read.says(_APPROVAL))
    return awaited and not read.denies(f"{APPROVE}|{REVIEW}") and _is_no_other(read)


def _of_quarantined(read: Reading) -> bool:
    """Whether the text conveys a quarantine: it names the server, and orders only a review.

    Or it orders no act, and names the approval or the review that is pending.
    """
    prescribed = read.tells_only(f"{APPROVE}|{REVIEW}")
    awaited = prescribed or (not read.ordered and read.says(_APPROVAL, _SECURITY_REVIEW))
    on_tool = any(
        act.on == "tool" and act.verb not in ("review", "inspect") for act in read.ordered
    )
    denied = read.denies(f"{APPROVE}|{REVIEW}")
    named = read.says(_SERVER)
    return awaited and named and not on_tool and not denied and _is_not_policy(read)


def _of_server_off(read: Reading) -> bool:
    """Whether the text conveys that the server is off and must be enabled first."""
    off = read.says(_SERVER_OFF) or any(act.on == "server" for act in read.ordered)
    on_server = all(act.on == "server" or (off and act.on != "tool") for act in read.ordered)
    denied = any(
        act.is_denied and act.on != "tool" and re.fullmatch(ENABLE, act.verb) for act in read.acts
    )
    return read.tells_only(f"{ENABLE}|start") and on_server and not denied and _is_not_policy(read)


def _affirms(read: Reading, word: str) -> bool:
    """Whether the text uses `word` (operator or policy) other than to deny that lock."""
    return re.search(rf"\b{word}\b", re.sub(_NOT_THEIRS, "", read.bare)) is not None


def _is_not_policy(read: Reading) -> bool:
    """Whether the text names no policy but to deny it, and does not exempt the user from acting."""
    return not read.says(_SPARES_USER) and not _affirms(read, "policy")


def _is_no_other(read: Reading) -> bool:
    """Whether the text describes neither an operator's nor a server's lock."""
    on_server = any(act.on == "server" for act in read.ordered)
    return _is_not_policy(read) and not on_server and not _affirms(read, "operator")


_CONVEYS: dict[str, Callable[[Reading], bool]] = {
    "disabled_by_config": _of_config,
    "disabled_by_user": _of_user,
    "pending_approval": _of_pending,
    "server_disabled": _of_server_off,
    "disabled_unknown": lambda read: (
        read.says(_UNDETERMINED) and not read.ordered and not read.says(_BLAMED)
    ),
    "server_quarantined": _of_quarantined,
}
_TOLD_PLAINLY = "enable|reenable|approve|review"
_IDLE_CONDITION = re.compile(
    r"\bif (?:it is |this is |you |they |the user |the task )?(?:really |do )?"
    r"(?:needs?|needed|wants?|wanted|wish|requires?|required|necessary)\b"
    r"|\b(?:exists?|found|present|available|matches),? but\b"
)
"""A condition that changes nothing: `if you need this tool, ...`."""
_EDIT_TOLD = r"(?:^|[.,] |\band )change (?:tool in |policy )?(?:\S+ )?policy\b"
_POLICY_TOLD = r"\boperator policy\b|\bpolicy lock|\block\S*(?: \S+)? (?:by|in) (?:operator|policy)"


def _is_beyond_doubt(read: Reading) -> bool:
    """Whether every word of the text is known, and it has no condition, question or pointer.

    Only such a text can be convicted.
    """
    hedged = has(words().hedges, _IDLE_CONDITION.sub(" ", read.plain))
    open_end = "?" in read.plain or read.says(r"\b(?:pointer|until)\b")
    return UNREAD not in read.whole and not hedged and not open_end


def _is_wrong(read: Reading, status: str) -> bool:
    """Whether the text orders a wrong act for this status, or gives only another lock's remedy."""
    acts = [
        act
        for act in read.ordered
        if re.fullmatch(_TOLD_PLAINLY, act.verb)
        and act.doer in ("user", "you", "nobody")
        and act.is_outright
    ]
    denies = has(("not", "stop"), read.whole) or has(("not", "no", "never"), read.plain)
    policy = has(("operator", "policy"), read.whole)
    edit = read.says(_EDIT_TOLD)
    if status == "disabled_by_config":
        return bool(acts) and not denies and not policy
    if status == "disabled_unknown":
        ordered = not policy and any(act.verb != "review" for act in acts)
        return not denies and (ordered or edit)
    if read.says(_POLICY_TOLD) and all(act.doer == "operator" for act in read.ordered):
        return _is_of_config_alone(read)
    if denies:
        return False
    if edit and status in ("disabled_by_user", "pending_approval"):
        return not read.says(r"\block\S* by user", rf"\b(?:{ENABLE}|{APPROVE}|{REVIEW})\b")
    sure = bool(acts) and len(acts) == len(read.ordered) and not policy
    return sure and _is_other_enabling(read, status)


def _is_of_config_alone(read: Reading) -> bool:
    """Whether the text is the remedy of a config lock, without a word of another class."""
    other = (rf"\b(?:{_TOLD_PLAINLY})\b", r"\bserver\b", r"\block\S* by user")
    limited = read.says(r"\bnot\b|\bask (?:\S+ )?operator")
    return limited and not read.says(_DISCLAIMED, *other)


def _is_other_enabling(read: Reading, status: str) -> bool:
    """Whether the text only has the server, or the tool, enabled, against this status's remedy."""
    if any(act.verb not in ("enable", "reenable") for act in read.ordered):
        return False
    if all(act.on == "server" for act in read.ordered):
        return status != "server_disabled"
    if status == "pending_approval":
        once_more = all(act.verb == "reenable" for act in read.ordered)
        return once_more and not read.says(rf"\b(?:approval|{APPROVE}|{REVIEW})\b")
    return status == "server_quarantined" and all(act.on == "tool" for act in read.ordered)
