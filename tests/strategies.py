"""Hypothesis strategies for valid inputs: rounds, smoothings, levels."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from surelift import Logs
from surelift.arrays import FloatArray


@dataclass(frozen=True)
class LoggedRounds:
    reward: FloatArray
    propensity: FloatArray
    probability: FloatArray
    other: FloatArray

    @property
    def weights(self) -> FloatArray:
        return self.probability / self.propensity

    def logs(self) -> Logs:
        return Logs(reward=self.reward, propensity=self.propensity)

    def cut(self, at: int) -> tuple["LoggedRounds", "LoggedRounds"]:
        first = LoggedRounds(self.reward[:at], self.propensity[:at], self.probability[:at], self.other[:at])
        rest = LoggedRounds(self.reward[at:], self.propensity[at:], self.probability[at:], self.other[at:])
        return first, rest


def smoothings() -> st.SearchStrategy[float]:
    return st.floats(1e-6, 1e3)


def deltas() -> st.SearchStrategy[float]:
    return st.floats(1e-6, 0.9)


@st.composite
def logged_rounds(draw: st.DrawFn, max_rounds: int = 60) -> LoggedRounds:
    """Rewards in [0, 1], propensities down to one in a million, any candidate probabilities, including zero."""
    rounds = draw(st.integers(1, max_rounds))
    unit = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0.0, 1.0))
    column = st.lists(unit, min_size=rounds, max_size=rounds)
    propensity = st.lists(st.one_of(st.floats(1e-6, 1.0), st.just(1.0)), min_size=rounds, max_size=rounds)
    reward, chances, first, second = draw(column), draw(propensity), draw(column), draw(column)
    return LoggedRounds(np.array(reward), np.array(chances), np.array(first), np.array(second))
