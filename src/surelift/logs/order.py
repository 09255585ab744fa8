"""Do the rows of a log stand in the order of their decisions? By their times; or, without times, as chance would have them.

What is learned from the first rounds is judged by the later ones, so the order must not tell of rewards. Two tests find
logs that were sorted or grouped, each with a false alarm of at most ``CHANCE``.

*Actions.* Let p be the probability a row's action was logged with, one of K. Whatever happened before, the row takes the
action of the row before with a probability that makes 1{same} / p at most 1 on average, and 1 / (K p) is too, under drift
and adaptive logging. So two bets on each row have a mean of at most 0: 1{same} / p - 1; and 1 / (K p) - 1, made where it won
at the row before. The products of 1 + stake bet are nonnegative supermartingales, and so is their mean over bets and stakes:
it ever exceeds 1 / CHANCE with a probability of at most CHANCE (Ville). The first bet wins where rows are sorted by action,
or by a reward that depends on it; the second where they are sorted by propensity, or by an importance weight.

*Rewards.* Let X be the squared step from one row's reward to the next, in [0, 1], with mean d given the rows before. Then
exp(-X) has a mean of at most exp(-(1 - 1/e) d), so (1 - 1/e) sum(d) - sum(X) exceeds log(1 / CHANCE) with a probability of
at most CHANCE. Rows in random order have a sum(d) of twice the squared deviations from the mean. Allowed is a sixteenth of
that, which independent rounds have unless drift makes 15/16 of their variance, and sessions that share one reward up to 16
rows. Sorted rows have a sum(X) of at most 1: they are found from a squared deviation of 200 in all (800 rows at a rate of
1/2, 2,200 at 0.1).
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from surelift.arrays import FloatArray, IntArray
from surelift.errors import LogsError, UsageError
from surelift.logs import faults
from surelift.logs.columns import as_array, decode, is_text
from surelift.logs.rows import Rows

CHANCE = 5e-7
STAKES = np.array([1 / 2, 1 / 8, 1 / 32])
LEAST = 1 / 16  # of the steps of a random order
_REMEDY = (
    "Rounds that judge must come after those that were learned from: sort the log by time, and name the times in time=, "
    "which are then checked instead."
)
_TIMES = tuple(getattr(pa.types, f"is_{kind}") for kind in ("integer", "floating", "decimal", "timestamp", "date", "null"))


def times_of(rows: Rows, name: str) -> npt.NDArray[Any]:
    column = decode(rows.table[name])
    if is_text(column):
        numbers = rows.context_numbers(name)
        return numbers.values if not numbers.not_numeric.any() else np.asarray(column.to_pylist(), dtype=np.str_)
    if not any(is_kind(column.type) for is_kind in _TIMES):
        raise UsageError(f"time {name!r} holds {column.type}; it must hold timestamps, dates or numbers.")
    if pa.types.is_timestamp(column.type) and not column.null_count:
        return as_array(column.cast(pa.int64())).view(f"datetime64[{column.type.unit}]")
    return np.asarray(column.to_numpy(zero_copy_only=False))


def ordered_times(rows: Rows, name: str) -> npt.NDArray[Any]:
    """The times of a column, whose order must be that of time: texts begin with the year."""
    times = times_of(rows, name)
    bad = np.zeros(0) if times.dtype.kind != "U" else np.flatnonzero(~np.char.isdigit(times.astype("<U4")))
    if len(bad):
        raise UsageError(
            f"time {name!r} holds text such as {str(times[bad[0]])!r}, first in row {rows.numbered[bad[0]]:,}, whose order "
            "is not that of time; write it as 2024-03-09 17:00:00, or as a number."
        )
    return times


class TimeOrder:
    """Times must ascend from row to row, over all batches."""

    def __init__(self, name: str) -> None:
        self.name, self.latest = name, None

    def check(self, rows: Rows) -> npt.NDArray[Any]:
        """The times of a batch; rows that are earlier than the one before are counted as faults."""
        times = ordered_times(rows, self.name)
        if rows.size == 0 or rows.tallies:
            return times
        if self.latest is not None and np.asarray(self.latest).dtype.kind != times.dtype.kind:
            raise LogsError(f"time {self.name!r} holds numbers in some rows and text in others; use one format.")
        earlier = np.zeros(rows.size, dtype=np.bool_)
        earlier[1:] = ~(times[1:] >= times[:-1])
        earlier[0] = self.latest is not None and not times[0] >= self.latest
        rows.refuse(f"time {self.name!r}", faults.TIME_ORDER, earlier, times)
        self.latest = times[-1]
        return times


class RowOrder:
    def __init__(self) -> None:
        self.rows, self.same = 0, 0
        self._last: tuple[float, int, float] | None = None
        self._rewards, self._squares, self._steps = 0.0, 0.0, 0.0
        self._logs, self._largest = np.zeros(2 * len(STAKES)), math.log(2 * len(STAKES))
        self._peaks = np.zeros(2 * len(STAKES))

    def follow(self, reward: FloatArray, action: IntArray, propensity: FloatArray, actions: FloatArray) -> None:
        """The rows to add come after these, which are counted elsewhere."""
        self._last = float(reward[-1]), int(action[-1]), float(1.0 / (actions[-1] * propensity[-1]) - 1.0)

    def __add__(self, later: "RowOrder") -> "RowOrder":
        # Of later evidence the largest product of one bet and stake is known: a factor of 6, their number, may be missed.
        both, reached = RowOrder(), self._logs + later._peaks
        for name in ("rows", "same", "_rewards", "_squares", "_steps", "_logs"):
            setattr(both, name, getattr(self, name) + getattr(later, name))
        both._last, both._peaks = later._last or self._last, np.maximum(self._peaks, reached)
        both._largest = max(self._largest, float(np.max(reached)), float(np.logaddexp.reduce(both._logs)))
        return both

    def add(self, reward: FloatArray, action: IntArray, propensity: FloatArray, actions: FloatArray) -> None:
        """The next rows; ``actions`` counts those that could be taken."""
        if len(reward) == 0:
            return
        spread = 1.0 / (actions * propensity) - 1.0
        # The very first row has none before it.
        begin, before = int(self._last is None), self._last or (float(reward[0]), int(action[0]), float(spread[0]))
        centred, steps = reward - 0.5, np.diff(reward, prepend=before[0])
        self._rewards, self._squares = self._rewards + float(centred.sum()), self._squares + float(centred @ centred)
        self._steps += float(steps @ steps)
        same = (np.diff(action, prepend=before[1]) == 0)[begin:]
        won = np.concatenate([[before[2]], spread[:-1]])[begin:] > 0.0
        bets = np.column_stack([same / propensity[begin:] - 1.0, won * spread[begin:]])
        factors = np.log1p((bets[:, :, None] * STAKES).reshape(len(bets), 2 * len(STAKES)))
        logs = self._logs + np.cumsum(factors, axis=0)
        self._largest = max(self._largest, float(np.logaddexp.reduce(logs, axis=1).max(initial=-np.inf)))
        self._peaks = np.maximum(self._peaks, logs.max(axis=0, initial=-np.inf))
        self._logs = logs[-1] if len(logs) else self._logs
        self.rows, self.same = self.rows + len(reward), self.same + int(np.count_nonzero(same))
        self._last = float(reward[-1]), int(action[-1]), float(spread[-1])

    def evidence(self) -> tuple[float, float]:
        """The logarithms of the evidence that rows are sorted by action, and by reward."""
        random = self._random_steps()
        return self._largest - math.log(2 * len(STAKES)), (1.0 - 1.0 / math.e) * LEAST * random - self._steps

    def _random_steps(self) -> float:
        return 2.0 * (self._squares - self._rewards**2 / self.rows) if self.rows else 0.0

    def refuse_sorted(self, *, action: str, reward: str, tests_action: bool) -> None:
        by_action, by_reward = (found >= -math.log(CHANCE) for found in self.evidence())
        problem = ""
        if by_action and tests_action:
            problem = (
                f"action {action!r}: the rows are sorted or grouped by it, by its propensity or by a weight. Neighbouring "
                f"rows have the same action ({self.same:,} of {self.rows:,}), or small propensities together, more often "
                "than the propensities allow; sort the log, or suspect the propensities: ask check"
            )
        elif by_reward:
            problem = (
                f"reward {reward!r}: the rows are sorted or grouped by it. The squared steps of {self.rows:,} rewards, on "
                f"[0, 1], add up to {self._steps:.4g}; in random order, to {self._random_steps():.4g}"
            )
        if problem:
            raise LogsError(f"{problem}.\n{_REMEDY}")
