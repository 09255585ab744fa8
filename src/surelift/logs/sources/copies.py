"""Files that would count their rounds twice: given twice, copied, or compressed beside themselves."""

import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from surelift.errors import LogsError
from surelift.logs.sources.formats import compression_of
from surelift.logs.sources.places import FileState, raw, state_of
from surelift.logs.sources.stores import ahead

# Bytes from which a file does not hold the same rounds as another by chance.
_TELLING = 1 << 12
_ENDS, _BLOCK = 1 << 12, 1 << 20


def each_once(files: Iterable[str]) -> dict[str, FileState]:
    """Each file once, by its inode, with its state; one that is given twice, also through a link, is said."""
    listed = [(file, state_of(file)) for file in files]
    distinct = {state.identity: (file, state) for file, state in listed}
    if len(distinct) < len(listed):
        _say_twice(listed)
    return dict(distinct.values())


def _say_twice(listed: Sequence[tuple[str, FileState]]) -> None:
    first = dict[Any, int]()
    again = [file for place, (file, state) in enumerate(listed) if first.setdefault(state.identity, place) != place]
    more = f" and {len(again) - 1:,} more were" if len(again) > 1 else " was"
    print(
        f"surelift: {again[0]}{more} given twice, also through links or other paths; each file is read once",
        file=sys.stderr,
    )


def refuse_copies(states: Mapping[str, FileState], holds_rounds: Callable[[str], bool]) -> None:
    """Refuse files with the same bytes, whose rounds would count twice; small ones may well be the same."""
    _refuse_compressed(states)
    alike = dict[Any, list[str]]()
    for path in sorted(states) if len(states) > 1 else ():
        if (size := states[path].size or 0) >= _TELLING:
            alike.setdefault(size, []).append(path)
    # Whole files are compared only where their ends do not tell them apart.
    for digest in (_digest_of_ends, _digest):
        suspects = [path for group in alike.values() if len(group) > 1 for path in group]
        alike = {}
        for path, told in zip(suspects, ahead(digest, suspects), strict=True):
            alike.setdefault((states[path].size, told), []).append(path)
    for first, *others in alike.values():
        if others and holds_rounds(first):
            raise LogsError(f"{others[0]} is a copy of {first}: its rounds would count twice. Leave one of them out.")


def _refuse_compressed(paths: Iterable[str]) -> None:
    """Refuse a file beside itself in another compression, as ``gzip -k`` leaves it."""
    known = dict[str, str]()
    for path in paths:
        plain = os.path.splitext(path)[0] if compression_of(path) else str(path)
        twin = known.setdefault(plain, path)
        if twin != path:
            raise LogsError(
                f"{path} and {twin} differ in their compression alone: their rounds would count twice. Leave one out."
            )


def _digest_of_ends(path: str) -> bytes:
    with raw(path) as file:
        ends = file.read(_ENDS)
        file.seek(max(file.size() - _ENDS, 0))
        return hashlib.sha256(ends + file.read(_ENDS)).digest()


def _digest(path: str) -> bytes:
    digest = hashlib.sha256()
    with raw(path) as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.digest()
