"""One call of ``fit``: a log, the options of a learner, the problems to train; and what was read of each log."""

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any, TypeVar

from surelift.learning.data.dataset import Dataset
from surelift.learning.data.layout import FeatureLayout
from surelift.learning.data.survey import LogSurvey, survey
from surelift.learning.learned import LearnedPolicy
from surelift.learning.objectives.options import ObjectiveOptions
from surelift.learning.policies.modules import Parameters
from surelift.learning.training.checkpoint import Checkpoint, identity_of
from surelift.learning.training.problem import LearningProblem, TrainingOptions
from surelift.logs.seen import Origins
from surelift.results.improvement import Improvement
from surelift.results.learned import Guarantee
from surelift.traits.logs import Logs

T = TypeVar("T")
Progress = Callable[[int, int, float], None]
"""Called after every epoch with its number, the maximum number of epochs, and the bound."""
Answer = Guarantee | Improvement
Steps = Generator[LearningProblem, Parameters, tuple[LearnedPolicy, Answer]]
"""Yields the problems to train, and expects the parameters of each to be sent back."""


class Readings:
    """What was read of each log, so that learners of one call read the same rounds once; logs must stay the same objects."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: dict[Any, Future[Any]] = {}
        self._logs: list[Logs] = []  # kept alive, so that no other log gets the identity of one of them

    def once(self, logs: Logs, key: tuple[Any, ...], read: Callable[[], T]) -> T:
        """The first that asks reads; the others wait for it, and get its error if it failed."""
        with self._lock:
            first = (id(logs), key) not in self._known
            if first:
                self._logs.append(logs)
            waiting = self._known.setdefault((id(logs), key), Future())
        if first:
            try:
                waiting.set_result(read())
            except BaseException as error:
                waiting.set_exception(error)
        found: T = waiting.result()
        return found


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
        self, policy: Any, objective: Any, dataset: Dataset, rounds: str, *, choosing: Any = None, judging: int = 0
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

    def survey(self, *, others: Origins, cuts: tuple[int, ...], **options: bool) -> LogSurvey:
        key = ("survey", tuple(others.memories), cuts, self.params["intercept"], *sorted(options.items()))
        read = partial(survey, self.logs, intercept=self.params["intercept"], cuts=cuts, others=others, **options)
        return self.readings.once(self.logs, key, read)

    def datasets(self, layout: FeatureLayout, actions: int, cuts: Sequence[int]) -> list[Dataset]:
        """The rounds up to each of these cuts, the first from round 0."""
        model = self.options.model
        key = ("datasets", tuple(cuts), str(layout.describe()), actions, id(model))
        return self.readings.once(self.logs, key, lambda: Dataset.of_parts(self.logs, cuts, layout, actions, model))
