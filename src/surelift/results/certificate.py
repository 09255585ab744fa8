"""The content of a certificate: an answer with everything needed to compute it again."""

import json
from collections.abc import Mapping
from typing import Any

from surelift.errors import LogsError, SureliftError, UsageError
from surelift.results.provenance import Provenance

FORMAT = "surelift certificate"
VERSION = 2


def certificate_content(provenance: Provenance | None, answer: Mapping[str, Any]) -> dict[str, Any]:
    """What a certificate stores of an answer, given as a dict; an error where there can be no certificate, and why."""
    if provenance is None:
        raise LogsError("these logs are not fit for a guarantee, so there is nothing to certify.")
    if provenance.segment is not None:
        raise UsageError("a single segment cannot be certified; certify the whole answer by segment.")
    method = provenance.question.get("method", {})
    if not provenance.certifies:
        raise UsageError(
            f"method {method['method']!r} does not certify anything, so it has no certificate; omit --certificate."
        )
    if str(method.get("options", {}).get("regularizer")).startswith("function "):
        raise UsageError("a regularizer given as a function cannot be stored in a certificate; give it by name.")
    content = {
        "format": FORMAT,
        "version": VERSION,
        "surelift": provenance.version,
        "question": dict(provenance.question),
        "rounds": provenance.rounds,
        **({} if provenance.rows is None else {"rows": list(provenance.rows)}),
        "fingerprint": str(provenance.fingerprint),
        "answer": dict(answer),
    }
    stored: dict[str, Any] = json.loads(json.dumps(content, allow_nan=False))
    return stored


def certificate_or_none(provenance: Provenance | None, answer: Mapping[str, Any]) -> dict[str, Any] | None:
    """The same, without an error where there can be none."""
    try:
        return certificate_content(provenance, answer)
    except SureliftError:
        return None
