"""The grammar of remediation texts: how an act is told, a limit stated, an operator named."""

import re
from functools import cache

from mcp_proxy_conformance.discovery.remediation_words import (
    MASKED_NAME,
    Phrases,
    alternatives,
    words,
)

_PLACEHOLDER = re.compile(r"<([a-z_]+)>")
_FRAGMENTS = {
    "article": r"the|this|that|your|his|her|its|their|all|any|each|such|a|an",
    "unrelated": r"in|on|from|for|of|to|and|or|by|with|log\w*|debug\w*|flag|option|mode",
    "name": rf"{MASKED_NAME}|(?!include_disabled)\w+[_:]\w[\w:.-]*",
    "noun": r"(?:<article> )?(?:(?!<unrelated>\b)[\w'-]+ ){0,2}?(?:<objects>|<name>)",
    "itself": r"(?:it|this|that|them|these|those)(?: <objects>)?|(?:(?:the|its|your|owning) )?"
    r"(?:(?:locked|disabled|mcp|whole|owning|upstream|<name>) )*"
    r"(?:tools?|server|access|capability|<name>)",
    "target": r"it|this|that|them|these|those|what(?: [\w'-]+){1,4}?|<noun>",
    "adverb": r"again|first|now|then|simply|just|easily|manually|also|always|directly|kindly"
    r"|please",
    "joint": r"<prepositions>|<adverb>|with|on|at|back|before|for|to|and|or|so|by|here|there|as"
    r"|later|because|since|within|inside|please|yourself|themselves|once|if|when|until|unless|after",
    "after": r"(?=$|[^\w\s'-]| <joint>\b)",
    "place": r"<prepositions> (?:<article> )?(?:[\w-]+ ){0,2}?<places>\b(?!')",
    "bare": r"(?: again| first| now| manually)?(?=$|[^\w\s'-]| <prepositions> )",
    "aimed": r"(?: on| back on)? <target>(?: back on| on| again)?<after>|(?= <place>)",
    "split": r"(?:turn|switch|flip|toggle) <target> (?:back )?on(?: again)?<after>",
    "enable_aimed": r"<split>|<enable_verbs><aimed>",
    "enable_act": r"<enable_aimed>|<enable_verbs><bare>",
    "approve_aimed": r"<approve_verbs><aimed>",
    "approve_act": r"<approve_aimed>|<approve_verbs><bare>",
    "review_aimed": r"<review_verbs><aimed>",
    "review_act": r"<review_aimed>|<review_verbs><bare>",
    "modal": r"can|may|should|must|needs? to|ha(?:s|ve) to|will need to|will have to"
    r"|(?:is|are) (?:free|able) to",
    "be": r"(?:can|may|should|must|needs? to|ha(?:s|ve) to|will (?:need|have) to|is to)"
    r" (?:<adverb> )?be",
    "person": r"(?:(?:<article>|our) )?<users>",
    "start": r"(?:^|, )(?:<fillers>,? )*|\b(?:<fillers>|and|<modal>) ",
    "lead": r"(?:(?:check|open|find|locate|select|scan|<review_verbs>|<approve_verbs>"
    r"|<enable_verbs>)(?: <target>)? (?:and|or|then|and then) )?",
    "walk": r"(?:(?:go to|open|visit|navigate to|head to|use|click|press) <step>(?:and|to|then) )?",
    "aim": r"to (?:use|call|run|access|fix|lift|resolve|unlock|continue|proceed)\b[^,]{0,60}, ",
    "step": r"(?:(?:<navigation>|<places>|<objects>),? ){0,8}?",
    "lifted": r"overridden|overruled|bypassed|lifted|circumvented|undone|reversed",
    "freed": r"(?:<enable_participles>|<approve_participles>|changed|altered|modified"
    r"|removed|fixed)",
    "gap": r"(?:(?!(?:because|since|as|while|until|unless|which)\b)[\w'-]+ )",
    "us": r"users?|you|users'|user's|human|humans|agents?|anyone|anybody|end-users?|ui|nobody",
}


@cache
def pattern(template: str) -> re.Pattern[str]:
    """A template compiled: `<users>` stands for any phrase of that list or for that fragment."""

    def expand(found: re.Match[str]) -> str:
        part = found[1]
        if part in _FRAGMENTS:
            return "(?:" + _PLACEHOLDER.sub(expand, _FRAGMENTS[part]) + ")"
        return "(?:" + alternatives(getattr(words(), part)) + ")"

    return re.compile(_PLACEHOLDER.sub(expand, template))


# Acts told to the user or the agent beyond doubt: these may convict.
TOLD = (
    r"<start><asks> <person>,? (?:<adverb> )?(?:to|should|must|can) <step><lead>({act})",
    r"^(?:<fillers> )*(?:have|get|let) <person> (?:to )?<lead>({act})",
    (
        r"(?:(?:^|, )(?:<fillers>,? )*|\b(?:and|so|then|but|only|because|since) )"
        r"(?:<person>|you) <modal> (?:<adverb> ){0,2}<lead>({act})"
    ),
    r"^(?:<fillers>,? )*(?:<aim>)?<walk><lead>({aimed})",
    (
        r"^(?:<fillers>,? )*<itself>(?: (?:is|was) [\w-]+ and)? <be> ({participles})(?: again)?"
        r" (?:by (?:<person>|you)<after>|<place>$)"
    ),
)
# Acts named at all: these only convey, or spoil what else a text conveys.
NAMED = (
    r"\b<asks> <person>\b.{0,60}? ({act})",
    r"\b(?:<person>|you|they)(?: [\w'-]+){0,6}? <modal> (?:<adverb> ){0,2}<lead>({act})",
    r"^(?:and|or|then|but|otherwise) (?:<fillers> )*<walk><lead>({aimed})",
    r"\b<be> ({participles})<after>",
)
BY_ANYONE = (r"\b(?:<modal>|to) (?:<adverb> )?<lead>({act})",)
AWAITED = (
    (
        r"\b(?:until|unless|before) (?:<person>|you|they|someone|it|this|<noun>)"
        r"(?: (?:is|are|has|have|been|explicitly|manually))* ([\w-]*<{kind}_stems>\w*)"
    ),
)
OF_THE_USER = (*TOLD, *NAMED, *AWAITED)
OF_ANYONE = (*OF_THE_USER, *BY_ANYONE)
UNDETERMINED = (
    r"\b<undetermined>\b",
    (
        r"\b(?:not|unable to|failed to|could not|no) (?:\w+ ){0,3}?(?:determin|establish|ascertain"
        r"|identif|recogni|work(?:ed)? out|find(?:ing)? out|found out|figure|say which|know why"
        r"|tell why|learn why|pin down)\w*"
    ),
    (
        r"\b(?:cause|reason|grounds?) (?:is |was )?"
        r"(?:n a|n/a|missing|a mystery|unavailable|unresolved)\b"
    ),
)
_LOCKED = r"(?:disabled|banned|denied|blocked|locked|excluded|turned off|switched off)"
BLAMES = (
    (
        r"\b(?:<policy>|<users>|they|you) (?:[\w'-]+ ){0,4}?(?:disabled|banned|denied|blocked"
        r"|locked|forbade|forbids|turned|switched|unticked|un-ticked|excluded|removed|revoked)\b"
    ),
    rf"\b{_LOCKED} by (?:\w+ ){{0,2}}?(?:<policy>|<users>)\b",
    r"\b(?:because of|due to) (?:\w+ ){0,2}?<policy>\b",
)
"""Where a text says who it was after all."""
ENABLING = (
    r"(?:be )?(?:re-? ?)?(?:enabl|activ|toggl|flip|tick|turn|switch|put|bring|undo|undisabl|revers"
    r"|restor|permit|allow|unlock|unblock|opt|reinstat|lift|brought|undone)"
)
APPROVING = (
    r"(?:be )?(?:(?:re-?)?approv|accept|authori|grant|confirm|review|sign|consent|let|permit|allow"
    r"|trust|inspect|vet)"
)
"""How acts begin that enable, and acts that approve."""
SERVER_ACTS = (
    r"\b(start <noun>)",
    r"\b(servers?(?: [\w'-]+){0,3}? (?:<be>|to be) (?:<enable_participles>|started))\b",
)
SERVER_OFF = (
    r"\bservers?(?: [\w'-]+){0,4}? (?:is|was|has been) (?:[\w'-]+ )?(?:disabled|off|turned off)\b",
    r"\b(?:disabled|switched-off) server\b",
)
NOT_BY_USER = (
    (
        r"\b<us> <gap>{0,4}?(?:can|may|must|should|could|will|is|are|do|does)"
        r" not <gap>{0,4}<lift_stems>"
    ),
    r"\bno (?:\w+ ){0,2}?<us> (?:\w+ )?(?:can|may) (?:\w+ )?<lift_stems>",
    r"\bnot <gap>{0,2}?be <lifted>\b",
    r"\bnot <gap>{0,2}?be <freed> (?:\w+ ){0,3}?(?:by <us>|<place>|here)\b",
    (
        r"\b(?:not|non|un)[ -]?(?:<us>[ -])?"
        r"(?:overrid|overrul|lift|chang|toggle?|edit|negoti|revers|unlock)\w*[ai]ble\b"
    ),
    r"\bnot (?:something|a thing|a choice|for|up to) (?:\w+ ){0,2}?<us>\b",
    r"\bno (?:[\w'-]+ ){0,2}?(?:toggle|switch|override|effect|bypass|button)\b",
    r"\bno way (?:to|around|for)\b(?: [\w'-]+){0,3}? (?:<lift_stems>|it|this)",
    r"\bnot (?:\w+ )?(?:help|work|lift|unlock|override|bypass)\b",
    r"\b(?:beyond|outside|out of) (?:[\w']+ ){0,3}?(?:control|hands|reach|power|authority)\b",
    r"\bonly (?:by )?(?:<article> )?(?:\w+ )?<operators>\b",
    (
        r"\b(?:<us>|overrides?|overriding|toggling|enabling) (?:[\w'-]+ ){0,3}?(?:is|are) (?:\w+ )?"
        r"(?:unable|forbidden|prohibited|prevented|barred|impossible|ineffective|disallowed|powerless)\b"
    ),
    r"\b(?:prevents?|forbids?|prohibits?|bars?|stops?) (?:<article> )?<us>\b",
    r"\b(?:neither|nor) (?:<article> )?<us>\b",
    r"\bunable to (?:\w+ )?<lift_stems>",
)
ASKS_OPERATOR = (
    (
        r"\b<contacts> (?:<article> )?(?:(?!<us>\b|is\b|was\b|why\b|if\b)[\w'-]+ ){0,2}?"
        r"<operators>\b(?!')"
    ),
    (
        r"\b<operators>(?: [\w'-]+){0,2}? (?:<modal>|could) (?!not\b)(?:\w+ ){0,2}?"
        r"(?:<lift_stems>|<edit_verbs>|help|decide|permit|grant|lift)"
    ),
    r"\b(?:be|only) (?:<freed>|<lifted>) (?:only )?by (?:<article> )?(?:\w+ )?<operators>\b",
    r"\b(?:requires?|needs?) (?:<article> )?(?:\w+ )?<operators>\b",
    r"\bup to (?:<article> )?(?:\w+ )?<operators>\b",
    r"\bwithout (?:<article> )?<operators>",
)
EDITS_TOLD = (
    r"(?:^|, )(?:<fillers>,? )*<edit_verbs> <gap>{0,5}?<config_names>\b",
    r"\b(?:you|<person>) (?:must|should) <edit_verbs> <gap>{0,5}?<config_names>\b",
    (
        r"(?:^|, )(?:<fillers>,? )*(?:(?:remove|delete|strike|take) <gap>{0,4}?from"
        r"|add <gap>{0,4}?to) <gap>{0,3}?<config_names>\b"
    ),
)
CLAIMS = (
    r"\b<operators>'?s? (?:\w+ )?(?:policy|policies|rules?|lock|decision|restriction|config\w*)\b",
    (
        r"\b(?:denied|disabled|locked|blocked|excluded|set|fixed|restricted|imposed|forbidden|off)"
        r" (?:by|in|per|under|through|via) (?:<article> )?(?:[\w'-]+ ){0,2}?<policy>\b"
    ),
    r"\b(?:due to|because of|per|under|is|by) (?:<article> )?(?:[\w'-]+ )?(?:policy|policies)\b",
    (
        r"\b(?:policy|policies|config\w*) (?:\w+ )?"
        r"(?:forbids?|prohibits?|denies|deny|blocks?|disallows?|locks?|disables?|excludes?)\b"
    ),
    (
        r"\b<operators> (?:has |have )?(?:\w+ )?(?:denied|locked|disabled|blocked|forbidden|forbade"
        r"|turned|switched|excluded|removed|restricted)\b"
    ),
)
DENIALS = (
    (
        r"\b(?:not|no|never) (?:(?:an?|the|any|your|due to|because of|by|under|set by|part of|from"
        r"|a matter of|subject to|about) )*<policy>\b"
    ),
)
USER_DID = (
    r"\b(?:disabled|off|locked|hidden) by (?:<article> )?<users>\b",
    r"\b<person> (?:has |have )?(?:\w+ )?(?:disabled|turned|switched|locked|hid)\b",
    r"\bdisabled_by_user\b",
)
TO_SOMEBODY_ELSE = (
    (
        r"\b(?:ask|contact|consult|email|notify|petition|escalat|speak|talk|write|phone|ring)\w*"
        r" (?!(?:to |with |kindly |politely )*<person>\b)"
    ),
    r"\b(?:reach out|turn) to\b",
)

NEEDS_APPROVAL = (
    (
        r"\b(?:needs?|requires?|awaits?|awaiting|waiting for|pending|without) (?:<article> )?"
        r"(?:your|manual|human|explicit|<users>)(?:'s?)? (?:\w+ )?"
        r"(?:approval|consent|confirmation)\b"
    ),
    r"\bapproval (?:by|from|of) (?:<person>|you)\b",
    r"\bapproval (?:<place>|is required <place>)",
    (
        r"\b(?:get|obtain|request|grant|give|ask <person> for)"
        r" (?:[\w'-]+ ){0,2}?(?:approval|consent)\b"
    ),
)
NEEDS_REVIEW = (
    (
        r"\b(?:<users>|person|somebody|someone|<operators>)(?: [\w'-]+){0,5}? "
        r"(?:review|inspect|examine|vet|audit)(?:s|ed|ing)?\b"
    ),
    (
        r"\b(?:<users>|person|somebody|someone|<operators>) (?:must|should|has to|needs to|can)"
        r"(?: [\w'-]+){0,3}? (?:look|check|approve|release)\b"
    ),
    (
        r"\b(?:needs?|requires?|awaits?|awaiting|pending|until|after) (?:[\w'-]+ ){0,3}?"
        r"(?:review|inspection|audit|security check)\b"
    ),
    r"\b(?:lift|remove|release|clear|take)\w* (?:[\w'-]+ ){0,5}?quarantine\b",
)
ON_ITSELF = (
    r"(?:turn|switch|flip|toggle|<enable_verbs>|<approve_verbs>|<review_verbs>)(?: back)?(?: on)? "
    r"<itself>(?: back on| on| again)*|<enable_verbs>|<approve_verbs>|<review_verbs>"
    r"|<enable_participles>|<approve_participles>|<review_participles>"
)
ONCE_MORE = (
    r"^(?:re[- ]?(?:enable|activate)|undisable|toggle)\b|\b(?:back on|again)$",
    r"^(?:turn|switch|flip) (?:it|<noun>) on$",
)
IN_PLACE = r"^(?:$|[^\w\s'-]| <place>| by (?:<person>|you)\b)"
DETOUR = (
    (
        r"\b(?:by|with|via|through|from|using)\b"
        r"(?! (?:<article> )?(?:[\w'-]+ ){0,2}?(?:<places>|<users>|you)\b)"
        r"(?! (?:toggling|clicking|flipping|opening|going))"
    ),
)
HARMLESS = re.compile(
    r"\bif (?:it is |this is |you |they |the user |the task |it |this |that )?(?:really |do )?"
    r"(?:needs?|needed|wants?|wanted|wish|requires?|required|necessary|desired|likes?)\b"
    r"|\b(?:exists?|found|present|available|matches),? but\b"
)


TURNED_ON = ("turn", "switch", "flip", "toggle")


@cache
def _words_of(kind: str) -> Phrases:
    """What every act of a kind is told with, one of them at least."""
    listed = [getattr(words(), f"{kind}_{form}") for form in ("verbs", "participles", "stems")]
    return (*sum(listed, ()), *(TURNED_ON if kind == "enable" else ()))


def may_tell(clause: str, kind: str) -> bool:
    """Whether an act of that kind can be found at all: patterns are dear to compile."""
    return any(word in clause for word in _words_of(kind))


def of_kind(template: str, kind: str) -> str:
    """A template with its act, aimed act, participles and stems filled in for one kind of act."""
    filled = template.replace("{act}", f"<{kind}_act>").replace("{aimed}", f"<{kind}_aimed>")
    return filled.replace("{participles}", f"<{kind}_participles>").replace("{kind}", kind)
