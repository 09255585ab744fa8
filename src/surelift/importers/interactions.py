"""coba's logged interactions as ``Logs``, and its learners as candidates."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from surelift.errors import UsageError
from surelift.importers.events import Found, Imported, Range, is_number
from surelift.policies.policy import Policy
from surelift.policies.resolve import as_policy, uniform
from surelift.traits.logs import Logs

_SOURCE = "the interactions"


def coba(interactions: Any, learners: Mapping[str, Any] | None = None, *, reward_range: Range = (0, 1)) -> Imported:
    """Interactions with ``action``, ``reward``, ``probability`` and ``actions``: a coba environment, or a list of them.

    Features of the context become columns: ``x0``, ``x1`` ... of a list, or by their names. A uniform choice is a
    candidate.

    Args:
        interactions: The environment, or the list.
        learners: Candidates by name, through their ``score(context, actions, action)``. They learn nothing here, and
            must not have learned from these interactions.
        reward_range: What a reward can be.
    """
    report = Found()
    rows = [_row(interaction, number, report) for number, interaction in enumerate(_read(interactions), 1)]
    report.refuse("logged interactions of coba")
    if not rows:
        raise UsageError("there is no interaction in the environment; give one that was logged, or a list of interactions.")
    names = list(dict.fromkeys(name for row in rows for name in row["features"]))
    columns = {
        "reward": pa.array([row["reward"] for row in rows], pa.float64()),
        "propensity": pa.array([row["probability"] for row in rows], pa.float64()),
        "action": pa.array([row["place"] for row in rows], pa.int64()),
        "action_count": pa.array([len(row["actions"]) for row in rows], pa.int64()),
    }
    scores = {f"p_{name}": pa.array(_scores(name, learner, rows)) for name, learner in (learners or {}).items()}
    if taken := sorted((columns.keys() | scores.keys()) & set(names)):
        raise UsageError(f"a feature of the context is named {taken[0]!r}, as a column of the log is; rename the feature.")
    for name in names:
        try:
            columns[name] = pa.array([row["features"].get(name) for row in rows])
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise UsageError(f"the feature {name!r} of the contexts is not of one type: {error}") from error
    logs = Logs(
        pa.table(columns | scores), reward="reward", propensity="propensity", action="action",
        action_count="action_count", contexts=names or None, reward_range=reward_range,
    )  # fmt: skip
    policies: dict[str, Policy] = {name: as_policy(f"p_{name}") for name in learners or {}}
    return Imported(logs, {**policies, "uniform": uniform()})


def _read(interactions: Any) -> Iterable[Any]:
    if hasattr(interactions, "read"):
        found: Iterable[Any] = interactions.read()
        return found
    if not isinstance(interactions, Iterable) or isinstance(interactions, str | Mapping) or hasattr(interactions, "logged"):
        raise UsageError(
            f"coba's interactions are a list of dicts or an environment, not a {type(interactions).__name__}; of coba's "
            "Environments give one of them, environments[0]."
        )
    return interactions


def _row(interaction: Any, number: int, report: Found) -> dict[str, Any]:
    """The values used of an interaction; a fault is reported."""
    fault = _fault(interaction)
    if fault:
        report.breaks(fault, _SOURCE, number, str(interaction))
        return {}
    kept = {name: interaction.get(name) for name in ("reward", "probability", "actions", "action", "context")}
    return {**kept, "place": list(kept["actions"]).index(kept["action"]), "features": _features(kept["context"])}


def _fault(interaction: Any) -> str:
    if not isinstance(interaction, Mapping):
        return "interactions are not dicts"
    if not is_number(interaction.get("reward")):
        return "interactions have no number in 'reward', as they have once logged(learner) has run"
    if not is_number(interaction.get("probability")):
        return "interactions have no number in 'probability'; it has no default"
    actions = interaction.get("actions")
    if not isinstance(actions, Sequence) or isinstance(actions, str) or not len(actions):
        return "interactions do not list their actions; continuous actions are not supported"
    if sum(action == interaction.get("action") for action in actions) != 1:
        return "interactions list the logged action twice, or not at all, among their actions"
    return ""


def _features(context: Any) -> dict[str, Any]:
    if context is None:
        return {}
    if isinstance(context, Mapping):
        return {str(name): value for name, value in context.items()}
    if isinstance(context, Sequence) and not isinstance(context, str):
        return {f"x{k}": value for k, value in enumerate(context)}
    return {"x0": context}


def _scores(name: str, learner: Any, rows: list[dict[str, Any]]) -> list[float]:
    if not callable(getattr(learner, "score", None)):
        raise UsageError(f"learner {name!r} has no score(context, actions, action), its probability of an action.")
    try:
        return [float(learner.score(row["context"], row["actions"], row["action"])) for row in rows]
    except NotImplementedError as error:
        raise UsageError(
            f"learner {name!r} cannot score an action ({error}); give its probability of the logged action as a column."
        ) from error
