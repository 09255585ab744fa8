"""A certificate: an answer with the question that was asked and a fingerprint of the rounds, as versioned JSON."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surelift.errors import LogsError, SureliftError
from surelift.results.provenance import FORMAT, VERSION, certificate_content
from surelift.saving import check_format, check_seal, has_format, read_json, refuse_overwriting, write_beside

if TYPE_CHECKING:
    from surelift.results.result import Result

_FIELDS: dict[str, type] = {
    "surelift": str, "question": Mapping, "rounds": int, "fingerprint": str, "answer": Mapping,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Certificate:
    """What was asked, of which rounds, and what came out, as JSON that anyone with the rounds can verify."""

    content: Mapping[str, Any]

    @classmethod
    def of(cls, answer: "Result") -> "Certificate":
        """The certificate of an answer."""
        return cls(certificate_content(getattr(answer, "provenance", None), answer.to_dict()))

    def save(self, path: str | Path) -> None:
        """Write beside the file and rename, so that a reader never sees half a certificate.

        An existing file is replaced only if it is a certificate.
        """
        refuse_overwriting(path, what="a certificate", recognised=partial(has_format, name=FORMAT))
        write_beside(path, json.dumps(self.content, indent=2, allow_nan=False) + "\n", what="the certificate")

    @classmethod
    def load(cls, path: str | Path) -> "Certificate":
        """Read a certificate; one in which a byte changed is refused."""
        return cls.from_content(read_json(path, what="a certificate"), place=str(path))

    @classmethod
    def from_content(cls, content: Any, *, place: str = "the certificate") -> "Certificate":
        check_format(content, place=place, what="a certificate", name=FORMAT, version=VERSION)
        check_seal(content, place=place)
        for name, kind in _FIELDS.items():
            if not isinstance(content.get(name), kind):
                raise LogsError(f"{place} is damaged: {name!r} is missing or of the wrong kind.")
        return cls(content)


@contextmanager
def as_damage() -> Iterator[None]:
    """What goes wrong while reading a certificate that was tampered with is told as damage, never as a crash."""
    try:
        yield
    except SureliftError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError, StopIteration) as error:
        raise LogsError(f"the certificate is damaged and cannot be read as one ({error}).") from error
