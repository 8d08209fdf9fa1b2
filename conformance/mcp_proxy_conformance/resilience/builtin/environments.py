"""The environments of the builtins: made on first use, kept in the user's cache folder.

A folder is `loaders/PACKAGE-DIGEST` in it; the digest is computed from the requirement and the
interpreter, so another version of either gets another folder. It is made beside its place and moved
there whole: if two processes make one at once, the later one is dropped; a failure leaves nothing.
"""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from mcp_proxy_conformance.resilience.builtin.loaders import Builtin
from mcp_proxy_conformance.targets.adapter import AdapterError

INSTALL_S = 600.0
"""Seconds that making an environment may take."""
SCRIPTS = Path(__file__).parent


class NotInstalled(AdapterError):
    """The environment of a builtin could not be made; one sentence with the reason and a hint."""


def cache_folder() -> Path:
    """Return `mcp-proxy-conformance` in an absolute `$XDG_CACHE_HOME`, else in `~/.cache`."""
    configured = Path(os.environ.get("XDG_CACHE_HOME", ""))
    root = configured if configured.is_absolute() else Path.home() / ".cache"
    return root / "mcp-proxy-conformance"


def command(builtin: Builtin) -> tuple[str, ...]:
    """Return the command that starts the builtin as a loader program.

    A missing environment is made, which may take minutes.

    Raises:
        NotInstalled: The environment could not be made.
    """
    script = SCRIPTS / builtin.script
    wrapper = SCRIPTS / "wrapper.py"
    return (str(_python(environment(builtin))), "-I", str(wrapper), str(script), builtin.function)


def environment(builtin: Builtin) -> Path:
    """Return the folder of the builtin's environment, which is made if missing.

    Raises:
        NotInstalled: It could not be made.
    """
    place = _place(builtin)
    if not place.is_dir():
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=place.parent, prefix=".making-") as scratch:
                made = Path(scratch) / "environment"
                _make(made, builtin.requirement)
                _move(made, place)
        except OSError as error:
            raise _failed(builtin.requirement, str(error)) from None
    return place


def version(builtin: Builtin) -> str:
    """Return the version of the library in the builtin's environment, which must exist.

    Raises:
        NotInstalled: The environment does not exist, or its interpreter fails.
    """
    ask = "import sys, importlib.metadata as m; print(m.version(sys.argv[1]))"
    python = _python(_place(builtin))
    return _run((str(python), "-I", "-c", ask, builtin.package), builtin.requirement).strip()


def _place(builtin: Builtin) -> Path:
    """Return the folder of a builtin's environment, which need not exist.

    Its name has a digest of the requirement and of this interpreter.
    """
    interpreter = (sys.base_prefix, platform.python_implementation(), platform.python_version())
    digest = hashlib.sha256("\n".join((builtin.requirement, *interpreter)).encode()).hexdigest()
    return cache_folder() / "loaders" / f"{builtin.package}-{digest[:12]}"


def _python(folder: Path) -> Path:
    """Return the path of the interpreter in an environment's folder."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _make(folder: Path, requirement: str) -> None:
    """Make a virtual environment in the folder and install the requirement by its pip.

    Raises NotInstalled if either fails or takes more than 600 s.
    """
    _run((sys.executable, "-I", "-m", "venv", str(folder)), requirement)
    pip = (str(_python(folder)), "-I", "-m", "pip", "--disable-pip-version-check", "--no-input")
    _run((*pip, "install", "--quiet", requirement), requirement)


def _move(made: Path, place: Path) -> None:
    """Move the folder into its place; if another process was first, leave it."""
    try:
        made.rename(place)
    except OSError:
        if not place.is_dir():
            raise


def _run(words: Sequence[str], requirement: str) -> str:
    """Run a command, for 600 s at most, and return its output.

    Raises NotInstalled, with its last line of errors, if it fails.
    """
    try:
        done = subprocess.run(  # noqa: S603 - interpreters of our own
            words, capture_output=True, text=True, encoding="utf-8", timeout=INSTALL_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise _failed(requirement, f"it took more than {INSTALL_S:.0f} s") from None
    except OSError as error:
        raise _failed(requirement, str(error)) from None
    if done.returncode:
        lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise _failed(requirement, lines[-1].strip() if lines else f"exit code {done.returncode}")
    return done.stdout


def _failed(requirement: str, reason: str) -> NotInstalled:
    """Return the error for an environment that cannot be made, with the reason and a hint."""
    return NotInstalled(
        f"cannot create an environment for {requirement} in {cache_folder()}: {reason}; "
        "install the Python modules venv and pip, and make sure that a package index is reachable"
    )
