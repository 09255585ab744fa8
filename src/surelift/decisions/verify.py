"""Does a certificate follow from these logs? Ask the same question again, and compare."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from surelift.bounds import BOUNDS
from surelift.errors import LogsError
from surelift.policies.resolve import as_policy, name_policies
from surelift.questions.assumptions import judged_last
from surelift.questions.certificate import Certificate, as_damage
from surelift.questions.question import Progress, Question
from surelift.questions.relative import NOT_KEPT
from surelift.results.provenance import counted_in
from surelift.results.verification import Verification
from surelift.traits.declaration import Declaration
from surelift.traits.logs import Logs

TOLERANCE = 1e-9
OTHER_ORDER = (
    "these are the same rounds, but blocks were dealt by row number: give the rows in the order of the certificate; with "
    "id= the order would not matter"
)
# Where an answer speaks of outcomes in units of their own.
_OTHER_UNITS = re.compile(r"\.(outcomes|guardrails)\.")
# Of rounds that were left out: a log that grew has more of them.
_REMARKS = frozenset({"aloud"})
# Another version may say the same in other words.
_PROSE = frozenset({"assumptions", "doubts", "relative_note"})
# What a certificate may lack because it was made before answers said it; and what another version may not have said yet.
_SINCE = frozenset({"relative_lower", "relative_upper", "relative_margin", "relative_note", "tipping_factor"})
_LATER = frozenset({"relative_doubt"})
_COMPARED_ALONE = ("surelift", "question", "rounds", "fingerprint", "answer", "checksum")


def verify(
    certificate: Certificate | Mapping[str, Any] | str | Path, logs: Any, policies: Any = None, *, control: Any = None,
    progress: Progress | None = None,
) -> Verification:  # fmt: skip
    """Compute a certificate again: the same rounds, the same fingerprint, bounds equal to 1e-9.

    Args:
        certificate: A certificate, its content, or the path of its file.
        logs: The log, or its source alone, since the certificate knows its columns.
        policies: Those that a certificate cannot hold: arrays, functions, models.
        control: The reward model that narrowed it, where it was fitted on another log or is an estimator of your own.
        progress: Called with the number of rounds read so far.
    """
    if isinstance(certificate, Mapping):
        certificate = Certificate.from_content(certificate)
    elif not isinstance(certificate, Certificate):
        certificate = Certificate.load(certificate)
    stated = certificate.content
    declared = logs.declaration if isinstance(logs, Logs) else None
    with as_damage():
        asked = stated["question"]
        unheld = [name for name, form in asked["policies"].items() if "mark" in form]
        if policies is None:
            given = {}
        elif len(unheld) == 1 and not isinstance(policies, Mapping | str | list | tuple):
            given = {unheld[0]: as_policy(policies)}  # without a name it is the one that the certificate cannot hold
        else:
            given = name_policies(policies)
        question = Question.from_dict(asked, policies=given, control=control, declaration=declared)
        if declared is not None and not declared.is_complete:
            # A log that grew has a newer time; the certificate is about the older one.
            known = Declaration.from_description(asked["declaration"])
            question = replace(question, declaration=declared.found_in(known, counts=False))
    if declared is None:
        logs = Logs.of(logs, question.declaration)
    with as_damage():
        logs, rows = _judging(stated, logs)
    answer = replace(question, known=None).ask(logs, progress=progress)
    if rows:
        answer = judged_last(answer, question.declaration)
    repeated = {**Certificate.of(answer).content, **rows}
    with as_damage():
        differences = [*_differences(stated, repeated, rounding=TOLERANCE * logs.scale.width)]
    if differences and stated["fingerprint"] == repeated["fingerprint"] and "dealt by rows" in question.features:
        differences.append(OTHER_ORDER)
    counted = counted_in(repeated["question"])
    return Verification(tuple(differences), repeated["rounds"], answer, counted, tuple(_not_compared(stated, repeated)))


def _judging(stated: Mapping[str, Any], logs: Logs) -> tuple[Logs, dict[str, Any]]:
    """The rounds held out to judge a learned policy: cut from the whole log, or given alone."""
    if "rows" not in stated:
        return logs, {}
    first, last = stated["rows"]
    learned = any(form["kind"] == "learned" for form in stated["question"]["policies"].values())
    if not (learned and type(first) is type(last) is int and 0 < first < last):
        raise LogsError(f"the certificate is damaged: it cannot have held out the rows {stated['rows']!r}.")
    count = logs.count()
    if count == last:
        logs = logs.part(first, last)
    return logs, {"rows": [first, last] if count in (last, last - first) else None}


def _differences(stated: Mapping[str, Any], repeated: Mapping[str, Any], *, rounding: float) -> Iterator[str]:
    was, now = stated["question"], repeated["question"]
    before, after = was["declaration"], now["declaration"]
    if ("cost" in before) != ("cost" in after):
        yield "the certificate speaks of rewards where the logs have costs, or the other way round"
    for name in sorted(before.keys() | after.keys()):
        if any(_compare(name, before.get(name), after.get(name), 0.0)):
            yield f"{name} was declared as {before.get(name)}, now as {after.get(name)}"
    if stated["rounds"] != repeated["rounds"]:
        yield f"the certificate speaks of {stated['rounds']:,} rounds, the logs have {repeated['rounds']:,}"
    elif not (_unknown(stated) or _unknown(repeated)) and stated["fingerprint"] != repeated["fingerprint"]:
        yield "the fingerprint differs: these are other rounds, or other probabilities"
    for name, form in was["policies"].items():
        if dict(form).get("mark") != dict(now["policies"].get(name, {})).get("mark"):
            yield f"policy {name!r} is another one than the certificate speaks of"
    yield from _compare("question", _asked(was), _asked(now), 0.0)
    prose = _REMARKS | (_PROSE if stated["surelift"] != repeated["surelift"] else frozenset())
    yield from _compare("answer", stated["answer"], repeated["answer"], rounding, prose)
    rest, again = ({k: v for k, v in each.items() if k not in _COMPARED_ALONE} for each in (stated, repeated))
    yield from _compare("certificate", rest, again, 0.0)


def _asked(question: Mapping[str, Any]) -> dict[str, Any]:
    """A question but for its declaration; where sums were added up, it does not say which distributions are known.

    Certificates used to leave out options at their defaults.
    """
    method = question["method"]
    options = {**BOUNDS[method["method"]].defaults, **method["options"]}
    return {"known": [], **question, "declaration": None, "method": {**method, "options": options}}


def _unknown(content: Mapping[str, Any]) -> bool:
    """The rounds were added up where no fingerprint is made, such as a database."""
    return bool(content["fingerprint"] == f"{content['rounds']}:none")


def _not_compared(stated: Mapping[str, Any], repeated: Mapping[str, Any]) -> Iterator[str]:
    if _unknown(stated) or _unknown(repeated):
        maker = "the certificate was made" if _unknown(stated) else "these logs were read"
        yield f"the rounds one by one: {maker} by an engine that makes no fingerprint of them"
    was, now = (json.dumps(content["answer"]) for content in (stated, repeated))
    if NOT_KEPT in was + now:
        yield f"bounds in per cent and the tipping factor: {NOT_KEPT}"
    elif was.count('"relative_lower"') < now.count('"relative_lower"'):
        yield "bounds in per cent and the tipping factor: the certificate does not state all of them"
    if _remarks(stated["answer"]) != _remarks(repeated["answer"]):
        yield "what is said beside the numbers, such as of rounds that were left out (a log that grew has more)"
    if stated["surelift"] != repeated["surelift"]:
        yield f"the wording: the certificate was made by surelift {stated['surelift']}"


def _remarks(answer: Any) -> list[Any]:
    """What is said beside the numbers, anywhere in an answer."""
    own = [answer[name] for name in _REMARKS & answer.keys()] if isinstance(answer, Mapping) else []
    parts = answer.values() if isinstance(answer, Mapping) else answer if isinstance(answer, list) else ()
    return own + [remark for part in parts for remark in _remarks(part)]


def _compare(place: str, was: Any, now: Any, rounding: float, prose: frozenset[str] = frozenset()) -> Iterator[str]:
    """Walk two contents side by side: of the same types, and numbers may differ by rounding."""
    if isinstance(was, Mapping) and isinstance(now, Mapping):
        if "improvement_range" in now and _OTHER_UNITS.search(place):
            rounding = TOLERANCE * now["improvement_range"][1]
        not_kept = NOT_KEPT in (was.get("relative_note"), now.get("relative_note"))
        unsaid = _SINCE if not_kept or not _SINCE & was.keys() else frozenset()
        unsaid |= _LATER - was.keys() if prose >= _PROSE else frozenset()
        for name in sorted((was.keys() | now.keys()) - prose - unsaid):
            if name in was and name in now:
                yield from _compare(f"{place}.{name}", was[name], now[name], rounding, prose)
            else:
                yield f"{place}.{name} was {was.get(name, 'absent')!r}, is now {now.get(name, 'absent')!r}"
    elif isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        for before, after in zip(was, now, strict=True):
            yield from _compare(place, before, after, rounding, prose)
    elif type(was) is not type(now) or not (_close(place, was, now, rounding) if isinstance(was, float) else was == now):
        yield f"{place} was {was!r}, is now {now!r}"


def _close(place: str, was: float, now: float, rounding: float) -> bool:
    relative, absolute = TOLERANCE, rounding
    if place.endswith(("e_value", "p_value")) and was > 0 and now > 0:
        # Products over rounds: their logarithms agree to rounding.
        was, now, absolute = math.log(was), math.log(now), 1e-6
    elif ".relative_" in place or place.endswith("tipping_factor"):
        absolute = TOLERANCE
    elif place.endswith(("lower", "upper")):
        # In units of the range: on a reward of a million and one at most, a part in a billion is the whole range.
        relative = 1e-15
    return math.isclose(was, now, rel_tol=relative, abs_tol=absolute)
