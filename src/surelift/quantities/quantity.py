"""The quantities a bound is about: a line in the reward, and the offset that makes it nonnegative."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from surelift.arrays import FloatArray
from surelift.logs.decisions import Limits
from surelift.logs.units import Piece

Predicted = FloatArray | None  # a reward model's predictions for some actions, on [0, 1]; None without a model


class Quantity(Protocol):
    """Frozen and hashable: a quantity is part of the key of its sums."""

    paired: ClassVar[bool] = False  # two policies are compared round by round, which needs another grid
    complement: ClassVar[bool] = False  # it is about what was not earned
    over: str | None = None  # the policy that the candidate is compared with, where that is not production
    control_shares: ClassVar[tuple[float, ...]] = (0.5, 1.0)  # the shares of the weight that control may subtract
    control_prior: ClassVar[tuple[float, ...]] = (0.12, 0.2)  # of each in automatic control, plain components share the rest

    def pieces(self, candidate: str) -> tuple[Piece, ...]:
        """The number of a round, a line in its reward; its mean given the past is at most the target of the bound."""
        return (Piece(candidate, self.paired, *((1.0, 0.0) if self.complement else (0.0, 1.0))),)

    def earned(self, reward: FloatArray) -> FloatArray:
        """The part of the reward the quantity is about: the reward, or 1 minus the reward."""
        return 1.0 - reward if self.complement else reward

    def subtracted(self, candidate: str, share: float, predicted: Predicted) -> Mapping[str, float | FloatArray]:
        """The share of each policy's weight that control subtracts, possibly times the predicted reward."""
        return {candidate: share if predicted is None else share * self.earned(predicted)}

    def control_caps(self, cap: float, offset: float) -> tuple[float, float]:
        """Turn a desired cap into the cap used and the offset a controlled term then needs."""
        return cap, offset + cap

    def offset_without(self, candidate: str, subtracted: Mapping[str, float], limits: Mapping[str, Limits]) -> float:
        """How far below zero a term can be after subtracting these shares of the excess weights."""


@dataclass(frozen=True, slots=True)
class Value(Quantity):
    """w r, whose mean is at most the value V, and equal to it if production supports every action."""

    def offset_without(self, candidate: str, subtracted: Mapping[str, float], limits: Mapping[str, Limits]) -> float:
        return subtracted[candidate] * limits[candidate].rise


class Shortfall(Value):
    """w (1 - r), whose mean is at most 1 - V: a lower bound on it is an upper bound on V."""

    complement = True


@dataclass(frozen=True, slots=True)
class Gain(Quantity):
    """(w - 1) r, whose mean is at most V(candidate) - V(production)."""

    paired = True

    def control_caps(self, cap: float, offset: float) -> tuple[float, float]:
        # If t is at most w - w_min, (w - 1) r - t is at least -(1 - w_min) at r = 1, and at least -t at r = 0.
        return max(cap, offset), max(cap, offset)

    def offset_without(self, candidate: str, subtracted: Mapping[str, float], limits: Mapping[str, Limits]) -> float:
        # (w - 1)(r - share): the worst case is the smallest weight at r = 1, and the largest at r = 0.
        share, candidate_limits = subtracted[candidate], limits[candidate]
        return max((1.0 - share) * candidate_limits.drop, share * candidate_limits.rise)


class Decline(Gain):
    """(w - 1)(1 - r), whose mean is at most V(production) - V(candidate)."""

    complement = True


@dataclass(frozen=True, slots=True)
class Difference(Quantity):
    """w r + w' (1 - r) - 1, whose mean is at most V(candidate) - V(over); swap the two for an upper bound."""

    over: str = field()
    paired = True
    control_shares = (0.0, 0.5, 1.0)
    control_prior = (0.25, 0.25, 0.25)  # without control both weights add variance, so plain is never the narrower

    def pieces(self, candidate: str) -> tuple[Piece, ...]:
        return Piece(self.over, True, 1.0, 0.0), Piece(candidate, True, 0.0, 1.0)

    def subtracted(self, candidate: str, share: float, predicted: Predicted) -> Mapping[str, float | FloatArray]:
        if predicted is None:
            return {candidate: share, self.over: 1.0 - share}
        return {candidate: share * predicted, self.over: share * (1.0 - predicted)}

    def offset_without(self, candidate: str, subtracted: Mapping[str, float], limits: Mapping[str, Limits]) -> float:
        # At r = 1 the worst case is the candidate's smallest weight with the other's largest, at r = 0 the reverse.
        new, over, share, rest = limits[candidate], limits[self.over], subtracted[candidate], subtracted[self.over]
        return max((1.0 - share) * new.drop + rest * over.rise, share * new.rise + (1.0 - rest) * over.drop)
