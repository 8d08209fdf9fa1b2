"""English remediation texts made comparable: their words, their plain form, their clauses."""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache

import msgspec

from mcp_proxy_conformance.catalogue.resources import fixtures_dir

MASKED_NAME = "masked_name"
"""What `mask` leaves where a tool or server name stood; reads as an identifier, says nothing."""

Phrases = tuple[str, ...]


class Words(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The word lists of `fixtures/remediation/words.json`; their meaning is in their schema."""

    negators: Phrases
    hedges: Phrases
    foreign: Phrases
    policy: Phrases
    operators: Phrases
    policy_guard_stems: Phrases
    policy_guard_words: Phrases
    users: Phrases
    asks: Phrases
    contacts: Phrases
    enable_verbs: Phrases
    enable_participles: Phrases
    enable_stems: Phrases
    approve_verbs: Phrases
    approve_participles: Phrases
    approve_stems: Phrases
    review_verbs: Phrases
    review_participles: Phrases
    review_stems: Phrases
    lift_stems: Phrases
    objects: Phrases
    places: Phrases
    undetermined: Phrases
    pointers: Phrases
    idioms: Phrases
    fillers: Phrases
    prepositions: Phrases
    convicting_verbs: Phrases
    edit_verbs: Phrases
    config_names: Phrases
    navigation: Phrases
    acts: Phrases
    acts_done: Phrases
    acts_or_nouns: Phrases


@cache
def words() -> Words:
    """The word lists, read once."""
    path = fixtures_dir() / "remediation" / "words.json"
    return msgspec.json.decode(path.read_bytes(), type=Words)


def alternatives(phrases: Phrases) -> str:
    """A pattern for any of the phrases, the longest tried first."""
    return "|".join(sorted(map(re.escape, phrases), key=len, reverse=True))


@cache
def any_word(phrases: Phrases) -> re.Pattern[str]:
    """Finds any of the phrases as whole words."""
    return re.compile(rf"\b(?:{alternatives(phrases)})\b")


def all_found(wanted: re.Pattern[str], text: str) -> Phrases:
    """Every match, in order of appearance."""
    return tuple(found[0] for found in wanted.finditer(text))


@cache
def any_stem(stems: Phrases) -> re.Pattern[str]:
    """Finds a word that holds any of the stems anywhere in it."""
    return re.compile(rf"\b\w*(?:{alternatives(stems)})\w*\b")


def mask(text: str, names: Iterable[str]) -> str:
    """The text with tool and server names replaced by one word that says nothing.

    A name that is itself an operator word or a negator stays: taking it out could only make a
    lawful text look unlawful. Any other plain word of the lists is taken out only where quoted.
    """
    for name in sorted(filter(str.strip, names), key=len, reverse=True):
        spelled = re.escape(name)
        if name.isalpha() and _is_guard(name.lower()):
            continue
        if name.isalpha() and any_stem(_vocabulary()).search(name.lower()):
            pattern = rf"(?<=[\"'`‘“:]){spelled}(?=[\\\"'`’”])"  # noqa: RUF001
        else:
            pattern = rf"(?<!\w){spelled}(?!\w)"
        text = re.sub(pattern, MASKED_NAME, text, flags=re.IGNORECASE)
    return text


def _is_guard(word: str) -> bool:
    listed = words()
    whole = listed.negators + listed.policy_guard_words + listed.policy
    found = any_word(whole).search(word) or any_stem(listed.policy_guard_stems).search(word)
    return found is not None


@cache
def _vocabulary() -> Phrases:
    listed = words()
    acts = listed.enable_stems + listed.approve_stems + listed.review_stems
    return acts + listed.lift_stems + listed.users + listed.objects + listed.contacts


_TYPOGRAPHY = str.maketrans(
    dict.fromkeys("‘’‚‛ʼ′`´＇", "'")  # noqa: RUF001
    | dict.fromkeys("“”„‟«»″＂", '"')  # noqa: RUF001
    | dict.fromkeys("–—―", " - ")  # noqa: RUF001
    | dict.fromkeys("‐‑\N{MINUS SIGN}", "-")  # noqa: RUF001
    | dict.fromkeys("*#>•→", " ")
)
_CONTRACTIONS = (
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"\bshan't\b"), "shall not"),
    (re.compile(r"\b(?:can't|cannot)\b"), "can not"),
    (re.compile(r"(?<=[a-z])n't\b"), " not"),
    (re.compile(r"\b(can|don|won|isn|aren|doesn|mustn|shouldn)\W{1,3}t\b"), r"\1 not"),
)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([nrt])|([\"'\\/]))")
_QUOTED_WORD = re.compile(r"""(?<!\w)(["'])(\w[\w.:/-]*)\1(?!\w)""")
_QUOTED_PROSE = re.compile(r"""(?:(?<=[\w,)] )|^)"([^"\n]{1,200})"(?=$|[\s.,;!?)])""")
_PLACEHOLDER = re.compile(r"\{[a-z_]+(?:[.:][a-z_]+)?\}")
"""Where a name will stand, as a template has it."""
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SEPARATOR = re.compile(r"[_/-]")
_CLAUSE_END = re.compile(
    r"[.!?…]+(?=[\s\"')\]]|$)|;|:(?=[\s\"']|$)|\n\s*\n|[()\[\]{}\"|\u2028\u2029]|\s-+\s"
    r"|,?\s(?=(?:but|otherwise|yet|whereas)\s)|,\s(?=or\s)",
)


def unescaped(text: str) -> str:
    r"""The text with JSON escapes written out, as a document inside a text carries them."""

    def written_out(found: re.Match[str]) -> str:
        code, blank, sign = found.groups()
        if code:
            return chr(int(code, 16))
        return {"n": "\n\n", "r": " ", "t": " "}[blank] if blank else str(sign)

    return _ESCAPE.sub(written_out, text)


_EMPHASIS = re.compile(r"(?<!\w)_([^\W_](?:[^_]*[^\W_])?)_(?!\w)")
"""A word or phrase set off by underscores, as in `_approve_`."""


def plain(text: str) -> str:
    """The text in lower case, compatibility-normalised, with contractions written out."""
    text = unicodedata.normalize("NFKC", text.translate(_TYPOGRAPHY)).translate(_TYPOGRAPHY)
    text = "".join(sign for sign in text if unicodedata.category(sign) != "Cf").lower()
    text = _EMPHASIS.sub(r"\1", text)
    for contraction, written_out in _CONTRACTIONS:
        text = contraction.sub(written_out, text)
    return text


def every_word(text: str) -> str:
    """The plain form in which no guarding word can hide: identifiers split, escapes both ways."""
    forms = (text, unescaped(text))
    split = tuple(_CAMEL.sub(" ", form) for form in forms)
    return " | ".join(_SEPARATOR.sub(" ", plain(form)) for form in forms + split)


def clauses(text: str) -> tuple[str, ...]:
    """The clauses of a text in their plain form, parted where a new statement starts."""
    named = _PLACEHOLDER.sub(MASKED_NAME, plain(unescaped(text)))
    dequoted = _QUOTED_WORD.sub(r" \2 ", named)
    dequoted = _QUOTED_PROSE.sub(r"\1", dequoted)
    dequoted = any_word(words().idioms).sub(" ", dequoted)
    parts = (" ".join(part.split()).strip(" ,-'") for part in _CLAUSE_END.split(dequoted))
    return tuple(part for part in parts if part)


def is_english(text: str) -> bool:
    """Whether all letters are ASCII and no function word of another language is used."""
    lowered = plain(unescaped(text))
    return (
        all(sign.isascii() for sign in lowered if sign.isalpha())
        and any_word(words().foreign).search(lowered) is None
    )
