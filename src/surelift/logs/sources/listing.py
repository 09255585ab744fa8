"""The files of an object store that a URI, a folder or a glob stands for."""

import re
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from itertools import accumulate
from typing import Any
from urllib.parse import unquote, urlsplit

from surelift.errors import UsageError
from surelift.logs.sources.formats import DELTA, METADATA, in_table
from surelift.logs.sources.stores import StoredFile, open_store, store_errors, without_secrets


def expand_stored(uri: str, wanted: Callable[[str], bool], hidden: Callable[[str], bool]) -> list[StoredFile]:
    """Its files, by the names that are wanted, and those of files and folders that are left out."""
    filesystem, key, before = open_store(uri)
    name, marks, problem = without_secrets(uri), re.search(r"[*?\[]", key), ""
    folder = key[: marks.start()].rpartition("/")[0] if marks else key
    try:
        if not before and re.search(r"[*\[]", urlsplit(uri).path):
            problem = f"{name} has a glob, but a web server does not list its files; name each file."
        elif before and not folder:
            problem = f"{name} has a glob in place of its bucket; name one bucket."
    except ValueError as error:
        problem = f"{uri} is no address of a file on the web: {error}."
    if problem:
        raise UsageError(problem)
    if not before:
        file = StoredFile(unquote(name), filesystem, uri)
        file.open().close()
        return [file]
    from pyarrow import fs

    with store_errors(uri):
        files = [] if marks else [filesystem.get_file_info(key)]
        chosen = files = [info for info in files if info.type == fs.FileType.File]
        if not chosen:
            listed = filesystem.get_file_info(fs.FileSelector(folder, allow_not_found=True, recursive=True))
            if not listed and filesystem.get_file_info(folder.partition("/")[0]).type == fs.FileType.NotFound:
                raise OSError("NoSuchBucket")
            files = [info for info in listed if info.type == fs.FileType.File]
            chosen = [info for info in files if _matches(info.path, key, bool(marks), wanted, hidden)]
        _refuse_in_table(filesystem, [info.path for info in chosen], _roots(info.path for info in files))
    return [
        StoredFile(f"{before}{info.path.partition('/')[2]}", filesystem, info.path, (info.size, info.mtime_ns))
        for info in chosen
    ]


def _roots(paths: Iterable[str]) -> set[str]:
    """The folders of tables, by the paths of all files in a folder."""
    roots = set[str]()
    for path in paths:
        folder, mark, _ = path.partition(f"/{DELTA}/")
        if mark:
            roots.add(folder)
        elif path.endswith(METADATA) and path.split("/")[-2:-1] == ["metadata"]:
            roots.add(path.rpartition("/metadata/")[0])
    return roots


def _above(path: str) -> list[str]:
    """The folders that a path lies in, the bucket included."""
    return list(accumulate(path.split("/")[:-1], "{}/{}".format))


def _refuse_in_table(filesystem: Any, keys: Sequence[str], roots: set[str]) -> None:
    """Refuse files of a Delta or Iceberg table, whose root may lie above the folder that was listed."""
    from pyarrow import fs

    for folder in _above(keys[0]) if keys else ():
        log, metadata = filesystem.get_file_info([f"{folder}/{DELTA}", f"{folder}/metadata"])
        if log.type == fs.FileType.Directory:
            roots.add(folder)
        elif metadata.type == fs.FileType.Directory:
            roots |= _roots(info.path for info in filesystem.get_file_info(fs.FileSelector(metadata.path)))
    for key in keys if roots else ():
        for root in roots.intersection(_above(key)):
            raise in_table(key, root)


def _matches(path: str, key: str, glob: bool, wanted: Callable[[str], bool], hidden: Callable[[str], bool]) -> bool:
    """A file is named by a glob, or lies in a folder that is; ** matches any number of folders, hidden ones excepted."""
    parts, pattern = path.split("/"), key.split("/")
    # How many of the first parts the glob can match.
    reached = {0} if glob else {len(pattern)}
    for piece in pattern if glob else ():
        further = set(reached) if piece == "**" else set[int]()
        for depth in reached:
            for end in range(depth, len(parts) if piece == "**" else min(depth + 1, len(parts))):
                dotted = parts[end].startswith(".") and not piece.startswith(".")
                if dotted or not fnmatchcase(parts[end], piece):
                    break
                further.add(end + 1)
        reached = further
    return any(depth == len(parts) or (wanted(parts[-1]) and not any(map(hidden, parts[depth:]))) for depth in reached)
