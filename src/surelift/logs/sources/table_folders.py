"""Folders of Delta Lake and Iceberg tables, told by the logs in them: their files must not be read one by one."""

import os
from collections.abc import Iterable, Iterator, Sequence

from surelift.errors import UsageError

DELTA, METADATA = "_delta_log", ".metadata.json"


def refuse_inside(files: Sequence[str]) -> None:
    """Refuse local files that lie in a table, where removed ones are kept beside those that count."""
    known = set[str]()
    for file in files:
        folder = os.path.dirname(os.path.realpath(file))
        while folder not in known:
            known.add(folder)
            if os.path.isdir(os.path.join(folder, DELTA)) or _is_iceberg(folder):
                raise inside(file, folder)
            folder = os.path.dirname(folder)


def _is_iceberg(folder: str) -> bool:
    try:
        return any(name.endswith(METADATA) for name in os.listdir(os.path.join(folder, "metadata")))
    except OSError:
        return False


def inside(file: str, table: str) -> UsageError:
    return UsageError(
        f"{file} belongs to a Delta or Iceberg table in {table}, which also keeps files that were removed from it: "
        "read file by file, it would give wrong rounds.\nGive the path of the Delta table itself, of one .metadata.json "
        "file of the Iceberg table, or the table as a Python object."
    )


def roots_among(paths: Iterable[str]) -> set[str]:
    """The folders of tables, told by the paths of all files in a folder of a store."""
    roots = set[str]()
    for path in paths:
        folder, mark, _ = path.partition(f"/{DELTA}/")
        if mark:
            roots.add(folder)
        elif path.endswith(METADATA) and path.split("/")[-2:-1] == ["metadata"]:
            roots.add(path.rpartition("/metadata/")[0])
    return roots


def folders_above(path: str) -> Iterator[str]:
    """The folders that a path in a store lies in, the bucket included."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path
