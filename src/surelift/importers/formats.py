"""Read a format by its name."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from surelift.errors import UsageError
from surelift.importers.episodes import rllib
from surelift.importers.events import Imported
from surelift.importers.open_bandit_pipeline import open_bandit
from surelift.importers.slots import ccb
from surelift.importers.vw import cb, cb_adf, dsjson
from surelift.importers.vw_continuous import cats
from surelift.traits.logs import Logs

FORMATS: dict[str, Callable[..., Imported]] = {
    "dsjson": dsjson,  # Vowpal Wabbit and Azure Personalizer
    "cb": cb,
    "cb_adf": cb_adf,
    "open-bandit": open_bandit,
    "ccb": ccb,  # Vowpal Wabbit, several slots
    "cats": cats,  # Vowpal Wabbit, continuous actions
    "rllib": rllib,
}


def read(kind: str, paths: Sequence[str | Path], *, where: str | None = None, **options: Any) -> Imported:
    if kind not in FORMATS:
        raise UsageError(f"unknown format {kind!r}; choose from {', '.join(FORMATS)}.")
    known = inspect.signature(FORMATS[kind]).parameters
    for option in options:
        if option not in known:
            raise UsageError(
                f"the format {kind} defines its own columns and takes no {option}=; it takes "
                f"{', '.join(name for name in known if name != 'paths')}."
            )
    for name, parameter in known.items():
        if parameter.default is parameter.empty and name not in ("paths", *options):
            raise UsageError(f"the format {kind} needs {name}=.")
    brought = FORMATS[kind](paths, **options)
    if where is None:
        return brought
    return replace(brought, logs=brought.logs.declared_as(brought.logs.declaration.declared(where=where)))


def read_declared(kind: str, paths: Sequence[str | Path], declared: Mapping[str, Any]) -> Logs:
    """The logs a certificate refers to, with the importer's options taken from its declaration."""
    names = {"items": "action_count"}
    known = inspect.signature(FORMATS[kind]).parameters if kind in FORMATS else {}
    options = {name: declared[names.get(name, name)] for name in known if names.get(name, name) in declared}
    given = {name: value for name, value in options.items() if not isinstance(value, str)}
    return read(kind, paths, where=declared.get("where"), **given).logs
