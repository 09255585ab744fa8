"""The policy protocol: the probability of each round's logged action and, if known, of every action."""

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from surelift.arrays import FloatArray
from surelift.errors import UsageError
from surelift.kernels.columns import count_outside
from surelift.logs import faults
from surelift.logs.batch import Needs
from surelift.logs.logs import Logs
from surelift.logs.origins import Origins
from surelift.logs.rounds import Rounds
from surelift.logs.vectors import Vectors

_INSIDE = ("policy", "reader", "scores", "greedy", "function", "func", "__self__")
"""Where a wrapper, a function or a method keeps what it is made of."""
_DEEPEST = 50


@dataclass(frozen=True, slots=True)
class Probabilities:
    logged: FloatArray
    """Of the logged action; never overstated within the tolerance for rounding."""
    vectors: Vectors | None = None
    """Of every action; never overstated either."""
    known_excess: FloatArray | None = None
    """The importance weights minus 1, if known more accurately than by division."""
    short_of_one: float = 0.0
    """The most by which its vectors fall short of a sum of 1."""

    def excess(self, propensity: FloatArray) -> FloatArray:
        if self.known_excess is not None:
            return self.known_excess
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return (self.logged - propensity) / propensity


@dataclass(frozen=True, slots=True)
class Limits:
    """How far importance weights can fall below 1 and rise above it, for any context and action.

    By more than 1 if they can be negative, as those of additive slates.
    """

    drop: float = 1.0
    rise: float = float("inf")


class Policy(Protocol):
    @property
    def limits(self) -> Limits:
        """The limits that follow from how the policy is built."""
        return Limits()

    def needs(self, logs: Logs) -> Needs:
        """The columns to read; raises if these logs do not support this policy."""

    def probabilities(self, rounds: Rounds, subject: str) -> Probabilities: ...

    def describe(self) -> dict[str, Any]:
        """The policy as it is stored in a certificate."""


@dataclass(frozen=True, slots=True)
class StoredPolicy(Policy):
    """A policy described by its kind, its own fields, and the policy or reader it is built from."""

    kind: ClassVar[str]

    def describe(self) -> dict[str, Any]:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        own = {name: value for name, value in values.items() if not hasattr(value, "describe")}
        inner = [value.describe() for value in values.values() if hasattr(value, "describe")]
        return {"kind": self.kind, **own, **({"of": inner[0]} if inner else {})}


def notes_of(policy: Policy, kind: Literal["assumes", "doubts"]) -> tuple[str, ...]:
    """Notes of a policy, or of the one it wraps: what it assumes, or why it cannot be certified."""
    while hasattr(policy, "policy"):
        policy = policy.policy
    return tuple(getattr(policy, kind, ()))


def origins_of(policy: Any) -> Origins:
    """The rounds that a learned policy was learned from, in whatever it is wrapped, also as its own ``predict_proba``.

    A function of your own that calls it hides it.
    """
    for _ in range(_DEEPEST):
        found = getattr(policy, "learned_from", None)
        if isinstance(found, Origins):
            return found
        policy = next((getattr(policy, name) for name in _INSIDE if hasattr(policy, name)), None)
    return Origins()


def single_probabilities(rounds: Rounds, values: FloatArray, tolerance: float, subject: str) -> Probabilities:
    if rounds.declaration.density:
        rounds.refuse(subject, faults.NEGATIVE, values < 0, values)
        return Probabilities(values)
    rounds.refuse_outside(subject, faults.PROBABILITY, values, 0.0, 1.0 + tolerance)
    return Probabilities(values if not count_outside(values, 0.0, 1.0) else np.minimum(values, 1.0))


def vector_probabilities(rounds: Rounds, vectors: Vectors, subject: str) -> Probabilities:
    require_action(rounds.logs, subject)
    assert rounds.action is not None
    # A vector that sums to slightly more than 1 overstates its entries by that much.
    shares = rounds.check_probability_vectors(vectors, subject).normalised(only_down=True)
    short = float(np.maximum(1.0 - shares.sums(), 0.0).max(initial=0.0))
    return Probabilities(shares.at(rounds.action), shares, short_of_one=short)


def require_action(logs: Logs, subject: str) -> None:
    require_discrete(logs, subject)
    if logs.declaration.action is None:
        raise UsageError(
            f"{subject} covers every action, so the logs must say which action was taken: name it in action=, as a "
            "position counted from 0 or as a label declared in actions=[...]. A column of the probability of the logged "
            "action alone is given by its name, not in a list."
        )


def require_discrete(logs: Logs, subject: str) -> None:
    if logs.declaration.density:
        raise UsageError(
            f"{subject} needs probabilities over discrete actions, but density=True declares continuous actions."
        )


def require_action_count(logs: Logs, subject: str) -> None:
    require_discrete(logs, subject)
    if logs.declaration.logging is None and logs.declaration.actions is None and logs.declaration.action_count is None:
        raise UsageError(
            f"{subject} needs to know how many actions were available: declare actions=[...], logging= or action_count= "
            "(a number, or a column if it varies)."
        )


def action_counts(rounds: Rounds) -> FloatArray:
    """The number of available actions in each round."""
    if rounds.logging is not None:
        return rounds.logging.lengths.astype(np.float64)
    assert rounds.action_counts is not None
    return rounds.action_counts
