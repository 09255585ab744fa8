"""What is each policy worth? An estimate, a lower and an upper bound."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, overload

from surelift.bounds.bound import Promise
from surelift.decisions.asking import Progress, ask, count_rounds, refuse_contradiction, require_logs
from surelift.decisions.basis import Basis, assumptions_of, basis_of, doubts_of, within
from surelift.decisions.method import Method, check_delta, choose_method, control_of
from surelift.decisions.result import ByName, Result
from surelift.decisions.segments import Segments, answer_by
from surelift.errors import UsageError
from surelift.estimates import plain_mean
from surelift.grids import Grid
from surelift.logs.logs import Logs
from surelift.policies import Policy
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
    counted: Literal["rounds", "clusters"]
    """What ``rounds`` counts."""
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
            "delta": self.delta, "rounds": self.rounds,
            "counted": self.counted, "method": self.method, "control": self.control,
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


@overload
def evaluate(
    logs: Logs, policies: Any, *, delta: float = ..., method: str = ..., control: Any = ..., grid: str | Grid = ...,
    sides: Sides = ..., smoothing: float | None = ..., order: int | None = ..., regularizer: Any = ...,
    clip: float | None = ..., draws: int | None = ..., by: None = ..., progress: Progress | None = ...,
) -> Evaluation: ...  # fmt: skip


@overload
def evaluate(
    logs: Logs, policies: Any, *, delta: float = ..., method: str = ..., control: Any = ..., grid: str | Grid = ...,
    sides: Sides = ..., smoothing: float | None = ..., order: int | None = ..., regularizer: Any = ...,
    clip: float | None = ..., draws: int | None = ..., by: str, progress: Progress | None = ...,
) -> Segments[Evaluation]: ...  # fmt: skip


def evaluate(
    logs: Logs,
    policies: Any,
    *,
    delta: float = 0.05,
    method: str = "mixture",
    control: Any = "auto",
    grid: str | Grid = "anytime",
    sides: Sides = "both",
    smoothing: float | None = None,
    order: int | None = None,
    regularizer: Any = None,
    clip: float | None = None,
    draws: int | None = None,
    by: str | None = None,
    progress: Progress | None = None,
) -> Evaluation | Segments[Evaluation]:
    """Bound the value of each policy; all bounds hold at once with probability 1 - delta.

    ``policies`` is a column, a list of columns, or a dict from names to policies. m policies and two sides are made at
    delta/(2m) each; ``sides="lower"`` or ``"upper"`` spends delta on one side. The other options belong to the methods
    of ``BOUNDS``; one that the method does not use is an error. ``control`` is a name, or a reward model: an object with
    ``fit`` and ``predict``, or one of ``surelift.models``. With ``by``, a column of segments known before the action, each
    segment is evaluated at delta divided by their number, and the answer is a mapping from segments to evaluations.

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
    known = chosen.known(logs, named)
    options = {"delta": delta, "sides": sides, **chosen.describe(), **({} if by is None else {"by": by})}

    def basis(sums: Sums, **place: str) -> Basis:
        return basis_of("evaluate", logs, named, sums, {**options, **place})

    def plan(count: Callable[[], int]) -> Plan:
        return Plan(named, tuple(_terms(logs, named, chosen, sides, count, known)), chosen.model)

    def answer(plan: Plan, sums: Sums, share: float, segment: str | None = None) -> Evaluation:
        place = {} if segment is None else {"segment": segment}
        return _evaluation(logs, plan, sums, chosen, sides, share, basis(sums, **place), segment)

    if by is not None:
        return answer_by(logs, by, delta=delta, plan=plan, answer=answer, basis=basis, progress=progress)
    planned = plan(lambda: count_rounds(logs))
    return answer(planned, ask(logs, planned, progress=progress), delta)


def _terms(
    logs: Logs, policies: Mapping[str, Policy], method: Method, sides: Sides, count: Callable[[], int],
    known: frozenset[str],
) -> Iterator[Term]:  # fmt: skip
    """For each policy its value and its shortfall, empty where they are not needed."""
    below, above = _sides_on_reward(sides, is_cost=logs.scale.is_cost)
    for name in policies:
        for quantity, wanted in ((Value(), below), (Shortfall(), above)):
            term = method.plan(name, quantity, policies=policies, count=count, known=known)
            needed = wanted or (method.bound.upper_bound is not None and type(quantity) is Value)
            yield term if needed else Term(name, quantity)


def _evaluation(
    logs: Logs, plan: Plan, sums: Sums, method: Method, sides: Sides, delta: float, basis: Basis, segment: str | None
) -> Evaluation:
    below, above = _sides_on_reward(sides, is_cost=logs.scale.is_cost)
    each = delta / (len(plan.policies) * (2 if sides == "both" else 1))
    results = {}
    for value, shortfall in zip(plan.terms[::2], plan.terms[1::2], strict=True):
        low = method.lower_bound(sums, value, delta=each) if below else None
        high = method.upper_bound(sums, value, shortfall, most=1.0, delta=each) if above else None
        doubts = (*doubts_of(logs), *method.doubts(sums, value if value.needed != Needed() else shortfall, delta=each))
        results[value.candidate] = _in_units(
            logs, sums, method, (value, shortfall), low, high, delta=delta, doubts=doubts, segment=segment
        )
    used = {result.control for result in results.values()}
    control = used.pop() if len(used) == 1 else "mixed"
    return Evaluation(results, delta, sums.units, method.name, control, sides, basis)


def _sides_on_reward(sides: Sides, *, is_cost: bool) -> tuple[bool, bool]:
    below, above = sides in ("both", "lower"), sides in ("both", "upper")
    return (above, below) if is_cost else (below, above)


def _in_units(
    logs: Logs, sums: Sums, method: Method, terms: tuple[Term, Term], low: float | None, high: float | None, *,
    delta: float, doubts: tuple[str, ...], segment: str | None,
) -> PolicyValue:  # fmt: skip
    """The answer on [0, 1], checked and turned into the units of the column."""
    name = terms[0].candidate
    mean_weight = sums.weights[name].total / sums.units
    if method.believes_contradictions:
        refuse_contradiction(
            0.0 if low is None else low, 1.0 if high is None else high,
            possible=(0.0, 1.0), subject=f"policy {name!r}{within(segment)}, reward on [0, 1]", mean_weight=mean_weight,
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
        counted=logs.counted,
        method=method.name,
        control=control_of(*terms),
        promise=method.promise,
        mean_weight=mean_weight,
        kind="cost" if logs.scale.is_cost else "reward",
        value_range=(logs.scale.low, logs.scale.high),
        assumptions=(*assumptions_of(logs, method.promise, method.assumes(*terms), segment), *doubts),
        doubts=doubts,
    )
