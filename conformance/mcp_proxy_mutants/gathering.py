"""What the modules of a package hold under one name."""

import importlib
import pkgutil
from collections.abc import Sequence
from typing import Any


def gathered(package: str, path: Sequence[str], member: str) -> tuple[Any, ...]:
    """The members of that name, in order of module."""
    names = sorted(one.name for one in pkgutil.iter_modules(path))
    modules = [importlib.import_module(f"{package}.{name}") for name in names]
    return tuple(one for module in modules for one in getattr(module, member, ()))
