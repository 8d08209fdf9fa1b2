"""Collector of the mutants or variants that the modules of a package list."""

import importlib
import pkgutil
from collections.abc import Sequence
from typing import Any


def gathered(package: str, path: Sequence[str], member: str) -> tuple[Any, ...]:
    """Import each module of the package and return the items of its tuple `member` in one tuple.

    Modules come in order of name; one without that member adds nothing.
    """
    names = sorted(info.name for info in pkgutil.iter_modules(path))
    modules = [importlib.import_module(f"{package}.{name}") for name in names]
    return tuple(item for module in modules for item in getattr(module, member, ()))
