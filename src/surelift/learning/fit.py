"""One call of ``fit``: a log, the options of a learner, and the problems to train."""

import json
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any

from surelift.learning.data.dataset import Dataset
from surelift.learning.data.readings import Readings
from surelift.learning.learned import LearnedPolicy
from surelift.learning.objectives.options import ObjectiveOptions
from surelift.learning.policies.modules import Parameters
from surelift.learning.training.checkpoint import Checkpoint, identity_of
from surelift.learning.training.problem import LearningProblem, TrainingOptions
from surelift.results.guarantee import Guarantee
from surelift.results.improvement import Improvement
from surelift.traits.logs import Logs

Progress = Callable[[int, int, float], None]
"""Called after every epoch with its number, the maximum number of epochs, and the bound."""
Answer = Guarantee | Improvement
Steps = Generator[LearningProblem, Parameters, tuple[LearnedPolicy, Answer]]
"""Yields the problems to train, and expects the parameters of each to be sent back."""


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    logs: Logs
    params: Mapping[str, Any]
    """The parameters of the learner."""
    options: ObjectiveOptions
    training: TrainingOptions
    readings: Readings
    progress: Progress | None = None

    def problem(
        self,
        policy: Any,
        objective: Any,
        dataset: Dataset,
        rounds: str,
        *,
        choosing: Dataset | None = None,
        judging: int = 0,
    ) -> LearningProblem:
        relevant = {name: value for name, value in self.params.items() if name not in ("checkpoint", "epochs", "device")}
        identity = json.dumps({**{name: identity_of(value) for name, value in relevant.items()}, "rounds": rounds})
        path, progress, epochs = self.params["checkpoint"], self.progress, self.training.epochs
        return LearningProblem(
            policy, objective, dataset, self.training, self.params["delta"], identity,
            None if path is None else Checkpoint(path, identity),
            None if progress is None else lambda epoch, bound: progress(epoch, epochs, bound),
            choosing, judging,
        )  # fmt: skip
