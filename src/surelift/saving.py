"""Files that people store: written atomically, and read back by format and version."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from surelift.errors import LogsError, UsageError


def write_beside(path: str | Path, content: str | bytes, *, what: str) -> None:
    """Write to a temporary file and rename it, so that a reader or a crash never sees a partial file."""
    import tempfile

    target = Path(path).resolve()
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except OSError as error:
        raise UsageError(f"{what} cannot be written to {path}: {error.strerror}.") from error
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def read_json(path: str | Path, *, what: str) -> Any:
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise LogsError(f"{path} is not {what}: it is not valid JSON ({error}).") from error


def check_format(content: Any, *, place: str, what: str, name: str, version: int) -> None:
    """Refuse what is another kind of file, or was written in a format that is not read any more, saying by whom."""
    if not isinstance(content, Mapping) or content.get("format") != name:
        raise LogsError(f'{place} is not {what} of surelift: it lacks the line "format": "{name}".')
    if content.get("version") != version:
        raise LogsError(
            f"{place} is {what} in format {content.get('version')!r}, written by surelift "
            f"{content.get('surelift', 'of an unknown version')}; this surelift reads format {version}. Use the surelift "
            "that wrote it."
        )
