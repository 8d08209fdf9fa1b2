"""Acts in a remediation text: their doer, their object, and whether they are denied."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mcp_proxy_conformance.discovery.remediation_words import UNREAD, canonical, plain

ENABLE = "enable|reenable|restore"
APPROVE = "approve|accept"
REVIEW = "review|inspect|release"
ANY_ACT = f"{ENABLE}|{APPROVE}|{REVIEW}|start|change|use|repeat"
"""The canonical verbs of acts; `repeat` (`do so`) is the act before it once more."""
DOERS = "operator|user|someone|nobody"
_CLAUSE = re.compile(r" ?\. ?")
_STATEMENT = re.compile(r" ?,| (?=(?:because|who|if|unless|until|while) )")
_THING = "(?:(?:the|only|tool|server|is|quarantine) )*"
_ACT = re.compile(
    rf"(?<![{UNREAD}\w/])(?:(?:be|have(?= (?:the )?(?:tool|server))|require|need)(?: can)? {_THING}"
    rf"(?P<done>{ANY_ACT})/ed|(?P<verb>{ANY_ACT})(?:/ing)?)(?![\w/])"
)
_PERSON = re.compile(r"\b(operator|user|someone|you|self)\b")
_BY_PERSON = re.compile(
    r" (?:(?:the|tool|server|only|in|place|policy|is) )*(?:by|require|to) (?:(?:only|the|policy) )*"
    r"(operator|user|someone|you)\b"
)
_BY_YOURSELF = re.compile(r"(?:(?! (?:and|operator|user|ask)\b) \S+){0,4} self\b")
_GOES_ON = re.compile(rf" ?(?:(?:and|or|by|the|who) )*(?:(?:{ANY_ACT})\b|(?:can|have|need|is) )")
_OF_ALL = re.compile(
    r" (?:the )?(?:locked )?(?:tool|server)\b(?! (?:place|go|tool is|in server))"
    r"| (?:in|and|or|by) | ?[,.]|$"
)
_VAIN = re.compile(r"(?:(?:the|need|and|or|ask) )*\w+/ing\b(?:(?!\bnot\b).)*")
_DENIED = re.compile(
    r"\bnot (?:(?:can|be|is|to|the|someone|user|you|operator|and|or|way|in|tool|server|have|let"
    rf"|place|ask|ask/ing|need|only|policy|require|know|(?:{ANY_ACT})(?:/ing|/ed)?) )*$"
)
_NOUN_BEFORE = re.compile(
    r"(?<!can )(?<!to )(?<!not )(?<!let )(?<!have )(?<!ask )\b(?:the|policy|operator|user|lock) $"
)
_NOUN_AFTER = re.compile(
    r" (?:is|in|to|need|by|have|can|require|policy|place|and|or|because|until|lock\S*)\b| ?[,.]| ?$"
)
_NOUN_FIRST = re.compile(
    r" (?:require|need|in|is|lock\S*)(?: |$)| can be lock| to (?:the )?\w+ (?:is )?lock"
)


@dataclass(frozen=True, slots=True)
class Act:
    """One act that a remediation text mentions, in canonical words."""

    verb: str
    doer: str
    """operator, user, someone, you (whoever reads the text), nobody (an order, or a passive)."""
    on: str
    """policy, server, or tool where one is named; else empty."""
    is_denied: bool
    comes_after: bool
    """A use for the time after the remedy: `before it is called`, `then retry`."""
    is_outright: bool
    """Whether it is done to the locked thing itself, by the wording."""

    def fits(self, verbs: str, doers: str) -> bool:
        """Whether the act's verb and doer each match these patterns, alternatives parted by `|`."""
        return bool(re.fullmatch(verbs, self.verb) and re.fullmatch(doers, self.doer))


class Reading:
    """One text in canonical words, with its acts; mere pointers to discovery are left out.

    Attributes:
        plain: The text without markup and formatting, as `remediation_words.plain` returns it.
        whole: Its canonical words, pointers to discovery included.
        text: The canonical words of the clauses that are not such pointers.
        bare: The same without articles, for patterns.
        acts: All acts in `text`.
        ordered: The acts that it tells somebody to do: not denied, and not for after the remedy.
    """

    def __init__(self, text: str) -> None:
        """Bring the text into canonical words, leave pointers to discovery out, find its acts."""
        self.plain = plain(text)
        self.whole = canonical(text)
        clauses = _CLAUSE.split(self.whole)
        self.text = " . ".join(clause for clause in clauses if not _points_to_discovery(clause))
        self.bare = self.text.replace("the ", "")
        self.acts = tuple(_acts(self.text))
        self.ordered = tuple(act for act in self.acts if not (act.is_denied or act.comes_after))

    def says(self, *patterns: str) -> bool:
        """Whether any of the patterns matches the canonical words, with articles left out."""
        return any(re.search(pattern, self.bare) for pattern in patterns)

    def tells_only(self, verbs: str, doers: str = DOERS) -> bool:
        """Whether the text orders acts, and each one's verb and doer match these patterns."""
        return bool(self.ordered) and all(act.fits(verbs, doers) for act in self.ordered)

    def denies(self, verbs: str, doers: str = DOERS) -> bool:
        """Whether the text denies an act whose verb and doer match these patterns."""
        return any(act.is_denied and act.fits(verbs, doers) for act in self.acts)

    def asks_for_acts(self) -> bool:
        """Whether a question in the text contains acts; `can you ask ...?` does not count."""
        questions = [canonical(part) for part in re.findall(r"[^.!?]*\?", self.plain)]
        return any(
            any(_acts(question)) and not re.search(r"\b(?:can|need) you .*\bask\b", question)
            for question in questions
        )


def _points_to_discovery(clause: str) -> bool:
    """Whether the clause only points to discovery: `see retrieve_tools with include_disabled`.

    It has the word `pointer` and, as acts, at most one use and any changes.
    """
    if "pointer" not in clause:
        return False
    acts = [act.verb for act in _acts(clause)]
    return acts.count("use") <= 1 and {*acts} <= {"use", "change"}


def _acts(text: str) -> Iterator[Act]:
    """Yield the acts in a text of canonical words, in order, each with doer, object and denial."""
    remedied, last_verb = False, "change"
    for clause in _CLAUSE.split(text):
        carried = "nobody"
        vain = _VAIN.match(clause) if len(re.findall(r"\bnot\b", clause)) == 1 else None
        at = 0
        for statement in filter(None, _STATEMENT.split(clause)):
            at = clause.find(statement, at)
            doer = carried if _GOES_ON.match(statement) else "nobody"
            last = 0
            for match in _ACT.finditer(statement):
                ahead, behind = statement[: match.start()], statement[match.end() :]
                if _is_noun(match, ahead, behind):
                    continue
                verb = match["done"] or match["verb"]
                verb = last_verb if verb == "repeat" else verb
                last_verb = last_verb if verb == "use" else verb
                doer = _doer(ahead[last:], behind, doer)
                denied = _is_denied(match, ahead, behind)
                denied |= vain is not None and at + match.end() <= vain.end()
                yield Act(
                    verb=verb,
                    doer=doer,
                    on=_object(match, ahead, behind),
                    is_denied=denied,
                    comes_after=verb == "use" and _comes_after(ahead, behind, remedied=remedied),
                    is_outright=_OF_ALL.match(behind) is not None,
                )
                remedied |= not denied and verb not in ("use", "change")
                last = match.end()
            people = _PERSON.findall(statement)
            carried = people[-1] if people and doer in ("nobody", people[-1]) else doer


def _doer(ahead: str, behind: str, before: str) -> str:
    """Return an act's doer: `you` by yourself, the nearest person before it, or one it is left to.

    Without any it is `before`. `ahead` is the text before the act, `behind` the text after it.
    """
    if _BY_YOURSELF.match(behind):
        return "you"
    if people := _PERSON.findall(ahead):
        return str(people[-1])
    left_to = _BY_PERSON.match(behind)
    return left_to[1] if left_to else before


def _is_noun(match: re.Match[str], ahead: str, behind: str) -> bool:
    """Whether the match is not an act but a noun, as in `the change`, or a look at the logs.

    `ahead` is the text before the match, `behind` the text after it.
    """
    looks = (match["done"] or match["verb"]) in ("review", "inspect")
    of_logs = re.match(r" (?:(?:the|server|is|tool|in) )*logs", behind)
    if looks and (of_logs or re.search(r"\blogs (?:can )?$", ahead)):
        return True
    if match["done"] or "/" in match[0]:
        return False
    opens = not ahead.strip() and match[0] in ("change", "use") and _NOUN_FIRST.match(behind)
    return bool(opens or (_NOUN_BEFORE.search(ahead) and _NOUN_AFTER.match(behind)))


def _is_denied(match: re.Match[str], ahead: str, behind: str) -> bool:
    """Whether exactly one negation precedes the act and reaches it, or follows it if a gerund.

    An act after `lock/ed in` is denied too. `ahead` is the text before the act, `behind` the
    text after it.
    """
    if ahead.endswith("lock/ed in "):
        return True
    negations = len(re.findall(r"\b(?:not|stop)\b", ahead))
    if match[0].endswith("/ing") and not negations:
        return re.search(r"\b(?:can|is|have|need) not\b|\bnot way\b", behind) is not None
    return negations == 1 and _DENIED.search(ahead) is not None


def _comes_after(ahead: str, behind: str, *, remedied: bool) -> bool:
    """Whether a use is meant for the time after the remedy; `remedied`: an act came before it.

    `ahead` is the text before the use, `behind` the text after it.
    """
    if re.match(r" ?(?:only )?until\b(?! and)| ?to $", ahead):
        return True
    joined = re.search(
        r"\band (?:you |to |can )*$"
        r"|\bif (?:(?:the )?user |someone )?(?:can )?(?:need|require) (?:you |tool )?(?:to )?$",
        ahead,
    )
    later = re.match(r" (?:tool )?(?:the )?only until\b| (?:\S+ ){0,2}later\b", behind) is not None
    return later or (joined is not None and remedied)


def _object(match: re.Match[str], ahead: str, behind: str) -> str:
    """Return what the act is done to: policy, server or tool; "" if none is named near it.

    `ahead` is the text of the statement before the act, `behind` the text after it.
    """
    if "server" in match[0]:
        return "server"
    if re.match(r" (?:the |in |tool in )*policy\b", behind):
        return "policy"
    named = re.match(
        r" (?:the )?(?:tool (?:is )?)?(server)\b| (?:the|tool) (tool)\b", behind
    ) or re.search(
        r"\b(?:(server)|the (tool)) (?:(?:is|can|to|not|require|in|the|place) )*$", ahead
    )
    return str(named[1] or named[2]) if named else ""
