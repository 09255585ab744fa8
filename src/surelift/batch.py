"""The canonical batch: a log as numbers, behind which no trait of it is known.

Weights by policy, the line from what a term is where the reward is 0 to what it is where it is 1, units and what stands for
the rows they lack, how many units each stands for, and what is known before the reward. Quantities, controls, statistics and
engines see this and nothing else, so each of them works for every log. It is read as far as somebody looks.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from surelift.arrays import FloatArray
from surelift.errors import LogsError, UsageError
from surelift.kernels.sums import weigh
from surelift.logs import faults
from surelift.logs.batch import TableBatch
from surelift.logs.decisions import Decisions, Probabilities
from surelift.logs.fingerprint import Stage
from surelift.logs.rewards import End, RewardLine, Scale
from surelift.logs.rows import Rows
from surelift.logs.units import Piece, Units, Weights, ends_of
from surelift.logs.vectors import Vectors
from surelift.policies.policy import Policy
from surelift.traits.logs import Logs
from surelift.traits.reward import read_rewards

# Beyond this the square of a weight could overflow; no propensity that was ever drawn from is so small.
LARGEST_WEIGHT = 1e150
KEPT_TERMS = 4
Pieces = tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class RewardColumn:
    """Another column of rewards, or costs, that judges the same decisions."""

    column: str
    scale: Scale


class Batch:
    def __init__(
        self, logs: Logs, table: TableBatch, policies: Mapping[str, Policy] = {}, outcomes: Sequence[RewardColumn] = ()
    ) -> None:
        self.rows, self.declared = Rows(logs, table), logs.declaration
        self.size = self.rows.size
        self.asked, self._outcomes = policies, outcomes
        self.outcome: RewardColumn | None = None  # what the rounds are judged by, where that is not their own reward
        self.predictor: Any = None
        self.is_read = False  # columns were turned into numbers of their own, and not only added up as they lie in memory
        self._terms: dict[tuple[Pieces, RewardColumn | None], FloatArray] = {}
        if self.declared.unit.column is None:
            self.units = Units(self.size)
        if not self.declared.kept.named_by:
            self.keep = self.scale = None

    @cached_property
    def units(self) -> Units:
        with self.rows.hashes.at(Stage.UNIT):
            return self.declared.unit.read(self.rows)

    @cached_property
    def keep(self) -> FloatArray | None:
        """How likely each unit was to be kept; None where all were."""
        with self.rows.hashes.at(Stage.KEPT):
            return self.declared.kept.read(self.rows, self.units)

    @cached_property
    def scale(self) -> FloatArray | None:
        """How many units each stands for; None where it stands for itself."""
        if self.keep is None or not self.declared.kept.scales:
            return None
        with np.errstate(divide="ignore", over="ignore"):  # of what is refused
            return 1.0 / self.keep

    @cached_property
    def line(self) -> RewardLine:
        """What the rounds earned themselves."""
        with self.rows.hashes.at(Stage.REWARD):
            return self.declared.reward.line(self.rows)

    @cached_property
    def decisions(self) -> Decisions:
        self.is_read = True
        with self.rows.hashes.at(Stage.PROPENSITY):
            return self.declared.propensity.decisions(self.rows)

    @cached_property
    def policies(self) -> Mapping[str, Probabilities]:
        """The policies sorted by name, so that the fingerprint does not depend on the order they were given in."""
        with self.rows.hashes.at(Stage.POLICIES):
            return {name: self.asked[name].probabilities(self.decisions, f"policy {name!r}") for name in sorted(self.asked)}

    @cached_property
    def weights(self) -> Mapping[str, Weights]:
        """The weights of each row by policy, given what came before it in its unit."""
        return {name: self._weights(name, found) for name, found in self.policies.items()}

    @cached_property
    def lines(self) -> Mapping[RewardColumn | None, RewardLine]:
        """The line of each outcome by its column, and that of the reward by None."""
        found: dict[RewardColumn | None, RewardLine] = {None: self.line}
        with self.rows.hashes.at(Stage.OUTCOMES):
            for one in self._outcomes:
                found[one] = RewardLine(read_rewards(self.rows, one.column, one.scale, faults.OUTCOME))
        return found

    @cached_property
    def predicted(self) -> Vectors | None:
        """What a reward model expects of every action, where there is one."""
        if self.predictor is None:
            return None
        with self.rows.hashes.at(Stage.OUTCOMES):
            return cast(Vectors, self.predictor.predictions(self))

    @cached_property
    def identified(self) -> bool:
        """No row lacks a time or an id; those that do are refused once."""
        for role, name in self.declared.identifying_roles:
            self.rows.refuse_missing(name, f"{role} {name!r}")
        return not self.rows.tallies

    def read(self) -> "Batch":
        """All of it, looked through."""
        _ = self.identified, self.line, self.decisions, self.units, self.keep, self.weights, self.predicted, self.lines
        return self

    @property
    def fit(self) -> bool:
        return not self.rows.tallies

    @property
    def plainly_counted(self) -> bool:
        """Every row is a unit that stands for itself, and carries its reward."""
        judged_plainly = self.outcome is not None or self.declared.reward.recipe is not None
        return judged_plainly and self.units.starts is None and self.scale is None

    @property
    def propensity(self) -> FloatArray:
        return self.decisions.propensity

    @property
    def shares(self) -> Vectors | None:
        """Production's distributions."""
        return self.decisions.shares

    @property
    def judged(self) -> RewardLine:
        return self.line if self.outcome is None else self.lines[self.outcome]

    @property
    def reward(self) -> FloatArray:
        """The reward on [0, 1]; NaN where it is not known."""
        return self.judged.reward

    def _weights(self, name: str, found: Probabilities) -> Weights:
        weight, excess, beyond = weigh(found.logged, self.propensity, LARGEST_WEIGHT)
        whole = Weights(weight, excess if found.known_excess is None else found.known_excess)
        if self.units.multiplies:
            # What was refused already must not spoil the rows after it.
            usable = self.rows.usable
            whole = self.units.weights(Weights(np.where(usable, whole.weight, 1.0), np.where(usable, whole.excess, 0.0)))
            beyond = int(np.count_nonzero(~(whole.weight <= LARGEST_WEIGHT)))
        by_row, starts = self.scale, self.units.starts
        if by_row is not None and starts is not None:
            by_row = np.repeat(by_row, np.diff(starts))
        with np.errstate(invalid="ignore", over="ignore"):
            shown = self.line.scaled(whole.weight if by_row is None else whole.weight * by_row)
        if beyond or shown is not whole.weight:
            bad = self.rows.usable & ~(shown <= LARGEST_WEIGHT)
            self.rows.refuse(f"policy {name!r}", faults.WEIGHT_OVERFLOW, bad, shown)
        return whole

    def scaled(self, values: FloatArray) -> FloatArray:
        """A number a unit, times how many it stands for."""
        return values if self.scale is None else values * self.scale

    def terms(self, pieces: Pieces) -> FloatArray:
        """The number of each row; the last few are kept, since several statistics ask for the same."""
        key = pieces, self.outcome
        if key not in self._terms:
            if len(self._terms) >= KEPT_TERMS:
                self._terms.clear()
            self._terms[key] = self.judged.terms(*ends_of(pieces, self.weights))
        return self._terms[key]

    def padding(self, pieces: Iterable[Piece], weights: Mapping[str, Weights] | None = None) -> End:
        """What stands for each row that a unit lacks: one that earned nothing."""
        of = self.weights if weights is None and self.units.multiplies else weights or {}
        after = {policy: self.units.after(of.get(policy)) for policy, *_ in pieces}
        return cast(End, ends_of(pieces, after)[0])

    @cached_property
    def overstated(self) -> FloatArray:
        """The relative excess of the propensities of each unit over their entries in production's vectors."""
        return np.zeros(self.units.count) if self.shares is None else self.units.combined(self.decisions.overstated())

    def predictions_for(self, policy: str) -> tuple[FloatArray, FloatArray] | None:
        """What the model expects of the logged action, and of the policy's own choice."""
        if self.predicted is None:
            return None
        vectors = self.policies[policy].vectors
        if vectors is None:
            raise UsageError(
                f"policy {policy!r} must be given as a vector over actions: a reward model judges what it would have done."
            )
        differ = vectors.lengths != self.predicted.lengths
        if differ.any():
            raise LogsError(
                f"the reward model predicts for {self.predicted.lengths[differ][0]} actions where policy {policy!r} has "
                f"{vectors.lengths[differ][0]}, first in row {self.rows.numbered[differ][0]:,}; they must list the same."
            )
        chosen = vectors.fold(np.add, vectors.values * self.predicted.values, empty=0.0)
        return self.predicted.at(self.decisions.taken), chosen
