"""The components that a control adds to the plain ones, which keep a share of the prior: a useless control costs little."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from surelift.controls import MaxWeightControl, ScoreControl, WeightControl
from surelift.controls.weights import CAP, GROWTH
from surelift.grids import Grid
from surelift.logs.decisions import Limits
from surelift.quantities import Quantity
from surelift.statistics.plan import Component, Needed

Narrowing = Callable[[Needed, Grid], Needed]
"""From the plain components on a grid to those of a control beside them."""

MODEL_SHARES = (0.5, 1.0)
# By whether the score predicts, and the share: a good judge is leaned on, and constants help where rewards are frequent.
SCORE_PRIOR = {(True, 1.0): 0.4, (True, 0.5): 0.1, (False, 1.0): 0.05, (False, 0.5): 0.05}
# In units of an average weight, or of what a term can fall by: a control capped below this hardly narrows a bound.
SMALLEST_CAP = 1.2


def by_weights(quantity: Quantity) -> Narrowing:
    """The same grid with control, its shares alike."""

    def narrow(plain: Needed, grid: Grid) -> Needed:
        return _beside(plain, _constants(quantity, plain, grid, mass=0.5))

    return narrow


def automatic(quantity: Quantity) -> Narrowing:
    """The same grid with control, with the prior of the quantity, where the cap leaves a control something to take off."""

    def narrow(plain: Needed, grid: Grid) -> Needed:
        smallest_cap = SMALLEST_CAP * (plain.offset or 1.0)
        rest, parts = 1.0 - sum(quantity.control_prior), list[Component]()
        for part, beta, prior in zip(plain.components, grid.smoothings, grid.prior, strict=True):
            capped = CAP / beta < smallest_cap
            parts.append(part if capped else replace(part, prior=rest * prior))
            if not capped:
                cap, offset = quantity.control_caps(CAP / beta, plain.offset)
                for share, mass in zip(quantity.control_shares, quantity.control_prior, strict=True):
                    parts.append(Component(GROWTH * beta, offset, mass * prior, WeightControl(share, cap)))
        return replace(plain, components=tuple(parts))

    return narrow


def by_model(quantity: Quantity) -> Narrowing:
    """A quarter of the prior on shares of what a reward model predicts, a quarter on constant ones."""

    def narrow(plain: Needed, grid: Grid) -> Needed:
        predicted = _capped(quantity, plain, grid, MODEL_SHARES, by_model=True, mass=0.25)
        return _beside(plain, predicted, _constants(quantity, plain, grid, mass=0.25))

    return narrow


def by_score(plain: Needed, grid: Grid) -> Needed:
    """Shares of what a score predicts, and a few constant ones, where the cap leaves a control something to take off."""
    smallest_cap = SMALLEST_CAP * (plain.offset or 1.0)
    rest, parts = 1.0 - sum(SCORE_PRIOR.values()), list[Component]()
    for part, beta, prior in zip(plain.components, grid.smoothings, grid.prior, strict=True):
        cap = CAP / beta
        if cap < smallest_cap:
            parts.append(part)
            continue
        parts.append(replace(part, prior=rest * prior))
        for (predicted, share), mass in SCORE_PRIOR.items():
            parts.append(Component(GROWTH * beta, cap, mass * prior, ScoreControl(share, cap, predicted)))
    return replace(plain, components=tuple(parts))


def by_max_weight(quantity: Quantity, candidate: str, limits: Mapping[str, Limits]) -> Narrowing:
    """The same grid with shares of the weights minus 1 taken off, as large as a nonnegative factor allows."""

    def components(plain: Needed, grid: Grid) -> Iterator[Component]:
        for beta, prior in zip(grid.smoothings, grid.prior, strict=True):
            wanted, _ = quantity.control_caps(CAP / beta, plain.offset)
            for share in quantity.control_shares:
                shares = {name: float(part) for name, part in quantity.taken_off(candidate, share, None).items()}
                largest = max(part * limits[name].rise for name, part in shares.items())
                scale = 1.0 if largest <= wanted else wanted / largest
                scaled = {name: scale * part for name, part in shares.items()}
                offset = quantity.offset_without(candidate, scaled, limits)
                # As if the factor were 1 + beta phi: its smoothing depends on how far phi can fall.
                smoothing = beta / (1.0 - min(beta * offset, CAP))
                control = MaxWeightControl(tuple(scaled.items()))
                yield Component(smoothing, offset, 0.5 * prior / len(quantity.control_shares), control)

    return lambda plain, grid: _beside(plain, _merged(components(plain, grid)))


def _merged(components: Iterator[Component]) -> Iterator[Component]:
    """Shares that were cut to the same are one component, with the prior of both."""
    merged: dict[Component, float] = {}
    for component in components:
        alike = replace(component, prior=0.0)
        merged[alike] = merged.get(alike, 0.0) + component.prior
    return (replace(alike, prior=prior) for alike, prior in merged.items())


def _constants(quantity: Quantity, plain: Needed, grid: Grid, *, mass: float) -> Iterator[Component]:
    return _capped(quantity, plain, grid, quantity.control_shares, by_model=False, mass=mass)


def _capped(
    quantity: Quantity, plain: Needed, grid: Grid, shares: tuple[float, ...], *, by_model: bool, mass: float
) -> Iterator[Component]:
    for beta, prior in zip(grid.smoothings, grid.prior, strict=True):
        cap, offset = quantity.control_caps(CAP / beta, plain.offset)
        for share in shares:
            yield Component(GROWTH * beta, offset, mass * prior / len(shares), WeightControl(share, cap, by_model))


def _beside(plain: Needed, *controlled: Iterator[Component]) -> Needed:
    halved = [replace(component, prior=component.prior / 2.0) for component in plain.components]
    return replace(plain, components=(*halved, *(part for parts in controlled for part in parts)))
