"""What a reward model is: for each round a reward it expects of every action, on [0, 1].

In a certificate it stands beside the share in weight control (``controls/weights``), and may be as wrong as it likes: only
*when* it is known matters. It is predictable if what it says of a round was fixed before that round's action and reward.
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
    "a cross-fitted reward model gives point estimates, never a certificate: rounds of different folds know of each other. "
    "Use models.refitted, models.fitted_on or models.given."
)


class Predictor(Protocol):
    """A model on its way through a log, batch after batch in order."""

    def predictions(self, rounds: Rounds) -> Vectors:
        """What each action of each round is expected to earn, on [0, 1], laid out as production's vectors are."""
        ...

    def finish(self) -> None:
        """Called after the last round; raises if the model had no right to speak of them."""
        ...


class RewardModel(Protocol):
    predictable: ClassVar[bool]
    """Whether it may enter a certificate."""
    in_order: ClassVar[bool]
    """Whether it must meet the rounds in their order, in one process."""
    assumes: ClassVar[str]
    """What has to be true of it, where it does."""

    def needs(self, logs: Logs) -> Needs:
        """The columns to read; raises if these logs cannot carry this model."""
        ...

    def start(self, logs: Logs) -> Predictor: ...

    def describe(self) -> dict[str, Any]:
        """What it is, as it is written into a certificate."""
        ...


def within_range(predicted: FloatArray) -> FloatArray:
    """Predictions brought into [0, 1], where rewards lie: a model may overshoot, a control may not."""
    if not np.isfinite(predicted).all():
        raise LogsError(
            f"the reward model predicted {np.count_nonzero(~np.isfinite(predicted)):,} values that are no finite numbers; "
            "check its features, or leave control= to weights."
        )
    return np.clip(predicted, 0.0, 1.0)
