"""Files that people store: written atomically, with a checksum, and read back by format and version."""

import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from surelift.errors import LogsError, UsageError

_TEMPORARY = ".surelift.tmp"
_MOST_DIGITS = 64
# A writer on Windows cannot be asked whether it lives: seconds until what it left counts as abandoned.
_PATIENCE = 3600.0
last_written: str | None = None


def write_beside(path: str | Path, content: str | bytes, *, what: str) -> None:
    """Write to a temporary file and rename it, so that a reader or a crash never sees a partial file."""
    global last_written
    temporary = None
    try:
        target = Path(path).resolve()
        if target.exists() and not (target.is_file() or target.is_dir()):
            raise ValueError("it is not a regular file")  # a device or a pipe, which a file would replace
        # Not the whole name, which may be as long as a name can be.
        prefix = f".{target.name[:40]}."
        _sweep(target.parent, prefix)
        file, temporary = _temporary(target.parent, prefix)
        with file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
            if target.is_file():
                os.chmod(temporary, target.stat().st_mode & 0o777)
            if os.name != "nt":
                os.replace(temporary, target)  # while it is locked, which Windows does not allow
        if os.name == "nt":
            os.replace(temporary, target)
    except (OSError, ValueError) as error:
        raise UsageError(f"{what} cannot be written to {path}: {reason(error)}.") from error
    finally:
        if temporary is not None:
            if not os.path.exists(temporary):
                last_written = str(path)  # an interrupt may have come right after the renaming
            Path(temporary).unlink(missing_ok=True)


def _temporary(folder: Path, prefix: str) -> tuple[IO[bytes], str]:
    while True:
        path = str(folder / f"{prefix}{os.urandom(8).hex()}{_TEMPORARY}")
        file = open(path, "xb")  # noqa: SIM115
        _lock(file.fileno(), wait=True)
        if os.path.exists(path):
            return file, path
        file.close()  # another writer swept it before it was locked


def _sweep(folder: Path, prefix: str) -> None:
    """Remove the temporary files of writers that were killed."""
    for name in os.listdir(folder):
        if not (name.startswith(prefix) and name.endswith(_TEMPORARY)):
            continue
        path = folder / name
        with suppress(OSError):  # it is gone already, or another's
            with open(path, "rb") as file:
                if os.name != "nt" and _lock(file.fileno(), wait=False):
                    path.unlink()
            if os.name == "nt" and time.time() - path.stat().st_mtime > _PATIENCE:
                path.unlink()


def _lock(handle: int, *, wait: bool) -> bool:
    """Lock a file until it is closed; False where another holds the lock, or where there are none."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except (ImportError, OSError):
        return False
    return True


def reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)


def exists(path: str | Path) -> bool:
    # Not Path.exists, which is False for a path that cannot be looked up, such as a name too long.
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be used: {reason(error)}.") from error
    return True


def refuse_overwriting(path: str | Path, *, what: str, recognised: Callable[[Path], bool]) -> None:
    """Refuse to replace a file that is neither empty nor of the kind that is written."""
    if exists(path) and not (Path(path).is_file() and Path(path).stat().st_size == 0) and not recognised(Path(path)):
        raise UsageError(f"{path} exists and is not {what}, so it was not overwritten; name another file.")


def has_format(path: Path, name: str) -> bool:
    with suppress(UsageError, LogsError):
        content = read_json(path, what="JSON")
        return isinstance(content, Mapping) and content.get("format") == name
    return False


def read_json(path: str | Path, *, what: str) -> Any:
    try:
        return parse_json(Path(path).read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, OSError) or "null byte" in str(error):
            raise UsageError(f"{path} cannot be read: {reason(error)}.") from error
        fault = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
        raise LogsError(f"{path} is not {what}: it is not valid JSON ({fault}).") from error


def parse_json(text: str | bytes) -> Any:
    """JSON, to the letter: no NaN, no number beyond float64, no key twice; ValueError or RecursionError otherwise."""
    return json.loads(
        text if isinstance(text, str) else text.decode("utf-8"), parse_constant=_finite, parse_float=_finite,
        parse_int=_integer, object_pairs_hook=_once,
    )  # fmt: skip


def as_json(content: Any, indent: int | None = None) -> str:
    try:
        return json.dumps(content, indent=indent, allow_nan=False)
    except ValueError as error:
        raise LogsError(
            "a number of this answer is infinite: weights times rewards exceed what float64 holds. Rescale the rewards, or "
            "look for propensities that are far too small."
        ) from error


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is not a finite number")
    return value


def _integer(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"an integer has {len(text):,} digits")
    return int(text)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict[str, Any]()
    for name, value in pairs:
        if name in content:
            raise ValueError(f"the key {name!r} stands twice")
        content[name] = value
    return content


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content with a SHA-256 over everything but the checksum itself."""
    rest = {name: value for name, value in content.items() if name != "checksum"}
    text = json.dumps(rest, sort_keys=True, allow_nan=False)
    return {**content, "checksum": hashlib.sha256(text.encode()).hexdigest()}


def check_seal(content: Mapping[str, Any], *, place: str) -> None:
    with suppress(TypeError, ValueError, RecursionError):
        if content.get("checksum") == sealed(content)["checksum"]:
            return
    raise LogsError(f"{place} is damaged, or was changed by hand: its checksum does not fit. Go back to a copy of it.")


def check_format(content: Any, *, place: str, what: str, name: str, version: int) -> None:
    """Refuse what is another kind of file, or was written in a format that is not read any more, saying by whom."""
    wrong = ""
    if not isinstance(content, Mapping) or content.get("format") != name:
        wrong = f'{place} is not {what} of surelift: it lacks the line "format": "{name}".'
    elif content.get("version") != version:
        writer = f"surelift {content.get('surelift', 'of an unknown version')}"
        wrong = (
            f"{place} is {what} in format {content.get('version')!r}, written by {writer}; this surelift reads format "
            f"{version}. Use the surelift that wrote it."
        )
    if wrong:
        raise LogsError(wrong)
