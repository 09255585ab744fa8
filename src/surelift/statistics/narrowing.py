"""The components that a control adds to the plain ones, which keep a share of the prior: a useless control costs little."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from surelift.controls import MaxWeightControl, ScoreControl, WeightControl
from surelift.controls.weights import CAP, GROWTH
from surelift.grids import Grid
from surelift.logs.decisions import Limits
from surelift.quantities import Quantity
from surelift.statistics.plan import Component, Needed

Narrowing = Callable[[Needed, Grid], Needed]
"""Puts the components of a control beside the plain ones on a grid."""

MODEL_SHARES = (0.5, 1.0)
# A good judge is leaned on, and constants help where rewards are frequent.
SCORE_PRIOR = {
    ScoreControl(1.0, 0.0, True): 0.4, ScoreControl(0.5, 0.0, True): 0.1,
    ScoreControl(1.0, 0.0, False): 0.05, ScoreControl(0.5, 0.0, False): 0.05,
}  # fmt: skip
# In units of an average weight, or of what a term can fall by: a control capped below this hardly narrows a bound.
SMALLEST_CAP = 1.2


def by_weights(quantity: Quantity) -> Narrowing:
    """Half of the prior on shares of the weights."""
    return partial(_beside_capped, quantity, ((quantity.control_shares, False, 0.5),))


def by_model(quantity: Quantity) -> Narrowing:
    """A quarter of the prior on shares of what a reward model predicts, a quarter on constant ones."""
    return partial(_beside_capped, quantity, ((MODEL_SHARES, True, 0.25), (quantity.control_shares, False, 0.25)))


def _beside_capped(
    quantity: Quantity, families: Iterable[tuple[tuple[float, ...], bool, float]], plain: Needed, grid: Grid
) -> Needed:
    """Families of controls: their shares, alike, whether a model predicts, and their part of the prior."""
    parts = list[Component]()
    for shares, predicted, mass in families:
        for beta, prior in zip(grid.smoothings, grid.prior, strict=True):
            cap, offset = quantity.control_caps(CAP / beta, plain.offset)
            for share in shares:
                control = WeightControl(share, cap, predicted)
                parts.append(Component(GROWTH * beta, offset, mass * prior / len(shares), control))
    return _beside(plain, parts)


def _beside(plain: Needed, controlled: Iterable[Component]) -> Needed:
    halved = [part._replace(prior=part.prior / 2.0) for part in plain.components]
    return replace(plain, components=(*halved, *controlled))


def automatic(quantity: Quantity) -> Narrowing:
    """The same grid with control, with the prior of the quantity."""
    shares = zip(quantity.control_shares, quantity.control_prior, strict=True)
    return partial(_where_caps_allow, {WeightControl(share, 0.0): mass for share, mass in shares}, quantity)


def by_score(plain: Needed, grid: Grid) -> Needed:
    """Shares of what a score predicts, and a few constant ones."""
    return _where_caps_allow(SCORE_PRIOR, None, plain, grid)


def _where_caps_allow(masses: Mapping[Any, float], quantity: Quantity | None, plain: Needed, grid: Grid) -> Needed:
    """The plain components, and controls with their parts of the prior wherever the cap leaves something to take off."""
    rest, parts = 1.0 - sum(masses.values()), list[Component]()
    for part, beta, prior in zip(plain.components, grid.smoothings, grid.prior, strict=True):
        if CAP / beta < SMALLEST_CAP * (plain.offset or 1.0):
            parts.append(part)
            continue
        parts.append(part._replace(prior=rest * prior))
        caps = CAP / beta, CAP / beta
        cap, offset = caps if quantity is None else quantity.control_caps(CAP / beta, plain.offset)
        for control, mass in masses.items():
            parts.append(Component(GROWTH * beta, offset, mass * prior, replace(control, cap=cap)))
    return replace(plain, components=tuple(parts))


def by_max_weight(quantity: Quantity, candidate: str, limits: Mapping[str, Limits]) -> Narrowing:
    """The same grid with shares of the weights minus 1 taken off, as large as a nonnegative factor allows."""

    def narrow(plain: Needed, grid: Grid) -> Needed:
        # Shares that were cut to the same are one component, with the prior of both.
        merged = dict[Component, float]()
        for beta, prior in zip(grid.smoothings, grid.prior, strict=True):
            wanted, _ = quantity.control_caps(CAP / beta, plain.offset)
            for share in quantity.control_shares:
                shares = {name: float(part) for name, part in quantity.subtracted(candidate, share, None).items()}
                largest = max(part * limits[name].rise for name, part in shares.items())
                scale = 1.0 if largest <= wanted else wanted / largest
                scaled = {name: scale * part for name, part in shares.items()}
                offset = quantity.offset_without(candidate, scaled, limits)
                # As if the factor were 1 + beta phi: its smoothing depends on how far phi can fall.
                smoothing = beta / (1.0 - min(beta * offset, CAP))
                alike = Component(smoothing, offset, 0.0, MaxWeightControl(tuple(scaled.items())))
                merged[alike] = merged.get(alike, 0.0) + 0.5 * prior / len(quantity.control_shares)
        return _beside(plain, (part._replace(prior=prior) for part, prior in merged.items()))

    return narrow
