"""A certificate: an answer with all it takes to compute it again, as versioned JSON."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surelift.errors import LogsError, SureliftError, UsageError
from surelift.results.certificate import FORMAT, VERSION, certificate_content
from surelift.results.evaluation import Evaluation
from surelift.results.gate import Gate
from surelift.results.guarantee import Guarantee
from surelift.results.improvement import Improvement
from surelift.results.segments import Segments
from surelift.results.selection import Selection
from surelift.saving import write_beside

_FIELDS: dict[str, type] = {
    "surelift": str, "question": str, "options": Mapping, "candidates": int, "logs": Mapping, "policies": Mapping,
    "rounds": int, "fingerprint": str, "answer": Mapping,
}  # fmt: skip

Answer = Evaluation | Improvement | Selection | Gate | Guarantee | Segments[Evaluation] | Segments[Improvement]


@dataclass(frozen=True, slots=True)
class Certificate:
    """What was asked, of which rounds, and what came out."""

    content: Mapping[str, Any]

    @classmethod
    def of(cls, answer: Answer) -> "Certificate":
        return cls(certificate_content(answer.provenance, answer.to_dict()))

    def save(self, path: str | Path) -> None:
        """Write beside the file and rename, so that a reader never sees half a certificate.

        A file that is there already is replaced only if it is a certificate.
        """
        target = Path(path).resolve()
        if target.exists() and not _is_certificate(target):
            raise UsageError(f"{path} exists and is no certificate, so it was not overwritten; name another file.")
        write_beside(path, json.dumps(self.content, indent=2, allow_nan=False) + "\n", what="the certificate")

    @classmethod
    def load(cls, path: str | Path) -> "Certificate":
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise UsageError(f"the certificate {path} cannot be read: {error.strerror}.") from error
        except (ValueError, RecursionError) as error:
            raise LogsError(f"{path} is not a certificate: it is not valid JSON ({error}).") from error
        return cls.from_content(content, place=str(path))

    @classmethod
    def from_content(cls, content: Any, *, place: str = "the certificate") -> "Certificate":
        if not isinstance(content, Mapping) or content.get("format") != FORMAT:
            raise LogsError(f'{place} is not a certificate of surelift: it lacks the line "format": "{FORMAT}".')
        if content.get("version") != VERSION:
            raise LogsError(
                f"{place} is a certificate of version {content.get('version')!r}; this surelift reads version {VERSION}. "
                f"Use the surelift that wrote it ({content.get('surelift', 'unknown')})."
            )
        for name, kind in _FIELDS.items():
            if not isinstance(content.get(name), kind):
                raise LogsError(f"{place} is damaged: {name!r} is missing or of the wrong kind.")
        return cls(content)


def _is_certificate(path: Path) -> bool:
    try:
        Certificate.load(path)
    except SureliftError:
        return False
    return True
