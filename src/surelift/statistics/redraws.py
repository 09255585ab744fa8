"""The weights of one policy over all rounds and all actions: what the Efron-Stein bound redraws.

It adds up by laying parts end to end, so its memory grows with the log, and it needs the rounds in their order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from surelift.arrays import FloatArray, IntArray
from surelift.errors import UsageError
from surelift.statistics.efron_stein import Proxies, proxies_of
from surelift.statistics.groups import Groups
from surelift.statistics.reading import Reading
from surelift.statistics.statistic import Statistic


@dataclass(frozen=True, eq=False)
class WholeLog:
    logged: FloatArray
    chances: FloatArray
    weights: FloatArray
    lengths: IntArray
    second_moment: float
    draws: int

    def __add__(self, other: "WholeLog") -> "WholeLog":
        pairs = (
            (self.logged, other.logged), (self.chances, other.chances), (self.weights, other.weights),
            (self.lengths, other.lengths),
        )  # fmt: skip
        arrays = [np.concatenate(pair) for pair in pairs]
        return WholeLog(*arrays, self.second_moment + other.second_moment, self.draws)  # type: ignore[arg-type]

    @cached_property
    def proxies(self) -> Proxies:
        starts = np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)
        return proxies_of(self.logged, self.chances, self.weights, starts, self.second_moment, draws=self.draws)


@dataclass(frozen=True, slots=True)
class Redraws(Statistic):
    label: ClassVar[str] = "what efron-stein redraws, which is the whole log in its order"
    needs_order: ClassVar[bool] = True
    candidate: str
    draws: int

    def of(self, reading: Reading, groups: Groups) -> Sequence[WholeLog]:
        rounds, found = reading.rounds, reading.probabilities[self.candidate]
        if rounds.logging is None or found.vectors is None:
            raise UsageError(
                f"efron-stein redraws actions, so it needs the whole distributions: production's in logging=, and policy "
                f"{self.candidate!r} as a vector over actions."
            )
        assert groups.codes is None, "the whole log is one group"
        chances, wanted = rounds.logging.values, found.vectors.values
        weights = np.divide(wanted, chances, out=np.zeros_like(wanted), where=chances > 0.0)
        # An action that production cannot take has an infinite weight there.
        beyond = bool(((chances == 0.0) & (wanted > 0.0)).any())
        second_moment = float("inf") if beyond else float((wanted * weights).sum())
        logged = 1.0 + found.excess(rounds.propensity)
        return [WholeLog(logged, chances, weights, rounds.logging.lengths, second_moment, self.draws)]

    def encode(self, state: Any) -> Any:
        arrays = (state.logged, state.chances, state.weights, state.lengths)
        moment = None if state.second_moment == float("inf") else state.second_moment
        return [*(array.tolist() for array in arrays), moment, state.draws]

    def decode(self, content: Any) -> Any:
        logged, chances, weights, lengths, moment, draws = content
        numbers = [np.array(array, dtype=np.float64) for array in (logged, chances, weights)]
        second_moment = float("inf") if moment is None else moment
        return WholeLog(numbers[0], numbers[1], numbers[2], np.array(lengths, dtype=np.int64), second_moment, draws)
