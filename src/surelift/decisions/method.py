"""How a question is to be answered: a bound, and the options it uses."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from surelift.bounds import BOUNDS, Bound
from surelift.bounds.bound import Promise
from surelift.controls import MaxWeightControl, WeightControl, models
from surelift.controls.model import CROSS_FITTED, RewardModel
from surelift.engines import known_distributions
from surelift.errors import UsageError, is_number
from surelift.grids import Grid
from surelift.logs.logs import Logs
from surelift.policies import Policy
from surelift.quantities import Quantity, Value
from surelift.quantities.regularizers import describe_regularizer
from surelift.statistics import Narrowing, Needed, Sums, Term, by_max_weight, by_model, by_weights, offset_of

CONTROLS = ("auto", "none", "weights", "model")
_DEFAULTS: dict[str, Any] = {"grid": "anytime"}
SMALLEST_CONTROLLED = 1e-6
LARGEST_WEIGHT_TRUE = "no policy gives an action more than its declared max_weight times production's chance of it"
_ASYMPTOTIC = "asymptotic: covers only in the limit of many rounds, and at one look"


@dataclass(frozen=True, slots=True)
class Method:
    name: str
    control: str
    model: RewardModel | None
    """What predicts rewards, where the control is a model."""
    options: Mapping[str, Any]

    @property
    def bound(self) -> Bound:
        return BOUNDS[self.name]

    @property
    def promise(self) -> Promise:
        """What it promises with these options."""
        if self.bound.promise != "any number of looks":
            return self.bound.promise
        return "any number of looks" if self.rehearse().any_looks else "one look"

    def known(self, logs: Logs, policies: Mapping[str, Policy]) -> frozenset[str]:
        """The policies that can be controlled: those whose whole distribution is known, if control is wanted."""
        if (
            logs.declaration.cluster is not None or logs.declaration.keep_probability is not None
        ) and not self.bound.any_units:
            able = ", ".join(name for name, bound in BOUNDS.items() if bound.any_units)
            raise UsageError(f"method {self.name!r} knows no clusters and no sampled rounds; use one of {able}.")
        if self.control == "none" or not self.bound.controls:
            return frozenset()
        found = known_distributions(logs, policies)
        limited = {name for name, policy in policies.items() if isfinite(policy.limits.rise)}
        unknown = sorted(set(policies) - found - (limited if self.control == "weights" else set()))
        if self.control != "auto" and unknown:
            raise UsageError(
                f"control={self.control!r} needs the whole distributions: production's in logging=, and policy "
                f"{unknown[0]!r} as a vector over actions."
            )
        return found

    def plan(
        self,
        candidate: str,
        quantity: Quantity,
        *,
        policies: Mapping[str, Policy],
        count: Callable[[], int],
        known: frozenset[str],
    ) -> Term:
        """What to add up to bound a quantity: nothing where it is surely zero."""
        if quantity.paired and not self.bound.paired:
            able = ", ".join(name for name, bound in BOUNDS.items() if bound.paired)
            raise UsageError(f"method {self.name!r} bounds values, not improvements; compare with one of {able}.")
        offset = offset_of(candidate, quantity, policies)
        if quantity.paired and offset == 0.0:
            return Term(candidate, quantity)
        narrowing = self._narrowing(candidate, quantity, offset, policies, known)
        used = {} if narrowing is None else {"narrowing": narrowing}
        return Term(candidate, quantity, self._needed(quantity=quantity, offset=offset, count=count, **used))

    def _narrowing(
        self, candidate: str, quantity: Quantity, offset: float, policies: Mapping[str, Policy], known: frozenset[str]
    ) -> Narrowing | None:
        if self.control == "none" or not self.bound.controls:
            return None
        if quantity.paired and offset < SMALLEST_CONTROLLED:
            return None  # a weight so close to 1 is lost in the rounding of its vector
        limits = {name: policies[name].limits for name in quantity.taken_off(candidate, 0.5, None)}
        if limits.keys() <= known:
            return by_weights(quantity) if self.model is None else by_model(quantity)
        if all(isfinite(one.rise) for one in limits.values()):
            return by_max_weight(quantity, candidate, limits)
        return None

    def lower_bound(self, sums: Sums, term: Term, *, delta: float) -> float:
        if _surely_zero(term):
            return 0.0
        # Where the vectors and the propensities differ a little, so does the production they are compared with.
        bound = self.bound.lower_bound(sums.of(term), delta=delta) - self.slack(sums, term)
        return max(bound, 0.0 - term.needed.offset)

    @staticmethod
    def slack(sums: Sums, term: Term) -> float:
        relies = term.quantity.paired or control_of(term) == "max-weight"
        return sums.logging.largest_slack if relies else 0.0

    def upper_bound(self, sums: Sums, term: Term, mirror: Term, *, most: float, delta: float) -> float:
        """From the quantity itself, or from what its mirror image, which adds up to ``most`` with it, surely has."""
        if self.bound.upper_bound is None or _surely_zero(term):
            return most - self.lower_bound(sums, mirror, delta=delta)
        own = sums.of(term)
        top = most if most > 0.0 else term.needed.offset
        upper = self.bound.upper_bound(own, delta=delta)
        # Above the range it says no more than the range does, unless the whole interval lies there.
        return upper if self.bound.lower_bound(own, delta=delta) > top else min(upper, top)

    @property
    def believes_contradictions(self) -> bool:
        """Whether an impossible answer speaks against the logs: the usual intervals give one on right logs too."""
        return self.bound.upper_bound is None

    def doubts(self, sums: Sums, term: Term, *, delta: float) -> tuple[str, ...]:
        """What keeps an answer of this method from being certified."""
        if self.bound.certifies or _surely_zero(term):
            return ()
        return (_ASYMPTOTIC,) if self.bound.remark is None else (self.bound.remark(sums.of(term), delta=delta),)

    def rehearse(self) -> Needed:
        """Plan once with nothing at stake, so that a wrong option is refused before anything is read."""
        return self._needed(quantity=Value(), offset=0.0, count=lambda: 1)

    def assumes(self, *terms: Term) -> tuple[str, ...]:
        """What has to be true for this bound, with the control that was used, beyond what every bound assumes."""
        used = control_of(*terms)
        if used == "model" and self.model is not None:
            return (*self.bound.assumes, self.model.assumes)
        return (*self.bound.assumes, LARGEST_WEIGHT_TRUE) if used == "max-weight" else self.bound.assumes

    def describe(self) -> dict[str, Any]:
        control = self.control if self.model is None else self.model.describe()
        return {"method": self.name, "control": control, **{k: _describe(v) for k, v in self.options.items()}}

    def _needed(self, *, quantity: Quantity, offset: float, count: Callable[[], int], **used: Narrowing) -> Needed:
        return self.bound.plan(**self.options, **used, quantity=quantity, offset=offset, count=count)


def control_of(*terms: Term) -> str:
    """The control that was used."""
    used = {part.control for term in terms for part in term.needed.components if part.control is not None}
    if any(isinstance(control, MaxWeightControl) for control in used):
        return "max-weight"
    if any(isinstance(control, WeightControl) and control.by_model for control in used):
        return "model"
    return "weights" if used else "none"


def _surely_zero(term: Term) -> bool:
    return term.quantity.paired and term.needed.offset == 0.0


def _describe(option: Any) -> Any:
    if isinstance(option, Grid):
        return option.describe()
    return option if option is None or isinstance(option, str | int | float) else describe_regularizer(option)


def choose_method(name: str, *, control: Any, **options: Any) -> Method:
    """Check the options against the method: one that it does not use is an error, not a silence."""
    if not isinstance(name, str) or name not in BOUNDS:
        raise UsageError(f"no method {name!r}; the methods are {', '.join(BOUNDS)}.")
    control, model = choose_control(control)
    options = {option: value.item() if isinstance(value, np.generic) else value for option, value in options.items()}
    used = BOUNDS[name].options
    for option, value in options.items():
        default = _DEFAULTS.get(option)
        if option not in used and not (value is default or (isinstance(value, str) and value == default)):
            uses = f"it uses {', '.join(used)}" if used else "it has no options"
            raise UsageError(f"method {name!r} does not use {option}=; {uses}.")
    if isinstance(options.get("grid"), Mapping):
        options["grid"] = Grid.from_description(options["grid"])
    if control not in ("auto", "none", *BOUNDS[name].controls):
        raise UsageError(f"method {name!r} knows no control={control!r}; use method='mixture'.")
    chosen = Method(name, control, model, {option: value for option, value in options.items() if option in used})
    chosen.rehearse()
    return chosen


def choose_control(control: Any) -> tuple[str, RewardModel | None]:
    """The name of a control, and the reward model where it is one."""
    if isinstance(control, str) and control in CONTROLS:
        return control, models.refitted() if control == "model" else None
    if isinstance(control, Mapping):
        return "model", models.from_description(control)
    if not models.is_model(control) and not callable(getattr(control, "fit", None)):
        raise UsageError(
            f"no control {control!r}; the controls are {', '.join(CONTROLS)}, or a reward model: an object with fit and "
            "predict, or one of surelift.models."
        )
    model: RewardModel = control if models.is_model(control) else models.refitted(control)
    if not model.predictable:
        raise UsageError(CROSS_FITTED)
    return "model", model


def check_delta(delta: float) -> float:
    if not (is_number(delta) and 0.0 < delta < 1.0):
        raise UsageError(f"delta, the chance of being wrong, must lie strictly between 0 and 1, but is {delta!r}.")
    return float(delta)


def check_margin(margin: float) -> float:
    if not (is_number(margin) and abs(margin) < float("inf")):
        raise UsageError(f"margin must be a finite number, but is {margin!r}.")
    return float(margin)
