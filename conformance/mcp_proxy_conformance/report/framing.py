"""What every HTML page has: one style, one script, and a policy that allows no others."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from mcp_proxy_conformance.verdict.escaping import inert

PACKAGE, FOLDER = "mcp_proxy_conformance", "report"


def framed(template: str, **values: Any) -> str:
    """The page that a template makes of these values; each text of theirs is inert and escaped."""
    style, script = _part("page.css"), _part("page.js")
    return (
        _environment()
        .get_template(template)
        .render(
            **values,
            style=Markup(style),  # noqa: S704 - it is ours
            script=Markup(script),  # noqa: S704 - it is ours
            policy=(
                f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}';"
                " base-uri 'none'; form-action 'none'"
            ),
        )
    )


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader(PACKAGE, FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _shown(value: Any) -> Any:
    """Every text that reaches the page, escaped after this; markup is what a macro made of them."""
    return inert(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _part(name: str) -> str:
    return files(PACKAGE).joinpath(FOLDER, name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """The source of a policy that allows this text alone."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
