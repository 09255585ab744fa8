"""Packages whose names are imported when they are first asked for, so that a process loads what it uses and no more."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy(package: str, modules: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package, from the names in each of its modules, separated by spaces.

    A name that its module does not define is the module itself. No other name may be that of a module of the package,
    which would take its place.
    """
    places = {name: module for module, names in modules.items() for name in names.split()}

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{places[name]}")
        value = getattr(module, name, module)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*places, *(name for name in vars(sys.modules[package]) if name.startswith("__"))})

    return get, names
