"""What a log that grows can be asked: what needs no number of rounds, no order and no array beside it."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from surelift.controls.refitted import Refitted
from surelift.decisions.asking import before_sampling
from surelift.decisions.method import Method
from surelift.errors import UsageError
from surelift.logs.densities import DENSITIES, density_from
from surelift.logs.embeddings import embedding_from
from surelift.logs.logs import Logs
from surelift.policies import Policy
from surelift.statistics import Sums

_SINGLE, PER_BATCH = ("action_count", "cluster_size"), ("rounds_before_sampling",)
_NO_COLUMNS = (
    "actions", "reward_range", "density", "propensity_is_estimated", "cluster_max", "assumes", *PER_BATCH,
)  # fmt: skip


def check_keep(logs: Logs, sums: Sums) -> None:
    """Without the number of rounds before sampling, all must have been kept with one probability, in every batch."""
    if logs.declaration.keep_probability is not None and logs.declaration.rounds_before_sampling is None:
        before_sampling(logs, sums)


def refuse_arrays(policies: Mapping[str, Policy], method: Method) -> None:
    described = {f"policy {name!r}": policy.describe() for name, policy in policies.items()}
    if method.model is not None:
        described["the reward model"] = method.model.describe()
    for subject, form in described.items():
        while "of" in form:
            form = form["of"]
        if form.get("kind") == "array":
            raise UsageError(f"{subject} is an array, which lies beside one batch only; give a column or a function.")


def no_count() -> int:
    raise UsageError("a growing log has no number of rounds to plan for; leave grid= and smoothing= to any looks.")


def growing(method: Method) -> Method:
    if method.promise != "any number of looks":
        raise UsageError(
            f"a monitor looks again and again, and method {method.name!r} with these options promises {method.promise}; "
            "leave them at their defaults, or name a smoothing."
        )
    if isinstance(method.model, Refitted):
        raise UsageError(
            "a monitor keeps sums and no rounds, so it cannot refit a reward model; give one that is fitted: "
            "models.fitted_on(other_logs) or models.given('column')."
        )
    return method


def without_rounds(declared: Mapping[str, Any]) -> Logs:
    """The declaration alone: a log with these columns and no round."""
    names: list[str] = []
    for role, columns in declared.items():
        if role in _NO_COLUMNS:
            continue
        if isinstance(columns, Mapping):
            columns = density_from(columns) if role == "propensity" else embedding_from(columns)
        if isinstance(columns, DENSITIES):
            names.extend(columns.columns())
            continue
        if role == "embedding":
            columns = getattr(columns, "column", None)
        if isinstance(columns, str):
            names.append(columns)
        elif role not in _SINGLE and columns is not None:
            names.extend(columns)
    return Logs(
        pa.table({name: pa.nulls(0) for name in dict.fromkeys(map(str, names))} or {"": pa.nulls(0)}), **declared
    )
