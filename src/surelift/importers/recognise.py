"""Recognise a format by the name of a file."""

from pathlib import Path

_ENDINGS = {f".{kind}{zipped}": kind for kind in ("dsjson", "cb", "cb_adf") for zipped in ("", ".gz")}


def format_of(path: str | Path) -> str | None:
    """The format implied by a file name, or None if it is not one of these.

    >>> format_of("events.dsjson.gz"), format_of("log.parquet")
    ('dsjson', None)
    """
    name = Path(path).name.lower()
    return next((kind for ending, kind in _ENDINGS.items() if name.endswith(ending)), None)
