"""Open Bandit Pipeline's ``bandit_feedback`` and ``action_dist``, and the CSV files of the Open Bandit Dataset."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from surelift.arrays import as_numpy
from surelift.errors import UsageError
from surelift.importers.events import Imported
from surelift.logs.alignment import aligned
from surelift.logs.logs import Logs
from surelift.policies.policy import Policy
from surelift.policies.resolve import as_policy, uniform

PAGES = "the items of a page were drawn independently, and a click depends on its own item and position alone"
COLUMNS = ("item_id", "position", "click", "propensity_score")


def obp(
    bandit_feedback: Mapping[str, Any],
    action_dist: Any = None,
    *,
    reward_range: tuple[float, float] = (0, 1),
    name: str = "new",
) -> Imported:
    """A log from an obp dataset, and the policy given by ``action_dist`` with shape (rounds, actions, positions).

    With a ``position``, the distribution at the logged position is used, also for production's ``pi_b``.
    """
    if not isinstance(bandit_feedback, Mapping):
        raise UsageError(f"bandit_feedback must be obp's dict, but is a {type(bandit_feedback).__name__}.")
    bandit_feedback = aligned(bandit_feedback)
    for key in ("reward", "pscore", "action"):
        if bandit_feedback.get(key) is None:
            hint = "; a propensity has no default" if key == "pscore" else ""
            raise UsageError(f"bandit_feedback has no {key!r}{hint}; it has {', '.join(map(str, bandit_feedback))}.")
    action = np.atleast_1d(as_numpy(bandit_feedback["action"], "action"))
    position = bandit_feedback.get("position")
    declared = {"reward": bandit_feedback["reward"], "propensity": bandit_feedback["pscore"], "action": action}
    if bandit_feedback.get("context") is not None:
        declared["contexts"] = bandit_feedback["context"]
    if bandit_feedback.get("pi_b") is not None:
        declared["logging"] = _select_position(bandit_feedback["pi_b"], position, len(action), "pi_b")
    elif bandit_feedback.get("n_actions") is not None:
        declared["action_count"] = bandit_feedback["n_actions"]
    policies = dict[str, Policy]()
    if action_dist is not None:
        policies[name] = as_policy(_select_position(action_dist, position, len(action), "action_dist"))
    return Imported(Logs(**declared, reward_range=reward_range), policies)


def _select_position(shares: Any, position: Any, rounds: int, what: str) -> Any:
    """Select (rounds, actions) from (rounds, actions, positions)."""
    array = as_numpy(shares, what)
    if array.dtype.kind not in "fiub":
        raise UsageError(f"{what} is not an array of probabilities: its type is {array.dtype}.")
    if array.ndim == 2:
        array = array[:, :, None]
    if array.ndim != 3 or len(array) != rounds:
        raise UsageError(
            f"{what} has shape {np.shape(shares)}; it must be (rounds, actions, positions) with {rounds:,} rounds."
        )
    if position is None:
        if array.shape[2] != 1:
            raise UsageError(
                f"{what} has {array.shape[2]} positions, but bandit_feedback gives no position for its rounds."
            )
        return array[:, :, 0]
    positions = as_numpy(position, "position")
    if positions.shape != (rounds,) or positions.dtype.kind not in "iu":
        raise UsageError(
            f"position needs {rounds:,} whole numbers, one per round, not {positions.dtype} of shape {positions.shape}."
        )
    if positions.min(initial=0) < 0 or positions.max(initial=0) >= array.shape[2]:
        if array.shape[2] == 1:
            return array[:, :, 0]
        raise UsageError(f"position goes up to {positions.max()}, but {what} has {array.shape[2]} positions, from 0.")
    return array[np.arange(rounds), :, positions]


def open_bandit(paths: str | Path | Sequence[str | Path], *, items: int | None = None) -> Imported:
    """A campaign log of the Open Bandit Dataset: clicks, items, positions and propensities.

    ``items``, the number of items in the campaign, adds a uniform policy over them as a candidate. The three rounds of a
    page share its time; they are treated as separate rounds, as the dataset's authors do, which is assumed.
    """
    logs = Logs(
        paths, reward="click", propensity="propensity_score", action="item_id", action_count=items, assumes=[PAGES]
    )
    logs.require_columns(COLUMNS, role="the Open Bandit Dataset")
    policies: dict[str, Policy] = {} if items is None else {"uniform": uniform()}
    return Imported(logs, policies)
