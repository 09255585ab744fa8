"""The state of a monitor as a file: JSON with a format number and a checksum."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from surelift.errors import LogsError, UsageError
from surelift.saving import write_beside
from surelift.version import __version__

FORMAT, VERSION = "surelift monitor", 2


def write_state(path: str | Path, state: Mapping[str, Any]) -> None:
    content = {"format": FORMAT, "version": VERSION, "surelift": __version__, **state}
    whole = {**content, "checksum": _checksum(content)}
    write_beside(path, json.dumps(whole, allow_nan=False) + "\n", what="the state of the monitor")


def read_state(path: str | Path) -> dict[str, Any]:
    try:
        state = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"the state {path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise LogsError(f"{path} is not the state of a monitor: it is not valid JSON ({error}).") from error
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise LogsError(f"{path} is not the state of a monitor of surelift.")
    if state.get("version") != VERSION:
        raise LogsError(
            f"{path} is a state in format {state.get('version')!r}, written by surelift "
            f"{state.get('surelift', 'of an unknown version')}; this surelift, {__version__}, reads format {VERSION}."
        )
    if state.pop("checksum", None) != _checksum(state):
        raise LogsError(
            f"{path} is damaged, or was changed by hand: its checksum does not fit. Go back to a copy of it."
        )
    return state


def _checksum(state: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(state, sort_keys=True, allow_nan=False).encode()).hexdigest()
