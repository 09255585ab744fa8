"""The policy protocol: the probability of each round's logged action and, if known, of every action."""

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, Protocol

from surelift.logs.batch import Needs
from surelift.logs.decisions import Decisions, Limits, Probabilities
from surelift.logs.origins import Origins
from surelift.traits.logs import Logs
from surelift.traits.trait import Recipe

_INSIDE = ("policy", "reader", "scores", "greedy", "function", "func", "__self__")
"""Where a wrapper, a function or a method keeps what it is made of."""
_DEEPEST = 50


class Policy(Protocol):
    @property
    def limits(self) -> Limits:
        """The limits that follow from how the policy is built."""
        return Limits()

    @property
    def features(self) -> frozenset[str]:
        """What the table of capabilities knows it by."""
        return frozenset()

    def needs(self, logs: Logs) -> Needs:
        """The columns to read; raises if these logs do not have them."""

    def probabilities(self, decisions: Decisions, subject: str) -> Probabilities: ...

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


def recipe_of(policy: Policy) -> tuple[Recipe, float] | None:
    """The column that holds a policy's probabilities, and its share in a blend; None where there is more to it."""
    found: tuple[Recipe, float] | None = getattr(policy, "recipe", lambda: None)()
    return found


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
