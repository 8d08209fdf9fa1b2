"""Redaction of secrets and their encodings; escaping of control characters and CI commands."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, quote_plus

BITS_OF_A_BYTE, BITS_OF_A_LETTER = 8, 6


def in_base64(raw: bytes, encode: Callable[[bytes], bytes] = base64.b64encode) -> Iterator[str]:
    """Yield, for each of three alignments, the base64 letters that these bytes alone determine.

    Whatever is around the bytes, its base64 contains one of the three.
    """
    for before in range(3):
        letters = encode(bytes(before) + raw).decode()
        first = math.ceil(before * BITS_OF_A_BYTE / BITS_OF_A_LETTER)
        yield letters[first : (before + len(raw)) * BITS_OF_A_BYTE // BITS_OF_A_LETTER]


REDACTED = "(redacted)"
LEAST, LEAST_ENCODED = 4, 6
"""Characters; a shorter secret, or a shorter encoding of one, would be found in any text."""
FRAGMENT, GRAM, MOST_PLACES = 12, 6, 8
"""Characters of a secret that are as secret as the whole, since a shown answer may have been cut;
characters by which they are looked for, and places that are kept of a repetitive secret."""
OURS = frozenset(
    {"check", "case", "clauses", "level", "verdict", "blame", "stage", "id", "format", "exit",
     "direction", "edge", "profile", "suite", "headline"}
)  # fmt: skip
"""Members of the report whose words are the suite's own."""


class Redactor:
    """Replaces secrets, and every long fragment of one, in texts and in JSON values."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """Keep the secrets of at least four characters, in all their encodings.

        Shorter ones are ignored.
        """
        secrets = [secret for secret in secrets if len(secret) >= LEAST]
        forms = {form for secret in secrets for form in _forms(secret)}
        longest_first = sorted(forms, key=lambda form: (-len(form), form))
        self._found = re.compile("|".join(map(re.escape, longest_first))) if forms else None
        self._grams: dict[str, list[tuple[str, int]]] = {}
        for form in sorted(form for form in forms if len(form) >= FRAGMENT):
            for at in range(len(form) - GRAM + 1):
                places = self._grams.setdefault(form[at : at + GRAM], [])
                if sum(known == form for known, _ in places) < MOST_PLACES:
                    places.append((form, at))

    def text(self, text: str) -> str:
        """Return the text with every form of a secret, and long fragments of one, replaced."""
        if self._found is None:
            return text
        return self._without_fragments(self._found.sub(REDACTED, text))

    def _without_fragments(self, text: str) -> str:
        """Return the text with parts of secrets, of 12 characters or more, replaced.

        Only six characters at each multiple of six are looked up, as every such part
        contains one of these.
        """
        kept, done, at = list[str](), 0, 0
        while at <= len(text) - GRAM:
            places = self._grams.get(text[at : at + GRAM])
            start, end = _widest(text, at, places) if places else (at, at)
            if end - start < FRAGMENT:
                at += GRAM
                continue
            kept += [text[done : max(start, done)], REDACTED]
            done, at = end, end + -end % GRAM
        return "".join([*kept, text[done:]])

    def tree(self, value: Any) -> Any:
        """Return a copy of a JSON value without secrets, in member names too.

        Members whose texts are the suite's own words, such as `verdict`, stay unchanged.
        """
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {
                self.text(name): inner
                if name in OURS
                and (
                    isinstance(inner, str)
                    or (
                        isinstance(inner, list | tuple)
                        and all(isinstance(word, str) for word in inner)
                    )
                )
                else self.tree(inner)
                for name, inner in value.items()
            }
        return [self.tree(inner) for inner in value] if isinstance(value, list | tuple) else value


NOTHING_SECRET = Redactor()


def _widest(text: str, at: int, places: Sequence[tuple[str, int]]) -> tuple[int, int]:
    """Return (begin, end) in the text of the longest fragment around the six characters at `at`.

    `places` are (secret, index) pairs of where these six are.
    """
    spans = []
    for form, place in places:
        before = after = 0
        while before < min(at, place) and text[at - before - 1] == form[place - before - 1]:
            before += 1
        most = min(len(text) - at, len(form) - place)
        while after < most and text[at + after] == form[place + after]:
            after += 1
        spans.append((at - before, at + after))
    return max(spans, key=lambda span: span[1] - span[0])


def _forms(secret: str) -> Iterator[str]:
    """Yield the secret plain, escaped (JSON, Python), percent-encoded (any case), in base64."""
    raw = secret.encode("utf-8", "replace")
    escaped = "".join(f"%{byte:02X}" for byte in raw)
    encoded = {quote(secret, safe="", errors="replace"), quote(secret, errors="replace"), escaped}
    encoded |= {quote_plus(secret, errors="replace"), *(_in_base64(raw))}
    encoded |= {quote(form, safe="") for form in _in_base64(raw)}
    yield secret
    yield from (json.dumps(secret)[1:-1], json.dumps(json.dumps(secret)[1:-1])[1:-1])
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield repr(secret)[1:-1]
    for form in encoded:
        yield from (form, re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), form))


def _in_base64(raw: bytes) -> Iterator[str]:
    """Yield the base64 letters of these bytes at each alignment, in both alphabets, if six or more.

    Wherever the bytes are in some data, its base64 contains the letters of one alignment.
    """
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield from (letters for letters in in_base64(raw, encode) if len(letters) >= LEAST_ENCODED)


_ACTIVE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069"
    "\ud800-\udfff\ufeff\ufffe\uffff]"
)


def inert(text: str) -> str:
    """Return the text with control, zero-width, direction characters and surrogates escaped.

    LF and tab stay.
    """
    return _ACTIVE.sub(lambda match: match.group().encode("unicode_escape").decode(), text)


_COMMAND = re.compile(r"^(\s*):(?=:)|#(?=#(?:\[|vso\[))", re.MULTILINE)


def disarmed(text: str) -> str:
    """Return the text with CI commands escaped: `::` that begins a line, any `##[` and `##vso[`."""
    return _COMMAND.sub(lambda match: f"{match[1]}\\:" if match[1] is not None else "#\\", text)


def encodable(value: Any) -> Any:
    """Return the JSON value with lone surrogates escaped, in keys too, so that UTF-8 encodes it."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {encodable(name): encodable(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(encodable, value))
    return value


def first_line(text: str) -> str:
    """Return the text up to its first LF; all of it without one."""
    return text.partition("\n")[0]
