"""Numbers in a sentence: digits, English number words, and the article that counts one thing."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

MOST_DIGITS = 18
"""Digits of a number that are read; no count of tools needs more."""
_ONES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
_TEENS = ["ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen"]
_TEENS += ["eighteen", "nineteen"]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_WORDS = {word: number for number, word in enumerate(_ONES + _TEENS)} | {
    word: 10 * number for number, word in enumerate(_TENS, start=2)
}
_SCALES = {"hundred": 100, "thousand": 1000}
_OTHERS = {"single": 1, "dozen": 12}
_GROUPED = r"\d{1,3}(?:,\d{3})+(?![\w,])"
_DIGITS = re.compile(rf"(?<![a-z0-9_])(?<!\d[.,])(?:{_GROUPED}|\d+(?![a-z0-9_]|\.\d))")
_WORD = re.compile(r"[^\W\d_]+")
_ARTICLE = re.compile(r"\ban? (?:[a-z-]+ ){0,2}(?:tool|match|result|hit|entry)\b")


def numbers_in(text: str) -> tuple[int, ...]:
    """Return every number in a text: those in digits first, then those in words, then articles.

    `1,200` and `twenty-one` are one number each; digits inside a name (`tool2`) or a version
    (`1.5`) are none; `a locked tool` contains the number one.
    """
    plain = unicodedata.normalize("NFKC", text).lower()
    digits = (int(re.sub(r"\D", "", numeral)[:MOST_DIGITS]) for numeral in _DIGITS.findall(plain))
    return (*digits, *_in_words(plain), *(1 for _ in _ARTICLE.findall(plain)))


def _in_words(text: str) -> Iterator[int]:
    """Yield the value of each written-out number, its words parted by spaces, hyphens and `and`."""
    run: list[str] = []
    end = 0
    for match in _WORD.finditer(text):
        word, gap = match[0], text[end : match.start()]
        end = match.end()
        joined = bool(run) and not gap.strip(" -") and _continues(run[-1], word)
        if run and not joined:
            yield _value(run)
            run = []
        if joined or word in _WORDS or word in _OTHERS or word in _SCALES:
            run.append(word)
    if run:
        yield _value(run)


def _continues(before: str, word: str) -> bool:
    """Whether `word` continues the number to which the word `before` belongs: `twenty one`."""
    if word in _SCALES or word == "and":
        return word in _SCALES or before in _SCALES
    if before in _SCALES or before == "and":
        return word in _WORDS
    return before in _TENS and word in _ONES[1:]


def _value(run: list[str]) -> int:
    """Return the value of consecutive number words; words of no value count as 0."""
    total = part = 0
    for word in run:
        if word in _SCALES:
            part = max(part, 1) * _SCALES[word]
            if word == "thousand":
                total, part = total + part, 0
        else:
            part += _WORDS.get(word, _OTHERS.get(word, 0))
    return total + part
