"""Candidates over continuous actions: a density, a declared discretisation of one, or a kernel around one action."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from surelift.arrays import FloatArray
from surelift.errors import UsageError, is_number, positive
from surelift.logs import faults
from surelift.logs.batch import Needs
from surelift.logs.decisions import Decisions, Probabilities
from surelift.logs.densities import DENSITIES, Density, density_from
from surelift.policies.policy import Policy, Reader, Singles
from surelift.traits.logs import Logs

CONTINUOUS = frozenset({"policy over continuous actions"})


@dataclass(frozen=True, slots=True)
class DensityReader(Reader):
    """A candidate's density at the logged actions; its importance weights are exact."""

    density: Density
    features = CONTINUOUS

    def needs(self, logs: Logs) -> Needs:
        logs.require_columns(self.density.columns(), role="a density")
        return Needs(read=self.density.columns())

    def read(self, decisions: Decisions, subject: str) -> Singles:
        values = decisions.density_at(self.density, subject)
        decisions.rows.hashes.mix(values)
        return Singles(values, 0.0)

    def describe(self) -> dict[str, Any]:
        return self.density.describe()


@dataclass(frozen=True, slots=True)
class Binned(Policy):
    """A candidate that samples a bin like ``of``, then an action within the bin like production: weights of bins.

    ``of`` is a density, or the column of a deterministic candidate's action.
    """

    of: Density | str
    edges: tuple[float, ...]
    features = CONTINUOUS | {"binned policy"}

    @property
    def assumes(self) -> tuple[str, ...]:
        return (f"it chooses among {len(self.edges) + 1} bins fixed in advance, and acts like production within a bin",)

    def needs(self, logs: Logs) -> Needs:
        columns = (self.of,) if isinstance(self.of, str) else self.of.columns()
        logs.require_columns(columns, role="a discretisation")
        return Needs(read=columns)

    def probabilities(self, decisions: Decisions, subject: str) -> Probabilities:
        rows, action, production = decisions.rows, decisions.continuous, decisions.density
        assert action is not None
        assert production is not None
        ends = np.array([-math.inf, *self.edges, math.inf])
        bin_index = np.searchsorted(self.edges, action, side="right")
        low, high = ends[bin_index], ends[bin_index + 1]

        def mass_of(density: Density) -> FloatArray:
            below = decisions.chance_below(density, low)
            return np.maximum(decisions.chance_below(density, high) - below, 0.0)

        if isinstance(self.of, str):
            column, _ = rows.numbers(self.of, f"{subject}, column {self.of!r}")
            chosen: FloatArray = ((column >= low) & (column < high)).astype(np.float64)
        else:
            rows.hashes.mix(decisions.density_at(self.of, subject))
            chosen = mass_of(self.of)
        mass = mass_of(production)
        rows.refuse(subject, faults.DENSITY, rows.usable & ~(mass > 0.0), mass)
        with np.errstate(invalid="ignore", divide="ignore"):
            logged = np.where(mass > 0.0, chosen / mass, 0.0) * decisions.propensity
        return decisions.single(logged, 0.0, subject)

    def describe(self) -> dict[str, Any]:
        of = self.of if isinstance(self.of, str) else self.of.describe()
        return {"kind": "binned", "edges": list(self.edges), "binned": of}


@dataclass(frozen=True, slots=True)
class Kernel(Policy):
    """A deterministic candidate, smoothed over nearby actions: an estimate of its value, with a bias."""

    column: str
    bandwidth: float
    kind = "kernel"
    features = CONTINUOUS

    @property
    def doubts(self) -> tuple[str, ...]:
        return (
            f"smoothed by a Gaussian kernel of bandwidth {self.bandwidth:g}, whose bias is unknown: an estimate of the "
            "deterministic policy, never certified",
        )

    def needs(self, logs: Logs) -> Needs:
        logs.require_columns(self.column, role="a kernel", single=True)
        return Needs(read=(self.column,))

    def probabilities(self, decisions: Decisions, subject: str) -> Probabilities:
        assert decisions.continuous is not None
        column, _ = decisions.rows.numbers(self.column, f"{subject}, column {self.column!r}")
        with np.errstate(invalid="ignore", under="ignore"):
            z = (decisions.continuous - column) / self.bandwidth
            values = np.exp(-0.5 * z * z) / (math.sqrt(2.0 * math.pi) * self.bandwidth)
        return decisions.single(np.where(np.isfinite(values), values, 0.0), 0.0, subject)


def binned(of: Any, edges: Any) -> Binned:
    """A candidate over bins of a continuous action, as a declared discretisation.

    Args:
        of: A density, or the column of a deterministic candidate's action.
        edges: Where one bin ends and the next begins, fixed in advance.
    """
    wrong = "" if isinstance(of, (str, *DENSITIES)) else f"takes a density or a column, not a {type(of).__name__}"
    try:
        ends = tuple(map(float, edges))
    except (TypeError, ValueError):
        ends = ()
    if not ends or not all(map(math.isfinite, ends)) or any(low >= high for low, high in pairwise(ends)):
        wrong = wrong or "takes edges that are one or more ascending numbers"
    if wrong:
        raise UsageError(f"binned {wrong}.")
    return Binned(of, ends)


def kernel(column: str, bandwidth: float) -> Kernel:
    """A deterministic candidate, estimated with a kernel around its action; it is never certified.

    Args:
        column: The column of the action that it would take.
        bandwidth: The width of the kernel, in the units of the action.
    """
    if not isinstance(column, str):
        raise UsageError("a kernel is centred on the action in a column; name that column.")
    return Kernel(column, positive("bandwidth", bandwidth))


def binned_from(description: Mapping[str, Any]) -> Binned:
    of = description["binned"]
    if not all(map(is_number, description["edges"])):
        raise ValueError("edges must be numbers")
    return binned(of if isinstance(of, str) else density_from(of), description["edges"])
