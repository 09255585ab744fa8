"""Files that are never seen half written."""

import os
import tempfile
from pathlib import Path

from surelift.errors import UsageError


def write_beside(path: str | Path, content: str | bytes, *, what: str) -> None:
    """Write into a file beside and rename it: a reader, or a crash, finds the old file or the new one."""
    target = Path(path).resolve()
    beside = None
    try:
        handle, beside = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(beside, 0o644)
        os.replace(beside, target)
    except OSError as error:
        raise UsageError(f"{what} cannot be written to {path}: {error.strerror}.") from error
    finally:
        if beside is not None:
            Path(beside).unlink(missing_ok=True)
