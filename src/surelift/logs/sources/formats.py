"""Which file names hold rounds, in which format, and how they are compressed."""

import os
from functools import lru_cache

from surelift.errors import UsageError

COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".xz": "xz"}
_BINARY = {".parquet": "parquet", ".pq": "parquet", ".arrow": "ipc", ".feather": "ipc", ".ipc": "ipc"}
_TEXT = {".csv": "csv", ".tsv": "csv", ".jsonl": "json", ".ndjson": "json", ".json": "json"}
FORMATS = _BINARY | {f"{ending}{zipped}": kind for ending, kind in _TEXT.items() for zipped in ("", *COMPRESSIONS)}
_NOT_READ = (*COMPRESSIONS, ".lz4", ".br", ".snappy", ".zip", ".7z")


def holds_rounds(name: str) -> bool:
    """Also in a compression that is not read: such files are refused, not left out."""
    inner, last = os.path.splitext(name)
    return bool(extension_of(name) or (last.lower() in _NOT_READ and extension_of(inner)))


def without_side_files(files: list[str]) -> list[str]:
    """The files of a folder that hold rounds: ``.json`` beside another format is a state, a schema or a certificate."""
    others = [file for file in files if not extension_of(file).startswith(".json") or ".jsonl" in extension_of(file)]
    return others or files


def extension_of(path: str) -> str:
    """The longest known file extension of a path, or an empty string."""
    name = os.path.basename(path).lower()
    return max((ending for ending in FORMATS if name.endswith(ending)), key=len, default="")


def compression_of(path: str) -> str | None:
    return COMPRESSIONS.get(os.path.splitext(path)[1].lower())


@lru_cache(1 << 15)
def format_of(path: str) -> str:
    ending = extension_of(path)
    if not ending:
        raise UsageError(
            f"{path} has none of the extensions {', '.join((*_BINARY, *_TEXT))}, nor one of text followed by "
            f"{', '.join(COMPRESSIONS)}; save it in one of those formats."
        )
    return FORMATS[ending]
