"""A certificate: an answer with all it takes to compute it again, as versioned JSON."""

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surelift.decisions.compare import Improvement
from surelift.decisions.evaluate import Evaluation
from surelift.decisions.select import Selection
from surelift.errors import LogsError, UsageError

FORMAT = "surelift certificate"
VERSION = 1
_FIELDS = ("question", "options", "logs", "policies", "rounds", "fingerprint", "answer")

Answer = Evaluation | Improvement | Selection


@dataclass(frozen=True, slots=True)
class Certificate:
    """What was asked, of which rounds, and what came out."""

    content: Mapping[str, Any]

    @classmethod
    def of(cls, answer: Answer) -> "Certificate":
        basis = answer.basis
        content = {
            "format": FORMAT,
            "version": VERSION,
            "surelift": basis.version,
            "question": basis.question,
            "options": dict(basis.options),
            "candidates": len(basis.policies) - ("over" in basis.options),
            "logs": dict(basis.logs),
            "policies": {name: dict(policy) for name, policy in basis.policies.items()},
            "rounds": basis.rounds,
            "fingerprint": str(basis.fingerprint),
            "answer": answer.to_dict(),
        }
        return cls(json.loads(json.dumps(content, allow_nan=False)))

    def save(self, path: str | Path) -> None:
        """Write beside the file and rename, so that a reader never sees half a certificate."""
        path = Path(path)
        try:
            handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        except OSError as error:
            raise UsageError(f"the certificate cannot be written to {path}: {error.strerror}.") from error
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(self.content, file, indent=2, allow_nan=False)
                file.write("\n")
            os.chmod(beside, 0o644)
            os.replace(beside, path)
        except BaseException as error:
            Path(beside).unlink(missing_ok=True)
            if isinstance(error, OSError):
                raise UsageError(f"the certificate cannot be written to {path}: {error.strerror}.") from error
            raise

    @classmethod
    def load(cls, path: str | Path) -> "Certificate":
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise UsageError(f"the certificate {path} cannot be read: {error.strerror}.") from error
        except ValueError as error:
            raise LogsError(f"{path} is not a certificate: it is not valid JSON ({error}).") from error
        return cls.from_content(content, place=str(path))

    @classmethod
    def from_content(cls, content: Any, *, place: str = "the certificate") -> "Certificate":
        if not isinstance(content, Mapping) or content.get("format") != FORMAT:
            raise LogsError(f'{place} is not a certificate of surelift: it lacks the line "format": "{FORMAT}".')
        if content.get("version") != VERSION:
            raise LogsError(
                f"{place} is a certificate of version {content.get('version')!r}; this is surelift "
                f"with version {VERSION}. Install the surelift that wrote it ({content.get('surelift', 'unknown')})."
            )
        missing = [name for name in _FIELDS if name not in content]
        if missing:
            raise LogsError(f"{place} is damaged: it lacks {', '.join(missing)}.")
        return cls(content)
