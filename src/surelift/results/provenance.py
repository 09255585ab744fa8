"""Where an answer comes from, and its certificate: with everything needed to compute it again."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from surelift.errors import LogsError, UsageError
from surelift.saving import as_json, sealed
from surelift.version import __version__

if TYPE_CHECKING:
    from surelift.logs.fingerprint import Fingerprint

FORMAT = "surelift certificate"
VERSION = 3


@dataclass(frozen=True, slots=True)
class Provenance:
    """Enough to ask the same question again, and to recognise the rounds."""

    question: Mapping[str, Any]
    """The question as JSON: ``Question.from_dict`` reads it back."""
    rounds: int
    fingerprint: "Fingerprint"
    segment: str | None = None
    """The segment, where the answer is about one of several."""
    rows: tuple[int, int] | None = None
    """The rows of the log that were held out to judge, from the first up to, not including, the last."""
    certifies: bool = True
    notes: tuple[str, ...] = ()
    """Sentences about rounds that were left out, beside the answer."""
    version: str = __version__


def counted_in(question: Mapping[str, Any]) -> str:
    """What a question counts: rounds, or the clusters they make."""
    return "rounds" if question.get("declaration", {}).get("cluster") is None else "clusters"


def certificate_content(provenance: Provenance | None, answer: Mapping[str, Any]) -> dict[str, Any]:
    """What a certificate stores of an answer, given as a dict; an error where there can be no certificate, and why."""
    if provenance is None:
        raise LogsError("these logs are not fit for a guarantee, so there is nothing to certify.")
    method = provenance.question.get("method", {})
    by_function = str(method.get("options", {}).get("regularizer")).startswith("function ")
    why = ""
    if provenance.segment is not None:
        why = "a single segment cannot be certified; certify the whole answer by segment."
    elif not provenance.certifies:
        why = f"method {method.get('method')!r} does not certify anything, so it has no certificate; omit --certificate."
    elif by_function:
        why = "a regularizer given as a function cannot be stored in a certificate; give it by name."
    if why:
        raise UsageError(why)
    rows = {} if provenance.rows is None else {"rows": list(provenance.rows)}
    content = {
        "format": FORMAT, "version": VERSION, "surelift": provenance.version, "question": dict(provenance.question),
        "rounds": provenance.rounds, **rows, "fingerprint": str(provenance.fingerprint), "answer": dict(answer),
    }  # fmt: skip
    return sealed(json.loads(as_json(content)))
