"""A policy: the probability of each round's logged action and, if known, of every action. Production, and plain columns."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from surelift.arrays import FloatArray
from surelift.logs.batch import Needs
from surelift.logs.columns import is_vector
from surelift.logs.decisions import Decisions, Limits, Probabilities
from surelift.logs.seen import Origins
from surelift.logs.vectors import Vectors
from surelift.traits.logs import Logs
from surelift.traits.trait import Recipe

# The attributes in which a wrapper, a function or a method keeps what it is made of, and how deep it is looked for.
_INSIDE, _DEEPEST = ("policy", "reader", "scores", "greedy", "function", "func", "__self__"), 50


@dataclass(frozen=True, slots=True)
class Policy(ABC):
    """The base of all policies: a frozen dataclass of the columns, numbers and policies that it is built from.

    ``assumes`` says what must be true of one, and ``doubts`` why it cannot be certified, where there is something to say.
    """

    kind: ClassVar[str]  # its name in certificates

    @property
    def limits(self) -> Limits:
        """The limits of its weights that follow from how it is built."""
        return Limits()

    @property
    def features(self) -> frozenset[str]:
        """Its names in the table of capabilities."""
        return frozenset()

    @property
    def recipe(self) -> tuple[Recipe, float] | None:
        """The column of its probabilities and its share in a blend, where a loop or a database needs no more than these."""
        return None

    def needs(self, logs: Logs) -> Needs:
        """The columns to read; raises if these logs do not have them."""
        return Needs()

    @abstractmethod
    def probabilities(self, decisions: Decisions, subject: str) -> Probabilities: ...

    def describe(self) -> dict[str, Any]:
        """The policy as it is stored in a certificate."""
        own: dict[str, Any] = {"kind": self.kind}
        inner = {}
        for item in fields(self):
            value = getattr(self, item.name)
            if hasattr(value, "describe"):
                inner = {"of": value.describe()}
            else:
                own[item.name] = value
        return own | inner


@dataclass(frozen=True, slots=True)
class Production(Policy):
    """The logging policy; every importance weight is 1."""

    kind = "production"
    limits = Limits(0.0, 0.0)
    features = frozenset[str]()

    def probabilities(self, decisions: Decisions, subject: str) -> Probabilities:
        return Probabilities(decisions.propensity, decisions.shares, np.zeros(decisions.rows.size))


@dataclass(frozen=True, slots=True)
class Singles:
    """One number per round."""

    values: FloatArray
    tolerance: float


@dataclass(frozen=True, slots=True)
class Reader(Policy):
    """Numbers about actions, one or one vector per round; they are its probabilities, or the scores of another policy."""

    @abstractmethod
    def read(self, decisions: Decisions, subject: str) -> Singles | Vectors: ...

    def probabilities(self, decisions: Decisions, subject: str) -> Probabilities:
        numbers = self.read(decisions, subject)
        if isinstance(numbers, Vectors):
            return decisions.vector(numbers, subject)
        return decisions.single(numbers.values, numbers.tolerance, subject)


@dataclass(frozen=True)
class Column(Reader):
    """A column of numbers, or of lists."""

    column: str
    kind = "column"
    limits, features = Limits(), frozenset[str]()

    @cached_property
    def recipe(self) -> tuple[Recipe, float] | None:
        return Recipe(self.column), 1.0

    def needs(self, logs: Logs) -> Needs:
        logs.require_columns(self.column, role="a policy")
        return Needs(read=(self.column,))

    def read(self, decisions: Decisions, subject: str) -> Singles | Vectors:
        rows = decisions.rows
        if is_vector(rows.table[self.column]):
            return rows.vectors(self.column, subject)
        return Singles(*rows.numbers(self.column, subject))


@dataclass(frozen=True, slots=True)
class Columns(Reader):
    """One column of numbers for each action."""

    columns: tuple[str, ...]
    kind = "columns"

    def needs(self, logs: Logs) -> Needs:
        logs.require_columns(self.columns, role="a policy")
        return Needs(read=self.columns)

    def read(self, decisions: Decisions, subject: str) -> Vectors:
        return decisions.rows.vectors(self.columns, subject)

    def describe(self) -> dict[str, Any]:
        return {"kind": self.kind, "columns": list(self.columns)}


@dataclass(frozen=True, slots=True)
class Given(Reader):
    """The numbers that an object of another folder reads, such as a learned policy."""

    reader: Any

    @property
    def features(self) -> frozenset[str]:
        return frozenset(getattr(self.reader, "features", ()))

    def needs(self, logs: Logs) -> Needs:
        return self.reader.needs(logs)  # type: ignore[no-any-return]

    def read(self, decisions: Decisions, subject: str) -> Singles | Vectors:
        return self.reader.read(decisions, subject)  # type: ignore[no-any-return]

    def describe(self) -> dict[str, Any]:
        return self.reader.describe()  # type: ignore[no-any-return]


def origins_of(policy: Any) -> Origins:
    """The rounds that a learned policy was learned from, in whatever it is wrapped, also as its own ``predict_proba``.

    A function of your own that calls it hides it.
    """
    for _ in range(_DEEPEST):
        found = getattr(policy, "learned_from", None)
        if isinstance(found, Origins):
            return found
        inside = next((name for name in _INSIDE if hasattr(policy, name)), None)
        if inside is None:
            break
        policy = getattr(policy, inside)
    return Origins()
