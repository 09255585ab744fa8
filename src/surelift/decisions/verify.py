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
from surelift.policies import Policy
from surelift.policies.resolve import as_policy, name_policies
from surelift.questions.assumptions import judged_last
from surelift.questions.certificate import Certificate, damage_told
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
_PROSE = frozenset({"assumptions", "doubts"})
# What a certificate may lack because it was made before answers said it.
_SINCE = frozenset({"relative_lower", "relative_upper", "relative_margin", "relative_note", "tipping_factor"})
_LATER = frozenset({"relative_doubt"})
"""What another version may not have said yet."""
# Of rounds that were left out: a log that grew has more of them.
_SAID = frozenset({"aloud"})
_READ = ("surelift", "question", "rounds", "fingerprint", "answer", "checksum")


def verify(
    certificate: Certificate | Mapping[str, Any] | str | Path,
    logs: Any,
    policies: Any = None,
    *,
    control: Any = None,
    progress: Progress | None = None,
) -> Verification:
    """Compute a certificate again: the same rounds, the same fingerprint, bounds equal to 1e-9.

    Args:
        certificate: A certificate, its content, or the path of its file.
        logs: The log, or its source alone, since the certificate knows its columns.
        policies: Those that a certificate cannot hold: arrays, functions, models.
        control: The reward model that narrowed it, where it was fitted on another log or is an estimator of your own.
        progress: Called with the number of rounds read so far.
    """
    stated = _load(certificate).content
    declared = logs.declaration if isinstance(logs, Logs) else None
    with damage_told():
        question = Question.from_dict(
            stated["question"], policies=_given(stated, policies), control=control, declaration=declared
        )
    if not isinstance(logs, Logs):
        logs = Logs.of(logs, question.declaration)
    elif not question.declaration.is_complete:
        # A log that grew has a newer time; the certificate is about the older one.
        with damage_told():
            known = Declaration.from_description(stated["question"]["declaration"])
        question = replace(question, declaration=question.declaration.found_in(known, counts=False))
    with damage_told():
        logs, rows = _judging(stated, logs)
    answer = replace(question, known=None).ask(logs, progress=progress)
    if rows:
        answer = judged_last(answer, question.declaration)
    repeated = {**Certificate.of(answer).content, **rows}
    with damage_told():
        differences = tuple(_differences(stated, repeated, rounding=TOLERANCE * logs.scale.width))
    if differences and stated["fingerprint"] == repeated["fingerprint"] and "dealt by rows" in question.features:
        differences += (OTHER_ORDER,)
    not_compared = tuple(_not_compared(stated, repeated))
    return Verification(differences, repeated["rounds"], answer, counted_in(repeated["question"]), not_compared)


def _judging(stated: Mapping[str, Any], logs: Logs) -> tuple[Logs, dict[str, Any]]:
    """Of the whole log, the rounds that were held out to judge a learned policy; or those rounds, given alone."""
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


def _given(stated: Mapping[str, Any], policies: Any) -> Mapping[str, Policy]:
    """A policy given without a name is the one policy that the certificate cannot hold."""
    if policies is None:
        return {}
    names = [name for name, form in stated["question"]["policies"].items() if "mark" in form]
    if len(names) == 1 and not isinstance(policies, Mapping | str | list | tuple):
        return {names[0]: as_policy(policies)}
    return name_policies(policies)


def _load(certificate: Certificate | Mapping[str, Any] | str | Path) -> Certificate:
    if isinstance(certificate, Certificate):
        return certificate
    if isinstance(certificate, Mapping):
        return Certificate.from_content(certificate)
    return Certificate.load(certificate)


def _differences(stated: Mapping[str, Any], repeated: Mapping[str, Any], *, rounding: float) -> Iterator[str]:
    was_declared, declared = stated["question"]["declaration"], repeated["question"]["declaration"]
    if ("cost" in was_declared) != ("cost" in declared):
        yield "the certificate speaks of rewards where the logs have costs, or the other way round"
    for name in sorted(was_declared.keys() | declared.keys()):
        was, now = was_declared.get(name), declared.get(name)
        if any(_compare(name, was, now, 0.0)):
            yield f"{name} was declared as {was}, now as {now}"
    if stated["rounds"] != repeated["rounds"]:
        yield f"the certificate speaks of {stated['rounds']:,} rounds, the logs have {repeated['rounds']:,}"
    elif not (_unknown(stated) or _unknown(repeated)) and stated["fingerprint"] != repeated["fingerprint"]:
        yield "the fingerprint differs: these are other rounds, or other probabilities"
    for name, form in stated["question"]["policies"].items():
        if dict(form).get("mark") != dict(repeated["question"]["policies"].get(name, {})).get("mark"):
            yield f"policy {name!r} is another one than the certificate speaks of"
    yield from _compare("question", _asked(stated), _asked(repeated), 0.0)
    # Another version may say the same in other words.
    prose = _SAID | (_PROSE if stated["surelift"] != repeated["surelift"] else frozenset())
    yield from _compare("answer", stated["answer"], repeated["answer"], rounding, prose)
    was, now = ({k: v for k, v in content.items() if k not in _READ} for content in (stated, repeated))
    yield from _compare("certificate", was, now, 0.0)


def _asked(content: Mapping[str, Any]) -> dict[str, Any]:
    """The question but for the declaration; where sums were added up, it does not say which distributions are known.

    Certificates used to leave out options at their defaults.
    """
    asked = {"known": [], **content["question"], "declaration": None}
    method = asked["method"]
    return {**asked, "method": {**method, "options": {**BOUNDS[method["method"]].defaults, **method["options"]}}}


def _unknown(content: Mapping[str, Any]) -> bool:
    """Whether the rounds were added up where no fingerprint is made, such as a database."""
    return bool(content["fingerprint"] == f"{content['rounds']}:none")


def _not_compared(stated: Mapping[str, Any], repeated: Mapping[str, Any]) -> Iterator[str]:
    for content, maker in ((stated, "the certificate was made"), (repeated, "these logs were read")):
        if _unknown(content):
            yield f"the rounds one by one: {maker} by an engine that makes no fingerprint of them"
            break
    was, now = (json.dumps(content["answer"]) for content in (stated, repeated))
    if NOT_KEPT in was + now:
        yield f"bounds in per cent and the tipping factor: {NOT_KEPT}"
    elif was.count('"relative_lower"') < now.count('"relative_lower"'):
        yield "bounds in per cent and the tipping factor: the certificate does not state all of them"
    if _told(stated["answer"]) != _told(repeated["answer"]):
        yield "what is said beside the numbers, such as of rounds that were left out (a log that grew has more)"
    if stated["surelift"] != repeated["surelift"]:
        yield f"the wording: the certificate was made by surelift {stated['surelift']}"


def _told(answer: Any) -> list[Any]:
    """What the parts of an answer say aloud."""
    if isinstance(answer, Mapping):
        own = [answer[name] for name in sorted(_SAID & answer.keys())]
        return own + [text for part in answer.values() for text in _told(part)]
    return [text for part in answer for text in _told(part)] if isinstance(answer, list) else []


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
    elif not _same(place, was, now, rounding):
        yield f"{place} was {was!r}, is now {now!r}"


def _same(place: str, was: Any, now: Any, rounding: float) -> bool:
    if type(was) is not type(now) or not isinstance(was, float):
        return type(was) is type(now) and bool(was == now)
    if place.endswith(("e_value", "p_value")) and was > 0 and now > 0:
        # Products over rounds: their logarithms agree to rounding.
        return math.isclose(math.log(was), math.log(now), rel_tol=TOLERANCE, abs_tol=1e-6)
    if ".relative_" in place or place.endswith("tipping_factor"):
        return math.isclose(was, now, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    if place.endswith(("lower", "upper")):
        # In units of the range: on a reward of a million and one at most, a part in a billion is the whole range.
        return math.isclose(was, now, rel_tol=1e-15, abs_tol=rounding)
    return math.isclose(was, now, rel_tol=TOLERANCE, abs_tol=rounding)
