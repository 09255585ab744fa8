"""How a question is to be answered: a bound, and the options it uses."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from surelift.arrays import FloatArray
from surelift.bounds import BOUNDS
from surelift.errors import UsageError, is_number
from surelift.grids import Grid
from surelift.policies import Policy
from surelift.quantities import Quantity
from surelift.statistics import LogSumKey, Sums, Term, offset_of, plan_term

CONTROLS = ("auto", "none")
_DEFAULTS: dict[str, Any] = {"grid": "anytime", "smoothing": None}


@dataclass(frozen=True, slots=True)
class Method:
    name: str
    control: str
    options: Mapping[str, Any]

    @property
    def any_looks(self) -> bool:
        """Whether the answer holds however often one looks, rather than at one look."""
        return self._grid(paired=False, offset=0.0, count=lambda: 1).any_looks

    def plan(
        self, candidate: str, quantity: Quantity, *, policies: Mapping[str, Policy], count: Callable[[], int]
    ) -> Term:
        """What to add up to bound a quantity: nothing where it is surely zero."""
        offset = offset_of(candidate, quantity, policies)
        if quantity.paired and offset == 0.0:
            return Term(candidate, quantity, ())
        grid = self._grid(paired=quantity.paired, offset=offset, count=count)
        return plan_term(candidate, quantity, policies=policies, grid=grid)

    def lower_bound(self, sums: Sums, term: Term, *, delta: float) -> float:
        if not term.components:
            return 0.0
        bound = BOUNDS[self.name].lower_bound
        return bound(log_sums_of(sums, term), term.components, rounds=sums.units, delta=delta)

    def describe(self) -> dict[str, Any]:
        options = {name: value.describe() if isinstance(value, Grid) else value for name, value in self.options.items()}
        return {"method": self.name, "control": self.control, **options}

    def _grid(self, *, paired: bool, offset: float, count: Callable[[], int]) -> Grid:
        return BOUNDS[self.name].choose_grid(**self.options, paired=paired, offset=offset, count=count)


def choose_method(name: str, *, control: str, **options: Any) -> Method:
    """Check the options against the method: one that it does not use is an error, not a silence."""
    if name not in BOUNDS:
        raise UsageError(f"no method {name!r}; the methods are {', '.join(BOUNDS)}.")
    if control not in CONTROLS:
        raise UsageError(f"no control {control!r}; the controls are {', '.join(CONTROLS)}.")
    used = BOUNDS[name].options
    for option, value in options.items():
        if option not in used and value != _DEFAULTS[option]:
            raise UsageError(f"method {name!r} does not use {option}=; it uses {', '.join(sorted(used))}.")
    if isinstance(options["grid"], Mapping):
        options["grid"] = Grid.from_description(options["grid"])
    method = Method(name, "none", {option: value for option, value in options.items() if option in used})
    assert method.any_looks in (True, False)  # builds the grid once, so that a wrong option is refused before reading
    return method


def log_sums_of(sums: Sums, term: Term) -> FloatArray:
    return np.array([sums.log_sums[LogSumKey(term.candidate, term.quantity, part)] for part in term.components])


def check_delta(delta: float) -> float:
    if not (is_number(delta) and 0.0 < delta < 1.0):
        raise UsageError(f"delta, the chance of being wrong, must lie strictly between 0 and 1, but is {delta!r}.")
    return float(delta)


def check_margin(margin: float) -> float:
    if not (is_number(margin) and abs(margin) < float("inf")):
        raise UsageError(f"margin must be a finite number, but is {margin!r}.")
    return float(margin)
