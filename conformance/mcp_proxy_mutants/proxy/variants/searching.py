"""Another search, ranking, limit, window or scope behind the same surface."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from mcp_proxy_mutants.proxy.swapping import decide, put
from mcp_proxy_mutants.proxy.variant import Variant, variant
from mcp_proxy_reference.facts import Agent, Match, Surface, Tool
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.policy import MAX_LIMIT, cap, flag, limit, scope
from mcp_proxy_reference.search import Index, terms

Found = list[tuple[str, float]]
Split = tuple[Sequence[Match], Sequence[Match]]
FALLBACK = 15


class Substring:
    """Finds a query as it stands, in name or description, in the order of the keys."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._texts = sorted((one.key, f"{one.key} {one.description}".lower()) for one in tools)

    def find(self, query: str) -> Found:
        """Every tool whose text holds the query."""
        wanted = query.strip().lower()
        return [(key, 1.0) for key, text in self._texts if wanted and wanted in text]


class EveryWord:
    """Finds tools that hold all the words of a query; the shortest text first."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._texts = [(one.key, terms(f"{one.name} {one.description}")) for one in tools]

    def find(self, query: str) -> Found:
        """Every tool that has all the terms."""
        wanted = set(terms(query))
        found = [(key, 1 / len(text)) for key, text in self._texts if wanted and wanted <= {*text}]
        return sorted(found, key=lambda one: (-one[1], one[0]))


class Nearest:
    """The nearest neighbours by trigrams: something is always near."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._grams = [(one.key, _grams(f"{one.key} {one.description}")) for one in tools]

    def find(self, query: str) -> Found:
        """All tools, the nearest first."""
        wanted = _grams(query)
        near = [
            (key, len(wanted & grams) / len(wanted | grams) * 1.0) for key, grams in self._grams
        ]
        return sorted(near, key=lambda one: (-one[1], one[0]))


class Backwards(Index):
    """The same hits, the worst first."""

    def find(self, query: str) -> Found:
        """The hits in reverse."""
        return super().find(query)[::-1]


class WholeIndex:
    """One index for everybody: scores rest on tools beyond the scope as well."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._index = lru_cache(maxsize=32)(Index)
        self.most = 10**6

    def __call__(self, tools: Sequence[Tool]) -> "WholeIndex":
        """The part of it that the tools are."""
        part = WholeIndex(self._gateway)
        part.most, part._index = self.most, self._index
        part.keys = {one.key for one in tools}
        return part

    keys: set[str]

    def find(self, query: str) -> Found:
        """The first hits of all, then those in scope."""
        known = self._gateway.known().values()
        everything = tuple(
            facts.tool for server in known for facts in server if self._gateway.searchable(facts)
        )
        found = self._index(everything).find(query)[: self.most]
        return [one for one in found if one[0] in self.keys]


def _grams(text: str) -> frozenset[str]:
    padded = f"  {text.lower()}  "
    return frozenset(padded[at : at + 3] for at in range(len(padded) - 2))


def search(kind: type) -> Any:
    """A swap to another index."""

    def swapped(gateway: Gateway) -> None:
        put(gateway, index=lru_cache(maxsize=32)(kind))

    return swapped


def whole_index(gateway: Gateway) -> None:
    """One index for everybody."""
    put(gateway, index=WholeIndex(gateway))


def limit_before_scope(gateway: Gateway) -> None:
    """The search fetches as many hits as the limit says; scope and locks are looked at then."""
    index = WholeIndex(gateway)

    def remembered(arguments: Mapping[str, Any], default: int) -> int:
        index.most = limit(arguments, default)
        return index.most

    put(gateway, index=index)
    decide(gateway, limit=remembered)


def used_up(found: Sequence[Match], limit: int) -> Split:
    """Locked hits use up the limit of callable ones."""
    callables = [hit for hit in found[:limit] if hit.may_call]
    return callables, [hit for hit in found if not hit.may_call]


def cut_first(found: Sequence[Match], limit: int) -> Split:
    """Both kinds share the first hits of the search."""
    first = found[:limit]
    return [hit for hit in first if hit.may_call], [hit for hit in first if not hit.may_call]


def of_strings(arguments: Mapping[str, Any]) -> bool:
    """The flag, also as a word or a number."""
    value = arguments.get("include_disabled")
    if isinstance(value, (str, int)):
        return str(value).strip().lower() in {"true", "1", "yes", "on"}
    return flag(arguments) if isinstance(value, bool) else False


def lenient_limit(arguments: Mapping[str, Any], default: int) -> int:
    """Whatever is no usable limit counts as none was given."""
    try:
        value = float(arguments.get("limit", default))
    except (TypeError, ValueError):
        return default
    return min(int(value), MAX_LIMIT) if value >= 1 else default


def zero_is_none(arguments: Mapping[str, Any], default: int) -> int:
    """A limit of zero or less asks for nothing."""
    value = arguments.get("limit", default)
    if isinstance(value, (int, float)):
        return max(0, min(int(value), MAX_LIMIT))
    return limit(arguments, default)


def listing_for_all(agent: Agent, server: str, surface: Surface) -> bool:
    """The listing has no scope."""
    return surface == "listing" or scope(agent, server, surface)


VARIANTS: tuple[Variant, ...] = (
    variant(
        "search-substring",
        "The query is looked for as it stands.",
        "relevant",
        swap=search(Substring),
    ),
    variant("search-every-word", "All words must be there.", "relevant", swap=search(EveryWord)),
    variant(
        "search-nearest",
        "The nearest by trigrams, so that something is always found.",
        "relevant",
        swap=search(Nearest),
    ),
    variant("ranked-backwards", "The worst hits come first.", swap=search(Backwards)),
    variant(
        "whole-index",
        "Scores rest on the tools of all servers.",
        "non-interference",
        swap=whole_index,
    ),
    variant(
        "limit-before-scope",
        "The search fetches no more hits than the limit; scope and locks come then.",
        "window",
        "FR-006.window",
        "FR-006.fills",
        swap=limit_before_scope,
    ),
    variant(
        "window-used-up",
        "Locked hits use up the limit of callable ones.",
        "window",
        "FR-006.window",
        window=used_up,
    ),
    variant(
        "window-shared",
        "Callable and locked hits share the limit.",
        "window",
        "FR-006.window",
        "cap-fills",
        "FR-006.fills",
        window=cut_first,
    ),
    variant(
        "cap-of-five",
        "At most five locked entries.",
        "cap-fills",
        "FR-006.fills",
        cap=lambda wanted: min(cap(wanted), 5),
    ),
    variant("flag-of-strings", "The flag is also taken from words and numbers.", flag=of_strings),
    variant(
        "limit-lenient",
        "What is no usable limit counts as none.",
        "odd-limits",
        limit=lenient_limit,
    ),
    variant(
        "limit-literal",
        "A limit of zero or less asks for nothing.",
        "odd-limits",
        limit=zero_is_none,
    ),
    variant(
        "listing-for-all",
        "The listing shows every server to everybody, with its counts.",
        "scope-of-listing",
        "FR-007.listing~shown",
        scope=listing_for_all,
    ),
)
