"""The lines on which the entries of a deviations file and their members stand."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NOT_MEANT = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})'
    r"|'''.*?'''(?:'{0,2})"
    r'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\''
    r"|\#[^\n]*",
    re.DOTALL,
)
_HEADER = re.compile(r"""\s*\[\[\s*(?:deviation|"deviation"|'deviation')\s*\]\]""")
_MEMBER = re.compile(r"""\s*(?:([A-Za-z0-9_-]+)|"([^"]*)"|'([^']*)')\s*=""")


@dataclass(frozen=True, slots=True)
class Lines:
    """The line of an entry's header, and those of its members by their names."""

    header: int
    members: dict[str, int]

    def of(self, member: str) -> int:
        """The line of a member, that of the header when it is not found."""
        return self.members.get(member, self.header)


def lines_of(text: str) -> list[Lines]:
    """The entries of a text that is TOML, those written as `[[deviation]]`, in their order."""
    found: list[Lines] = []
    for number, line in enumerate(_bare(text).split("\n"), 1):
        if _HEADER.match(line):
            found.append(Lines(number, {}))
        elif found and (member := _MEMBER.match(line)):
            name = next(one for one in member.groups() if one is not None)
            found[-1].members.setdefault(name, number)
    return found


def line_of(text: str, name: str) -> int:
    """The line on which a member or a table of that name first stands; the first when none does."""
    wanted = re.compile(rf"""\s*\[*\s*["']?{re.escape(name)}["']?\s*[=.\]]""")
    lines = enumerate(_bare(text).split("\n"), 1)
    return next((number for number, line in lines if wanted.match(line)), 1)


def _bare(text: str) -> str:
    """The text without comments and without what texts of several lines hold, line by line."""
    return _NOT_MEANT.sub(lambda found: _emptied(found.group()), text)


def _emptied(token: str) -> str:
    if token.startswith("#") or "\n" in token:
        return "\n" * token.count("\n")
    return token
