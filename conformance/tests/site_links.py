"""Links of a site: a page as parsed, and the addresses in it that lead nowhere."""

from __future__ import annotations

from collections.abc import Mapping
from html.parser import HTMLParser
from posixpath import dirname, join, normpath


class Page(HTMLParser):
    """A page as parsed: its tags with attributes, its anchors, and its scripts."""

    def __init__(self, text: str) -> None:
        """Parse the page: its tags with attributes, and the texts of its scripts."""
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.scripts: list[str] = []
        self._in_script = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep a tag with its attributes; note whether it begins a script."""
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        self._in_script = tag == "script"

    def handle_data(self, data: str) -> None:
        """Keep the text if it is a script's."""
        if self._in_script:
            self.scripts.append(data)

    def handle_endtag(self, tag: str) -> None:
        """Note the end of a script."""
        self._in_script = self._in_script and tag != "script"

    @property
    def anchors(self) -> list[str]:
        """The ids of the page's elements, in order, repeated ones too."""
        return [attributes["id"] for _, attributes in self.tags if "id" in attributes]

    @property
    def addresses(self) -> list[str]:
        """The addresses that the page links to or loads, in order."""
        return [
            attributes[name]
            for _, attributes in self.tags
            for name in ("href", "src", "xlink:href", "action", "data", "poster")
            if name in attributes
        ]


def broken_links(files: Mapping[str, bytes]) -> list[str]:
    """Return `page -> address` of each link that leads nowhere, or out of the site.

    `files` are the site's contents by path.
    """
    parsed = {
        path: Page(content.decode()) for path, content in files.items() if path.endswith(".html")
    }
    known = {path: set(page.anchors) for path, page in parsed.items()}
    lost = []
    for path, page in parsed.items():
        outside = {tag["href"] for name, tag in page.tags if name == "a" and "://" in tag["href"]}
        for address in page.addresses:
            if address in outside:
                continue
            place, _, anchor = address.partition("#")
            target = normpath(join(dirname(path), place)) if place else path
            if target not in files or (anchor and anchor not in known.get(target, set())):
                lost.append(f"{path} -> {address}")
    return lost
