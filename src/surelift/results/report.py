"""Everything a decision report needs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from surelift.results.evaluation import Evaluation
from surelift.results.forecast import Forecast
from surelift.results.health import Health
from surelift.results.history import History
from surelift.results.improvement import Improvement
from surelift.results.result import Result
from surelift.results.selection import Selection


@dataclass(frozen=True, slots=True, repr=False)
class Report(Result):
    """The material of a report. Without a selection, where the logs are not fit for a guarantee."""

    health: Health
    selection: Selection | None
    values: Evaluation | None
    """Of every candidate and of production, at a delta of their own."""
    course: History | None
    usual: Mapping[str, Improvement]
    """What a usual asymptotic interval says, by name; empty where there is none, for clusters and sampled rounds."""
    forecasts: Mapping[str, Forecast]
    """For the candidates that are not certified, by name; empty where rounds forecast nothing: sampled, or only one."""
    source: str = ""
    """What the log is called, where it has a name."""

    @property
    def certified(self) -> bool:
        return self.selection is not None and self.selection.certified

    def to_dict(self) -> dict[str, Any]:
        return {
            "certified": self.certified, "health": self.health.to_dict(),
            "selection": None if self.selection is None else self.selection.to_dict(),
            "values": None if self.values is None else self.values.to_dict(),
            "usual": {name: one.to_dict() for name, one in self.usual.items()},
            "forecasts": {name: one.to_dict() for name, one in self.forecasts.items()},
            "course": None if self.course is None else self.course.to_dict(),
        }  # fmt: skip

    def records(self) -> list[dict[str, Any]]:
        return self.health.records() if self.selection is None else self.selection.records()
