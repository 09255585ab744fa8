"""RLlib's offline episodes as ``Logs``: sessions whose every step was decided after those before.

One JSON object per line, a ``SampleBatch`` as its ``JsonWriter`` writes it: a list for each column, a number for each step.

    {"type": "SampleBatch", "eps_id": [7, 7, 8], "t": [0, 1, 0], "actions": [1, 0, 1], "rewards": [0.0, 1.0, 0.0],
     "action_prob": [0.5, 0.9, 0.5], "obs": [[0.1, 2.0], [0.3, 1.0], [0.2, 4.0]], "dones": [false, true, true]}

``action_logp`` may stand in for ``action_prob``. Other columns of numbers are kept, compressed observations left out. An
episode ends where ``dones``, ``terminateds`` or ``truncateds`` is true; it may go on in the next line, not in another file.
"""

import math
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa

from surelift.arrays import ArrowTable
from surelift.importers.events import Events, Found, Imported, Line, Paths, Range, Row, files_of, numbered, to_table
from surelift.importers.values import is_number, json_object
from surelift.policies.resolve import uniform
from surelift.traits.logs import Logs

_COLUMNS = {
    "reward": pa.float64(), "propensity": pa.float64(), "action": pa.int64(), "episode": pa.string(), "t": pa.int64(),
    "obs": pa.list_(pa.float64()), "ended": pa.bool_(),
}  # fmt: skip
_EPISODE, _ENDED = 3, 6
_ENDS = ("dones", "terminateds", "truncateds")
_OWN = {*_COLUMNS, *_ENDS, "eps_id", "actions", "rewards", "action_prob", "action_logp"}
UNFINISHED = (
    "batches break off an episode that had not ended; write complete episodes (batch_mode='complete_episodes'), each in one "
    "file: what it would still have earned is not known"
)
COMPLETE = "every episode is in the log from its first step to its last"


def rllib(paths: Paths, *, cluster_max: int, reward_range: Range = (0, 1), action_count: int | None = None) -> Imported:
    """Episodes as RLlib writes them (``output``, a folder of JSON lines), one row per step.

    A candidate is a column of its probability of the action taken, or a function of the observations ``obs``.

    Args:
        paths: The folder, a file, a glob, or a list of them.
        cluster_max: The most steps that an episode can have.
        reward_range: What a reward can be.
        action_count: How many actions there are; acting uniformly at random is then a candidate.
    """
    listed = [paths] if isinstance(paths, str | Path) else paths
    files = files_of([Path(path) / "*.json" if Path(path).is_dir() else path for path in listed])
    others, observed = _first_columns(files)
    schema = pa.schema(_COLUMNS | dict.fromkeys(others, pa.float64()))
    source = Events(files, "RLlib episodes", schema, partial(_parse, schema=schema, others=others), _ends_an_episode)
    logs = Logs(
        source, reward="reward", propensity="propensity", action="action", cluster="episode", cluster_max=cluster_max,
        position="t", reward_range=reward_range, action_count=action_count, contexts=["obs"] if observed else None,
        assumes=[COMPLETE],
    )  # fmt: skip
    return Imported(logs, {} if action_count is None else {"uniform": uniform()})


def _first_columns(files: list[str]) -> tuple[list[str], bool]:
    """The other columns of numbers that the first batch has, and whether it has observations that can be read."""
    read = (_batch(line) for path in files for _, line in numbered(path))
    batch = next((batch for batch in read if not isinstance(batch, str)), {})
    steps = batch.get("rewards")
    size = len(steps) if isinstance(steps, list) else -1
    others = [name for name, values in batch.items() if name not in _OWN and _are_numbers(values, size)]
    return others, _are_vectors(batch.get("obs"), size)


def _parse(lines: list[Line], path: str, report: Found, *, schema: pa.Schema, others: list[str]) -> ArrowTable:
    rows: list[Row] = []
    for number, line in lines:
        if not line.strip():
            continue
        batch = _batch(line)
        read = batch if isinstance(batch, str) else _steps(batch, others)
        if isinstance(read, str):
            report.breaks(read, path, number, line)
            continue
        for step, later in pairwise([*rows[-1:], *read]):
            if step[_ENDED] is False and step[_EPISODE] != later[_EPISODE]:
                report.breaks(UNFINISHED, path, number, line)
        rows += read
    if rows and rows[-1][_ENDED] is False and not report.broken:
        report.breaks(UNFINISHED, path, *lines[-1])
    return to_table(rows, schema)


def _ends_an_episode(line: bytes) -> bool:
    batch = _batch(line)
    return isinstance(batch, str) or _ended(batch, -1) is not False


def _ended(batch: dict[str, Any], step: int) -> bool | None:
    """True if an episode ended with this step; None if the batch does not say."""
    ends = [values[step] for name in _ENDS if isinstance(values := batch.get(name), list) and len(values) > max(step, 0)]
    return any(ends) if ends else None


def _batch(line: bytes) -> dict[str, Any] | str:
    """The columns of a line, or what is wrong with it."""
    content = json_object(line)
    if isinstance(content, str) or content.get("type") != "MultiAgentBatch":
        return content
    agents = content.get("policy_batches")
    if not isinstance(agents, dict) or len(agents) != 1:
        return "batches have several policies; write the decisions of one"
    batch = next(iter(agents.values()))
    return batch if isinstance(batch, dict) else "lines are not JSON objects"


def _steps(batch: dict[str, Any], others: list[str]) -> list[Row] | str:
    """A row for each step, or what is wrong with the batch."""
    rewards = batch.get("rewards")
    if not isinstance(rewards, list):
        return "batches have no list of rewards"
    size = len(rewards)
    for name in ("eps_id", "t", "actions", "rewards", *others):
        values = batch.get(name)
        if not isinstance(values, list) or len(values) != size:
            return f"batches have no list of {name} as long as that of rewards"
        if name != "eps_id" and not _are_numbers(values, size):
            return f"batches have an entry in {name} that is not a number"
    if not all(isinstance(name, int | str) for name in batch["eps_id"]):
        return "batches have an entry in eps_id that is neither a number nor text"
    if not all(isinstance(number, int) for number in batch["t"] + batch["actions"]):
        return "batches have an action, or a step t, that is not a whole number; continuous actions are not supported"
    chances, logarithms = batch.get("action_prob"), batch.get("action_logp")
    if chances is None and _are_numbers(logarithms, size):
        chances = [math.exp(min(log, 1.0)) for log in logarithms or ()]  # one above 0 is refused as a probability above 1
    if not _are_numbers(chances, size):
        return "batches have no number in action_prob, or in action_logp, for every step; it has no default"
    episodes = map(str, batch["eps_id"])
    seen = batch["obs"] if _are_vectors(batch.get("obs"), size) else [None] * size
    ended = [_ended(batch, step) for step in range(size)]
    columns = (rewards, chances, batch["actions"], episodes, batch["t"], seen, ended, *(batch[name] for name in others))
    return list(zip(*columns, strict=True))


def _are_numbers(values: Any, size: int | None = None) -> bool:
    return isinstance(values, list) and size in (None, len(values)) and all(map(is_number, values))


def _are_vectors(values: Any, size: int) -> bool:
    return isinstance(values, list) and len(values) == size and all(_are_numbers(row) for row in values)
