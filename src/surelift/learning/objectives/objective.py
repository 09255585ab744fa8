"""What a learner maximises: a certified lower bound (PAC-Bayes), or a plain off-policy estimate.

A randomised policy draws a rule theta from Q and follows it, so that p_i(a) is the share of rules that take action a in
round i. Every bound here is a function of a few sums that are linear in these shares, and of the divergence KL(Q || P)
from a prior P fixed before the rounds were seen. One definition serves NumPy, for certificates, and torch, for gradients.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

from surelift.learning.data.dataset import Examples
from surelift.learning.tensors import namespace, positions


@dataclass(frozen=True, slots=True)
class Coefficients:
    """The contribution of a round to each sum: ``own`` for the logged action and ``others``, or ``every`` action's."""

    own: Any = None  # (rounds, sums)
    others: Any = None  # (rounds, sums)
    every: Any = None  # (rounds, actions, sums)
    fixed: Any = None  # (rounds,), added whatever the policy

    def __getitem__(self, rounds: Any) -> "Coefficients":
        return Coefficients(*(None if part is None else part[rounds] for part in self._parts()))

    def table(self, rounds: int, several: "Iterable[Coefficients]") -> "Coefficients":
        """Those of consecutive rounds, which have the shapes of these, in one table."""
        parts = (None if part is None else part.new_empty(rounds, *part.shape[1:]) for part in self._parts())
        whole, start = Coefficients(*parts), 0
        for each in several:
            for column, part in zip(whole._parts(), each._parts(), strict=True):
                if column is not None:
                    size = len(part)
                    column[start : start + size] = part
            start += size
        return whole

    def bytes_per_round(self) -> int:
        parts = (part for part in self._parts() if part is not None)
        return sum(part[:1].numel() * part.element_size() for part in parts)

    def _parts(self) -> tuple[Any, ...]:
        return self.own, self.others, self.every, self.fixed


class Objective(Protocol):
    signs: ClassVar[tuple[float, ...]]
    """The bound rises (1) or falls (-1) with a sum: one sign for all sums, or one for each."""

    every_action: ClassVar[bool]  # whether it needs the probabilities of every action, the policy's and production's

    @property
    def paired(self) -> bool: ...  # whether it bounds the improvement over production, or else the value

    @property
    def any_looks(self) -> bool: ...  # whether it holds at any number of rounds, or only at one fixed in advance

    @property
    def sums(self) -> int: ...

    def coefficients(self, examples: Examples) -> Coefficients: ...

    def bound(self, sums: Any, divergence: Any, *, rounds: int, delta: float) -> Any:
        """The bound, not floored: a number, or a tensor with its gradient.

        The last axis of ``sums`` is that of the sums; tensors may have an axis of problems before it, as ``divergence``.
        """


def sums_of(coefficients: Coefficients, probabilities: Any, *, problems: int | None = None) -> Any:
    """Sum over rounds, given the probability of the logged action, (rounds,), or of every action, (rounds, actions).

    With ``problems``, the rounds hold as many of each problem, one problem after the other: (problems, sums).
    """
    table = coefficients.own if coefficients.every is None else coefficients.every
    total = _weighted_sums(probabilities, table, problems)
    if coefficients.others is not None:
        total = total + _weighted_sums(1.0 - probabilities, coefficients.others, problems)
    if coefficients.fixed is not None:
        total = total + coefficients.fixed.reshape(problems or 1, -1).sum(1)[:, None]
    return total[0] if problems is None else total


def _weighted_sums(shares: Any, table: Any, problems: int | None) -> Any:
    """(problems, sums), with one share for every line of the table."""
    count = problems or 1
    return (shares.reshape(count, 1, -1) @ table.reshape(count, -1, table.shape[-1]))[:, 0]


def sizes_of(coefficients: Coefficients) -> Any:
    """The largest error of each sum per unit of error in the probabilities."""
    parts = (coefficients.own, coefficients.others, coefficients.every)
    return sum(abs(part).reshape(-1, part.shape[-1]).sum(axis=0) for part in parts if part is not None)


@dataclass(frozen=True, slots=True)
class PlainEstimate:
    """An estimate of the value of any differentiable policy, from its probabilities in a batch of rounds.

    Logarithmic smoothing is the paper's Equation 23, the mean of log(1 + lambda w r)/lambda. Its form linear in the policy p
    is the mean of p log(1 + lambda r/q)/lambda.
    """

    kind: Literal["logarithmic-smoothing", "ips", "snips", "doubly-robust"]
    smoothing: float = 0.0
    linear: bool = False  # whether only r/q is smoothed, so that the estimate is linear in the policy

    @property
    def every_action(self) -> bool:
        return self.kind == "doubly-robust"

    @property
    def sums(self) -> int:
        return 2 if self.kind == "snips" else 1

    def terms(self, examples: Examples, probabilities: Any) -> Any:
        """The terms of each round, (rounds, sums), from the probability of the logged action or of every action."""
        xp = namespace(examples.reward)
        if self.kind == "doubly-robust":
            rows = positions(examples.action)
            weight = probabilities[rows, examples.action] / examples.propensity
            residual = examples.reward - examples.predicted[rows, examples.action]
            return ((probabilities * examples.predicted).sum(1) + weight * residual)[:, None]
        if self.linear and self.kind == "logarithmic-smoothing":
            smoothed = xp.log1p(self.smoothing * examples.reward / examples.propensity) / self.smoothing
            return (probabilities * smoothed)[:, None]
        weight = probabilities / examples.propensity
        if self.kind == "logarithmic-smoothing":
            return (xp.log1p(self.smoothing * weight * examples.reward) / self.smoothing)[:, None]
        if self.kind == "snips":
            return xp.stack((weight * examples.reward, weight), -1)
        return (weight * examples.reward)[:, None]

    def bound(self, sums: Any, divergence: Any, *, rounds: int, delta: float) -> Any:
        """The estimate itself, which bounds nothing."""
        return sums[..., 0] / (sums[..., 1] if self.kind == "snips" else rounds)
