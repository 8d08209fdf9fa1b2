"""Redaction: secrets are removed whole, encoded or cut; credentials found in environments."""

from __future__ import annotations

import base64
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_proxy_conformance.verdict.credentials import credentials
from mcp_proxy_conformance.verdict.redaction import FRAGMENT, REDACTED, Redactor

TOKEN = "tok-" + "".join(f"{number:03x}Z" for number in range(200))
LETTERS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=FRAGMENT)


def fragments(text: str) -> set[str]:
    """Return all pieces of FRAGMENT characters of the text; of a secret, none may be left."""
    return {text[at : at + FRAGMENT] for at in range(len(text) - FRAGMENT + 1)}


@given(LETTERS, st.integers(0, 40), st.integers(0, 40), st.text(), st.text())
def test_no_long_fragment_of_a_secret_is_left(
    secret: str, first: int, last: int, before: str, after: str
) -> None:
    """After redaction of any piece of a secret, FRAGMENT letters or more, no fragment is left."""
    piece = secret[min(first, len(secret) - FRAGMENT) :]
    piece = piece[: max(FRAGMENT, len(piece) - last)]

    redacted = Redactor([secret]).text(f"{before} {piece} {after}")

    assert [
        fragment for fragment in fragments(secret) if fragment in redacted.replace(REDACTED, "")
    ] == []


@pytest.mark.parametrize("cut", [0, 171, 500])
def test_an_excerpt_of_a_long_token_is_redacted(cut: int) -> None:
    """Beginning, end or middle of a long token are replaced by `(redacted)` as a whole.

    So they are if the token is percent-encoded or in base64.
    """
    encoded = base64.b64encode(TOKEN.encode()).decode()
    redactor = Redactor([TOKEN])

    for form in (TOKEN, quote(TOKEN, safe=""), encoded):
        for piece in (form[: cut + 171], form[cut:], form[cut : cut + FRAGMENT + 1]):
            assert redactor.text(f"refused: {piece}") == f"refused: {REDACTED}"


@given(st.text(), st.text(min_size=4))
def test_what_holds_no_secret_is_unchanged(text: str, secret: str) -> None:
    """A text without any of the secrets is unchanged, as is any text if no secret is known."""
    words = "an ordinary sentence, and a path: /usr/lib/python3"

    assert Redactor(["another-secret-altogether"]).text(words) == words
    assert Redactor([]).text(text) == text
    assert Redactor([secret]).text("") == ""


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("BACKEND", "postgresql://root:pw-canary-1@db/x", "pw-canary-1"),
        ("SENTRY_DSN", "https://dsn-canary-2@sentry.invalid/1", "dsn-canary-2"),
        ("SLACK_WEBHOOK_URL", "https://hooks.invalid/canary-3", "https://hooks.invalid/canary-3"),
        ("DB_PASS", "pass-canary-4", "pass-canary-4"),
        ("SESSION_COOKIE", "cookie-canary-5", "cookie-canary-5"),
        ("MY_CREDS", "creds-canary-6", "creds-canary-6"),
        ("HTTPS_PROXY", "http://me:proxy-canary-7@proxy.invalid:3128", "proxy-canary-7"),
    ],
)
def test_secrets_of_the_environment_are_known_by_name_or_by_shape(
    name: str, value: str, secret: str
) -> None:
    """Credentials are the values of variables with a secret's name, and passwords in any URL.

    HOME and LANG are none. The value is redacted, plain and percent-encoded.
    """
    known = list(credentials(environment={name: value, "HOME": "/home/nobody", "LANG": "C.UTF-8"}))

    assert secret in known
    assert not {"/home/nobody", "C.UTF-8"} & {*known}
    assert secret not in Redactor(known).text(f"it said {value} and {quote(value, safe='')}")


def test_a_variable_that_vanishes_while_it_is_read_is_left_out() -> None:
    """A variable that is gone between listing and reading is skipped; the others are yielded."""

    class Vanishing(dict[str, str]):
        def __getitem__(self, name: str) -> str:
            """Raise KeyError, as if the variable had just vanished."""
            raise KeyError(name)

        def get(self, name: str, default: str = "") -> str:  # type: ignore[override]
            """Return the default for GONE_TOKEN, `kept-value` for any other name."""
            return default if name == "GONE_TOKEN" else "kept-value"

    vanishing = Vanishing.fromkeys(["GONE_TOKEN", "API_TOKEN"], "")

    assert list(credentials(environment=vanishing)) == ["kept-value"]
