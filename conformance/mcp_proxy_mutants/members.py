"""Members of a package of mutants or variants: the lists of its modules, gathered."""

import importlib
import pkgutil
from collections.abc import Sequence
from typing import Any


def gathered(package: str, path: Sequence[str], member: str) -> tuple[Any, ...]:
    """Return the items of the tuple named `member` of each module, in order of module name."""
    names = sorted(info.name for info in pkgutil.iter_modules(path))
    modules = [importlib.import_module(f"{package}.{name}") for name in names]
    return tuple(item for module in modules for item in getattr(module, member, ()))
