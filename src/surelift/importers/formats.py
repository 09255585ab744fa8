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
from surelift.importers.vw_json import cats, dsjson
from surelift.importers.vw_pages import ccb
from surelift.importers.vw_text import cb, cb_adf
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
    known = _options(kind)
    other = [option for option in options if option not in known]
    missing = [name for name, option in known.items() if option.default is option.empty and name not in options]
    wrong = ""
    if kind not in FORMATS:
        wrong = f"unknown format {kind!r}; choose from {', '.join(FORMATS)}."
    elif other:
        wrong = f"the format {kind} defines its own columns and takes no {other[0]}=; it takes {', '.join(known)}."
    elif missing:
        wrong = f"the format {kind} needs {missing[0]}=."
    if wrong:
        raise UsageError(wrong)
    brought = FORMATS[kind](paths, **options)
    if where is None:
        return brought
    return replace(brought, logs=brought.logs.declared_as(brought.logs.declaration.declared(where=where)))


def _options(kind: str) -> dict[str, inspect.Parameter]:
    parameters = inspect.signature(FORMATS[kind]).parameters if kind in FORMATS else {}
    return {name: option for name, option in parameters.items() if name != "paths"}


def read_declared(kind: str, paths: Sequence[str | Path], declared: Mapping[str, Any]) -> Logs:
    """The logs a certificate refers to, with the importer's options taken from its declaration."""
    roles = {name: "action_count" if name == "items" else name for name in _options(kind)}
    stored = {name: declared[role] for name, role in roles.items() if role in declared}
    given = {name: value for name, value in stored.items() if not isinstance(value, str)}
    return read(kind, paths, where=declared.get("where"), **given).logs
