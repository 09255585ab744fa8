"""Where an answer comes from: the question that was asked, and the rounds it was asked of."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from surelift.logs.fingerprint import Fingerprint
from surelift.version import __version__


@dataclass(frozen=True, slots=True)
class Provenance:
    """Enough to ask the same question again, and to recognise the rounds."""

    question: Mapping[str, Any]
    """As JSON: ``Question.from_dict`` reads it back."""
    rounds: int
    fingerprint: Fingerprint
    segment: str | None = None
    """The segment, where the answer is about one of several."""
    rows: tuple[int, int] | None = None
    """The rows of the log that were held out to judge, from the first up to, not including, the last."""
    certifies: bool = True
    """Whether the method gives certificates."""
    version: str = __version__
