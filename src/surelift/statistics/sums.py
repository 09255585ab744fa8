"""``Sums``: what one pass over the rounds leaves behind, enough for every answer and small enough to send."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from surelift.arrays import FloatArray
from surelift.logs.faults import Fault, Tally, merge_tallies
from surelift.logs.fingerprint import Fingerprint
from surelift.quantities import Quantity
from surelift.statistics.efron_stein import Proxies
from surelift.statistics.plan import MEAN, SQUARES, Component, Moment, Needed, Plan, Term


class LogSumKey(NamedTuple):
    candidate: str
    quantity: Quantity
    component: Component


class MomentKey(NamedTuple):
    candidate: str
    quantity: Quantity
    moment: Moment


class ResampleKey(NamedTuple):
    candidate: str
    quantity: Quantity


@dataclass(frozen=True, slots=True)
class WeightSums:
    """The health of one policy's weights: their sum, sum of squares, largest, and the mass production cannot reach."""

    total: float = 0.0
    squares: float = 0.0
    largest: float = 0.0
    unsupported: float | None = 0.0
    """Summed probability of actions that production could not play; None where the vectors are not known."""

    def __add__(self, other: "WeightSums") -> "WeightSums":
        unknown = self.unsupported is None or other.unsupported is None
        return WeightSums(
            self.total + other.total,
            self.squares + other.squares,
            max(self.largest, other.largest),
            None if unknown else (self.unsupported or 0.0) + (other.unsupported or 0.0),
        )


@dataclass(frozen=True, slots=True)
class LoggingSums:
    """What production itself did: its rewards, on [0, 1], and its smallest propensity."""

    rewards: float = 0.0
    smallest_propensity: float = float("inf")
    largest_slack: float = 0.0
    """By how much, relatively, a propensity exceeded its entry in the vector, where control used the vectors."""
    smallest_keep: float = float("inf")
    """Of the probabilities with which rounds were kept, where there are any; so is the next."""
    largest_keep: float = 0.0

    def __add__(self, other: "LoggingSums") -> "LoggingSums":
        return LoggingSums(
            self.rewards + other.rewards,
            min(self.smallest_propensity, other.smallest_propensity),
            max(self.largest_slack, other.largest_slack),
            min(self.smallest_keep, other.smallest_keep),
            max(self.largest_keep, other.largest_keep),
        )


@dataclass(frozen=True, slots=True)
class TermSums:
    """All that was added up for one term: what a bound or an estimate is made from."""

    rounds: int
    needed: Needed
    log_sums: FloatArray
    """In the order of the components."""
    moments: Mapping[Moment, float]
    resamples: FloatArray | None
    """For each resample its sum of terms and its number of rounds, (2, resamples)."""
    weights: WeightSums
    proxies: Proxies | None

    def mean(self, moment: Moment) -> float:
        return self.moments[moment] / self.rounds


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums over rounds. They add up: over batches, files, machines and days."""

    rows: int = 0
    """Rows that were read, fit or not."""
    units: int = 0
    """The n of the bounds: rounds that entered them."""
    log_sums: Mapping[LogSumKey, float] = field(default_factory=dict)
    moments: Mapping[MomentKey, float] = field(default_factory=dict)
    resamples: Mapping[ResampleKey, FloatArray] = field(default_factory=dict)
    weights: Mapping[str, WeightSums] = field(default_factory=dict)
    logging: LoggingSums = LoggingSums()
    invalid: Mapping[Fault, Tally] = field(default_factory=dict)
    fingerprint: Fingerprint = Fingerprint()
    proxies: Mapping[str, Proxies] = field(default_factory=dict)
    """The one thing that does not add up: known only where the whole log was read in its order."""

    def __add__(self, other: "Sums") -> "Sums":
        if self.rows == 0:
            return other
        if other.rows == 0:
            return self
        if self.log_sums.keys() != other.log_sums.keys() or self.moments.keys() != other.moments.keys():
            raise ValueError("cannot add sums made for different plans: their candidates, components or moments differ")
        if self.proxies or other.proxies:
            raise ValueError("what the Efron-Stein bound needs does not add up; collect it from the whole log")
        return Sums(
            rows=self.rows + other.rows,
            units=self.units + other.units,
            log_sums={key: total + other.log_sums[key] for key, total in self.log_sums.items()},
            moments={key: total + other.moments[key] for key, total in self.moments.items()},
            resamples={key: totals + other.resamples[key] for key, totals in self.resamples.items()},
            weights={name: sums + other.weights[name] for name, sums in self.weights.items()},
            logging=self.logging + other.logging,
            invalid=merge_tallies(self.invalid, other.invalid),
            fingerprint=self.fingerprint + other.fingerprint,
        )

    def of(self, term: Term) -> TermSums:
        candidate, quantity, needed = term.candidate, term.quantity, term.needed
        return TermSums(
            rounds=self.units,
            needed=needed,
            log_sums=np.array([self.log_sums[LogSumKey(candidate, quantity, part)] for part in needed.components]),
            moments={key.moment: total for key, total in self.moments.items() if key[:2] == (candidate, quantity)},
            resamples=self.resamples.get(ResampleKey(candidate, quantity)),
            weights=self.weights[candidate],
            proxies=self.proxies.get(candidate),
        )


def nothing(plan: Plan) -> Sums:
    """The sums of a plan over no round at all."""
    return Sums(
        log_sums={
            LogSumKey(term.candidate, term.quantity, component): 0.0
            for term in plan.terms
            for component in term.needed.components
        },
        moments={
            MomentKey(term.candidate, term.quantity, moment): 0.0
            for term in plan.terms
            for moment in {MEAN, SQUARES, *term.needed.moments}
        },
        resamples={
            ResampleKey(term.candidate, term.quantity): np.zeros((2, term.needed.resamples))
            for term in plan.terms
            if term.needed.resamples
        },
        weights={name: WeightSums() for name in plan.policies},
    )
