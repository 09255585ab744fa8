"""coba's logged interactions as ``Logs``, and its learners as candidates."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from surelift.errors import UsageError
from surelift.importers.events import Found, Imported, Range
from surelift.importers.values import is_number
from surelift.policies.resolve import as_policy, uniform
from surelift.traits.logs import Logs


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
    report, learners = Found(), learners or {}
    found = list(_read(interactions))
    for number, each in enumerate(found, 1):
        if fault := _fault(each):
            report.breaks(fault, "the interactions", number, str(each))
    report.refuse("logged interactions of coba")
    features = [_features(each.get("context")) for each in found]
    names = list(dict.fromkeys(name for row in features for name in row))
    own = {"reward", "propensity", "action", "action_count"} | {f"p_{name}" for name in learners}
    wrong = ""
    if not found:
        wrong = "there is no interaction in the environment; give one that was logged, or a list of interactions."
    elif taken := sorted(own & set(names)):
        wrong = f"a feature of the context is named {taken[0]!r}, as a column of the log is; rename the feature."
    if wrong:
        raise UsageError(wrong)
    columns = {
        "reward": pa.array([each["reward"] for each in found], pa.float64()),
        "propensity": pa.array([each["probability"] for each in found], pa.float64()),
        "action": pa.array([list(each["actions"]).index(each["action"]) for each in found], pa.int64()),
        "action_count": pa.array([len(each["actions"]) for each in found], pa.int64()),
        **{f"p_{name}": pa.array(_scores(name, learner, found)) for name, learner in learners.items()},
    }
    for name in names:
        try:
            columns[name] = pa.array([row.get(name) for row in features])
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise UsageError(f"the feature {name!r} of the contexts is not of one type: {error}") from error
    logs = Logs(
        pa.table(columns), reward="reward", propensity="propensity", action="action", action_count="action_count",
        contexts=names or None, reward_range=reward_range,
    )  # fmt: skip
    return Imported(logs, {**{name: as_policy(f"p_{name}") for name in learners}, "uniform": uniform()})


def _read(interactions: Any) -> Iterable[Any]:
    found: Any = interactions.read() if hasattr(interactions, "read") else interactions
    if not isinstance(found, Iterable) or isinstance(found, str | Mapping) or hasattr(found, "logged"):
        raise UsageError(f"give a list of coba's dicts or one environment, environments[0], not a {type(found).__name__}.")
    return found


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
    if isinstance(context, Mapping):
        return {str(name): value for name, value in context.items()}
    listed = context if isinstance(context, Sequence) and not isinstance(context, str) else [context]
    return {f"x{k}": value for k, value in enumerate(listed) if context is not None}


def _scores(name: str, learner: Any, found: Sequence[Mapping[str, Any]]) -> list[float]:
    wrong, refusal = "has no score(context, actions, action), its probability of an action.", None
    if callable(getattr(learner, "score", None)):
        try:
            return [float(learner.score(each.get("context"), each["actions"], each["action"])) for each in found]
        except NotImplementedError as error:
            refusal = error
            wrong = f"cannot score an action ({error}); give its probability of the logged action as a column."
    raise UsageError(f"learner {name!r} {wrong}") from refusal
