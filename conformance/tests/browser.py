"""A real browser for page tests: `Looking` records errors and requests; contrast, width, focus."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

BROWSER = "MCP_PROXY_CONFORMANCE_BROWSER"
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 360, "height": 740}

CONTRASTS = """() => {
  const parts = (color) => color.match(/[\\d.]+/g).map(Number);
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const [r, g, b, a = 1] = parts(getComputedStyle(at).backgroundColor);
      if (a === 1) return [r, g, b];
      if (a !== 0) throw new Error(`half transparent: ${at.className}`);
    }
    throw new Error("no ground");
  };
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((one) => one / 255)
      .map((one) => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const found = {};
  for (const element of document.querySelectorAll("body *:not(script)")) {
    const own = [...element.childNodes].some((one) => one.nodeType === 3 && one.data.trim());
    if (!own) continue;
    const [a, b] = [light(parts(getComputedStyle(element).color)), light(ground(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const name = `${element.tagName.toLowerCase()}.${element.className}`;
    found[name] = Math.min(found[name] ?? 99, ratio);
  }
  return found;
}"""
"""The least contrast of the two colours of each kind of element with text of its own."""

TOO_WIDE = """() => {
  document.querySelectorAll("details").forEach((one) => { one.open = true; });
  const page = document.documentElement;
  return page.scrollWidth - page.clientWidth;
}"""
"""The number of pixels by which the unfolded page is wider than the window."""

FOCUS = """() => {
  const at = document.activeElement, style = getComputedStyle(at);
  return { tag: at.tagName, text: at.textContent.trim(), id: at.id,
    ring: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 };
}"""
"""The element with the focus, and whether the focus can be seen."""


def program() -> str:
    """Return the path of Chromium: the one named in the environment, else that on the path.

    Skips the test if there is none.
    """
    named = os.environ.get(BROWSER)
    path = named or shutil.which("chromium")
    if not path:
        pytest.skip("there is no browser; Debian's package is `chromium`")
    return path


@contextmanager
def browser() -> Iterator[Browser]:
    """Start a headless Chromium, yield it, and close it."""
    path = program()
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path)
        yield opened
        opened.close()


@dataclass(slots=True)
class Looking:
    """Opens documents in a browser and records in `seen` everything that they must not do.

    Documents with equal options are opened one after the other in one tab, since a new one costs
    four times as much as a document.
    """

    browser: Browser
    folder: Path = field(default_factory=Path)
    seen: list[str] = field(default_factory=list)
    tabs: dict[str, Page] = field(default_factory=dict)

    def begin(self, folder: Path) -> None:
        """Write documents to this folder from now on, record anew, and withdraw permissions."""
        self.folder = folder
        self.seen.clear()
        for page in self.tabs.values():
            page.context.clear_permissions()

    def at(self, text: str, **options: Any) -> Page:
        """Write the text to a file, open it in the tab of these options and return that page.

        `options` are those of a browser context: window size, colours, scripts.
        """
        path = self.folder / "page.html"
        path.write_text(text, encoding="utf-8")
        tab = json.dumps(options, sort_keys=True)
        if tab not in self.tabs:
            self.tabs[tab] = self._opened(options)
        self.tabs[tab].goto(path.as_uri())
        return self.tabs[tab]

    def _opened(self, options: Mapping[str, Any]) -> Page:
        """Return a new tab, in a browser context of its own with these options."""
        context = self.browser.new_context(**options)
        context.set_default_timeout(10_000)
        page = context.new_page()
        page.on("console", lambda message: self.seen.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: self.seen.append(f"error: {error}"))
        page.on("dialog", lambda dialog: self.seen.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: self._note(request.url))
        return page

    def _note(self, url: str) -> None:
        """Record the request in `seen` as `request: URL`, unless it is for the test's document."""
        if url.partition("#")[0] != (self.folder / "page.html").as_uri():
            self.seen.append(f"request: {url}")
