"""Policies with known probabilities: production itself, and anything a reader reads."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from surelift.logs.batch import Needs
from surelift.logs.logs import Logs
from surelift.logs.rounds import Rounds
from surelift.logs.vectors import Vectors
from surelift.policies.policy import Limits, Probabilities, single_probabilities, vector_probabilities
from surelift.policies.readers import Reader


@dataclass(frozen=True, slots=True)
class Production:
    """The logging policy; every importance weight is 1."""

    limits: Limits = Limits(0.0, 0.0)

    def needs(self, logs: Logs) -> Needs:
        return Needs()

    def probabilities(self, rounds: Rounds, subject: str) -> Probabilities:
        return Probabilities(rounds.propensity, rounds.logging_shares, np.zeros(rounds.size))

    def describe(self) -> dict[str, Any]:
        return {"kind": "production"}


@dataclass(frozen=True, slots=True)
class Given:
    """Probabilities as read."""

    reader: Reader
    limits: Limits = Limits()

    def needs(self, logs: Logs) -> Needs:
        return self.reader.needs(logs)

    def probabilities(self, rounds: Rounds, subject: str) -> Probabilities:
        probabilities = self.reader.read(rounds, subject)
        if isinstance(probabilities, Vectors):
            return vector_probabilities(rounds, probabilities, subject)
        return single_probabilities(rounds, probabilities.values, probabilities.tolerance, subject)

    def describe(self) -> dict[str, Any]:
        return self.reader.describe()
