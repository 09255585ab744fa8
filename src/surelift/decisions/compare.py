"""Is the new policy better than production, or than any other, and how sure is that?"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from surelift.bounds.bound import Promise
from surelift.decisions.asking import Progress, ask, count_rounds, refuse_contradiction, require_logs
from surelift.decisions.basis import Basis, assumptions_of, basis_of, doubts_of
from surelift.decisions.method import Method, check_delta, check_margin, choose_method, control_of
from surelift.decisions.result import Result
from surelift.errors import UsageError
from surelift.estimates import plain_mean
from surelift.evidence import e_value, p_value
from surelift.grids import Grid
from surelift.logs.logs import Logs
from surelift.policies import Policy
from surelift.policies.given import Production
from surelift.policies.resolve import PRODUCTION, as_policy, check_name, name_of
from surelift.quantities import Decline, Difference
from surelift.quantities import Improvement as Gain
from surelift.statistics import Plan, Sums, Term


@dataclass(frozen=True, slots=True, repr=False)
class Improvement(Result):
    """How much better one policy is than another, in the units of the reward (or cost) column; positive is better."""

    policy: str
    over: str
    estimate: float
    lower: float
    """Holds with probability 1 - delta."""
    upper: float
    """Holds with probability 1 - delta, on its own."""
    margin: float
    certified: bool
    """Whether ``lower`` exceeds ``margin``, from logs without a doubt."""
    e_value: float
    """Evidence against "the improvement is at most the margin"; 1/delta certifies."""
    p_value: float
    delta: float
    rounds: int
    method: str
    control: str
    promise: Promise
    """Whether it holds at any number of looks, at one look, or only asymptotically."""
    mean_weight: float
    improvement_range: tuple[float, float]
    assumptions: tuple[str, ...]
    doubts: tuple[str, ...]
    basis: Basis = field(compare=False)

    def to_dict(self) -> dict[str, Any]:
        return {
            "policy": self.policy, "over": self.over, "estimate": self.estimate,
            "lower": self.lower, "upper": self.upper, "margin": self.margin, "certified": self.certified,
            "e_value": self.e_value, "p_value": self.p_value, "delta": self.delta, "rounds": self.rounds,
            "method": self.method, "control": self.control, "promise": self.promise, "mean_weight": self.mean_weight,
            "improvement_range": list(self.improvement_range), "assumptions": list(self.assumptions),
            "doubts": list(self.doubts),
        }  # fmt: skip

    def records(self) -> list[dict[str, Any]]:
        names = (
            "policy", "over", "estimate", "lower", "upper", "margin", "certified", "e_value", "p_value", "delta",
            "rounds", "method", "control",
        )  # fmt: skip
        return [{name: self.to_dict()[name] for name in names}]


def compare(
    logs: Logs,
    policy: Any,
    *,
    over: Any = PRODUCTION,
    delta: float = 0.05,
    margin: float = 0.0,
    method: str = "mixture",
    control: str = "auto",
    grid: str | Grid = "anytime",
    smoothing: float | None = None,
    draws: int | None = None,
    progress: Progress | None = None,
) -> Improvement:
    """Bound the improvement of one policy over production, or over another, on the same rounds.

    It is certified when its lower bound exceeds ``margin``, given in the units of the reward column.

    >>> logs = Logs(reward=[0, 1] * 500, propensity=[0.5, 0.5] * 500)
    >>> result = compare(logs, {"new": [0.4, 0.6] * 500})
    >>> round(result.estimate, 3), round(result.lower, 3), result.certified
    (0.1, 0.09, True)
    """
    name, candidate = one_policy(policy)
    chosen = choose_method(method, control=control, grid=grid, smoothing=smoothing, draws=draws)
    results = improvements(
        logs, {name: candidate}, over=over, delta=delta, each=check_delta(delta), margin=margin, method=chosen,
        question="compare", progress=progress,
    )  # fmt: skip
    return results[name]


def one_policy(policy: Any) -> tuple[str, Policy]:
    if isinstance(policy, Mapping):
        if len(policy) != 1:
            raise UsageError(f"compare takes one policy, but was given {len(policy)}; use select for several.")
        ((name, form),) = policy.items()
        return str(name), check_name(str(name), as_policy(form))
    return name_of(policy), as_policy(policy)


def improvements(
    logs: Logs,
    policies: Mapping[str, Policy],
    *,
    over: Any,
    delta: float,
    each: float,
    margin: float,
    method: Method,
    question: str,
    progress: Progress | None,
) -> dict[str, Improvement]:
    """Compare every policy with one other in a single pass, each bound made at level ``each``."""
    require_logs(logs)
    margin = check_margin(margin)
    over_name, baseline = one_policy(over)
    if over_name in policies:
        raise UsageError(
            f"{over_name!r} would be compared with itself; name another policy in over=, or give both names."
        )
    everyone = dict(policies)
    if not isinstance(baseline, Production):
        everyone[over_name] = baseline
    known = method.known(logs, everyone)
    terms = {
        name: tuple(
            method.plan(candidate, quantity, policies=everyone, count=lambda: count_rounds(logs), known=known)
            for candidate, quantity in _two_sides(name, over_name, baseline)
        )
        for name in policies
    }
    sums = ask(logs, Plan(everyone, tuple(term for pair in terms.values() for term in pair)), progress=progress)
    options = {"over": over_name, "delta": delta, "margin": margin, **method.describe()}
    basis = basis_of(question, logs, {**everyone, over_name: baseline}, sums, options)
    return {
        name: _answer(
            logs, sums, pair, name=name, over=over_name, delta=each, margin=margin, method=method, basis=basis
        )
        for name, pair in terms.items()
    }


def _two_sides(name: str, over: str, baseline: Policy) -> tuple[tuple[str, Any], tuple[str, Any]]:
    """What bounds the improvement from below, and what bounds it from above."""
    if isinstance(baseline, Production):
        return (name, Gain()), (name, Decline())
    return (name, Difference(over)), (over, Difference(name))


def _answer(
    logs: Logs, sums: Sums, terms: tuple[Term, ...], *, name: str, over: str, delta: float, margin: float,
    method: Method, basis: Basis,
) -> Improvement:  # fmt: skip
    gain, loss = terms
    scale = logs.scale
    low = method.lower_bound(sums, gain, delta=delta)
    high = method.upper_bound(sums, gain, loss, most=0.0, delta=delta)
    mean_weight = sums.weights[name].total / sums.units
    most = gain.needed.offset
    if method.believes_contradictions:
        subject = f"improvement of {name!r}, reward on [0, 1]"
        refuse_contradiction(low, high, possible=(-most, most), subject=subject, mean_weight=mean_weight)
    lower, doubts = scale.improvement(low), (*doubts_of(logs), *method.doubts(sums, gain, delta=delta))
    evidence = e_value(scale.unit_margin(margin) + method.slack(sums, gain), sums.of(gain))
    return Improvement(
        policy=name,
        over=over,
        estimate=scale.improvement(plain_mean(sums, gain.candidate, gain.quantity)) if most else 0.0,
        lower=lower,
        upper=scale.improvement(high),
        margin=margin,
        certified=lower > margin and not doubts,
        e_value=evidence,
        p_value=p_value(evidence),
        delta=delta,
        rounds=sums.units,
        method=method.name,
        control=control_of(gain, loss),
        promise=method.promise,
        mean_weight=mean_weight,
        improvement_range=(-scale.improvement(most), scale.improvement(most)),
        assumptions=(*assumptions_of(logs, promise=method.promise, besides=method.bound.assumes), *doubts),
        doubts=doubts,
        basis=basis,
    )
