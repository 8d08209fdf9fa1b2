"""Environments of published loaders and relays: installed by pip or npm on first use, and kept.

A folder is `KIND/PACKAGE-DIGEST` in the user's cache folder; the digest is computed from the
requirement and the interpreter, so another version of either gets another folder. It is made beside
its place and moved there whole: if two processes make one at once, the later one is dropped; a
failure leaves nothing.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mcp_proxy_conformance.targets.adapter import AdapterError

INSTALL_S = 600.0
"""Seconds that making an environment may take."""
SCRIPT = (
    "import sys; from importlib.metadata import entry_points as named; "
    "(it,) = named(group='console_scripts', name=sys.argv.pop(1)); sys.exit(it.load()())"
)
"""Starts a program of a package; the scripts that pip writes name the folder before its move."""
Installer = Literal["pip", "npm"]
NEEDED = {
    "pip": "install the Python modules venv and pip",
    "npm": "install Node.js with npm",
}


class NotInstalled(AdapterError):
    """An environment could not be made; one sentence with the reason and a hint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """A package that pip or npm installs into a folder of its own below `kind`, in the cache.

    `requirement` is what the installer is given, such as the package with a version.
    """

    kind: Literal["loaders", "relays"]
    package: str
    requirement: str
    installer: Installer = "pip"

    @property
    def python(self) -> Path:
        """The interpreter of an environment made by pip."""
        return _python(_place(self))

    def program(self, name: str) -> tuple[str, ...]:
        """Return the first words of a command line that runs the package's program of that name.

        Neither the environment nor the program needs to exist yet.
        """
        if self.installer == "npm":
            file = f"{name}.cmd" if os.name == "nt" else name
            return (str(_place(self) / "node_modules" / ".bin" / file),)
        return (str(self.python), "-I", "-c", SCRIPT, name)


def cache_folder() -> Path:
    """Return `mcp-proxy-conformance` in an absolute `$XDG_CACHE_HOME`, else in `~/.cache`."""
    configured = Path(os.environ.get("XDG_CACHE_HOME", ""))
    root = configured if configured.is_absolute() else Path.home() / ".cache"
    return root / "mcp-proxy-conformance"


def install(environment: Environment) -> Path:
    """Return the environment's folder; if it is missing, make it first, which may take minutes.

    Raises:
        NotInstalled: It could not be made.
    """
    place = _place(environment)
    if not place.is_dir():
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=place.parent, prefix=".making-") as scratch:
                made = Path(scratch) / "environment"
                _make(made, environment)
                _move(made, place)
        except OSError as error:
            raise _failed(environment, str(error)) from None
    return place


def _place(environment: Environment) -> Path:
    """Return the folder of an environment, which need not exist.

    Its name has a digest of the requirement and of this interpreter, or of npm's program.
    """
    interpreter = (sys.base_prefix, platform.python_implementation(), platform.python_version())
    tools = interpreter if environment.installer == "pip" else (shutil.which("npm") or "npm",)
    digest = hashlib.sha256("\n".join((environment.requirement, *tools)).encode()).hexdigest()
    return cache_folder() / environment.kind / f"{environment.package}-{digest[:12]}"


def _python(folder: Path) -> Path:
    """Return the path of the interpreter in an environment's folder."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _make(folder: Path, environment: Environment) -> None:
    """Install the requirement into the folder: a virtual environment's, or npm's.

    Raises NotInstalled if it fails or takes more than 600 s.
    """
    if environment.installer == "npm":
        folder.mkdir()
        npm = (shutil.which("npm") or "npm", "install", "--prefix", str(folder))
        quiet = ("--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")
        _run((*npm, *quiet, environment.requirement), environment)
        return
    _run((sys.executable, "-I", "-m", "venv", str(folder)), environment)
    pip = (str(_python(folder)), "-I", "-m", "pip", "--disable-pip-version-check", "--no-input")
    _run((*pip, "install", "--quiet", environment.requirement), environment)


def _move(made: Path, place: Path) -> None:
    """Rename the folder `made` to `place`; if another process has made that, leave both.

    Raises OSError if it cannot be renamed for another reason.
    """
    try:
        made.rename(place)
    except OSError:
        if not place.is_dir():
            raise


def _run(words: Sequence[str], environment: Environment) -> str:
    """Run a command, for 600 s at most, and return its output.

    Raises NotInstalled, with its last line of errors, if it fails.
    """
    try:
        done = subprocess.run(  # noqa: S603 - interpreters of our own, and npm
            words, capture_output=True, text=True, encoding="utf-8", timeout=INSTALL_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise _failed(environment, f"it took more than {INSTALL_S:.0f} s") from None
    except OSError as error:
        raise _failed(environment, str(error)) from None
    if done.returncode:
        lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise _failed(environment, lines[-1].strip() if lines else f"exit code {done.returncode}")
    return done.stdout


def _failed(environment: Environment, reason: str) -> NotInstalled:
    """Return the error for an environment that cannot be made, with the reason and a hint."""
    return NotInstalled(
        f"cannot create an environment for {environment.requirement} in {cache_folder()}: "
        f"{reason}; {NEEDED[environment.installer]}, and make sure that a package index is "
        "reachable"
    )
