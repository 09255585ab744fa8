"""Recognise a format by the name of a file, and Vowpal Wabbit's JSON by its first line."""

from pathlib import Path

_ENDINGS = {f".{kind}{zipped}": kind for kind in ("dsjson", "cb", "cb_adf") for zipped in ("", ".gz")}
_JSON = tuple(f"{ending}{zipped}" for ending in (".json", ".jsonl", ".ndjson") for zipped in ("", ".gz"))
_KEYS = {
    "cats": {"_label_ca"}, "ccb": {"_outcomes"}, "dsjson": {"_label_cost", "_label_probability", "a", "p"},
}  # fmt: skip
_LONGEST = 1 << 24


def format_of(path: str | Path) -> str | None:
    """The format implied by a file name, or None if it is not one of these.

    >>> format_of("events.dsjson.gz"), format_of("log.parquet")
    ('dsjson', None)
    """
    name = Path(path).name.lower()
    named = next((kind for ending, kind in _ENDINGS.items() if name.endswith(ending)), None)
    return _of_events(Path(path)) if named is None and name.endswith(_JSON) else named


def _of_events(path: Path) -> str | None:
    # Here, since every command asks for the format, most of Parquet files, and starts faster without.
    import gzip
    import json
    import zlib

    try:
        with gzip.open(path) if path.name.lower().endswith(".gz") else path.open("rb") as file:
            event = json.loads(file.readline(_LONGEST))
    except (OSError, EOFError, zlib.error, ValueError, RecursionError):
        return None
    keys = event.keys() if isinstance(event, dict) else set()
    return next((kind for kind, needed in _KEYS.items() if needed <= keys), None)
