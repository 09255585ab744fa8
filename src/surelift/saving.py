"""Atomic file writes."""

import os
import tempfile
from pathlib import Path

from surelift.errors import UsageError


def write_beside(path: str | Path, content: str | bytes, *, what: str) -> None:
    """Write to a temporary file and rename it, so that a reader or a crash never sees a partial file."""
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
