"""How a question is answered: a bound with its options, and what narrows it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from math import isfinite
from typing import Any

from surelift.bounds import BOUNDS, Bound, BoundChoice, Promise
from surelift.bounds.mixture import centre
from surelift.controls import MaxWeightControl, ScoreControl, WeightControl
from surelift.controls.model import CROSS_FITTED, RewardModel
from surelift.errors import UsageError, is_number, printed
from surelift.logs.decisions import Limits
from surelift.quantities import Quantity
from surelift.statistics.narrowing import Narrowing, automatic, by_max_weight, by_model, by_score, by_weights
from surelift.statistics.plan import NOTHING, Term
from surelift.statistics.splits import Key, KeyValue
from surelift.statistics.sums import Sums

RoundCount = Callable[[], int]
"""Tells the number of rounds, where a plan depends on it."""
Counts = Callable[[Key], Mapping[KeyValue, int]]
"""Counts the rounds of each value of a key."""
CONTROLS = ("auto", "none", "weights", "model", "score")
RATIOS, FORECAST = ("mixture", "logarithmic-smoothing"), ("mixture", "blocks")
"""The methods whose log sums serve ratios too, and those whose evidence can be forecast."""
SMALLEST_CONTROLLED = 1e-6
LARGEST_WEIGHT_TRUE = "no policy gives an action more than its declared max_weight times production's chance of it"
_ASYMPTOTIC = "asymptotic: covers only in the limit of many rounds, and at one look"
_NAMED = {"weights": "control by weights", "model": "control by a reward model", "score": "control by the score"}


def no_count() -> int:
    raise UsageError("a growing log has no number of rounds to plan for; use the default grid, or name a smoothing.")


@dataclass(frozen=True)
class Method:
    choice: BoundChoice
    control: str = "auto"
    model: RewardModel | None = None
    """What predicts rewards, where the control is a model."""
    bound: Bound = field(init=False, compare=False, repr=False)
    promise: Promise = field(init=False, compare=False, repr=False)
    counts_rounds: bool = field(init=False, compare=False, repr=False)
    name: str = field(init=False, compare=False, repr=False)
    believes_contradictions: bool = field(init=False, compare=False, repr=False)
    """An impossible answer speaks against the logs; usual intervals give one on right logs too."""

    def __post_init__(self) -> None:
        choice = self.choice
        vars(self).update(
            bound=choice.bound, promise=choice.promise, counts_rounds=choice.counts_rounds, name=choice.bound.name,
            believes_contradictions=choice.bound.upper_bound is None,
        )  # fmt: skip

    @cached_property
    def wants_distributions(self) -> bool:
        return self.control != "none" and bool(self.bound.controls)

    @cached_property
    def features(self) -> frozenset[str]:
        """What the table of capabilities knows it by."""
        lacking = {
            "blocks": self.bound.in_blocks, "method for values alone": not self.bound.paired,
            "method without e-values": not self.bound.certifies, "method without ratios": self.name not in RATIOS,
            "method without forecast": self.name not in FORECAST, "method without a mixture": self.name != "mixture",
        }  # fmt: skip
        found = {f"method {self.name!r}", *(name for name, is_lacking in lacking.items() if is_lacking)}
        if self.control in _NAMED:
            found.add(_NAMED[self.control])
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
        self, candidate: str, quantity: Quantity, *, limits: Mapping[str, Limits], count: RoundCount,
        known: frozenset[str], scored: bool = False,
    ) -> Term:  # fmt: skip
        """What to add up to bound a quantity: nothing where it is certain to be zero."""
        names = [candidate] if quantity.over is None else [candidate, quantity.over]
        # How far below zero a term can be: a weighted average of two excesses is never below the smaller one.
        drop = max([limits[name].drop for name in names])
        offset = drop if quantity.paired else max(0.0, drop - 1.0)
        if quantity.paired and offset == 0.0:
            return Term(candidate, quantity)
        narrowing: Narrowing | None = None
        if scored:
            narrowing = by_score if self.control != "none" and "score" in self.bound.controls else None
        elif self.wants_distributions and not (quantity.paired and offset < SMALLEST_CONTROLLED):
            # A weight so close to 1 is lost in the rounding of its vector.
            if known.issuperset(names):
                weights = by_weights if self.control == "weights" or self.bound.in_blocks else automatic
                narrowing = (by_model if self.model is not None else weights)(quantity)
            elif all(isfinite(limits[name].rise) for name in names):
                narrowing = by_max_weight(quantity, candidate, {name: limits[name] for name in names})
        used = {} if narrowing is None else {"narrowing": narrowing}
        needed = self.choice.plan(quantity=quantity, offset=offset, count=count, **used)
        # Control measures a weight from 0, or from the smallest that it can be.
        smallest = tuple([(name, 1.0 - limits[name].drop if quantity.paired else 0.0) for name in names])
        return Term(candidate, quantity, replace(needed, smallest=smallest))

    def lower_bound(self, sums: Sums, term: Term, *, delta: float) -> float:
        if term.needed is NOTHING:
            return 0.0
        # Where the vectors and the propensities differ a little, so does the production they are compared with.
        bound = self.bound.lower_bound(sums.of(term), delta=delta) - slack_of(sums, term)
        return max(bound, 0.0 - min(term.needed.offset, 1.0) if term.quantity.paired else 0.0)

    def ends(self, sums: Sums, low: Term, high: Term, *, most: float, levels: tuple[float, float]) -> tuple[float, float]:
        """Bounds from below and above; ``high`` is the mirror image of ``low``, which adds up to ``most`` with it."""
        lower = self.lower_bound(sums, low, delta=levels[0])
        if self.bound.upper_bound is None or low.needed is NOTHING:
            return lower, most - self.lower_bound(sums, high, delta=levels[1])
        own = sums.of(low)
        top = most if most > 0.0 else low.needed.offset
        upper = self.bound.upper_bound(own, delta=levels[1])
        # Above the range it says no more than the range does, unless the whole interval lies there.
        return lower, upper if self.bound.lower_bound(own, delta=levels[1]) > top else min(upper, top)

    def mean(self, sums: Sums, term: Term, *, lower: float) -> float:
        """The mean of the terms that the lower bound is made of, as they count there."""
        return 0.0 if term.needed is NOTHING else centre(sums.of(term), max(lower, -term.needed.offset))

    def conditions(self, sums: Sums, term: Term, used: str, *, delta: float) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What this bound assumes with the control that was used; and what keeps its answer from being certified."""
        assumed = self.bound.assumes
        if used == "model" and self.model is not None:
            assumed = *assumed, self.model.assumes
        elif used == "max-weight":
            assumed = *assumed, LARGEST_WEIGHT_TRUE
        if self.bound.certifies or term.needed is NOTHING:
            return assumed, ()
        return assumed, (_ASYMPTOTIC if self.bound.remark is None else self.bound.remark(sums.of(term), delta=delta),)

    def describe(self) -> dict[str, Any]:
        return {**self.choice.describe(), "control": self.control if self.model is None else self.model.describe()}


def slack_of(sums: Sums, term: Term) -> float:
    """What a control that relies on the vectors may be off by, where they differ a little from the propensities."""
    used = control_of(term)
    if used in ("none", "score") or not (term.quantity.paired or used == "max-weight"):
        return 0.0
    production = sums.production
    # Weights that average to a little less than 1 overstate what is added back.
    return production.largest_slack + (production.largest_shortfall if used == "max-weight" else 0.0)


def control_of(*terms: Term) -> str:
    """The control that was used."""
    found = "none"
    for term in terms:
        for part in term.needed.components:
            control = part.control
            if control is None:
                continue
            if isinstance(control, MaxWeightControl):
                return "max-weight"
            if isinstance(control, ScoreControl):
                found = "score"
            elif found != "model":
                found = "model" if isinstance(control, WeightControl) and control.by_model else "weights"
    return found


def thinned(term: Term) -> Term:
    """Every third smoothing, without control: a bound as valid, a little wider, at a third of the work."""
    plain = [part for part in term.needed.components if part.control is None]
    kept = plain[len(plain) // 2 % 3 :: 3]
    total = sum(part.prior for part in kept)
    parts = tuple(part._replace(prior=part.prior / total) for part in kept)
    return replace(term, needed=replace(term.needed, components=parts))


def check_chance(name: str, value: Any, meaning: str) -> float:
    """A probability strictly between 0 and 1."""
    if not (isinstance(value, float) or is_number(value)) or not 0.0 < value < 1.0:
        per_cent = name == "delta" and is_number(value) and 50.0 <= value < 100.0
        hint = f" For {value:g}% confidence it is {(100.0 - value) / 100.0:.12g}." if per_cent else ""
        raise UsageError(f"{name}, {meaning}, must lie strictly between 0 and 1, but is {printed(value)}.{hint}")
    return float(value)


def check_delta(delta: Any) -> float:
    return check_chance("delta", delta, "the probability of error")


def choose_method(method: Any = "mixture", control: Any = "auto", **options: Any) -> Method:
    """A method from what a user writes: a bound by name, with its options, or as one value; and a control."""
    if not options and isinstance(method, str) and isinstance(control, str):
        return _named(method, control)
    return _chosen(method, control, options)


@cache
def _named(method: str, control: str) -> Method:
    return _chosen(method, control, {})


def _chosen(method: Any, control: Any, options: Mapping[str, Any]) -> Method:
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
        try:
            return "model", models.from_description(control)
        except (LookupError, TypeError, AttributeError) as error:
            raise UsageError(f"control= is no description of a reward model ({error!r}).") from error
    if not models.is_model(control) and not callable(getattr(control, "fit", None)):
        raise UsageError(
            f"no control {control!r}; the controls are {', '.join(CONTROLS)}, or a reward model: an object with fit and "
            "predict, or one of surelift.models."
        )
    model: RewardModel = control if models.is_model(control) else models.refitted(control)
    if not model.predictable:
        raise UsageError(CROSS_FITTED)
    return "model", model
