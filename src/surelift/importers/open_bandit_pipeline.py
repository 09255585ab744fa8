"""Open Bandit Pipeline's ``bandit_feedback`` and ``action_dist``, and the files of the Open Bandit Dataset."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from surelift.arrays import ArrowTable, FloatArray, as_numpy
from surelift.errors import LogsError, UsageError, whole
from surelift.importers.events import Imported, Range
from surelift.logs.alignment import aligned
from surelift.logs.batch import Needs
from surelift.policies.policy import Policy
from surelift.policies.resolve import as_policy, uniform
from surelift.traits.logs import Logs

PAGES = "the items of a page were drawn independently, and a click depends on its own item and position alone"
COLUMNS = ("item_id", "position", "click", "propensity_score")


def obp(
    bandit_feedback: Mapping[str, Any],
    action_dist: Any = None,
    *,
    time: Any = None,
    reward_range: Range = (0, 1),
    name: str = "new",
) -> Imported:
    """A log from an obp dataset, and the policy given by its action distribution.

    With a ``position``, the distribution at the logged position is used, also for production's ``pi_b``.

    Args:
        bandit_feedback: The dict of arrays that obp's datasets give.
        action_dist: The candidate, (rounds, actions, positions).
        time: An array with the moment of each round, which obp does not keep.
        reward_range: What a reward can be.
        name: The name of the candidate.
    """
    required, wrong = ("reward", "pscore", "action"), ""
    if not isinstance(bandit_feedback, Mapping):
        wrong = f"bandit_feedback must be obp's dict, but is a {type(bandit_feedback).__name__}."
    elif missing := [key for key in required if bandit_feedback.get(key) is None]:
        hint = "; a propensity has no default" if missing[0] == "pscore" else ""
        wrong = f"bandit_feedback has no {missing[0]!r}{hint}; it has {', '.join(map(str, bandit_feedback))}."
    if wrong:
        raise UsageError(wrong)
    given = aligned({**bandit_feedback, **({} if time is None else {"time": time})})
    action, position = np.atleast_1d(as_numpy(given["action"], "action")), given.get("position")
    roles = {"reward": "reward", "propensity": "pscore", "contexts": "context", "action_count": "n_actions"}
    declared = {role: given[key] for role, key in roles.items() if given.get(key) is not None}
    if time is not None:
        declared["time"] = given["time"]
    if given.get("pi_b") is not None:
        declared.pop("action_count", None)
        declared["logging"] = _select_position(given["pi_b"], position, len(action), "pi_b")
    policies = dict[str, Policy]()
    if action_dist is not None:
        policies[name] = as_policy(_select_position(action_dist, position, len(action), "action_dist"))
    return Imported(Logs(**declared, action=action, reward_range=reward_range), policies)


def _select_position(shares: Any, position: Any, rounds: int, what: str) -> Any:
    """Select (rounds, actions) from (rounds, actions, positions)."""
    array, wrong = as_numpy(shares, what), ""
    if array.ndim == 2:
        array = array[:, :, None]
    positions = None if position is None else as_numpy(position, "position")
    if array.dtype.kind not in "fiub":
        wrong = f"{what} is not an array of probabilities: its type is {array.dtype}."
    elif array.ndim != 3 or len(array) != rounds:
        wrong = f"{what} has shape {np.shape(shares)}; it must be (rounds, actions, positions) with {rounds:,} rounds."
    elif positions is None:
        if array.shape[2] != 1:
            remedy = f"put each round's own, counted from 0, in bandit_feedback['position'], or give {what}[:, :, 0]"
            wrong = f"{what} has {array.shape[2]} positions, but bandit_feedback gives none; {remedy}."
    elif positions.shape != (rounds,) or positions.dtype.kind not in "iu":
        wrong = f"position needs {rounds:,} whole numbers, one per round, not {positions.dtype} of shape {positions.shape}."
    elif array.shape[2] > 1 and not 0 <= positions.min(initial=0) <= positions.max(initial=0) < array.shape[2]:
        wrong = f"position goes up to {positions.max()}, but {what} has {array.shape[2]} positions, from 0."
    if wrong:
        raise UsageError(wrong)
    return array[:, :, 0] if positions is None or array.shape[2] == 1 else array[np.arange(rounds), :, positions]


def open_bandit(paths: str | Path | Sequence[str | Path], *, items: int | None = None) -> Imported:
    """A campaign log of the Open Bandit Dataset: clicks, items, positions and propensities.

    The three rounds of a page share its time; they are treated as separate rounds, as the dataset's authors do, which
    is assumed.

    Args:
        paths: A file, a glob, or a list of them.
        items: The number of items in the campaign; a uniform policy over them is then a candidate.
    """
    logs = Logs(paths, reward="click", propensity="propensity_score", action="item_id", action_count=items, assumes=[PAGES])
    logs.require_columns(COLUMNS, role="the Open Bandit Dataset")
    policies: dict[str, Policy] = {} if items is None else {"uniform": uniform()}
    return Imported(logs, policies)


def frequencies(paths: str | Path | Sequence[str | Path], *, items: int) -> Policy:
    """The policy that shows each item at each position as often as another log of the same campaign did.

    For a policy known by its log alone, as ZOZOTOWN's Thompson sampling: its average over that log, not as it learned.

    Args:
        paths: The other log, which must share no round with those to be judged, or the policy would have been fitted on
            them.
        items: The number of items in the campaign.
    """
    shown: dict[int, FloatArray] = {}
    for batch in open_bandit(paths, items=whole("items", items)).logs.source.batches(Needs(handed_on=COLUMNS[:2])):
        item, position = (as_numpy(batch.table[name], name) for name in COLUMNS[:2])
        for name, numbers, most in (("item_id", item, items - 1), ("position", position, np.inf)):
            numeric = numbers.dtype.kind in "fiu"
            wrong = ~((numbers >= 0) & (numbers <= most) & (numbers == np.floor(numbers))) if numeric else [True]
            if np.any(wrong):
                count, first = np.count_nonzero(wrong), numbers[int(np.argmax(wrong))]
                fault = f"{count:,} values of {name!r} are no whole numbers from 0 to {most}; the first is {first!s}"
                raise LogsError(f"{fault}. Check items={items}, the campaign's number of items.")
        for place in np.unique(position):
            counts = np.bincount(item[position == place].astype(np.int64), minlength=items)
            shown[int(place)] = shown.get(int(place), np.zeros(items)) + counts
    shares = {place: counts / counts.sum() for place, counts in shown.items()}

    def shown_at(table: ArrowTable) -> FloatArray:
        places = table["position"].to_pylist()
        if unknown := [place for place in places if place not in shares]:
            raise LogsError(f"position {unknown[0]} is not in the log whose frequencies are the policy; it has {[*shares]}.")
        return np.array([shares[place] for place in places]).reshape(len(places), items)

    return as_policy(shown_at)
