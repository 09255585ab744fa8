"""The propensity slot: with what probability was the logged action taken? Here as it was recorded, or its logarithm."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from surelift.arrays import FloatArray
from surelift.errors import UsageError
from surelift.kernels.columns import count_outside
from surelift.logs import faults
from surelift.logs.decisions import Decisions
from surelift.logs.densities import DENSITIES, Density
from surelift.logs.faults import Reason
from surelift.logs.rows import Rows
from surelift.traits.trait import Recipe, Trait, column, count_or_column, given, one_column, switch

# The smallest number above zero.
SMALLEST = math.ulp(0.0)
NO_PROPENSITY = """\
no propensity: name the column that holds production's probability of the logged action, in propensity=.
Log it at decision time: next to each action, store the probability the logging policy gave it (for epsilon-greedy over \
K actions: epsilon/K, plus 1 - epsilon for the greedy action). It cannot be recovered afterwards. It may be left out where \
logging= holds production's whole distribution and action= the logged action; a policy that can only draw, as Thompson \
sampling, logs draws, propensity=wins("k", "m"). If you fitted a model of it, pass propensity='your_column' \
and propensity_is_estimated=True; every answer is then conditional on that model and never certified."""
BOTH = "give exactly one of propensity= and log_propensity=, the probability of the logged action; both were given."
RECORDED = "the propensities were recorded when the decisions were made"
MODELLED = "the propensity model is correct"
NO_ATOMS = (
    "production's density is that of the actions as they were taken: no single value had a chance of its own, as a limit "
    "has at which actions are cut off"
)


def action_labels(name: str, actions: Iterable[Any]) -> tuple[Any, ...]:
    if isinstance(actions, str):
        raise UsageError(f"actions must list one label per action, but is the string {actions!r}.")
    if isinstance(actions, set | frozenset) or not isinstance(actions, Iterable):
        raise UsageError(f"actions must be a list: a {type(actions).__name__} has no order, but vectors and models do.")
    labels = tuple(label.item() if isinstance(label, np.generic) else label for label in actions)
    if not labels or not all(isinstance(label, str | int | float) for label in labels):
        raise UsageError("actions must list one label per action, each a string or a number.")
    inexact = [label for label in labels if isinstance(label, float) and not abs(label) < 2.0**53]
    if inexact:
        raise UsageError(
            f"actions= lists {inexact[0]!r}, a float that cannot tell whole numbers apart; use integers or text."
        )
    if len(set(labels)) != len(labels) or len({str(label) for label in labels}) != len(labels):
        raise UsageError("actions= lists a label twice; labels must be unique.")
    return labels


@dataclass(frozen=True, kw_only=True)
class Propensity(Trait):
    """The base of this slot: what is said of the actions, whatever is known of their probabilities."""

    slot = "propensity"
    action: str | None = column("action", "Column of the logged action: a position, from 0, or a label.", feature="actions")
    actions: tuple[Any, ...] | None = given(
        "Labels of the actions in vector order.", "A,B,...", action_labels, read="split", feature="counted actions"
    )
    action_count: int | str | None = given(
        "Number of actions to choose from.", "N|COL", count_or_column, rare=True, read="number_or_column",
        role="action_count", feature="counted actions",
    )  # fmt: skip
    propensity_is_estimated: bool = given(
        "The propensity was estimated, not logged; then nothing is certified.", "", switch, default=False, rare=True,
        read="switch", feature="estimated propensities",
    )  # fmt: skip

    def check(self) -> None:
        if self.actions is not None and self.action_count not in (None, len(self.actions)):
            raise UsageError("give actions= or action_count=, not both: the labels already determine the count.")

    @cached_property
    def assumes(self) -> tuple[str, ...]:
        return (MODELLED if self.propensity_is_estimated else RECORDED,)

    @property
    def doubts(self) -> tuple[str, ...]:
        return ("conditional on the propensity model: the propensities were estimated",) * self.propensity_is_estimated

    def recipe(self) -> Recipe | None:
        """How a loop over plain columns reads the propensity; None where there is more to it."""
        return None

    tested_contexts: tuple[str, ...] = field(default=(), init=False)
    """Contexts that are read to test what was declared."""
    asks_contexts: bool = field(default=False, init=False)
    """A function of the user's is asked about every batch."""

    is_complete: ClassVar[bool] = True
    """Nothing has to be counted first."""

    def completed(self, audited: Callable[["Propensity"], FloatArray | None]) -> "Propensity":
        """With what a first pass counts."""
        return self

    def decisions(self, rows: Rows) -> Decisions:
        """What is read of a batch, looked through."""
        decisions = self._actions(rows)
        decisions.propensity = self.read(rows, decisions)
        return decisions

    def read(self, rows: Rows, decisions: Decisions) -> FloatArray:
        raise NotImplementedError

    def _actions(self, rows: Rows) -> Decisions:
        decisions = Decisions(
            rows, np.zeros(0), labels=self.actions, counts=self._counts(rows), subject=f"action {self.action!r}"
        )
        if self.action is not None:
            decisions.action = decisions.positions(self.action, decisions.subject)
        return decisions

    def _counts(self, rows: Rows) -> FloatArray | None:
        if self.actions is not None or isinstance(self.action_count, int):
            return np.full(rows.size, float(len(self.actions or ()) or self.action_count or 0))
        if self.action_count is None:
            return None
        subject = f"action_count {self.action_count!r}"
        counts, _ = rows.numbers(self.action_count, subject)
        rows.refuse(subject, faults.ACTION_COUNT, (counts < 1) | (counts != np.floor(counts)), counts)
        return counts


def checked(
    rows: Rows, values: FloatArray, tolerance: float, subject: str, reason: Reason, shown: FloatArray, largest: float
) -> FloatArray:
    """Probabilities in (0, 1], or densities above 0."""
    if math.isinf(largest):
        rows.refuse(subject, faults.DENSITY, (values <= 0) | (np.isinf(values) & np.isfinite(shown)), shown)
    elif count_outside(values, SMALLEST, 1.0 + tolerance):
        rows.refuse(subject, reason, (values <= 0) | (values > 1.0 + tolerance), shown)
    return values


@dataclass(frozen=True, kw_only=True)
class OneColumn(Propensity):
    """The base of a propensity in one column; of continuous actions it is a density there."""

    density: bool = given(
        "Propensities and probabilities are densities and may exceed 1.", "", switch, default=False, rare=True,
        read="switch", feature="density",
    )  # fmt: skip
    refuses: ClassVar[Mapping[str, str]] = {
        "logging": "density=True is for continuous actions; a vector over actions holds probabilities.",
        "embedding": "an embedding needs production's full distribution over the actions, in logging=.",
    }

    @cached_property
    def features(self) -> frozenset[str]:
        return frozenset({"continuous actions"}) if self.density and self.action is not None else frozenset()

    @property
    def largest(self) -> float:
        return math.inf if self.density else 1.0

    @cached_property
    def assumes(self) -> tuple[str, ...]:
        own = super().assumes
        return (*own, NO_ATOMS) if self.density else own

    def _actions(self, rows: Rows) -> Decisions:
        if not self.density:
            return super()._actions(rows)
        decisions = Decisions(
            rows, np.zeros(0), largest=math.inf, subject=f"action {self.action!r}", counts=self._counts(rows)
        )
        if self.action is not None:
            decisions.continuous, _ = rows.numbers(self.action, decisions.subject)
        return decisions


def _column_or_density(name: str, value: Any) -> str | Density:
    return value if isinstance(value, DENSITIES) else one_column(name, value)


@dataclass(frozen=True, kw_only=True)
class Recorded(OneColumn):
    """The probability itself, or the parameters of a density."""

    propensity: str | Density | None = given(
        "Column of production's probability of the logged action.", "COL",
        _column_or_density, role="propensity", hidden="propensity", array=True,
    )  # fmt: skip

    @cached_property
    def features(self) -> frozenset[str]:
        own = super().features
        return own | {"known density"} if isinstance(self.propensity, DENSITIES) else own

    def check(self) -> None:
        super().check()
        if isinstance(self.propensity, DENSITIES) and not (self.density and self.action is not None):
            raise UsageError(
                "a density in propensity= is evaluated at the logged action: set density=True, and name the action "
                "column in action=."
            )
        if self.propensity is None:
            raise UsageError(NO_PROPENSITY)

    @cached_property
    def columns(self) -> list[tuple[str, str]]:
        own = super().columns
        if not isinstance(self.propensity, DENSITIES):
            return own
        return [*own, *(("the density of production", name) for name in self.propensity.columns())]

    def recipe(self) -> Recipe | None:
        counted = self.actions is not None or self.action_count is not None
        simple = isinstance(self.propensity, str) and not (self.density or self.action or counted)
        return Recipe(str(self.propensity)) if simple else None

    def read(self, rows: Rows, decisions: Decisions) -> FloatArray:
        if isinstance(self.propensity, DENSITIES):
            decisions.density = self.propensity
            values = decisions.density_at(self.propensity, "propensity, the density of production")
            return checked(rows, values, 0.0, "propensity, the density of production", faults.DENSITY, values, math.inf)
        subject = f"propensity {self.propensity!r}"
        values, tolerance = rows.numbers(str(self.propensity), subject)
        return checked(rows, values, tolerance, subject, faults.PROPENSITY, values, self.largest)


@dataclass(frozen=True, kw_only=True)
class Logarithm(OneColumn):
    named_by = ("log_propensity",)
    log_propensity: str | None = column(
        "log_propensity", "Column of the natural logarithm of the propensity, instead of --propensity.", rare=True,
        hidden=True, feature="log propensities",
    )  # fmt: skip
    refuses: ClassVar[Mapping[str, str]] = {**OneColumn.refuses, "propensity": BOTH}

    def read(self, rows: Rows, decisions: Decisions) -> FloatArray:
        subject = f"log_propensity {self.log_propensity!r}"
        logarithms, tolerance = rows.numbers(str(self.log_propensity), subject)
        with np.errstate(over="ignore"):
            values = np.exp(logarithms)
        return checked(rows, values, tolerance, subject, faults.LOG_PROPENSITY, logarithms, self.largest)
