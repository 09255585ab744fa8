"""Open Bandit Pipeline's ``bandit_feedback`` and ``action_dist``, and the CSV files of the Open Bandit Dataset."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from surelift.errors import UsageError
from surelift.importers.imported import Imported
from surelift.logs.logs import Logs
from surelift.policies.policy import Policy
from surelift.policies.resolve import as_policy, uniform

COLUMNS = ("item_id", "position", "click", "propensity_score")


def obp(
    bandit_feedback: Mapping[str, Any],
    action_dist: Any = None,
    *,
    reward_range: tuple[float, float] = (0, 1),
    name: str = "new",
) -> Imported:
    """A log as obp's datasets give it, and the policy whose ``action_dist`` (rounds, actions, positions) is given.

    With a ``position``, the distribution at the logged position is taken; production's, ``pi_b``, likewise.
    """
    if not isinstance(bandit_feedback, Mapping):
        raise UsageError(f"bandit_feedback is obp's dict, but is a {type(bandit_feedback).__name__}.")
    for key in ("reward", "pscore", "action"):
        if bandit_feedback.get(key) is None:
            never = "; a propensity is never defaulted" if key == "pscore" else ""
            raise UsageError(f"bandit_feedback has no {key!r}{never}; it has {', '.join(map(str, bandit_feedback))}.")
    action = np.atleast_1d(np.asarray(bandit_feedback["action"]))
    position = bandit_feedback.get("position")
    declared: dict[str, Any] = {
        "reward": bandit_feedback["reward"], "propensity": bandit_feedback["pscore"], "action": action,
        "reward_range": reward_range,
    }  # fmt: skip
    if bandit_feedback.get("context") is not None:
        declared["contexts"] = bandit_feedback["context"]
    if bandit_feedback.get("pi_b") is not None:
        declared["logging"] = _at_position(bandit_feedback["pi_b"], position, len(action), "pi_b")
    elif bandit_feedback.get("n_actions") is not None:
        declared["action_count"] = bandit_feedback["n_actions"]
    policies: dict[str, Policy] = (
        {} if action_dist is None
        else {name: as_policy(_at_position(action_dist, position, len(action), "action_dist"))}
    )  # fmt: skip
    return Imported(Logs(**declared), policies)


def _at_position(shares: Any, position: Any, rounds: int, what: str) -> Any:
    """(rounds, actions) from (rounds, actions, positions)."""
    try:
        array = np.asarray(shares, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{what} is no array of probabilities: {error}") from error
    if array.ndim == 2:
        array = array[:, :, None]
    if array.ndim != 3 or len(array) != rounds:
        raise UsageError(
            f"{what} has shape {np.shape(shares)}; (rounds, actions, positions) with {rounds:,} rounds is needed."
        )
    if position is None:
        if array.shape[2] != 1:
            raise UsageError(
                f"{what} has {array.shape[2]} positions, but bandit_feedback says no position for its rounds."
            )
        return array[:, :, 0]
    places = np.asarray(position)
    if places.shape != (rounds,) or places.dtype.kind not in "iu":
        raise UsageError(
            f"position is a whole number for each of {rounds:,} rounds, not {places.dtype} of shape {places.shape}."
        )
    if places.min(initial=0) < 0 or places.max(initial=0) >= array.shape[2]:
        if array.shape[2] == 1:
            return array[:, :, 0]
        raise UsageError(f"position goes up to {places.max()}, but {what} has {array.shape[2]} positions, from 0 on.")
    return array[np.arange(rounds), :, places]


def open_bandit(paths: str | Path | Sequence[str | Path], *, items: int | None = None) -> Imported:
    """The Open Bandit Dataset's log of a campaign: clicks, items, positions and propensities.

    ``items``, how many the campaign has, gives uniform choice among them as a candidate. Three rounds of one page share
    its time; they are taken as rounds of their own, as the dataset's authors do.
    """
    logs = Logs(paths, reward="click", propensity="propensity_score", action="item_id", action_count=items)
    logs.require_columns(COLUMNS, role="the Open Bandit Dataset")
    policies: dict[str, Policy] = {} if items is None else {"uniform": uniform()}
    return Imported(logs, policies)
