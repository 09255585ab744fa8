"""Problems of one shape as one: their parameters in the same tensors, their rounds side by side."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from surelift.errors import UsageError
from surelift.learning.blocks import Blocks
from surelift.learning.examples import Examples
from surelift.learning.objective import sums_of
from surelift.learning.plain import CAUTIOUS, PlainEstimate, caution
from surelift.learning.policies import LinearGaussian, SoftmaxOfScores
from surelift.learning.processes import Together
from surelift.learning.training import Problem

_ROWS_AT_ONCE = {"cpu": 4096, "cuda": 65_536}


class Team:
    def __init__(self, problems: Sequence[Problem], places: Sequence[int], all_of_us: Together) -> None:
        first = problems[0]
        self.problems, self.places = problems, places
        self.policy: Any = (
            first.policy if len(problems) == 1 else LinearGaussian.joined([one.policy for one in problems])
        )
        self.policy.to(first.training.device)
        if all_of_us.count > 1 and isinstance(self.policy, SoftmaxOfScores) and list(self.policy.buffers()):
            raise UsageError(
                "the module keeps numbers beside its parameters, such as the means of a batch normalisation, which several "
                "processes would learn differently; learn it in one process, or normalise otherwise."
            )
        self._us, self._device = all_of_us, first.training.device
        self._objective, self._delta, self._rounds = first.objective, first.delta, first.rows.rounds
        self.blocks = Blocks([one.rows for one in problems], first.training.device)
        self._choosing = None if first.choosing is None else Blocks([first.choosing], first.training.device)
        self._chosen_by = 0 if first.choosing is None else first.choosing.rounds

    @property
    def recordable(self) -> bool:
        """Whether its steps always do the same, on rounds that stay where they are."""
        return self.blocks.whole is not None and isinstance(self.policy, LinearGaussian)

    def score(self, batch: Examples, of: int) -> Tensor:
        """The bound, or the estimate, of each problem, as if all rounds were like these: ``of`` each, over all processes."""
        return self._judge(self._sums(batch) * (self._rounds / of))

    @torch.no_grad()
    def whole(self) -> list[float]:
        """The bound of all rounds, to training's precision; for an estimate, a bound from the rounds to choose by."""
        rows = _ROWS_AT_ONCE[torch.device(self._device).type]
        total: Any
        if self._choosing is None:
            total = sum(self._sums(piece) for piece in self.blocks.pieces(rows, self._us.share))
            score = self._judge(total)
        else:
            total = sum(self._cautious_sums(piece) for piece in self._choosing.pieces(rows, self._us.share))
            total = self._us.added(total)
            score = CAUTIOUS.bound(total, 0.0 * total[:, 0], rounds=self._chosen_by, delta=self._delta)
        found: list[float] = score.tolist()
        return found

    def _sums(self, batch: Examples) -> Tensor:
        """(problems, sums), of this process."""
        objective, policy = self._objective, self.policy
        if not len(batch):
            # Of a batch smaller than the number of processes; gradients are added up, so there must be one.
            nothing = torch.zeros(len(self.problems), objective.sums, dtype=torch.float64, device=self._device)
            for parameter in policy.parameters():
                nothing = nothing + 0.0 * parameter.sum()
            return nothing
        p = self._probabilities(batch)
        if isinstance(objective, PlainEstimate):
            terms = objective.terms(batch, p)
            sums = terms.reshape(len(self.problems), -1, terms.shape[-1]).sum(1)
        else:
            sums = sums_of(objective.coefficients(batch), p, problems=len(self.problems))
        wide: Tensor = sums.double()
        return wide

    def _cautious_sums(self, batch: Examples) -> Tensor:
        if not len(batch):
            return torch.zeros(1, CAUTIOUS.sums, dtype=torch.float64, device=self._device)
        sums: Tensor = caution(batch, self._probabilities(batch)).double().sum(0)[None]
        return sums

    def _probabilities(self, batch: Examples) -> Tensor:
        """Of every action, or of the logged one alone where that is enough."""
        every: Tensor = (
            self.policy.every(batch.features)
            if self._objective.every_action
            else self.policy.logged(batch.features, batch.action)
        )
        return every

    def _judge(self, sums: Tensor) -> Tensor:
        sums = self._us.added(sums)
        if isinstance(self._objective, PlainEstimate):
            estimate: Tensor = self._objective.estimate(sums, rounds=self._rounds)
            return estimate
        divergence = self._us.once(self.policy.divergence().double())
        bound: Tensor = self._objective.bound(sums, divergence, rounds=self._rounds, delta=self._delta)
        return bound


def teams_of(problems: Sequence[Problem], all_of_us: Together) -> list[Team]:
    """Problems of the same shape in one team each; ``places`` says which they are."""
    shapes: dict[Any, list[int]] = {}
    for place, problem in enumerate(problems):
        shapes.setdefault(problem.shape, []).append(place)
    return [Team([problems[place] for place in places], places, all_of_us) for places in shapes.values()]
