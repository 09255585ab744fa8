"""Which file names hold rounds, and in which format."""

import os
from functools import lru_cache

from surelift.errors import UsageError

FORMATS = {
    ".parquet": "parquet", ".pq": "parquet",
    ".arrow": "ipc", ".feather": "ipc", ".ipc": "ipc",
    ".csv": "csv", ".tsv": "csv", ".csv.gz": "csv", ".tsv.gz": "csv",
}  # fmt: skip
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".lz4", ".br", ".snappy", ".zip")


def holds_rounds(name: str) -> bool:
    """Also in a compression that is not read: such files are refused, not left out."""
    inner, last = os.path.splitext(name)
    return bool(extension_of(name) or (last.lower() in _COMPRESSED and extension_of(inner)))


def extension_of(path: str) -> str:
    """The longest known file extension of a path, or an empty string."""
    name = os.path.basename(path).lower()
    return max((ending for ending in FORMATS if name.endswith(ending)), key=len, default="")


@lru_cache(1 << 15)
def format_of(path: str) -> str:
    ending = extension_of(path)
    if not ending:
        raise UsageError(f"{path} has none of the extensions {', '.join(FORMATS)}; save it in one of those formats.")
    if ending.endswith(".gz") and not path.endswith(".gz"):
        raise UsageError(f"{path}: the extension of a gzipped file must be lowercase '.gz'; rename it.")
    return FORMATS[ending]
