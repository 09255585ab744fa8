"""The fields of a question, as JSON keeps them."""

from collections.abc import Mapping, Sequence
from typing import Any

from surelift.logs.segments import Bins, SegmentColumn
from surelift.policies import Policy
from surelift.policies.resolve import rebuild
from surelift.questions.segments import parts_of
from surelift.results.outcomes import outcome_from
from surelift.statistics.splits import Segment
from surelift.traits.declaration import Declaration


def encoded(name: str, value: Any) -> Any:
    if name in ("declaration", "method"):
        return value.describe()
    if name == "policies":
        return {policy: form.describe() for policy, form in value.items()}
    if name == "over":
        return {value[0]: value[1].describe()}
    if name == "by":
        declared = {} if value.declared is None else {"segments": list(value.declared)}
        return {**_described(value.by), **declared}
    if name == "columns":
        return [part if isinstance(part, str) else _described(parts_of(part)) for part in value]
    if name == "known":
        return sorted(value)
    if name == "model":
        return value.describe()
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


def _described(parts: Sequence[SegmentColumn]) -> dict[str, Any]:
    """A single column by its name, as ever; others one by one, with the edges of their bins."""
    if len(parts) == 1 and isinstance(parts[0], str):
        return {"column": parts[0]}
    columns = [{"column": part.column, "bins": list(part.edges)} if isinstance(part, Bins) else part for part in parts]
    return {"columns": columns}


def _parts_from(content: Mapping[str, Any]) -> tuple[SegmentColumn, ...]:
    columns = content["columns"] if "columns" in content else [str(content["column"])]
    return tuple(part if isinstance(part, str) else Bins(part["column"], part["bins"]) for part in columns)


def _rebuilt(name: str, form: Mapping[str, Any], given: Mapping[str, Policy]) -> Policy:
    return given[name] if name in given else rebuild(name, form, kept_in="the file")
