"""Candidates over continuous actions: a density, a declared discretisation of one, a kernel around one action."""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from surelift.arrays import FloatArray
from surelift.errors import UsageError, is_number, positive
from surelift.logs import faults
from surelift.logs.batch import Needs
from surelift.logs.densities import DENSITIES, Density, density_from
from surelift.logs.logs import Logs
from surelift.logs.rounds import Rounds
from surelift.policies.policy import Limits, Probabilities, single_probabilities
from surelift.policies.readers import Singles


def require_continuous(logs: Logs, subject: str) -> None:
    if not logs.declaration.density or logs.declaration.action is None:
        raise UsageError(
            f"{subject} is about continuous actions: say density=True, and name the column of the action that was taken in "
            "action=."
        )


@dataclass(frozen=True, slots=True)
class DensityReader:
    """The density of a candidate at the actions that were taken: its weights are exact."""

    density: Density

    def needs(self, logs: Logs) -> Needs:
        require_continuous(logs, "a density")
        logs.require_columns(self.density.columns(), role="a density")
        return Needs(read=self.density.columns())

    def read(self, rounds: Rounds, subject: str) -> Singles:
        values = rounds.density_at(self.density, subject)
        rounds.hashes.mix(values)
        return Singles(values, 0.0)

    def describe(self) -> dict[str, Any]:
        return self.density.describe()


@dataclass(frozen=True, slots=True)
class Binned:
    """A candidate that draws a bin as ``of`` does, and inside it acts as production does: its weights are those of bins.

    ``of`` is a density, or the column of the action that a deterministic candidate would take.
    """

    of: Density | str
    edges: tuple[float, ...]
    limits: Limits = Limits()

    @property
    def assumes(self) -> tuple[str, ...]:
        return (
            f"it chooses among {len(self.edges) + 1} bins fixed beforehand, and inside a bin acts as production does",
        )

    def needs(self, logs: Logs) -> Needs:
        require_continuous(logs, "a discretisation")
        if not isinstance(logs.declaration.propensity, DENSITIES):
            raise UsageError(
                "a discretisation must know how likely production's bins are: give its density in propensity=, one of "
                "surelift.densities, instead of a column."
            )
        columns = (self.of,) if isinstance(self.of, str) else self.of.columns()
        logs.require_columns(columns, role="a discretisation")
        return Needs(read=columns)

    def probabilities(self, rounds: Rounds, subject: str) -> Probabilities:
        action, production = rounds.continuous, rounds.declaration.propensity
        assert action is not None
        assert isinstance(production, DENSITIES)
        ends = np.array([-math.inf, *self.edges, math.inf])
        place = np.searchsorted(self.edges, action, side="right")
        low, high = ends[place], ends[place + 1]
        if isinstance(self.of, str):
            column, _ = rounds.numbers(self.of, f"{subject}, column {self.of!r}")
            chosen: FloatArray = ((column >= low) & (column < high)).astype(np.float64)
        else:
            rounds.hashes.mix(rounds.density_at(self.of, subject))
            chosen = self._mass(rounds, self.of, low, high)
        mass = self._mass(rounds, production, low, high)
        rounds.refuse(subject, faults.DENSITY, rounds.usable & ~(mass > 0.0), mass)
        with np.errstate(invalid="ignore", divide="ignore"):
            logged = np.where(mass > 0.0, chosen / mass, 0.0) * rounds.propensity
        return single_probabilities(rounds, logged, 0.0, subject)

    @staticmethod
    def _mass(rounds: Rounds, density: Density, low: FloatArray, high: FloatArray) -> FloatArray:
        below = [rounds.chance_below(density, edge) for edge in (low, high)]
        return np.maximum(below[1] - below[0], 0.0)

    def describe(self) -> dict[str, Any]:
        of = self.of if isinstance(self.of, str) else self.of.describe()
        return {"kind": "binned", "edges": list(self.edges), "binned": of}


@dataclass(frozen=True, slots=True)
class Kernel:
    """A deterministic candidate, smeared over the actions near its own: an estimate of its value, with a bias."""

    column: str
    bandwidth: float
    limits: Limits = Limits()

    @property
    def doubts(self) -> tuple[str, ...]:
        return (
            f"smoothed by a Gaussian kernel of bandwidth {self.bandwidth:g}, whose bias is not known: an estimate of the "
            "deterministic policy, never certified",
        )

    def needs(self, logs: Logs) -> Needs:
        require_continuous(logs, "a kernel")
        logs.require_columns(self.column, role="a kernel", single=True)
        return Needs(read=(self.column,))

    def probabilities(self, rounds: Rounds, subject: str) -> Probabilities:
        assert rounds.continuous is not None
        column, _ = rounds.numbers(self.column, f"{subject}, column {self.column!r}")
        with np.errstate(invalid="ignore", under="ignore"):
            z = (rounds.continuous - column) / self.bandwidth
            values = np.exp(-0.5 * z * z) / (math.sqrt(2.0 * math.pi) * self.bandwidth)
        return single_probabilities(rounds, np.where(np.isfinite(values), values, 0.0), 0.0, subject)

    def describe(self) -> dict[str, Any]:
        return {"kind": "kernel", "column": self.column, "bandwidth": self.bandwidth}


def binned(of: Any, edges: Any) -> Binned:
    """A density, or the column of a deterministic candidate's action, over bins between ``edges`` fixed beforehand."""
    if not isinstance(of, (str, *DENSITIES)):
        raise UsageError(f"a discretisation is of a density or of a column, not of a {type(of).__name__}.")
    try:
        found = tuple(float(edge) for edge in edges)
    except (TypeError, ValueError) as error:
        raise UsageError("the edges of bins are numbers that ascend, one or more.") from error
    if not found or not all(map(math.isfinite, found)) or any(not low < high for low, high in pairwise(found)):
        raise UsageError("the edges of bins are numbers that ascend, one or more.")
    return Binned(of, found)


def kernel(column: str, bandwidth: float) -> Kernel:
    """A deterministic candidate by the column of its action, to be estimated with a kernel; it is never certified."""
    if not isinstance(column, str):
        raise UsageError("a kernel lies around the action in a column; name it.")
    return Kernel(column, positive("bandwidth", bandwidth))


def binned_from(description: dict[str, Any]) -> Binned:
    of = description["binned"]
    if not all(is_number(edge) for edge in description["edges"]):
        raise ValueError("edges that are no numbers")
    return binned(of if isinstance(of, str) else density_from(of), description["edges"])
