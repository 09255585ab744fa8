"""The files that paths, folders and globs stand for, each once, and none a copy of another."""

import hashlib
import os
import stat
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from surelift.errors import LogsError, UsageError
from surelift.logs.sources.formats import compression_of, holds_rounds, refuse_in_table, without_side_files
from surelift.logs.sources.listing import expand_stored
from surelift.logs.sources.stores import StoredFile, ahead, changed, is_remote, without_secrets
from surelift.saving import exists

_NULL = "__HIVE_DEFAULT_PARTITION__"  # how Hive, Spark and Arrow name the folder of rows without a value
_TELLING = 1 << 12  # bytes from which a file does not hold the same rounds as another by chance
_ENDS = 1 << 12


def expand(path: str) -> list[str]:
    """The files that a path, folder or glob stands for; a folder may have a file extension, as Spark's do."""
    if is_remote(path):
        stored = expand_stored(path, holds_rounds, _hidden)
        if not stored:
            raise LogsError(f"no file matches {without_secrets(path)}; check the path. Nothing was computed.")
        return list(stored)
    matches = [path] if exists(path) else glob(path, recursive=True)
    files = [file for match in matches for file in (_files_in(match) if os.path.isdir(match) else [match])]
    if not files:
        problem = f"no file matches {path!r}; check the path, relative to the working folder {str(Path.cwd())!r}."
        if os.path.isdir(path) and (held := sorted(os.listdir(path))):
            shown = ", ".join(held[:3]) + (", ..." if held[3:] else "")
            problem = f"the folder {path!r} holds no log by the names of its files ({shown}); name them by a glob."
        elif not set(path) & set("/\\.*"):
            # A bare word is more often a column than a file.
            problem += " If it is a column, name it in reward=, propensity= and so on."
        raise UsageError(problem)
    refuse_in_table(files)
    return files


def expand_here(path: str) -> list[str]:
    """Those on this machine, also of a table; what a path is not, is found when it is read."""
    if is_remote(path):
        return []
    return _files_in(path) if os.path.isdir(path) else [path] if exists(path) else expand(path)


def _files_in(folder: str) -> list[str]:
    def unreadable(error: OSError) -> None:  # it would be left out
        raise LogsError(f"{error.filename} cannot be read: {error.strerror}. Nothing was computed.") from error

    files, entered = [], set[str]()
    for place, folders, names in os.walk(folder, onerror=unreadable, followlinks=True):
        entered.add(os.path.realpath(place))
        # Folders such as _temporary and .ipynb_checkpoints hold copies; _day=1 holds a column. Links may lead back.
        folders[:] = [name for name in folders if not _hidden(name) and os.path.realpath(Path(place, name)) not in entered]
        files += [os.path.join(place, name) for name in names if not _hidden(name) and holds_rounds(name)]
    return without_side_files(files)


def _hidden(name: str) -> bool:
    return name[0] == "." or (name[0] == "_" and "=" not in name)


def name_of_files(paths: Sequence[str]) -> str:
    return Path(paths[0]).name + (f" and {len(paths) - 1:,} more" if len(paths) > 1 else "")


@dataclass(frozen=True, slots=True)
class FileState:
    """Which file it is, and what shows whether it was written to since."""

    identity: tuple[str | int, ...]
    size: int | None
    written: int | None = None


def state_of(file: str) -> FileState:
    if isinstance(file, StoredFile):
        return FileState(file.identity, file.size)
    try:
        status = os.stat(file)
        if stat.S_ISREG(status.st_mode):
            return FileState((status.st_dev, status.st_ino), status.st_size, status.st_mtime_ns)
        problem = "is a pipe or a device, which is read only once; save it to a file"
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
    raise LogsError(f"{file} {problem}. Nothing was computed.")


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


def each_once(files: Iterable[str]) -> dict[str, FileState]:
    """Each file once, by its inode, with its state; one that is given twice, also through a link, is reported."""
    distinct, again = dict[Any, tuple[str, FileState]](), list[str]()
    for file in files:
        state = state_of(file)
        if state.identity in distinct:
            again.append(file)
        distinct[state.identity] = file, state
    if again:
        more = f" and {len(again) - 1:,} more were" if len(again) > 1 else " was"
        text = f"surelift: {again[0]}{more} given twice, also through links or other paths; each file is read once"
        print(text, file=sys.stderr)
    return dict(distinct.values())


def refuse_copies(states: Mapping[str, FileState], holds_rounds: Callable[[str], bool]) -> None:
    """Refuse files with the same bytes, whose rounds would count twice; small ones may well be the same."""
    known, alike, problem = dict[str, str](), dict[Any, list[str]](), ""
    for path in states:
        # As ``gzip -k`` leaves it.
        twin = known.setdefault(os.path.splitext(path)[0] if compression_of(path) else str(path), path)
        if twin != path:
            problem = f"{path} and {twin} differ in their compression alone"
    for path in sorted(states) if len(states) > 1 and not problem else ():
        if (size := states[path].size or 0) >= _TELLING:
            alike.setdefault(size, []).append(path)
    # Whole files are compared only where their ends do not tell them apart.
    for digest in (_digest_of_ends, _digest):
        suspects = [path for group in alike.values() if len(group) > 1 for path in group]
        alike = {}
        for path, content in zip(suspects, ahead(digest, suspects), strict=True):
            alike.setdefault((states[path].size, content), []).append(path)
    for first, *others in alike.values():
        if others and not problem and holds_rounds(first):
            problem = f"{others[0]} is a copy of {first}"
    if problem:
        raise LogsError(f"{problem}: its rounds would count twice. Leave one of them out.")


def _digest_of_ends(path: str) -> bytes:
    with raw(path) as file:
        ends = file.read(_ENDS)
        file.seek(max(file.size() - _ENDS, 0))
        return hashlib.sha256(ends + file.read(_ENDS)).digest()


def _digest(path: str) -> bytes:
    with raw(path) as file:
        return hashlib.file_digest(file, "sha256").digest()
