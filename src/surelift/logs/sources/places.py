"""The files that paths, folders and globs stand for, each once."""

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from surelift.errors import LogsError, UsageError
from surelift.logs.sources.formats import holds_rounds, without_side_files
from surelift.logs.sources.stores import StoredFile, changed, expand_stored, is_remote, without_secrets
from surelift.logs.sources.table_folders import refuse_inside
from surelift.saving import exists

# How Hive, Spark and Arrow name the folder of rows without a value.
_NULL = "__HIVE_DEFAULT_PARTITION__"


def expand(path: str) -> list[str]:
    """The files that a path, folder or glob stands for; a folder may have a file extension, as Spark's do."""
    if is_remote(path):
        stored = expand_stored(path, holds_rounds, _hidden)
        if not stored:
            raise LogsError(f"no file matches {without_secrets(path)}; check the path. Nothing was computed.")
        return list(stored)
    if exists(path):
        files = _files_in(path) if os.path.isdir(path) else [path]
    else:
        from glob import glob

        matched = glob(path, recursive=True)
        files = [file for match in matched for file in (_files_in(match) if os.path.isdir(match) else [match])]
    if not files and os.path.isdir(path) and (held := sorted(os.listdir(path))):
        shown = ", ".join(held[:3]) + (", ..." if held[3:] else "")
        raise UsageError(
            f"the folder {path!r} holds no log by the names of its files ({shown}); name the files, by a glob in quotes."
        )
    if not files:
        # A bare word is more often a column than a file.
        columns = "" if set(path) & set("/\\.*") else " If it is a column, name it in reward=, propensity= and so on."
        raise UsageError(
            f"no file matches {path!r}; check the path, relative to the working folder {str(Path.cwd())!r}.{columns}"
        )
    refuse_inside(files)
    return files


def expand_here(path: str) -> list[str]:
    """Those on this machine, also of a table; what a path is not, is told when it is read."""
    if is_remote(path):
        return []
    return _files_in(path) if os.path.isdir(path) else [path] if exists(path) else expand(path)


def _files_in(folder: str) -> list[str]:
    files, entered = [], set[str]()
    for place, folders, names in os.walk(folder, onerror=_unreadable, followlinks=True):
        entered.add(os.path.realpath(place))
        # Folders such as _temporary and .ipynb_checkpoints hold copies; _day=1 holds a column. Links may lead back.
        folders[:] = [name for name in folders if not _hidden(name) and os.path.realpath(Path(place, name)) not in entered]
        files += [os.path.join(place, name) for name in names if not _hidden(name) and holds_rounds(name)]
    return without_side_files(files)


def _hidden(name: str) -> bool:
    return name[0] == "." or (name[0] == "_" and "=" not in name)


def _unreadable(error: OSError) -> None:
    """A folder that cannot be looked into would be left out."""
    raise LogsError(f"{error.filename} cannot be read: {error.strerror}. Nothing was computed.") from error


def name_of_files(paths: Sequence[str]) -> str:
    """The name of the file, or of the first of several."""
    return Path(paths[0]).name + (f" and {len(paths) - 1:,} more" if len(paths) > 1 else "")


@dataclass(frozen=True, slots=True)
class FileState:
    """Which file it is, and what tells whether it was written to since."""

    identity: tuple[str | int, ...]
    size: int | None
    written: int | None = None


def state_of(file: str) -> FileState:
    if isinstance(file, StoredFile):
        return FileState(file.identity, file.size)
    try:
        status = os.stat(file)
    except OSError as error:
        raise LogsError(f"{file} cannot be read: {error.strerror}. Nothing was computed.") from error
    if not stat.S_ISREG(status.st_mode):
        raise LogsError(f"{file} is a pipe or a device, which is read only once; save it to a file. Nothing was computed.")
    return FileState((status.st_dev, status.st_ino), status.st_size, status.st_mtime_ns)


def identity_of(file: str) -> tuple[str | int, ...]:
    return state_of(file).identity


def require_unchanged(file: str, state: FileState) -> None:
    """Refuse a file that was written to, or replaced, since the log was opened: the rounds of the passes would differ."""
    if isinstance(file, StoredFile):
        file.open().close()
    elif state_of(file) != state:
        raise changed(file)


def raw(path: str) -> Any:
    """The bytes of a file, wherever it is, as a stream of Arrow's."""
    return path.open() if isinstance(path, StoredFile) else pa.OSFile(path)


def partitions_of(path: str) -> dict[str, str | None]:
    """The columns encoded in the folder names of a path.

    >>> partitions_of("logs/day=2024-03-01/country=FR/part-0.parquet")
    {'day': '2024-03-01', 'country': 'FR'}
    """
    pairs = (part.split("=", 1) for part in Path(path).parent.parts if "=" in part)
    return {key: None if value == _NULL else unquote(value) for key, value in pairs if key}
