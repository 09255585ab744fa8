"""Problems of one stack that have the same objective: their sums and scores, from the probabilities of the whole stack."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from surelift.learning.data.dataset import Examples
from surelift.learning.objectives.objective import Coefficients, Objective, PlainEstimate, sums_of


@dataclass(frozen=True, slots=True)
class ObjectiveGroup:
    objective: Objective | PlainEstimate
    delta: float
    problems: slice  # their places in the stack

    def __len__(self) -> int:
        return int(self.problems.stop - self.problems.start)

    def rows(self, each: int) -> slice:
        """Its rows where every problem of the stack has ``each``, one problem after the other."""
        return slice(self.problems.start * each, self.problems.stop * each)

    def sums(self, batch: Examples, probabilities: Any, known: Coefficients | None) -> Tensor:
        """(problems, sums), from its own rows; ``known`` are their coefficients, where they were computed before."""
        if isinstance(self.objective, PlainEstimate):
            terms = self.objective.terms(batch, probabilities)
            sums: Tensor = terms.reshape(len(self), -1, terms.shape[-1]).sum(1)
        else:
            coefficients = self.objective.coefficients(batch) if known is None else known
            sums = sums_of(coefficients, probabilities, problems=len(self))
        return sums.double()

    def scores(self, sums: Tensor, divergence: Tensor, rounds: int) -> Tensor:
        if isinstance(self.objective, PlainEstimate):
            estimate: Tensor = self.objective.estimate(sums, rounds=rounds)
            return estimate
        bound: Tensor = self.objective.bound(sums, divergence[self.problems], rounds=rounds, delta=self.delta)
        return bound


def grouped(objectives: Sequence[tuple[Any, float]]) -> list[ObjectiveGroup]:
    """Of problems in order, of which those with the same objective and delta follow each other."""
    groups, start = list[ObjectiveGroup](), 0
    for end in range(1, len(objectives) + 1):
        if end == len(objectives) or objectives[end] != objectives[start]:
            objective, delta = objectives[start]
            groups.append(ObjectiveGroup(objective, delta, slice(start, end)))
            start = end
    return groups
