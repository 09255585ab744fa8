"""The propensity slot: with what probability was the logged action taken? Here as it was recorded, or its logarithm."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from surelift.arrays import FloatArray
from surelift.errors import UsageError
from surelift.kernels.columns import count_outside
from surelift.logs import faults
from surelift.logs.decisions import Decisions
from surelift.logs.densities import DENSITIES, Density
from surelift.logs.rows import Rows
from surelift.traits.trait import Recipe, Trait, column, count_or_column, derived, given, in_order, one_column, switch

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
ESTIMATED = "conditional on the propensity model: the propensities were estimated"


def action_labels(name: str, actions: Any) -> tuple[Any, ...]:
    labels = tuple([label.item() if isinstance(label, np.generic) else label for label in in_order(name, actions)])
    inexact = [label for label in labels if isinstance(label, float) and not abs(label) < 2.0**53]
    if not labels or not all(isinstance(label, str | int | float) for label in labels):
        problem = "must list one label per action, each a string or a number"
    elif inexact:
        problem = f"lists {inexact[0]!r}, a float that cannot tell whole numbers apart; use integers or text"
    elif len({str(label) for label in labels}) != len(labels) or len(set(labels)) != len(labels):
        problem = "lists a label twice; labels must be unique"
    else:
        return labels
    raise UsageError(f"{name} {problem}.")


def column_or_density(name: str, value: Any) -> str | Density:
    return value if isinstance(value, DENSITIES) else one_column(name, value)


@dataclass(frozen=True, kw_only=True)
class Propensity(Trait):
    """Recorded in one column, or as the parameters of a density; and what is said of the actions. The base of this slot."""

    slot = "propensity"
    action: str | None = column("action", "Column of the logged action: a position, from 0, or a label.", feature="actions")
    actions: tuple[Any, ...] | None = given(
        "Labels of the actions in vector order.", "A,B,...", action_labels, read="split", feature="counted actions"
    )
    action_count: int | str | None = given(
        "Number of actions to choose from.", "N|COL", count_or_column, rare=True, read="number_or_column",
        role="action_count", feature="counted actions",
    )  # fmt: skip
    propensity_is_estimated: bool = switch(
        "The propensity was estimated, not logged; then nothing is certified.", "estimated propensities"
    )
    density: bool = switch("Propensities and probabilities are densities and may exceed 1.", "density")
    propensity: Any = given(
        "Column of production's probability of the logged action.", "COL", column_or_density, role="propensity",
        hidden="propensity", array=True,
    )  # fmt: skip
    log_propensity: str | None = column(
        "log_propensity", "Column of the natural logarithm of the propensity, instead of --propensity.", rare=True,
        hidden=True, feature="log propensities",
    )  # fmt: skip
    is_recorded: ClassVar[bool] = True  # it is in a column of its own, and cannot be left out

    recipe: Recipe | None = derived()  # how a loop over plain columns reads the propensity; None where there is more to it
    doubts: tuple[str, ...] = derived(())
    tested_contexts: tuple[str, ...] = derived(())  # contexts that are read to test what was declared
    asks_contexts: bool = derived(False)  # a function of the user's is asked about every batch
    is_complete: bool = derived(True)  # nothing has to be counted first

    def problems(self) -> Iterator[str]:
        if self.actions is not None and self.action_count not in (None, len(self.actions)):
            yield "give actions= or action_count=, not both: the labels already determine the count."
        if self.propensity is not None and self.log_propensity is not None:
            yield BOTH
        if isinstance(self.propensity, DENSITIES) and not (self.density and self.action is not None):
            yield (
                "a density in propensity= is evaluated at the logged action: set density=True, and name the action column "
                "in action=."
            )
        if self.is_recorded and self.propensity is None and self.log_propensity is None:
            yield NO_PROPENSITY

    def derive(self) -> None:
        own = vars(self)
        own["assumes"] = (MODELLED if self.propensity_is_estimated else RECORDED,)
        if self.propensity_is_estimated:
            own["doubts"] = (ESTIMATED,)
        if self.density:
            own["assumes"] += (NO_ATOMS,)
            own["features"] |= {"continuous actions"} if self.action is not None else set()
        elif isinstance(self.propensity, str) and (self.action, self.actions, self.action_count) == (None,) * 3:
            own["recipe"] = Recipe(self.propensity)
        if isinstance(self.propensity, DENSITIES):
            own["features"] |= {"known density"}
            own["columns"] += tuple([("the density of production", name) for name in self.propensity.columns()])

    @property
    def largest(self) -> float:
        return math.inf if self.density else 1.0

    def completed(self, audited: Callable[["Propensity"], FloatArray | None]) -> "Propensity":
        """The trait with what a first pass counts."""
        return self

    def decisions(self, rows: Rows) -> Decisions:
        """What is read of a batch, looked through."""
        decisions = Decisions(
            rows, np.zeros(0), labels=None if self.density else self.actions, counts=self._counts(rows),
            largest=self.largest, subject=f"action {self.action!r}",
        )  # fmt: skip
        if self.action is not None and self.density:
            decisions.continuous, _ = rows.numbers(self.action, decisions.subject)
        elif self.action is not None:
            decisions.action = decisions.positions(self.action, decisions.subject)
        decisions.propensity = self.read(rows, decisions)
        return decisions

    def _counts(self, rows: Rows) -> FloatArray | None:
        if isinstance(self.action_count, str):
            subject = f"action_count {self.action_count!r}"
            counts, _ = rows.numbers(self.action_count, subject)
            rows.refuse(subject, faults.ACTION_COUNT, (counts < 1) | (counts != np.floor(counts)), counts)
            return counts
        count = self.action_count if self.actions is None else len(self.actions)
        return None if count is None else np.full(rows.size, float(count))

    def read(self, rows: Rows, decisions: Decisions) -> FloatArray:
        if not isinstance(self.propensity, DENSITIES):
            return self.recorded(rows)[0]
        decisions.density, subject = self.propensity, "propensity, the density of production"
        values = decisions.density_at(self.propensity, subject)
        rows.refuse(subject, faults.DENSITY, values <= 0, values)
        return values

    def recorded(self, rows: Rows) -> tuple[FloatArray, float, str]:
        """What is in the column, with the tolerance of its type, and its name: probabilities, or densities above 0."""
        if self.propensity is not None:
            reason, name, subject = faults.PROPENSITY, self.propensity, f"propensity {self.propensity!r}"
        else:
            reason, name, subject = faults.LOG_PROPENSITY, self.log_propensity, f"log_propensity {self.log_propensity!r}"
        shown, tolerance = rows.numbers(str(name), subject)
        with np.errstate(over="ignore"):
            values = shown if self.propensity is not None else np.exp(shown)
        if self.density:
            rows.refuse(subject, faults.DENSITY, (values <= 0) | (np.isinf(values) & np.isfinite(shown)), shown)
        elif count_outside(values, SMALLEST, 1.0 + tolerance):
            rows.refuse(subject, reason, (values <= 0) | (values > 1.0 + tolerance), shown)
        return values, tolerance, subject
