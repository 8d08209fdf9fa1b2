"""Files named by a user, TOML too: read up to a size, else refused at once in a sentence."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from mcp_proxy_conformance.catalogue.bounded import MOST_OF_TOML, read_bytes, read_toml
from mcp_proxy_conformance.cli import main

DOTS = "." * 2000


def test_a_file_of_the_size_is_read_and_a_larger_one_is_not(tmp_path: Path) -> None:
    """`read_bytes` returns a file of 100 bytes at a limit of 100; at 99 it raises OSError."""
    path = tmp_path / "a"
    path.write_bytes(b"x" * 100)

    assert read_bytes(path, 100) == b"x" * 100
    with pytest.raises(OSError, match="it has more than 99 bytes"):
        read_bytes(path, 99)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs here")
@pytest.mark.parametrize("words", [
    ("report", "{}", "--format", "sarif"),
    ("run", "--target-file", "{}"),
    ("run", "reference", "--case", "{}"),
    ("run", "reference", "--deviations", "{}"),
    ("lint", "{}"),
])  # fmt: skip
@pytest.mark.parametrize("kind", ["fifo", "endless", "folder"])
def test_what_is_no_file_is_refused_at_once(
    words: tuple[str, ...], kind: str, tmp_path: Path
) -> None:
    """A command that is to read a FIFO, /dev/zero or a folder exits with 2 and prints one line."""
    path = tmp_path / "odd.toml"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "endless":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    out = ["--out", str(tmp_path / "out")] if words[0] == "run" else []

    done = CliRunner().invoke(main, [*(word.format(path) for word in words), *out])

    assert (done.exit_code, len(done.output.splitlines())) == (2, 1), done.output


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (".".join("a" * 2000) + " = 1", "the key on line 1 has more than 1000 parts"),
        ("a = 1\n[" + ".".join("b" * 2000) + "]", "the key on line 2 has more than 1000 parts"),
        ("a = {" + ".".join("b" * 2000) + " = 1}", "the key on line 1 has more than 1000 parts"),
        ("a = '''\n''''\n" + "'b#'." * 2000 + "b = 1", "the key on line 3 has more than"),
        (".".join("a" * 1001) + " = 1", "the key on line 1 has more than 1000 parts"),
    ],
)
def test_a_key_of_very_many_parts_is_not_read(text: str, sentence: str, tmp_path: Path) -> None:
    """`read_toml` raises ValueError, with the line, for a key of over 1000 dotted parts.

    To parse it would take gigabytes.
    """
    path = tmp_path / "a.toml"
    path.write_text(text)

    with pytest.raises(ValueError, match=sentence):
        read_toml(path)


@pytest.mark.parametrize(
    ("text", "members"),
    [
        (f'a = "{DOTS}"', {"a": DOTS}),
        (f"# {DOTS}", {}),
        (f"a = 1 # {DOTS} = 1", {"a": 1}),
        (f'a = """\n\\"""\n{DOTS}"""', {"a": f'"""\n{DOTS}'}),
        (f"a = '''\n{DOTS}'''", {"a": DOTS}),
        (f'"{DOTS}" = 1', {DOTS: 1}),
        ("a = [\n" + "1.5, " * 2000 + "]", {"a": [1.5] * 2000}),
    ],
)
def test_values_may_hold_what_keys_may_not(
    text: str, members: dict[str, object], tmp_path: Path
) -> None:
    """`read_toml` reads 2000 dots in a text, a comment, a quoted key or numbers of a list."""
    path = tmp_path / "a.toml"
    path.write_text(text)

    assert read_toml(path) == members


def test_a_toml_file_beyond_the_size_limit_is_not_read(tmp_path: Path) -> None:
    """`read_toml` raises OSError for a file of more than 1 MiB."""
    path = tmp_path / "a.toml"
    path.write_text("#" * (MOST_OF_TOML + 1))
    with pytest.raises(OSError, match="it has more than"):
        read_toml(path)
