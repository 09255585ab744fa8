"""What production decided, as numbers that do not tell how a log came to know them; policies answer in the same terms."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from surelift import capabilities
from surelift.arrays import FloatArray, IntArray
from surelift.errors import UsageError
from surelift.kernels.columns import count_outside
from surelift.logs import faults
from surelift.logs.densities import Density
from surelift.logs.rows import Rows
from surelift.logs.vectors import Vectors


@dataclass(frozen=True, slots=True)
class Limits:
    """How far importance weights can fall below 1 and rise above it, for any context and action."""

    drop: float = 1.0  # more if they can be negative, as those of additive slates
    rise: float = math.inf


@dataclass(frozen=True, slots=True)
class Probabilities:
    """A policy's probabilities of the logged actions and, if known, of every action; never overstated by rounding."""

    logged: FloatArray
    vectors: Vectors | None = None
    known_excess: FloatArray | None = None  # the importance weights minus 1, if known more accurately than by division
    short_of_one: float = 0.0  # the most by which its vectors fall short of a sum of 1

    def excess(self, propensity: FloatArray) -> FloatArray:
        if self.known_excess is not None:
            return self.known_excess
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return (self.logged - propensity) / propensity


@dataclass(slots=True)
class Decisions:
    rows: Rows
    propensity: FloatArray
    action: IntArray | None = None
    continuous: FloatArray | None = None  # the logged action, if actions are continuous
    subject: str = "the logged action"
    labels: tuple[Any, ...] | None = None  # those of the actions, where they were declared
    counts: FloatArray | None = None  # how many actions there were to choose from, where that was declared
    logging: Vectors | None = None  # production's whole distributions, as they were logged
    shares: Vectors | None = None  # the same, scaled to sum to 1
    largest: float = 1.0  # what a probability can be: 1, or anything for a density
    density: Density | None = None  # that of production, where its parameters are known
    embed: Callable[[Vectors], Vectors] | None = None
    """Turns probabilities of actions into those of their embeddings, where these take the place of actions."""
    by_action: "Decisions | None" = None  # the same decisions by single actions, where embeddings take their place
    aside: Any = None  # what a trait keeps for a test of its own

    def single(self, values: FloatArray, tolerance: float, subject: str) -> Probabilities:
        if self.embed is not None:
            raise UsageError(
                f"{subject} must be given as a vector over actions: an embedding adds up the probabilities of all of them."
            )
        if math.isinf(self.largest):
            self.rows.refuse(subject, faults.NEGATIVE, values < 0, values)
            return Probabilities(values)
        self.rows.refuse_outside(subject, faults.PROBABILITY, values, 0.0, 1.0 + tolerance)
        return Probabilities(values if not count_outside(values, 0.0, 1.0) else np.minimum(values, 1.0))

    def vector(self, vectors: Vectors, subject: str) -> Probabilities:
        source = self.by_action or self
        if math.isinf(source.largest):
            capabilities.check(frozenset({"policy over all actions", "density"}), {"policy over all actions": subject})
        if source.action is None:
            raise UsageError(
                f"{subject} covers every action, so the logs must say which action was taken: name it in action=, as a "
                "position counted from 0 or as a label of actions=[...]. A column of the probability of the logged action "
                "alone is given by its name, not in a list."
            )
        # A vector that sums to slightly more than 1 overstates its entries by that much.
        shares = source.check_distribution(vectors, subject).normalised(only_down=True)
        short = float(np.maximum(1.0 - shares.sums(), 0.0).max(initial=0.0))
        if self.embed is not None:
            shares = self.embed(shares)
        return Probabilities(shares.at(self.taken), shares, short_of_one=short)

    @property
    def taken(self) -> IntArray:
        assert self.action is not None
        return self.action

    def available(self, subject: str) -> FloatArray:
        if self.logging is not None:
            return self.logging.lengths.astype(np.float64)
        if self.counts is None:
            raise UsageError(
                f"{subject} needs to know how many actions were available: declare actions=[...], logging= or action_count= "
                "(a number, or a column if it varies)."
            )
        return self.counts

    def check_distribution(self, vectors: Vectors, subject: str) -> Vectors:
        rows, usable = self.rows, self.rows.usable.copy()
        if (vectors.values < 0).any():
            smallest = vectors.fold(np.minimum, vectors.values, empty=0.0)
            rows.refuse(subject, faults.PROBABILITY, usable & (smallest < 0), smallest)
        sums = vectors.sums()
        rows.refuse(subject, faults.VECTOR_SUM, usable & (np.abs(sums - 1.0) > vectors.tolerance), sums)
        self.check_layout(vectors, subject)
        return vectors

    def check_layout(self, vectors: Vectors, subject: str) -> None:
        """Check that each vector is as long as production's, and contains the logged action."""
        counts, reason = cast("Any", self.counts), faults.VECTOR_DECLARED
        if self.logging is not None:
            counts, reason = self.logging.lengths, faults.VECTOR_LENGTH
        if counts is not None:
            self.rows.refuse(subject, reason, self.rows.usable & (counts != vectors.lengths), vectors.lengths)
        if self.action is not None:
            self.check_positions(self.action, self.subject, vectors.lengths)

    def positions(self, name: str, subject: str) -> IntArray:
        positions = self.rows.positions(name, subject, self.labels)
        if self.logging is not None or self.counts is not None:
            self.check_positions(positions, subject, self.available(subject))
        return positions

    def check_positions(self, positions: IntArray, subject: str, limit: FloatArray | IntArray) -> None:
        outside = (positions < 0) | (positions >= limit)
        self.rows.refuse(subject, faults.ACTION_POSITION, self.rows.usable & outside, positions)

    def overstated(self) -> FloatArray:
        """The relative excess of each propensity over its entry in production's vector."""
        assert self.shares is not None
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.maximum(self.propensity / self.shares.at(self.taken) - 1.0, 0.0)

    def density_at(self, density: Density, subject: str) -> FloatArray:
        assert self.continuous is not None
        with np.errstate(all="ignore"):
            values = density.at(self.continuous, lambda name: self.rows.numbers(name, f"{subject}, column {name!r}")[0])
        self.rows.check_finite(values, subject)
        return values

    def chance_below(self, density: Density, edge: FloatArray) -> FloatArray:
        """The probability of an action below ``edge``; its columns were looked through when the density was read."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return density.below(edge, lambda name: self.rows.plain_numbers(name).values)
