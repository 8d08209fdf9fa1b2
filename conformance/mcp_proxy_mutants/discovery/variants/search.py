"""Variants of search and its index, of ranking, limit, flag and scope."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from mcp_proxy_mutants.discovery.gateway_changes import decide, put
from mcp_proxy_mutants.discovery.pieces import default_of_five
from mcp_proxy_mutants.discovery.variant import Variant, variant
from mcp_proxy_reference.facts import Tool
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.policy import MAX_LIMIT, cap, flag, limit, may_call, scope, window
from mcp_proxy_reference.search import Index, terms

Hits = list[tuple[str, float]]


class Substring:
    """Index that finds a query verbatim in name or description, in the order of the keys."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        """Keep address and description of each tool in lower case, sorted by address."""
        self._texts = sorted((tool.key, f"{tool.key} {tool.description}".lower()) for tool in tools)

    def find(self, query: str) -> Hits:
        """Return (key, 1.0) of every tool whose address or description contains the query.

        No tool for a blank query.
        """
        wanted = query.strip().lower()
        return [(key, 1.0) for key, text in self._texts if wanted and wanted in text]


class EveryWord:
    """Index that finds tools with all the words of a query, the shortest text first."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        """Keep the terms of each tool's name and description."""
        self._texts = [(tool.key, terms(f"{tool.name} {tool.description}")) for tool in tools]

    def find(self, query: str) -> Hits:
        """Return (key, score) of the tools that have all words of the query, shortest text first.

        No tool for a query without a word.
        """
        wanted = set(terms(query))
        hits = [(key, 1 / len(text)) for key, text in self._texts if wanted and wanted <= {*text}]
        return sorted(hits, key=lambda hit: (-hit[1], hit[0]))


class Nearest:
    """Index of the nearest neighbours by trigrams, which always finds something."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        """Keep the trigrams of each tool's address and description."""
        self._grams = [(tool.key, _grams(f"{tool.key} {tool.description}")) for tool in tools]

    def find(self, query: str) -> Hits:
        """Return (key, similarity from 0 to 1) of all tools, the most similar first."""
        wanted = _grams(query)
        near = [
            (key, len(wanted & grams) / len(wanted | grams) * 1.0) for key, grams in self._grams
        ]
        return sorted(near, key=lambda hit: (-hit[1], hit[0]))


class Backwards(Index):
    """Index with the same hits, the worst first."""

    def find(self, query: str) -> Hits:
        """Return the usual hits with their scores, the worst first."""
        return super().find(query)[::-1]


class WholeIndex:
    """One index for everybody: scores depend on tools beyond the agent's scope as well."""

    def __init__(self, gateway: Gateway) -> None:
        """Keep the gateway, whose tools are indexed at each search; at first no hit is cut off."""
        self._gateway = gateway
        self._index = lru_cache(maxsize=32)(Index)
        self.most = 10**6

    def __call__(self, tools: Sequence[Tool]) -> "WholeIndex":
        """Return a view of this index that finds only these tools."""
        part = WholeIndex(self._gateway)
        part.most, part._index = self.most, self._index
        part.keys = {tool.key for tool in tools}
        return part

    keys: set[str]

    def find(self, query: str) -> Hits:
        """Return (key, score) of this view's tools among the first `most` hits.

        These are hits of all searchable tools.
        """
        known = self._gateway.known().values()
        everything = tuple(
            facts.tool for server in known for facts in server if self._gateway.searchable(facts)
        )
        hits = self._index(everything).find(query)[: self.most]
        return [hit for hit in hits if hit[0] in self.keys]


def _grams(text: str) -> frozenset[str]:
    """Return the trigrams (parts of three letters) of a text in lower case, padded with blanks."""
    padded = f"  {text.lower()}  "
    return frozenset(padded[at : at + 3] for at in range(len(padded) - 2))


def search(kind: type) -> Callable[[Gateway], None]:
    """Return a gateway change that searches by indexes of the class `kind`.

    That is made of a sequence of tools, and has a method `find`; the last 32 are kept.
    """
    return lambda gateway: put(gateway, index=lru_cache(maxsize=32)(kind))


def limit_before_scope(gateway: Gateway) -> None:
    """Take as many hits of all tools as the limit says, then apply scope and locks to these."""
    index = WholeIndex(gateway)

    def remembered(arguments: Mapping[str, Any], default: int) -> int:
        index.most = limit(arguments, default)
        return index.most

    put(gateway, index=index)
    decide(gateway, limit=remembered)


def of_strings(arguments: Mapping[str, Any]) -> bool:
    """Return the flag, read from a word (true, yes, on) or the number 1 as well; else false."""
    value = arguments.get("include_disabled")
    if isinstance(value, (str, int)):
        return str(value).strip().lower() in {"true", "1", "yes", "on"}
    return flag(arguments) if isinstance(value, bool) else False


def lenient_limit(arguments: Mapping[str, Any], default: int) -> int:
    """Return the whole part of the request's limit, at most 100.

    The default if it is not a number or less than 1.
    """
    try:
        value = float(arguments.get("limit", default))
    except (TypeError, ValueError):
        return default
    return min(int(value), MAX_LIMIT) if value >= 1 else default


def zero_is_none(arguments: Mapping[str, Any], default: int) -> int:
    """Return the request's limit within 0 and 100: zero or less requests nothing.

    One that is not a number is read as usual.
    """
    value = arguments.get("limit", default)
    if isinstance(value, (int, float)):
        return max(0, min(int(value), MAX_LIMIT))
    return limit(arguments, default)


VARIANTS: tuple[Variant, ...] = (
    variant(
        "search-substring",
        "Search looks for the whole query as one text.",
        "relevant",
        swap=search(Substring),
    ),
    variant(
        "search-every-word",
        "A match must contain all words of the query.",
        "relevant",
        swap=search(EveryWord),
    ),
    variant(
        "search-nearest",
        "Search finds the nearest tools by trigrams, so there is always a match.",
        "relevant",
        swap=search(Nearest),
    ),
    variant("ranked-backwards", "The worst matches come first.", swap=search(Backwards)),
    variant(
        "whole-index",
        "Scores depend on the tools of all servers.",
        "non-interference",
        swap=lambda gateway: put(gateway, index=WholeIndex(gateway)),
    ),
    variant(
        "limit-before-scope",
        "Search fetches no more hits than the limit, before scope and locks are applied.",
        "window",
        "FR-006.window",
        "FR-006.fills",
        swap=limit_before_scope,
    ),
    variant(
        "window-used-up",
        "Locked hits use up the limit for callable ones.",
        "window",
        "FR-006.window",
        window=lambda hits, limit: (window(hits[:limit], limit)[0], window(hits, limit)[1]),
    ),
    variant(
        "window-shared",
        "Callable and locked hits share the limit.",
        "window",
        "FR-006.window",
        "cap-fills",
        "FR-006.fills",
        window=lambda hits, limit: window(hits[:limit], limit),
    ),
    variant(
        "cap-of-five",
        "An answer has at most five locked entries.",
        "cap-fills",
        "FR-006.fills",
        cap=lambda wanted: min(cap(wanted), 5),
    ),
    variant(
        "default-of-five",
        "Without a limit, five results come back, and five locked ones.",
        "FR-006.fills",
        "cap-fills",
        swap=partial(default_of_five, publishes=True),
    ),
    variant(
        "open-over-stdio",
        "Over stdio no tool is denied, and five results come back without a limit.",
        swap=partial(default_of_five, publishes=True),
        over_stdio=True,
        may_call=lambda facts, surface: may_call(replace(facts, denied=False), surface),
    ),
    variant("flag-of-strings", "The flag is also accepted as a word or a number.", flag=of_strings),
    variant(
        "limit-lenient",
        "An unusable limit is ignored.",
        "odd-limits",
        limit=lenient_limit,
    ),
    variant(
        "limit-literal",
        "With a limit of zero or less, nothing is listed.",
        "odd-limits",
        limit=zero_is_none,
    ),
    variant(
        "listing-for-all",
        "The listing shows every server, with its counts, to every agent.",
        "scope-of-listing",
        "FR-007.listing~shown",
        scope=lambda agent, server, purpose: purpose == "listing" or scope(agent, server, purpose),
    ),
)
