"""How a question is made: from what a user writes, by its verb, or from what was stored. All doors lead through here."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from surelift import questions
from surelift.errors import LogsError, SureliftError, UsageError, printed
from surelift.logs.segments import Bins, SegmentColumn
from surelift.policies import Policy
from surelift.policies.resolve import name_policies, one_policy, rebuild
from surelift.questions.method import method_from
from surelift.questions.question import Question
from surelift.results.outcomes import outcome_from
from surelift.statistics.splits import Segment
from surelift.traits.declaration import Declaration
from surelift.traits.logs import Logs

_ALWAYS = {"declaration", "policies", "delta", "method"}


def made(kind: type[Question], logs: Any, policies: Any, **options: Any) -> Any:
    """A question from what a user writes, checked."""
    declared = logs.declaration if isinstance(logs, Logs) else logs
    if not isinstance(declared, Declaration):
        declared = require_logs(logs).declaration
    needed = policies is not None or not kind.asks_without
    named = {} if not needed else dict([one_policy(policies, declared)]) if kind.takes_one else name_policies(policies)
    return kind(declaration=declared, policies=named, **kind.fields_from(options))


def require_logs(logs: Any) -> Logs:
    if not isinstance(logs, Logs):
        raise UsageError(
            f"logs must be given as Logs, not as a {type(logs).__name__}; wrap it: "
            "Logs(source, reward='column', propensity='column')."
        )
    return logs


def question_from(
    content: Mapping[str, Any], policies: Mapping[str, Policy], control: Any, declaration: Declaration | None
) -> Question:
    """The question that was stored; what JSON cannot hold is given again."""
    try:
        return _question_from(content, policies, control, declaration)
    except SureliftError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError, StopIteration) as error:
        raise LogsError(f"this is no question that was stored, or it is damaged ({error}).") from error


def _question_from(
    content: Mapping[str, Any], policies: Mapping[str, Policy], control: Any, declaration: Declaration | None
) -> Question:
    kind = _kinds().get(content["kind"])
    if kind is None:
        raise UsageError(
            f"no question of kind {content['kind']!r} is known here; for a learned policy, give it in policies=."
        )
    names = {item.name for item in fields(kind) if item.init}
    stated = {name: value for name, value in content.items() if name != "kind"}
    if stated.keys() - names:
        raise ValueError(f"unknown options {', '.join(sorted(stated.keys() - names))}")
    if _ALWAYS - stated.keys():
        raise ValueError(f"{', '.join(sorted(_ALWAYS - stated.keys()))} is missing")
    known = {**content["policies"], **content.get("over", {})}
    if unknown := sorted(policies.keys() - known.keys()):
        raise UsageError(f"no policy is called {unknown[0]!r} here; they are {', '.join(map(repr, known))}.")
    if declaration is not None:
        stated["declaration"] = declaration
    values = {name: decoded(name, value, policies) for name, value in stated.items()}
    values["method"] = method_from(content["method"], control)
    return kind(**values)


def decoded(name: str, value: Any, given: Mapping[str, Policy]) -> Any:
    if name == "declaration":
        return value if isinstance(value, Declaration) else Declaration.from_description(value)
    if name in ("policies", "over"):
        found = {
            policy: given[policy] if policy in given else rebuild(policy, form, kept_in="the file")
            for policy, form in value.items()
        }
        if name == "over":
            ((baseline, policy),) = found.items()
            return baseline, policy
        return found
    if name == "by":
        return Segment(_parts_from(value), tuple(_listed(value["segments"])) if "segments" in value else None)
    if name == "columns":
        return tuple(part if isinstance(part, str) else _parts_from(part) for part in _listed(value))
    if name == "model":
        from surelift.controls import models

        return models.from_description(value)
    if name == "guardrails":
        return tuple(map(outcome_from, value))
    if name == "outcomes":
        return {outcome: outcome_from(claim) for outcome, claim in value.items()}
    if name == "known":
        return frozenset(value)
    return tuple(value) if isinstance(value, list) else value


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{value!r} is no list")
    return value


def _parts_from(content: Mapping[str, Any]) -> tuple[SegmentColumn, ...]:
    columns = content["columns"] if "columns" in content else [str(content["column"])]
    return tuple(part if isinstance(part, str) else Bins(part["column"], part["bins"]) for part in columns)


def refuse_others(question: Question, stated: Mapping[str, Any], place: str) -> None:
    """What was counted is about the policies of the state, not about others of the same names."""
    counted = {**stated["policies"], **stated.get("over", {})}
    for name, policy in question.everyone.items():
        if json.loads(json.dumps(policy.describe())) != counted[name]:
            raise UsageError(f"policy {name!r} is another one than {place} counted; go on with that, or start anew.")


def kind_of(verb: Any) -> type[Question]:
    kinds = _kinds()
    if not isinstance(verb, str) or verb not in kinds:
        raise UsageError(f"no question {printed(verb)}; the questions are {', '.join(sorted(kinds))}.")
    return kinds[verb]


def _kinds() -> dict[str, type[Question]]:
    """Every question by its verb: those of this folder, and others that were imported."""
    for module in iter_modules(questions.__path__):
        import_module(f"surelift.questions.{module.name}")
    return {question.kind: question for question in _subclasses(Question)}


def _subclasses(kind: type[Question]) -> Iterator[type[Question]]:
    for subclass in kind.__subclasses__():
        if "kind" in subclass.__dict__:
            yield subclass
        yield from _subclasses(subclass)
