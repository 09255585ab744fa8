"""The fields of a question, as JSON keeps them."""

from collections.abc import Mapping
from typing import Any

from surelift.logs.declaration import Declaration
from surelift.policies import Policy
from surelift.policies.resolve import rebuild
from surelift.results.outcomes import outcome_from
from surelift.statistics.splits import Segment


def encoded(name: str, value: Any) -> Any:
    if name in ("declaration", "method"):
        return value.describe()
    if name == "policies":
        return {policy: form.describe() for policy, form in value.items()}
    if name == "over":
        return {value[0]: value[1].describe()}
    if name == "by":
        declared = {} if value.declared is None else {"segments": list(value.declared)}
        return {"column": value.column, **declared}
    if name == "known":
        return sorted(value)
    if name == "outcomes":
        return {outcome: claim.describe() for outcome, claim in value.items()}
    return [item.describe() for item in value] if name == "guardrails" else value


def decoded(name: str, value: Any, given: Mapping[str, Policy]) -> Any:
    if name == "declaration":
        return value if isinstance(value, Declaration) else Declaration.from_description(value)
    if name == "policies":
        return {policy: _rebuilt(policy, form, given) for policy, form in value.items()}
    if name == "over":
        ((policy, form),) = value.items()
        return policy, _rebuilt(policy, form, given)
    if name == "by":
        return Segment(str(value["column"]), tuple(value["segments"]) if "segments" in value else None)
    if name == "guardrails":
        return tuple(map(outcome_from, value))
    if name == "outcomes":
        return {outcome: outcome_from(claim) for outcome, claim in value.items()}
    if name == "known":
        return frozenset(value)
    return tuple(value) if isinstance(value, list) else value


def _rebuilt(name: str, form: Mapping[str, Any], given: Mapping[str, Policy]) -> Policy:
    return given[name] if name in given else rebuild(name, form, kept_in="the file")
