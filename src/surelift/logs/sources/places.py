"""The files that paths, folders and globs stand for, each once."""

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from surelift.errors import LogsError, UsageError
from surelift.logs.sources.formats import holds_rounds, without_side_files
from surelift.saving import exists


def expand(path: str) -> list[str]:
    """The files that a path, folder or glob stands for; a folder may have a file extension, as Spark's do."""
    if exists(path):
        files = _files_in(path) if os.path.isdir(path) else [path]
    else:
        from glob import glob

        matched = glob(path, recursive=True)
        files = [file for match in matched for file in (_files_in(match) if os.path.isdir(match) else [match])]
    if not files:
        raise UsageError(
            f"no file matches {path!r}; check the path, relative to the working folder {str(Path.cwd())!r}."
        )
    return files


def _files_in(folder: str) -> list[str]:
    files, entered = [], set[str]()
    for place, folders, names in os.walk(folder, onerror=_unreadable, followlinks=True):
        entered.add(os.path.realpath(place))
        # Folders such as _temporary and .ipynb_checkpoints hold copies; _day=1 holds a column. Links may lead back.
        folders[:] = [
            name for name in folders if not _hidden(name) and os.path.realpath(Path(place, name)) not in entered
        ]
        files += [str(Path(place, name)) for name in names if not _hidden(name) and holds_rounds(name)]
    return without_side_files(files)


def _hidden(name: str) -> bool:
    return name[0] == "." or (name[0] == "_" and "=" not in name)


def _unreadable(error: OSError) -> None:
    """A folder that cannot be looked into would be left out."""
    raise LogsError(f"{error.filename} cannot be read: {error.strerror}. Nothing was computed.") from error


def name_of_files(paths: Sequence[str]) -> str:
    """The name of the file, or of the first of several."""
    return Path(paths[0]).name + (f" and {len(paths) - 1:,} more" if len(paths) > 1 else "")


def identity_of(file: str) -> tuple[int, int]:
    try:
        status = os.stat(file)
    except OSError as error:
        raise LogsError(f"{file} cannot be read: {error.strerror}. Nothing was computed.") from error
    if not stat.S_ISREG(status.st_mode):
        raise LogsError(
            f"{file} is a pipe or a device, which is read only once; save it to a file. Nothing was computed."
        )
    return status.st_dev, status.st_ino


def partitions_of(path: str) -> dict[str, str]:
    """The columns encoded in the folder names of a path.

    >>> partitions_of("logs/day=2024-03-01/country=FR/part-0.parquet")
    {'day': '2024-03-01', 'country': 'FR'}
    """
    pairs = (part.split("=", 1) for part in Path(path).parent.parts if "=" in part)
    return {key: unquote(value) for key, value in pairs if key}
