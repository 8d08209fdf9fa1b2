"""Collection of the members with one name from all modules of a package."""

import importlib
import pkgutil
from collections.abc import Sequence
from typing import Any


def gathered(package: str, path: Sequence[str], member: str) -> tuple[Any, ...]:
    """Return the members of that name, in order of module."""
    names = sorted(info.name for info in pkgutil.iter_modules(path))
    modules = [importlib.import_module(f"{package}.{name}") for name in names]
    return tuple(item for module in modules for item in getattr(module, member, ()))
