"""A real browser for page tests: `Looking` records errors and requests; contrast, width, focus."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
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
    """Opens pages in a browser and records in `seen` everything that a page must not do."""

    browser: Browser
    folder: Path
    seen: list[str] = field(default_factory=list)

    def at(self, text: str, **options: Any) -> Page:
        """Write the text to a file, open it in a new browser context and return the page.

        `options` are those of the context: window size, colours, scripts.
        """
        path = self.folder / "page.html"
        path.write_text(text, encoding="utf-8")
        context = self.browser.new_context(**options)
        context.set_default_timeout(10_000)
        page = context.new_page()
        page.on("console", lambda message: self.seen.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: self.seen.append(f"error: {error}"))
        page.on("dialog", lambda dialog: self.seen.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: self._note(request.url, path.as_uri()))
        page.goto(path.as_uri())
        return page

    def _note(self, url: str, own: str) -> None:
        """Record the request in `seen` as `request: URL`, unless it is for the page at `own`."""
        if url.partition("#")[0] != own:
            self.seen.append(f"request: {url}")
