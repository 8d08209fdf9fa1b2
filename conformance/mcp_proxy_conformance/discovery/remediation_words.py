"""Canonical form of English remediation texts: each known word replaced by its meaning."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache, partial

import msgspec

from mcp_proxy_conformance.catalogue.resources import fixtures_dir
from mcp_proxy_conformance.verdict.result import MASKED_NAME

UNREAD = "~"
"""Prefix of a word of the canonical form that is not in the word lists."""
TEXTS_KEPT = 500
Phrases = tuple[str, ...]


class Words(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The word lists of `remediation/words.json`; their meaning is in their schema."""

    verbs: dict[str, Phrases]
    words: dict[str, Phrases]
    harmless: Phrases
    hedges: Phrases
    foreign: Phrases


@cache
def words() -> Words:
    """Return the word lists, read from the fixtures once."""
    path = fixtures_dir() / "discovery" / "remediation" / "words.json"
    return msgspec.json.decode(path.read_bytes(), type=Words)


@cache
def _canonical_words() -> dict[str, str]:
    """Map every known phrase to its canonical word; a harmless phrase to ""."""
    listed = words()
    known = dict.fromkeys(listed.harmless, "")
    for verb, entries in listed.verbs.items():
        known |= {form: verb + ending for entry in entries for form, ending in _forms(entry)}
    return known | {phrase: word for word, phrases in listed.words.items() for phrase in phrases}


def _forms(entry: str) -> Iterator[tuple[str, str]]:
    """Yield (form, ending) of a verb's forms; endings are "", `/ing` and `/ed`.

    `entry` is the verb; `undo/undid/undone` lists irregular forms, which replace the regular
    past.
    """
    base, *irregular = entry.split("/")
    head, _, rest = base.partition(" ")
    tail = rest and f" {rest}"
    stem = head.removesuffix("e")
    root = f"{head[:-1]}i" if re.search("[^aeiou]y$", head) else stem
    sibilant = re.search("(?:s|sh|ch|x|o|[^aeiou]y)$", head)
    yield base, ""
    yield (f"{root}es" if sibilant else f"{head}s") + tail, ""
    for doubled in ("", head[-1]):
        yield stem + doubled + "ing" + tail, "/ing"
        if not irregular:
            yield root + doubled + "ed" + tail, "/ed"
    for form in irregular:
        yield form if " " in form else form + tail, "/ed"


def mask(text: str, names: Iterable[str]) -> str:
    """Replace these tool or server names in the text, ignoring case, by one word without meaning.

    A name that means an operator, a policy or a negation stays, since removing it could only
    make a lawful text look unlawful. Any other word of the lists is replaced only where it is
    quoted.
    """
    for name in sorted(filter(str.strip, names), key=len, reverse=True):
        meaning = _canonical_words().get(name.lower())
        if meaning in ("operator", "policy", "not"):
            continue
        spelled = re.escape(name)
        if meaning is not None:
            pattern = rf"(?<=[\"'`‘“:]){spelled}(?=[\\\"'`’”])"  # noqa: RUF001
        else:
            pattern = rf"(?<!\w){spelled}(?!\w)"
        text = re.sub(pattern, MASKED_NAME, text, flags=re.IGNORECASE)
    return text


_TYPOGRAPHY = str.maketrans(
    dict.fromkeys("‘’‚‛ʼ′`´＇", "'")  # noqa: RUF001
    | dict.fromkeys("“”„‟«»″＂", '"')  # noqa: RUF001
    | dict.fromkeys("–—―→›•", ".")  # noqa: RUF001
    | dict.fromkeys("‐‑\N{MINUS SIGN}", "-")  # noqa: RUF001
    | dict.fromkeys("*#", " ")
)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([nrt])|([\"'\\/]))")
_CONTRACTIONS = (
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"\b(?:can't|cannot)\b"), "can not"),
    (re.compile(r"(?<=[a-z])n't\b"), " not"),
    (re.compile(r"\b(can|don|won|isn|aren|doesn|mustn|shouldn)\W{1,3}t\b"), r"\1 not"),
    (re.compile(r"\b(it|that|what|there|here|who|how|one|nothing)'s\b"), r"\1 is"),
    (re.compile(r"(?<=\w)'re\b"), " are"),
    (re.compile(r"(?<=\w)'ll\b"), " will"),
    (re.compile(r"(?<=\w)'ve\b"), " have"),
    (re.compile(r"(?<=\w)'d\b"), " would"),
    (re.compile(r"\bi'm\b"), "i am"),
)
_STAND_INS = (
    (re.compile(r"\binclude_disabled\W{0,4}(?:is |set |to )*true\b"), " pointer "),
    (re.compile(r"(?<!\w)_([^\W_](?:[^_]*[^\W_])?)_(?!\w)"), r"\1"),
    (re.compile(r"(?:^|(?<=\s))[2-9][.)]\s"), " . then "),
    (re.compile(r"</?[a-z]+>|(?<=\s)-(?=\s)"), " . "),
    (re.compile(r"https?://\S*[\w/]|\b[\w-]+[:.]\w[\w:.-]*\w"), " tool "),
    (re.compile(r"\{(?:\w+[_.])?(tool|server)(?:[_.]\w+)?\}"), r" the \1 "),
    (re.compile(r"\{\w+\}|\b[a-z0-9]+(?:_[a-z0-9]+)+\b|(?<=[\"'`])[\w-]+(?=[\"'`])"), " tool "),
)
"""Patterns of emphasis, step numbers, addresses, identifiers, placeholders; their replacements."""
_SPLIT_ON = re.compile(
    r"\b(turn|switch|flip|flick|put|bring|toggle)(s|ed|ing|ting)? "
    r"((?:(?!off\b|on\b|and\b|to\b)[\w'-]+ ){1,4}?)(back on|on|back)\b(?! (?:the|their|its|your)\b)"
)
_SPLIT_OFF = re.compile(
    r"\b(turn|switch|shut|rul|keep|kept)(s|ed|ing)? ((?:(?!off\b|on\b)[\w'-]+ ){1,4}?)(off|out)\b"
)
_TOKEN = re.compile(r"[a-z][\w'/-]*\w|[a-z]|\d+|[^\s\w]|\w")
_CLAUSE_END = frozenset('.!?;:()[]{}"|>…\n')


def plain(text: str) -> str:
    """Return the text in lower case, compatibility-normalised, with contractions written out.

    Escapes are resolved, typographic signs and line breaks replaced, invisible signs removed.
    """

    def written_out(match: re.Match[str]) -> str:
        """Return the sign that an escape sequence means; for a line break, the end of a clause."""
        code, blank, sign = match.groups()
        return chr(int(code, 16)) if code else (" . " if blank else str(sign))

    text = unicodedata.normalize("NFKC", _ESCAPE.sub(written_out, text).translate(_TYPOGRAPHY))
    text = "".join(sign for sign in text if unicodedata.category(sign) != "Cf")
    text = text.translate(_TYPOGRAPHY).lower().replace("\n", " . ").replace("=", " is ")
    for contraction, written in _CONTRACTIONS:
        text = contraction.sub(written, text)
    return text


def is_english(text: str) -> bool:
    """Whether all letters are ASCII and no function word of another language is used."""
    read = plain(text)
    return all(sign.isascii() for sign in read if sign.isalpha()) and not has(words().foreign, read)


def has(phrases: Phrases, text: str) -> bool:
    """Whether any of the phrases occurs in the text as whole words; upper and lower case differ."""
    return re.search(rf"\b(?:{'|'.join(map(re.escape, phrases))})\b", text) is not None


@lru_cache(maxsize=TEXTS_KEPT)
def canonical(text: str) -> str:
    """Return the text in canonical words, clauses parted by ` . `, unknown words prefixed with `~`.

    `You can't switch this on.` becomes `you can not enable tool .`; `/ing` and `/ed` mark the
    form of a verb. Addresses, identifiers and quoted words that are in no word list become `tool`;
    numbers are left out.
    """
    read = plain(text)
    for pattern, stand_in in _STAND_INS:
        read = pattern.sub(partial(_without_name, stand_in), read)
    read = _SPLIT_ON.sub(r"\1\2 \4 \3", read)
    read = _SPLIT_OFF.sub(r"\1\2 \4 \3", read)
    tokens = [sign.strip("'") for sign in _TOKEN.findall(read)]
    return " ".join(filter(None, _canonical(tokens)))


def _without_name(stand_in: str, match: re.Match[str]) -> str:
    """Return the replacement of a matched name; one in the word lists keeps its meaning."""
    meaning = _canonical_words().get(match[0])
    if meaning is None:
        return match.expand(stand_in)
    return match[0] if match[0].isalpha() else f" {meaning} "


def _canonical(tokens: list[str]) -> Iterator[str]:
    """Yield the canonical word of each longest known phrase, "," for commas, "." for clause ends.

    An unknown word is yielded after `~`; numbers and other signs are left out.
    """
    known, at = _canonical_words(), 0
    longest = _longest_phrase()
    while at < len(tokens):
        for size in range(min(longest, len(tokens) - at), 0, -1):
            phrase = " ".join(tokens[at : at + size])
            if phrase in known:
                yield known[phrase]
                break
        else:
            size, sign = 1, tokens[at]
            if sign == "," or sign in _CLAUSE_END:
                yield "," if sign == "," else "."
            elif sign[:1].isalpha():
                yield UNREAD + sign
        at += size


@cache
def _longest_phrase() -> int:
    """Return the number of words in the longest known phrase."""
    return max(phrase.count(" ") + 1 for phrase in _canonical_words())
