"""The state of a monitor as a file: JSON with a format number and a checksum."""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from surelift.saving import check_format, check_seal, has_format, read_json, refuse_overwriting, sealed, write_beside
from surelift.version import __version__

FORMAT, VERSION, WHAT = "surelift monitor", 3, "the state of a monitor"


def write_state(path: str | Path, state: Mapping[str, Any]) -> None:
    """An existing file is replaced only if it is the state of a monitor, or empty."""
    refuse_overwriting(path, what=WHAT, recognised=partial(has_format, name=FORMAT))
    whole = sealed({"format": FORMAT, "version": VERSION, "surelift": __version__, **state})
    write_beside(path, json.dumps(whole, allow_nan=False) + "\n", what="the state of the monitor")


def read_state(path: str | Path) -> dict[str, Any]:
    state = read_json(path, what=WHAT)
    check_format(state, place=str(path), what=WHAT, name=FORMAT, version=VERSION)
    check_seal(state, place=str(path))
    return dict(state)
