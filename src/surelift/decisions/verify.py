"""Does a certificate follow from these logs? Ask the same question again, and compare."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surelift.decisions.asking import Progress
from surelift.decisions.certificate import Answer, Certificate
from surelift.decisions.compare import compare
from surelift.decisions.evaluate import evaluate
from surelift.decisions.result import Result
from surelift.decisions.select import select
from surelift.errors import LogsError
from surelift.logs.logs import Logs
from surelift.policies import Policy
from surelift.policies.resolve import from_description, name_policies

TOLERANCE = 1e-9
_DECLARED = ("cost", "reward_range", "density", "propensity_is_estimated")


@dataclass(frozen=True, slots=True, repr=False)
class Verification(Result):
    """Whether everything came out the same, and what did not."""

    differences: tuple[str, ...]
    rounds: int
    answer: Answer
    """The answer computed again."""

    @property
    def same(self) -> bool:
        return not self.differences

    def to_dict(self) -> dict[str, Any]:
        return {
            "same": self.same, "differences": list(self.differences), "rounds": self.rounds,
            "answer": self.answer.to_dict(),
        }  # fmt: skip

    def records(self) -> list[dict[str, Any]]:
        return [{"same": self.same, "differences": "; ".join(self.differences), "rounds": self.rounds}]


def verify(
    certificate: Certificate | Mapping[str, Any] | str | Path,
    logs: Logs,
    policies: Any = None,
    *,
    progress: Progress | None = None,
) -> Verification:
    """Compute a certificate again: the same rounds, the same fingerprint, bounds equal to 1e-9.

    ``policies`` gives again those that a certificate cannot hold: arrays, functions, models.
    """
    stated = _load(certificate).content
    given = {} if policies is None else name_policies(policies)
    rebuilt = {name: given.get(name) or from_description(form) for name, form in stated["policies"].items()}
    try:
        answer = _ask_again(stated, logs, rebuilt, progress)
    except (KeyError, TypeError) as error:
        raise LogsError(f"the certificate is damaged: its question cannot be asked again ({error}).") from error
    repeated = Certificate.of(answer).content
    return Verification(tuple(_differences(stated, repeated)), repeated["rounds"], answer)


def _load(certificate: Certificate | Mapping[str, Any] | str | Path) -> Certificate:
    if isinstance(certificate, Certificate):
        return certificate
    if isinstance(certificate, Mapping):
        return Certificate.from_content(certificate)
    return Certificate.load(certificate)


def _ask_again(stated: Mapping[str, Any], logs: Logs, policies: dict[str, Policy], progress: Progress | None) -> Answer:
    options = dict(stated["options"])
    if stated["question"] == "evaluate":
        return evaluate(logs, policies, **options, progress=progress)
    over = options.pop("over")
    baseline = {over: policies.pop(over)}
    if stated["question"] == "compare":
        return compare(logs, policies, over=baseline, **options, progress=progress)
    if stated["question"] == "select":
        return select(logs, policies, over=baseline, **options, progress=progress)
    raise LogsError(f"the certificate answers a question this surelift does not know: {stated['question']!r}.")


def _differences(stated: Mapping[str, Any], repeated: Mapping[str, Any]) -> Iterator[str]:
    for name in _DECLARED:
        was, now = stated["logs"].get(name), repeated["logs"].get(name)
        if was != now:
            yield f"{name} was declared as {was}, now as {now}"
    if stated["rounds"] != repeated["rounds"]:
        yield f"the certificate speaks of {stated['rounds']:,} rounds, the logs have {repeated['rounds']:,}"
    elif stated["fingerprint"] != repeated["fingerprint"]:
        yield "the fingerprint differs: these are other rounds, or other probabilities"
    yield from _compare("answer", stated["answer"], repeated["answer"])


def _compare(place: str, was: Any, now: Any) -> Iterator[str]:
    """Walk two answers side by side; numbers may differ by rounding."""
    if isinstance(was, Mapping) and isinstance(now, Mapping):
        for name in sorted(was.keys() | now.keys()):
            yield from _compare(f"{place}.{name}", was.get(name), now.get(name))
    elif isinstance(was, float | int) and isinstance(now, float | int) and not isinstance(was, bool):
        # An e-value is a product over rounds: its logarithm is what agrees to rounding.
        close = math.isclose(was, now, rel_tol=1e-6 if "_value" in place else TOLERANCE, abs_tol=TOLERANCE)
        if not close:
            yield f"{place} was {was!r}, is now {now!r}"
    elif was != now:
        yield f"{place} was {was!r}, is now {now!r}"
