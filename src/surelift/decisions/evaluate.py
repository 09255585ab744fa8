"""What is each policy worth? An estimate, a lower and an upper bound."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from surelift.bounds.bound import Promise
from surelift.decisions.asking import Progress, ask, count_rounds, refuse_contradiction, require_logs
from surelift.decisions.basis import Basis, assumptions_of, basis_of, doubts_of
from surelift.decisions.method import Method, check_delta, choose_method, control_of
from surelift.decisions.result import ByName, Result
from surelift.errors import UsageError
from surelift.estimates import plain_mean
from surelift.grids import Grid
from surelift.logs.logs import Logs
from surelift.policies.resolve import name_policies
from surelift.quantities import Shortfall, Value
from surelift.statistics import Needed, Plan, Sums, Term

Sides = Literal["both", "lower", "upper"]


@dataclass(frozen=True, slots=True, repr=False)
class PolicyValue(Result):
    """The value of one policy, in the units of the reward (or cost) column."""

    policy: str
    estimate: float
    """The plain importance-weighted mean; it may lie outside the range, and then says little."""
    lower: float | None
    """None where only the other side was asked for."""
    upper: float | None
    delta: float
    """The chance that any bound of the whole evaluation fails."""
    rounds: int
    method: str
    control: str
    promise: Promise
    """Whether it holds at any number of looks, at one look, only asymptotically, or not rigorously at all."""
    mean_weight: float
    kind: Literal["reward", "cost"]
    """Of a cost, less is better."""
    value_range: tuple[float, float]
    assumptions: tuple[str, ...]
    doubts: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "policy": self.policy, "estimate": self.estimate, "lower": self.lower, "upper": self.upper,
            "delta": self.delta, "rounds": self.rounds, "method": self.method, "control": self.control,
            "promise": self.promise, "mean_weight": self.mean_weight, "kind": self.kind,
            "value_range": list(self.value_range), "assumptions": list(self.assumptions), "doubts": list(self.doubts),
        }  # fmt: skip

    def records(self) -> list[dict[str, Any]]:
        names = ("policy", "estimate", "lower", "upper", "delta", "rounds", "method", "control")
        return [{name: self.to_dict()[name] for name in names}]


@dataclass(frozen=True, slots=True, repr=False)
class Evaluation(ByName[PolicyValue]):
    """The values of several policies, whose bounds hold all at once with probability 1 - delta."""

    results: Mapping[str, PolicyValue]
    delta: float
    rounds: int
    method: str
    control: str
    sides: Sides
    basis: Basis = field(compare=False)

    def to_dict(self) -> dict[str, Any]:
        return {
            "delta": self.delta, "rounds": self.rounds, "method": self.method,
            "control": self.control, "sides": self.sides,
            "policies": {name: result.to_dict() for name, result in self.results.items()},
        }  # fmt: skip


def evaluate(
    logs: Logs,
    policies: Any,
    *,
    delta: float = 0.05,
    method: str = "mixture",
    control: str = "auto",
    grid: str | Grid = "anytime",
    sides: Sides = "both",
    smoothing: float | None = None,
    order: int | None = None,
    regularizer: Any = None,
    clip: float | None = None,
    draws: int | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Bound the value of each policy; all bounds hold at once with probability 1 - delta.

    ``policies`` is a column, a list of columns, or a dict from names to policies. m policies and two sides are made at
    delta/(2m) each; ``sides="lower"`` or ``"upper"`` spends delta on one side. The other options belong to the methods
    of ``BOUNDS``; one that the method does not use is an error.

    >>> logs = Logs(reward=[0, 1, 1, 0] * 50, propensity=[0.5, 0.5, 0.25, 0.5] * 50)
    >>> result = evaluate(logs, {"new": [0.25, 0.75, 0.25, 0.25] * 50})["new"]
    >>> result.estimate, round(result.lower, 3), round(result.upper, 3)
    (0.625, 0.468, 0.814)
    """
    require_logs(logs)
    if sides not in ("both", "lower", "upper"):
        raise UsageError(f"sides must be 'both', 'lower' or 'upper', but is {sides!r}.")
    delta = check_delta(delta)
    chosen = choose_method(
        method, control=control, grid=grid, smoothing=smoothing, order=order, regularizer=regularizer, clip=clip,
        draws=draws,
    )  # fmt: skip
    named = name_policies(policies)
    # A lower bound on a cost is an upper bound on its reward.
    bounded_from_below, bounded_from_above = _sides_on_reward(sides, is_cost=logs.scale.is_cost)
    known = chosen.known(logs, named)
    terms: dict[tuple[str, type], Term] = {}
    for name in named:
        for quantity, wanted in ((Value(), bounded_from_below), (Shortfall(), bounded_from_above)):
            term = chosen.plan(name, quantity, policies=named, count=lambda: count_rounds(logs), known=known)
            needed = wanted or (chosen.bound.upper_bound is not None and type(quantity) is Value)
            terms[name, type(quantity)] = term if needed else Term(name, quantity)
    sums = ask(logs, Plan(named, tuple(terms.values())), progress=progress)
    each = delta / (len(named) * (2 if sides == "both" else 1))
    results = {}
    for name in named:
        value, shortfall = terms[name, Value], terms[name, Shortfall]
        low = chosen.lower_bound(sums, value, delta=each) if bounded_from_below else None
        high = chosen.upper_bound(sums, value, shortfall, most=1.0, delta=each) if bounded_from_above else None
        doubts = (*doubts_of(logs), *chosen.doubts(sums, value if value.needed != Needed() else shortfall, delta=each))
        results[name] = _in_units(
            logs, name, sums, chosen, low, high, delta=delta, doubts=doubts, control=control_of(value, shortfall)
        )
    options = {"delta": delta, "sides": sides, **chosen.describe()}
    basis = basis_of("evaluate", logs, named, sums, options)
    used = {result.control for result in results.values()}
    return Evaluation(results, delta, sums.units, chosen.name, used.pop() if len(used) == 1 else "mixed", sides, basis)


def _sides_on_reward(sides: Sides, *, is_cost: bool) -> tuple[bool, bool]:
    below, above = sides in ("both", "lower"), sides in ("both", "upper")
    return (above, below) if is_cost else (below, above)


def _in_units(
    logs: Logs, name: str, sums: Sums, method: Method, low: float | None, high: float | None, *, delta: float,
    doubts: tuple[str, ...], control: str,
) -> PolicyValue:  # fmt: skip
    """The answer on [0, 1], checked and turned into the units of the column."""
    mean_weight = sums.weights[name].total / sums.units
    if method.believes_contradictions:
        refuse_contradiction(
            0.0 if low is None else low, 1.0 if high is None else high,
            possible=(0.0, 1.0), subject=f"policy {name!r}, reward on [0, 1]", mean_weight=mean_weight,
        )  # fmt: skip
    if logs.scale.is_cost:
        low, high = high, low
    lower = None if low is None else logs.scale.lower(low)
    upper = None if high is None else logs.scale.upper(high)
    return PolicyValue(
        policy=name,
        estimate=logs.scale.value(plain_mean(sums, name, Value())),
        lower=lower,
        upper=upper,
        delta=delta,
        rounds=sums.units,
        method=method.name,
        control=control,
        promise=method.promise,
        mean_weight=mean_weight,
        kind="cost" if logs.scale.is_cost else "reward",
        value_range=(logs.scale.low, logs.scale.high),
        assumptions=(*assumptions_of(logs, promise=method.promise, besides=method.bound.assumes), *doubts),
        doubts=doubts,
    )
