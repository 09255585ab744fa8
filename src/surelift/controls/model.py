"""The reward-model protocol: for each round, the expected reward of every action, on [0, 1].

In a certificate it complements the share in weight control (``controls/weights``) and may be arbitrarily wrong: only
*when* it is known matters. It is predictable if a round's predictions were fixed before its action and reward.
"""

from typing import Any, ClassVar, Protocol

import numpy as np

from surelift.arrays import FloatArray
from surelift.errors import LogsError
from surelift.logs.batch import Needs
from surelift.logs.logs import Logs
from surelift.logs.rounds import Rounds
from surelift.logs.vectors import Vectors

CROSS_FITTED = (
    "a cross-fitted reward model gives point estimates, never a certificate: rounds of different folds depend on each "
    "other. Use models.refitted, models.fitted_on or models.given."
)


class Predictor(Protocol):
    """A model passing through a log, one batch after another in order."""

    def predictions(self, rounds: Rounds) -> Vectors:
        """The expected reward of each action in each round, on [0, 1], laid out like production's vectors."""
        ...

    def finish(self) -> None:
        """Called after the last round; raises if the model was not allowed to predict these rounds."""
        ...


class RewardModel(Protocol):
    predictable: ClassVar[bool]
    """Whether a certificate may use it."""
    in_order: ClassVar[bool]
    """Whether it must see the rounds in order, in one process."""
    assumes: ClassVar[str]
    """What must be true for a certificate that uses it."""

    def needs(self, logs: Logs) -> Needs:
        """The columns to read; raises if these logs do not support this model."""
        ...

    def start(self, logs: Logs) -> Predictor: ...

    def describe(self) -> dict[str, Any]:
        """The model as it is stored in a certificate."""
        ...


def within_range(predicted: FloatArray) -> FloatArray:
    """Clip predictions to [0, 1], the range of rewards: a control must not overshoot."""
    if not np.isfinite(predicted).all():
        raise LogsError(
            f"the reward model predicted {np.count_nonzero(~np.isfinite(predicted)):,} values that are not finite; "
            "check its features, or drop the model and use weight control."
        )
    return np.clip(predicted, 0.0, 1.0)
