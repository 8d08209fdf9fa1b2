"""Packages that target files name: installed by pip or npm on first use, and kept.

They are in the user's cache, in a folder whose name has a digest of them and of the interpreter or
npm, so that other versions get another one. It is made beside its place and moved there whole: if
two processes make one at once, the later one is dropped; a failure leaves nothing.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import msgspec

from mcp_proxy_conformance.targets.description import BadTarget, Description, Installer

INSTALL_S = 600.0
"""Seconds that making an environment may take."""
SCRIPT = (
    "import sys; from importlib.metadata import entry_points as named; "
    "name = sys.argv.pop(1); it = list(named(group='console_scripts', name=name)); "
    "sys.exit(it[0].load()() if it else f'the installed packages have no program {name}')"
)
"""Starts a program of a package; the scripts that pip writes name the folder before its move."""
PYTHON = "bin/python"
NEEDED = {
    "pip": "install the Python modules venv and pip",
    "npm": "install Node.js with npm",
}


class NotInstalled(BadTarget):
    """An environment could not be made; one sentence with the reason and a hint."""


def installed(described: Description) -> Description:
    """Return the description with its packages installed and its programs named by their paths.

    Missing ones are installed, which may take minutes. Raises NotInstalled.
    """
    for installer, packages in described.install.items():
        folder = _folder(installer, packages)
        if not folder.is_dir():
            try:
                folder.parent.mkdir(parents=True, exist_ok=True)
                with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".making-") as scratch:
                    made = Path(scratch) / "environment"
                    _make(made, installer, packages)
                    _move(made, folder)
            except (OSError, _Failed) as error:
                raise NotInstalled(
                    f"cannot create an environment for {' '.join(packages)} in {cache_folder()}: "
                    f"{error}; {NEEDED[installer]}, and make sure that a package index is reachable"
                ) from None
        described = described.with_commands(partial(_started, installer, folder))
    return msgspec.structs.replace(described, install={})


def cache_folder() -> Path:
    """Return `mcp-proxy-conformance` in an absolute `$XDG_CACHE_HOME`, else in `~/.cache`."""
    configured = Path(os.environ.get("XDG_CACHE_HOME", ""))
    root = configured if configured.is_absolute() else Path.home() / ".cache"
    return root / "mcp-proxy-conformance"


class _Failed(Exception):
    """A command of the installer failed; the message is the reason."""


def _folder(installer: Installer, packages: Sequence[str]) -> Path:
    """Return the folder of these packages, which need not exist."""
    interpreter = (sys.base_prefix, platform.python_implementation(), platform.python_version())
    tools = interpreter if installer == "pip" else (shutil.which("npm") or "npm",)
    digest = hashlib.sha256("\n".join((*packages, *tools)).encode()).hexdigest()
    name = re.sub(r"[^\w.]+", "-", packages[0])[:40]
    return cache_folder() / "installed" / f"{name}-{digest[:12]}"


def _started(installer: Installer, folder: Path, words: Sequence[str]) -> tuple[str, ...]:
    """Return a command line whose first word names a program in the folder, or its `python`."""
    program, *rest = words
    if installer == "npm":
        return (str(folder / "node_modules" / ".bin" / program), *rest)
    start = () if program == "python" else ("-I", "-c", SCRIPT, program)
    return (str(folder / PYTHON), *start, *rest)


def _make(folder: Path, installer: Installer, packages: Sequence[str]) -> None:
    """Install packages into a new folder: a virtual environment, or npm's. Raises _Failed."""
    if installer == "npm":
        folder.mkdir()
        npm = (shutil.which("npm") or "npm", "install", "--prefix", str(folder))
        _run(*npm, "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error", *packages)
        return
    _run(sys.executable, "-I", "-m", "venv", str(folder))
    pip = (str(folder / PYTHON), "-I", "-m", "pip", "--disable-pip-version-check", "--no-input")
    _run(*pip, "install", "--quiet", *packages)


def _move(made: Path, place: Path) -> None:
    """Rename the folder `made` to `place`; if another process has made that, leave both.

    Raises OSError if it cannot be renamed for another reason.
    """
    try:
        made.rename(place)
    except OSError:
        if not place.is_dir():
            raise


def _run(*words: str) -> None:
    """Run a command for 600 s at most. Raises _Failed with its last line of errors, or OSError."""
    try:
        done = subprocess.run(  # noqa: S603 - interpreters of our own, and npm
            words, capture_output=True, text=True, encoding="utf-8", timeout=INSTALL_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise _Failed(f"it took more than {INSTALL_S:.0f} s") from None
    if done.returncode:
        lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise _Failed(lines[-1].strip() if lines else f"exit code {done.returncode}")
