"""Relay mutants with two upstreams: tools of one name lost or mixed up, credentials that cross."""

import json
from collections.abc import Mapping, Sequence

from mcp_proxy_mutants.fidelity.mutant import MakeRemote, relay_mutant
from mcp_relay_reference import message
from mcp_relay_reference.remote import Remote
from mcp_relay_reference.several import Several, Tool

Upstream = tuple[str, Mapping[str, str]]
AUTHORIZATION = "authorization"


class _Lossy(Several):
    """Of tools of one name, only the first is listed."""

    def merged(self, tools: Sequence[Tool]) -> list[str]:
        """Leave out a tool whose name has come before."""
        first = {tool["name"]: (number, tool) for number, tool in reversed(tools)}
        return super().merged([*first.values()])


class _Plain(Several):
    """Tools are listed under their own names; a call goes to the first upstream that has it."""

    def merged(self, tools: Sequence[Tool]) -> list[str]:
        """Keep every name, and who has it first."""
        self.owners = {json.loads(tool["name"]): number for number, tool in reversed(tools)}
        return [message.text_of(tool) for _, tool in tools]

    def routed(self, name: str) -> tuple[int, str]:
        """Return the first upstream that has the tool."""
        return self.owners.get(name, -1), name


class _Mixed(_Plain):
    """Of tools of one name the last is listed, and the first is called."""

    def merged(self, tools: Sequence[Tool]) -> list[str]:
        """Keep the last tool of each name."""
        super().merged(tools)
        return [
            message.text_of(tool) for tool in {each["name"]: each for _, each in tools}.values()
        ]


class _Crossed(Several):
    """Calls go to the other upstream, if that has a tool of the name."""

    def merged(self, tools: Sequence[Tool]) -> list[str]:
        """Keep the names that each upstream has."""
        self.names = [(number, json.loads(tool["name"])) for number, tool in tools]
        return super().merged(tools)

    def routed(self, name: str) -> tuple[int, str]:
        """Return the other upstream, if it can be called instead."""
        number, own = super().routed(name)
        return (1 - number if (1 - number, own) in self.names else number), own


class _Refusing(Several):
    """Calls of the second upstream's tools are refused as unknown."""

    def routed(self, name: str) -> tuple[int, str]:
        """Return the first upstream, or that there is none."""
        number, own = super().routed(name)
        return (number if number == 0 else -1), own


class _Following(Remote):
    """Redirects are followed, with a key beside the token that is in a header of its own."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        """Put the token into two headers; only one of them is dropped on the way elsewhere."""
        super().__init__(url, {**headers, "x-api-key": headers.get(AUTHORIZATION, "")})
        self._http.follow_redirects = True


def _following(upstreams: Sequence[Upstream]) -> Remote:
    """Return the way to one upstream or to several, on which redirects are followed."""
    remotes = [_Following(*each) for each in upstreams]
    return remotes[0] if len(remotes) == 1 else Several(remotes)


def _same_token(upstreams: Sequence[Upstream]) -> Remote:
    """Return the way to upstreams that are all shown the token of the first."""
    _, own = upstreams[0]
    remotes = [Remote(url, own) for url, _ in upstreams]
    return remotes[0] if len(remotes) == 1 else Several(remotes)


def _all_tokens(upstreams: Sequence[Upstream]) -> Remote:
    """Return the way to upstreams that are told the tokens of all, in a header."""
    tokens = ", ".join(own.get(AUTHORIZATION, "") for _, own in upstreams)
    remotes = [Remote(url, {**own, "x-known": tokens}) for url, own in upstreams]
    return remotes[0] if len(remotes) == 1 else Several(remotes)


def several_by(kind: type[Several]) -> MakeRemote:
    """Return what makes the way to upstreams of that class, or to a single one."""

    def make(upstreams: Sequence[Upstream]) -> Remote:
        remotes = [Remote(*each) for each in upstreams]
        return remotes[0] if len(remotes) == 1 else kind(remotes)

    return make


MUTANTS = (
    relay_mutant(
        "relay-lists-the-first-of-two",
        "Of tools of one name, only the first is listed.",
        "RLY.tools.collide.unique",
        remote=several_by(_Lossy),
    ),
    relay_mutant(
        "relay-lists-two-as-one",
        "Tools of several upstreams keep their names, though they are equal.",
        "RLY.tools.collide.unique",
        remote=several_by(_Plain),
    ),
    relay_mutant(
        "relay-mixes-upstreams",
        "Of tools of one name the last is listed, and the first is called.",
        "RLY.tools.collide.routed",
        "RLY.tools.collide.unique",
        remote=several_by(_Mixed),
    ),
    relay_mutant(
        "relay-calls-another-upstream",
        "A call goes to another upstream that has a tool of that name.",
        "RLY.tools.collide.routed",
        remote=several_by(_Crossed),
    ),
    relay_mutant(
        "relay-lists-the-second-in-vain",
        "The tools of the second upstream are listed, and every call of them is refused.",
        "RLY.tools.collide.routed",
        remote=several_by(_Refusing),
    ),
    relay_mutant(
        "relay-follows-redirects",
        "A redirect is followed, with the upstream's token in a header.",
        "RLY.cred.down.sideways",
        remote=_following,
    ),
    relay_mutant(
        "relay-has-one-token-for-all",
        "All upstreams are shown the token of the first.",
        "RLY.cred.down.sideways",
        remote=_same_token,
    ),
    relay_mutant(
        "relay-tells-all-tokens",
        "All upstreams are told the tokens of all.",
        "RLY.cred.down.sideways",
        remote=_all_tokens,
    ),
)
