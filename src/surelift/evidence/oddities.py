"""What looks odd in a log without being wrong by itself: copies of rows, drift, heavy tails, rounded propensities."""

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from surelift.arrays import FloatArray
from surelift.logs.rounds import Rounds
from surelift.statistics.reading import Reading

MOST_KEYS = 1 << 17
TOP = 5
DECIMALS = (1, 2, 3, 4)
# Weights from 2^-40 to 2^520.
_SHIFT, _BINS = 40, 560


@dataclass(slots=True)
class Copies:
    """How many rows are the same as another in all that was read of them, their time included, from a sample by hash."""

    rows: int = 0
    same_time: int = 0
    """Rows that share their time with the row before: where most do, copies cannot be told from repetition."""
    _kept: dict[int, int] = field(default_factory=dict)
    _mask: int = 0

    def add(self, reading: Reading) -> None:
        if reading.rounds.declaration.time is None or reading.rounds.size == 0:
            return
        times = _as_integers(reading.rounds.times())
        self.rows += len(times)
        words = reading.rounds.hashes.words()
        # A copy shares its time with its original, which says nothing about how finely time is told.
        self.same_time += int(np.count_nonzero((times[1:] == times[:-1]) & (words[1:] != words[:-1])))
        keys = words ^ (times.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))
        for key in keys[(keys & np.uint64(self._mask)) == 0].tolist():
            self._kept[key] = self._kept.get(key, 0) + 1
        while len(self._kept) > MOST_KEYS:
            self._mask = 2 * self._mask + 1
            self._kept = {key: count for key, count in self._kept.items() if key & self._mask == 0}

    @property
    def share(self) -> float:
        """Of the rows, those that are a copy of another."""
        total = sum(self._kept.values())
        return 0.0 if total == 0 or self.same_time > 0.5 * self.rows else 1.0 - len(self._kept) / total


@dataclass(slots=True)
class Tails:
    """The weights of one policy by their size, in powers of two."""

    counts: FloatArray = field(default_factory=lambda: np.zeros(_BINS))
    totals: FloatArray = field(default_factory=lambda: np.zeros(_BINS))
    top: list[tuple[float, int, float, float]] = field(default_factory=list)
    """Of the rounds with the largest weights: weight, row, propensity, and reward on [0, 1]."""

    def add(self, weights: FloatArray, rounds: Rounds) -> None:
        bins = np.where(weights > 0.0, np.clip(np.frexp(weights)[1] + _SHIFT, 0, _BINS - 1), 0)
        self.counts += np.bincount(bins, minlength=_BINS)
        self.totals += np.bincount(bins, weights=weights, minlength=_BINS)
        most = np.argpartition(-weights, min(TOP, len(weights)) - 1)[:TOP] if len(weights) else ()
        found = [
            (float(weights[i]), int(rounds.rows[i]), float(rounds.propensity[i]), float(rounds.reward[i])) for i in most
        ]
        self.top = sorted([*self.top, *found], key=lambda one: (-one[0], one[1]))[:TOP]

    def sizes(self) -> tuple[tuple[float, float, float], ...]:
        """For each power of two that weights stay below: it, the share of rounds and the share of the weight."""
        rounds, weight = max(self.counts.sum(), 1.0), max(self.totals.sum(), 1e-300)
        return tuple(
            (2.0 ** (int(place) - _SHIFT), float(self.counts[place] / rounds), float(self.totals[place] / weight))
            for place in np.flatnonzero(self.counts)
        )

    def heaviest(self, most: float = 0.01) -> tuple[float, float]:
        """The share of rounds with the largest weights, at most ``most`` of them, and the share of the weight they carry."""
        rounds = np.cumsum(self.counts[::-1]) / max(self.counts.sum(), 1.0)
        weight = np.cumsum(self.totals[::-1]) / max(self.totals.sum(), 1e-300)
        inside = np.flatnonzero(rounds <= most)
        return (float(rounds[inside[-1]]), float(weight[inside[-1]])) if len(inside) else (0.0, 0.0)


@dataclass(slots=True)
class DailyRewards:
    """Rounds and rewards by day."""

    rounds: dict[str, int] = field(default_factory=dict)
    rewards: dict[str, float] = field(default_factory=dict)
    squares: float = 0.0

    def add(self, reward: FloatArray, codes: npt.NDArray[np.int64], days: list[str]) -> None:
        counts, sums = np.bincount(codes, minlength=len(days)), np.bincount(codes, reward, len(days))
        for day, count, total in zip(days, counts.tolist(), sums.tolist(), strict=True):
            self.rounds[day] = self.rounds.get(day, 0) + count
            self.rewards[day] = self.rewards.get(day, 0.0) + total
        self.squares += float((reward * reward).sum())

    @property
    def surprise(self) -> float:
        """How many standard deviations the rewards of the days differ by more than chance would have them."""
        days = [day for day, count in self.rounds.items() if count]
        total, rewards = sum(self.rounds.values()), sum(self.rewards.values())
        if len(days) < 2:
            return 0.0
        mean = rewards / total
        variance = self.squares / total - mean * mean
        if variance <= 0.0:
            return 0.0
        spread = sum(self.rounds[day] * (self.rewards[day] / self.rounds[day] - mean) ** 2 for day in days) / variance
        freedom = len(days) - 1
        return (spread - freedom) / math.sqrt(2.0 * freedom)

    def means(self) -> dict[str, float]:
        return {day: self.rewards[day] / count for day, count in self.rounds.items() if count}


@dataclass(slots=True)
class Rounding:
    """To how many decimals all propensities are rounded, if to few."""

    _candidates: tuple[int, ...] = DECIMALS
    distinct: set[float] = field(default_factory=set)

    def add(self, propensity: FloatArray) -> None:
        self._candidates = tuple(
            digits
            for digits in self._candidates
            if np.allclose(propensity * 10.0**digits, np.round(propensity * 10.0**digits), rtol=0.0, atol=1e-6)
        )
        if len(self.distinct) < 1000:
            self.distinct.update(np.unique(propensity)[:1000].tolist())

    @property
    def decimals(self) -> int | None:
        return min(self._candidates, default=None)


def _as_integers(times: npt.NDArray[np.generic]) -> npt.NDArray[np.int64]:
    if times.dtype.kind in "Mi":
        return times.astype(np.int64)
    if times.dtype.kind == "f":
        return np.ascontiguousarray(times, dtype=np.float64).view(np.int64)
    return np.array([hash(time) for time in times.tolist()], dtype=np.int64)
