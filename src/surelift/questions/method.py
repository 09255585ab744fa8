"""How a question is answered: a bound with its options, and what narrows it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from surelift.bounds import BOUNDS, Bound, BoundChoice, Promise
from surelift.bounds.mixture import centre
from surelift.controls import MaxWeightControl, ScoreControl, WeightControl
from surelift.controls.model import CROSS_FITTED, RewardModel
from surelift.errors import UsageError
from surelift.evidence import e_value
from surelift.logs.decisions import Limits
from surelift.quantities import Quantity
from surelift.statistics.narrowing import Narrowing, automatic, by_max_weight, by_model, by_weights
from surelift.statistics.narrowing import by_score as narrowed_by_score
from surelift.statistics.plan import Term
from surelift.statistics.sums import Sums

CONTROLS = ("auto", "none", "weights", "model", "score")
RATIOS, FORECAST = ("mixture", "logarithmic-smoothing"), ("mixture", "blocks")
"""The methods whose log sums serve ratios too, and those whose evidence can be forecast."""
SMALLEST_CONTROLLED = 1e-6
LARGEST_WEIGHT_TRUE = "no policy gives an action more than its declared max_weight times production's chance of it"
_ASYMPTOTIC = "asymptotic: covers only in the limit of many rounds, and at one look"


@dataclass(frozen=True, slots=True)
class Method:
    choice: BoundChoice
    control: str = "auto"
    model: RewardModel | None = None
    """What predicts rewards, where the control is a model."""

    @property
    def bound(self) -> Bound:
        return self.choice.bound

    @property
    def name(self) -> str:
        return self.bound.name

    @property
    def promise(self) -> Promise:
        return self.choice.promise

    @property
    def counts_rounds(self) -> bool:
        return self.choice.counts_rounds

    @property
    def wants_distributions(self) -> bool:
        return self.control != "none" and bool(self.bound.controls)

    @property
    def features(self) -> frozenset[str]:
        """What the table of capabilities knows it by."""
        named = {
            "weights": "control by weights", "model": "control by a reward model", "score": "control by the score",
        }  # fmt: skip
        lacking = {
            "blocks": self.bound.in_blocks, "method for values alone": not self.bound.paired,
            "method without e-values": not self.bound.certifies, "method without ratios": self.name not in RATIOS,
            "method without forecast": self.name not in FORECAST, "method without a mixture": self.name != "mixture",
        }  # fmt: skip
        found = {f"method {self.name!r}", *([named[self.control]] if self.control in named else [])}
        found.update(name for name, is_so in lacking.items() if is_so)
        return frozenset(found).union(self.choice.features, () if self.model is None else self.model.features)

    @property
    def called(self) -> Mapping[str, str]:
        """What it lacks is said of it by its name."""
        return {name: f"method {self.name!r}" for name in self.features if name.startswith("method ")}

    def check_known(self, limits: Mapping[str, Limits], known: frozenset[str]) -> None:
        """Refuse a control that was asked for where the distributions it needs are not known."""
        limited = {name for name, limit in limits.items() if isfinite(limit.rise)}
        unknown = sorted(set(limits) - known - (limited if self.control == "weights" else set()))
        if self.control in ("weights", "model") and unknown:
            raise UsageError(
                f"control={self.control!r} needs the whole distributions: production's in logging=, and policy "
                f"{unknown[0]!r} as a vector over actions."
            )

    def plan(
        self, candidate: str, quantity: Quantity, *, limits: Mapping[str, Limits], count: Callable[[], int],
        known: frozenset[str], by_score: bool = False,
    ) -> Term:  # fmt: skip
        """What to add up to bound a quantity: nothing where it is certain to be zero."""
        offset = quantity.offset(candidate, limits)
        if quantity.paired and offset == 0.0:
            return Term(candidate, quantity)
        narrowing: Narrowing | None
        if by_score:
            narrowing = narrowed_by_score if self.control != "none" and "score" in self.bound.controls else None
        else:
            narrowing = self._narrowing(candidate, quantity, offset, limits, known)
        used = {} if narrowing is None else {"narrowing": narrowing}
        needed = self.choice.plan(quantity=quantity, offset=offset, count=count, **used)
        names = quantity.taken_off(candidate, 0.5, None)
        smallest = tuple((name, quantity.counted_from(limits[name])) for name in names)
        return Term(candidate, quantity, replace(needed, smallest=smallest))

    def _narrowing(
        self, candidate: str, quantity: Quantity, offset: float, limits: Mapping[str, Limits], known: frozenset[str]
    ) -> Narrowing | None:
        if not self.wants_distributions:
            return None
        if quantity.paired and offset < SMALLEST_CONTROLLED:
            return None  # a weight so close to 1 is lost in the rounding of its vector
        limits = {name: limits[name] for name in quantity.taken_off(candidate, 0.5, None)}
        if limits.keys() <= known:
            if self.model is not None:
                return by_model(quantity)
            if self.control == "weights" or self.bound.in_blocks:
                return by_weights(quantity)
            return automatic(quantity)
        if all(isfinite(limit.rise) for limit in limits.values()):
            return by_max_weight(quantity, candidate, limits)
        return None

    def lower_bound(self, sums: Sums, term: Term, *, delta: float) -> float:
        if _certainly_zero(term):
            return 0.0
        # Where the vectors and the propensities differ a little, so does the production they are compared with.
        bound = self.bound.lower_bound(sums.of(term), delta=delta) - slack_of(sums, term)
        return max(bound, least_of(term))

    def upper_bound(self, sums: Sums, term: Term, *mirror: Term, most: float, delta: float) -> float:
        """From the quantity itself, or from a lower bound on its mirror image, which adds up to ``most`` with it."""
        if self.bound.upper_bound is None or _certainly_zero(term):
            return most - self.lower_bound(sums, *mirror, delta=delta)
        own = sums.of(term)
        top = most if most > 0.0 else term.needed.offset
        upper = self.bound.upper_bound(own, delta=delta)
        # Above the range it says no more than the range does, unless the whole interval lies there.
        return upper if self.bound.lower_bound(own, delta=delta) > top else min(upper, top)

    def estimate(self, sums: Sums, term: Term, *, lower: float) -> float:
        """The mean of the terms that the lower bound is made of, as they count there."""
        return 0.0 if _certainly_zero(term) else centre(sums.of(term), max(lower, -term.needed.offset))

    @property
    def believes_contradictions(self) -> bool:
        """Whether an impossible answer speaks against the logs: the usual intervals give one on right logs too."""
        return self.bound.upper_bound is None

    def e_value(self, sums: Sums, term: Term, mean: float, *, delta: float) -> float:
        """Evidence against "the mean of the term is at most this"; ``delta`` is that of the bound beside it."""
        return e_value(mean + slack_of(sums, term), sums.of(term), delta=delta)

    def doubts(self, sums: Sums, term: Term, *, delta: float) -> tuple[str, ...]:
        """What keeps an answer of this method from being certified."""
        if self.bound.certifies or _certainly_zero(term):
            return ()
        return (_ASYMPTOTIC,) if self.bound.remark is None else (self.bound.remark(sums.of(term), delta=delta),)

    def assumes(self, *terms: Term) -> tuple[str, ...]:
        """What has to be true for this bound, with the control that was used, beyond what every bound assumes."""
        used = control_of(*terms)
        if used == "model" and self.model is not None:
            return (*self.bound.assumes, self.model.assumes)
        return (*self.bound.assumes, LARGEST_WEIGHT_TRUE) if used == "max-weight" else self.bound.assumes

    def describe(self) -> dict[str, Any]:
        return {**self.choice.describe(), "control": self.control if self.model is None else self.model.describe()}


def least_of(term: Term) -> float:
    """The least that a value, or an improvement, can be: terms may be lower where weights can be negative."""
    return 0.0 - min(term.needed.offset, 1.0) if term.quantity.paired else 0.0


def slack_of(sums: Sums, term: Term) -> float:
    """What a control that relies on the vectors may be off by, where they differ a little from the propensities."""
    kinds = {type(part.control) for part in term.needed.components if part.control is not None}
    if ScoreControl in kinds or not kinds or not (term.quantity.paired or MaxWeightControl in kinds):
        return 0.0
    production = sums.production
    # Weights that average to a little less than 1 overstate what is added back.
    return production.largest_slack + (production.largest_shortfall if MaxWeightControl in kinds else 0.0)


def control_of(*terms: Term) -> str:
    """The control that was used."""
    used = {part.control for term in terms for part in term.needed.components if part.control is not None}
    if any(isinstance(control, MaxWeightControl) for control in used):
        return "max-weight"
    if any(isinstance(control, WeightControl) and control.by_model for control in used):
        return "model"
    if any(isinstance(control, ScoreControl) for control in used):
        return "score"
    return "weights" if used else "none"


def thinned(term: Term) -> Term:
    """Every third smoothing, without control: a bound as valid, a little wider, at a third of the work."""
    plain = [part for part in term.needed.components if part.control is None]
    kept = plain[len(plain) // 2 % 3 :: 3]
    total = sum(part.prior for part in kept)
    parts = tuple(replace(part, prior=part.prior / total) for part in kept)
    return replace(term, needed=replace(term.needed, components=parts))


def _certainly_zero(term: Term) -> bool:
    return term.quantity.paired and term.needed.offset == 0.0


def choose_method(method: Any = "mixture", control: Any = "auto", **options: Any) -> Method:
    """A method from what a user writes: a bound by name, with its options, or as one value; and a control."""
    if isinstance(method, str):
        if method not in BOUNDS:
            raise UsageError(f"no method {method!r}; the methods are {', '.join(BOUNDS)}.")
        method = BOUNDS[method]
    if isinstance(method, Bound):
        method = method(**options)
    elif not isinstance(method, BoundChoice):
        raise UsageError(f"method must be a name or one of surelift.bounds, but is a {type(method).__name__}.")
    elif options:
        name = method.bound.name
        raise UsageError(f"give {next(iter(options))}= inside the bound, as in bounds.{name}(...), not beside it.")
    name, model = choose_control(control)
    if name not in ("auto", "none", *method.bound.controls):
        raise UsageError(f"method {method.bound.name!r} does not support control={name!r}; use method='mixture'.")
    return Method(method, name, model)


def method_from(description: Mapping[str, Any], control: Any = None) -> Method:
    """What ``describe`` wrote; a reward model that a file cannot hold is given again in ``control``."""
    stated = description["control"]
    if control is not None and not isinstance(stated, Mapping):
        raise UsageError("this certificate uses no reward model; remove control=.")
    choice = BOUNDS[description["method"]](**description["options"])
    return choose_method(choice, stated if control is None else control)


def choose_control(control: Any) -> tuple[str, RewardModel | None]:
    """The name of a control, and the reward model where it is one."""
    named = isinstance(control, str) and control in CONTROLS
    if named and control != "model":
        return control, None
    from surelift.controls import models

    if named:
        return control, models.refitted()
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
