"""The state of a monitor as a file: JSON with a format number and a checksum."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from surelift.errors import LogsError
from surelift.saving import check_format, read_json, write_beside
from surelift.version import __version__

FORMAT, VERSION, WHAT = "surelift monitor", 3, "the state of a monitor"


def write_state(path: str | Path, state: Mapping[str, Any]) -> None:
    content = {"format": FORMAT, "version": VERSION, "surelift": __version__, **state}
    whole = {**content, "checksum": _checksum(content)}
    write_beside(path, json.dumps(whole, allow_nan=False) + "\n", what="the state of the monitor")


def read_state(path: str | Path) -> dict[str, Any]:
    state = read_json(path, what=WHAT)
    check_format(state, place=str(path), what=WHAT, name=FORMAT, version=VERSION)
    if state.pop("checksum", None) != _checksum(state):
        raise LogsError(
            f"{path} is damaged, or was changed by hand: its checksum does not fit. Go back to a copy of it."
        )
    return dict(state)


def _checksum(state: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(state, sort_keys=True, allow_nan=False).encode()).hexdigest()
