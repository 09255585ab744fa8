"""What was read of each log, so that learners of one call that read the same rounds read them once."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from threading import Lock
from typing import Any

from surelift.controls.model import RewardModel
from surelift.learning.data.dataset import Dataset
from surelift.learning.data.features import FeatureLayout
from surelift.learning.data.survey import LogSurvey, survey
from surelift.logs.origins import Origins
from surelift.traits.logs import Logs


class Readings:
    """Surveys and data sets by log and options; the logs must stay the same objects."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: dict[Any, Future[Any]] = {}
        self._logs: list[Logs] = []  # kept alive, so that no other log gets the identity of one of them

    def survey(self, logs: Logs, *, others: Origins = Origins(), **options: Any) -> LogSurvey:
        key = ("survey", id(logs), tuple(others.memories), tuple(sorted(options.items())))
        found: LogSurvey = self._once(logs, key, lambda: survey(logs, others=others, **options))
        return found

    def datasets(
        self, logs: Logs, cuts: Sequence[int], layout: FeatureLayout, actions: int, model: RewardModel | None
    ) -> list[Dataset]:
        """One data set up to each round in ``cuts``, the first from round 0."""
        key = ("datasets", id(logs), tuple(cuts), str(layout.describe()), actions, id(model))
        found: list[Dataset] = self._once(logs, key, lambda: Dataset.of_parts(logs, cuts, layout, actions, model))
        return found

    def part(self, logs: Logs, first: int, last: int) -> Logs:
        found: Logs = self._once(logs, ("part", id(logs), first, last), lambda: logs.part(first, last))
        return found

    def _once(self, logs: Logs, key: Any, read: Callable[[], Any]) -> Any:
        """Read by the first that asks; the others wait for it, and get its error if it failed."""
        with self._lock:
            first = key not in self._known
            if first:
                self._known[key] = Future()
                self._logs.append(logs)
            waiting = self._known[key]
        if first:
            try:
                waiting.set_result(read())
            except BaseException as error:
                waiting.set_exception(error)
        return waiting.result()
