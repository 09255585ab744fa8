"""Does a certificate follow from these logs? Ask the same question again, and compare."""

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from surelift.controls import models
from surelift.decisions.asking import Progress
from surelift.decisions.certificate import Answer, Certificate
from surelift.decisions.compare import compare
from surelift.decisions.evaluate import evaluate
from surelift.decisions.gate import gate
from surelift.decisions.select import select
from surelift.errors import LogsError, SureliftError, UsageError, is_number
from surelift.logs.logs import Logs
from surelift.policies import Policy
from surelift.policies.resolve import name_policies, rebuild
from surelift.results.gate import guardrail_from
from surelift.results.verification import Verification

TOLERANCE = 1e-9
_DECLARED = ("reward_range", "density", "propensity_is_estimated", "actions")


def verify(
    certificate: Certificate | Mapping[str, Any] | str | Path,
    logs: Any,
    policies: Any = None,
    *,
    control: Any = None,
    progress: Progress | None = None,
) -> Verification:
    """Compute a certificate again: the same rounds, the same fingerprint, bounds equal to 1e-9.

    ``logs`` may be the source alone, as the certificate knows its columns. ``policies`` gives again those that a certificate
    cannot hold: arrays, functions, models; ``control`` the reward model that narrowed it, where one was fitted on another
    log or is an estimator of your own.
    """
    stated = _load(certificate).content
    if not isinstance(logs, Logs):
        with damage_told():
            logs = Logs(logs, **{role: stated["logs"][role] for role in stated["logs"]})
    given = {} if policies is None else name_policies(_named(stated, policies))
    with damage_told():
        rebuilt = {
            name: given.get(name) or rebuild(name, form, kept_in="the certificate")
            for name, form in stated["policies"].items()
        }
        ask_again = _question(stated, rebuilt, control)
        logs = _judged(stated, rebuilt, logs)
    answer = ask_again(logs, progress=progress)
    repeated = Certificate.of(answer).content
    with damage_told():
        differences = tuple(_differences(stated, repeated, rounding=TOLERANCE * logs.scale.width))
    return Verification(differences, repeated["rounds"], answer)


def _named(stated: Mapping[str, Any], policies: Any) -> Any:
    """A learned policy given alone is the one the certificate speaks of."""
    learned = [name for name, form in stated["policies"].items() if dict(form).get("kind") == "learned"]
    return {learned[0]: policies} if hasattr(policies, "as_reader") and len(learned) == 1 else policies


def _judged(stated: Mapping[str, Any], policies: Mapping[str, Policy], logs: Logs) -> Logs:
    """Of the whole log, the rounds that were held out to judge a learned policy."""
    for policy in policies.values():
        reader: Any = getattr(policy, "reader", None)
        if hasattr(reader, "judged") and logs.count() != stated["rounds"]:
            held_out: Logs = reader.judged(logs)
            return held_out
    return logs


@contextmanager
def damage_told() -> Iterator[None]:
    """What goes wrong while reading a certificate that was tampered with is told as damage, never as a crash."""
    try:
        yield
    except SureliftError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise LogsError(f"the certificate is damaged and cannot be read as one ({error}).") from error


def _load(certificate: Certificate | Mapping[str, Any] | str | Path) -> Certificate:
    if isinstance(certificate, Certificate):
        return certificate
    if isinstance(certificate, Mapping):
        return Certificate.from_content(certificate)
    return Certificate.load(certificate)


def _question(stated: Mapping[str, Any], policies: dict[str, Policy], control: Any) -> Callable[..., Answer]:
    """The same question of the same policies with the same options, to be asked of logs."""
    options = dict(stated["options"])
    if stated["question"] == "learn":
        reader: Any = getattr(next(iter(policies.values()), None), "reader", None)
        if not hasattr(reader, "certify"):
            raise UsageError("this is the certificate of a learned policy; give that policy in policies=.")
        return lambda logs, progress: reader.certify(logs, options, control=control, progress=progress)
    questions: dict[str, Callable[..., Answer]] = {
        "evaluate": evaluate, "compare": compare, "select": select, "gate": gate,
    }  # fmt: skip
    question = questions[stated["question"]]
    if "over" in options:
        over = options.pop("over")
        options["over"] = {over: policies.pop(over)}
    if control is not None and not isinstance(options["control"], Mapping):
        raise UsageError("control= was given again, but no reward model narrowed this certificate; leave it out.")
    if isinstance(options["control"], Mapping):
        options["control"] = models.from_description(options["control"]) if control is None else control
    if "guardrails" in options:
        options["guardrails"] = [guardrail_from(one) for one in options["guardrails"]]
    unknown = options.keys() - inspect.signature(question).parameters.keys()
    if unknown:
        raise ValueError(f"unknown options {', '.join(sorted(unknown))}")
    return lambda logs, progress: question(logs, policies, **options, progress=progress)


def _differences(stated: Mapping[str, Any], repeated: Mapping[str, Any], *, rounding: float) -> Iterator[str]:
    if ("cost" in stated["logs"]) != ("cost" in repeated["logs"]):
        yield "the certificate speaks of rewards where the logs have costs, or the other way round"
    for name in _DECLARED:
        was, now = stated["logs"].get(name), repeated["logs"].get(name)
        if was != now:
            yield f"{name} was declared as {was}, now as {now}"
    if stated["rounds"] != repeated["rounds"]:
        yield f"the certificate speaks of {stated['rounds']:,} rounds, the logs have {repeated['rounds']:,}"
    elif not any(str(one["fingerprint"]).endswith(":none") for one in (stated, repeated)) and (
        stated["fingerprint"] != repeated["fingerprint"]
    ):
        yield "the fingerprint differs: these are other rounds, or other probabilities"
    for name, form in stated["policies"].items():
        if dict(form).get("mark") != dict(repeated["policies"].get(name, {})).get("mark"):
            yield f"policy {name!r} is another one than the certificate speaks of"
    for name in ("candidates", "options", "answer"):
        yield from _compare(name, stated[name], repeated[name], rounding)


def _compare(place: str, was: Any, now: Any, rounding: float) -> Iterator[str]:
    """Walk two answers side by side; numbers may differ by rounding."""
    if isinstance(was, Mapping) and isinstance(now, Mapping):
        for name in sorted(was.keys() | now.keys()):
            yield from _compare(f"{place}.{name}", was.get(name), now.get(name), rounding)
    elif not _same(place, was, now, rounding):
        yield f"{place} was {was!r}, is now {now!r}"


def _same(place: str, was: Any, now: Any, rounding: float) -> bool:
    if not (is_number(was) and is_number(now)):
        return bool(was == now)
    if place.endswith(("e_value", "p_value")) and was > 0 and now > 0:
        # Products over rounds: their logarithms agree to rounding.
        return math.isclose(math.log(was), math.log(now), rel_tol=TOLERANCE, abs_tol=1e-6)
    if place.endswith(("lower", "upper")):
        # In units of the range: on a reward of a million and one at most, a part in a billion is the whole range.
        return math.isclose(was, now, rel_tol=1e-15, abs_tol=rounding)
    return math.isclose(was, now, rel_tol=TOLERANCE, abs_tol=rounding)
