"""Several policies compared with one other on the same rounds: the machinery of compare, select and gate."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from surelift.bounds.bound import Promise
from surelift.decisions.asking import Progress, ask, count_rounds, refuse_contradiction, require_logs
from surelift.decisions.method import Method, check_margin, control_of
from surelift.errors import UsageError
from surelift.estimates import plain_mean
from surelift.evidence import e_value, p_value
from surelift.logs.logs import Logs
from surelift.policies import Policy
from surelift.policies.given import Production
from surelift.policies.resolve import as_policy, check_name, name_of
from surelift.quantities import Decline, Difference, Gain
from surelift.results.improvement import Improvement
from surelift.results.provenance import Provenance, assumed_of, assumptions_of, doubts_of, provenance_of, within
from surelift.statistics import Plan, Sums, Term


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Several policies compared with one other, in a single pass."""

    logs: Logs
    policies: Mapping[str, Policy]
    over: str
    baseline: Policy
    margin: float
    method: Method
    known: frozenset[str]
    question: str
    options: Mapping[str, Any]
    one_look: bool = False
    """Whether the answer may be looked at only once, whatever the method promises."""

    @property
    def promise(self) -> Promise:
        promised = self.method.promise
        return "one look" if self.one_look and promised == "any number of looks" else promised

    @property
    def everyone(self) -> dict[str, Policy]:
        production = isinstance(self.baseline, Production)
        return {**self.policies, **({} if production else {self.over: self.baseline})}

    def improvements(self, *, delta: float, progress: Progress | None) -> dict[str, Improvement]:
        """All of them, each bound made at level ``delta``."""
        planned = self.plan(lambda: count_rounds(self.logs))
        return self.answer(planned, ask(self.logs, planned, progress=progress), delta=delta)

    def plan(self, count: Callable[[], int]) -> Plan:
        everyone = self.everyone
        terms = (
            self.method.plan(candidate, quantity, policies=everyone, count=count, known=self.known)
            for name in self.policies
            for candidate, quantity in self._two_sides(name)
        )
        return Plan(everyone, tuple(terms), self.method.model)

    def _two_sides(self, name: str) -> tuple[tuple[str, Any], tuple[str, Any]]:
        """What bounds the improvement from below, and what bounds it from above."""
        if isinstance(self.baseline, Production):
            return (name, Gain()), (name, Decline())
        return (name, Difference(self.over)), (self.over, Difference(name))

    def provenance(self, sums: Sums, **place: str) -> Provenance:
        options = {"over": self.over, "margin": self.margin, **self.method.describe(), **self.options, **place}
        return provenance_of(self.question, self.logs, {**self.everyone, self.over: self.baseline}, sums, options)

    def answer(self, plan: Plan, sums: Sums, *, delta: float, segment: str | None = None) -> dict[str, Improvement]:
        provenance = self.provenance(sums, **({} if segment is None else {"segment": segment}))
        pairs = zip(self.policies, plan.terms[::2], plan.terms[1::2], strict=True)
        return {
            name: self._improvement(sums, name, gain, loss, delta=delta, provenance=provenance, segment=segment)
            for name, gain, loss in pairs
        }

    def _estimate(self, sums: Sums, gain: Term, loss: Term) -> float:
        """The plain mean; of a difference that of w r - w' r, so that it is the difference of the two values."""
        mean = plain_mean(sums, gain.candidate, gain.quantity)
        if isinstance(self.baseline, Production) or not self.method.bound.certifies:
            return mean
        own, other = (sums.weights[name].total / sums.units for name in (gain.candidate, loss.candidate))
        return (mean - plain_mean(sums, loss.candidate, loss.quantity) + own - other) / 2.0

    def _improvement(
        self,
        sums: Sums,
        name: str,
        gain: Term,
        loss: Term,
        *,
        delta: float,
        provenance: Provenance,
        segment: str | None,
    ) -> Improvement:
        method, scale = self.method, self.logs.scale
        low = method.lower_bound(sums, gain, delta=delta)
        high = method.upper_bound(sums, gain, loss, most=0.0, delta=delta)
        mean_weight = sums.weights[name].total / sums.units
        most = gain.needed.offset
        if method.believes_contradictions:
            subject = f"improvement of {name!r}{within(segment)}"
            refuse_contradiction(
                scale.improvement(low), scale.improvement(high), subject=subject, mean_weight=mean_weight,
                possible=(-scale.improvement(most), scale.improvement(most)),
            )  # fmt: skip
        about = {name: self.policies[name], self.over: self.baseline}
        lower, doubts = scale.improvement(low), (*doubts_of(self.logs, about), *method.doubts(sums, gain, delta=delta))
        evidence = e_value(scale.unit_margin(self.margin) + method.slack(sums, gain), sums.of(gain))
        return Improvement(
            policy=name,
            over=self.over,
            estimate=scale.improvement(self._estimate(sums, gain, loss)) if most else 0.0,
            lower=lower,
            upper=scale.improvement(high),
            margin=self.margin,
            certified=lower > self.margin and not doubts,
            e_value=evidence,
            p_value=p_value(evidence),
            delta=delta,
            rounds=sums.units,
            counted=self.logs.declaration.counted,
            method=method.name,
            control=control_of(gain, loss),
            promise=self.promise,
            mean_weight=mean_weight,
            improvement_range=(-scale.improvement(most), scale.improvement(most)),
            assumptions=(
                *assumptions_of(self.logs, self.promise, method.assumes(gain, loss), segment),
                *assumed_of(about),
                *doubts,
            ),
            doubts=doubts,
            provenance=provenance,
        )


def comparison_of(
    logs: Logs, policies: Mapping[str, Policy], *, over: Any, margin: float, method: Method, question: str,
    options: Mapping[str, Any], one_look: bool = False,
) -> Comparison:  # fmt: skip
    """Check the question, and look which policies can be controlled."""
    require_logs(logs)
    margin = check_margin(margin)
    name, baseline = one_policy(over)
    if name in policies:
        raise UsageError(f"{name!r} would be compared with itself; name another policy in over=, or give both names.")
    comparison = Comparison(
        logs=logs, policies=policies, over=name, baseline=baseline, margin=margin, method=method, known=frozenset(),
        question=question, options=options, one_look=one_look,
    )  # fmt: skip
    return replace(comparison, known=method.known(logs, comparison.everyone))


def one_policy(policy: Any, logs: Logs | None = None) -> tuple[str, Policy]:
    if isinstance(policy, Mapping):
        if len(policy) != 1:
            raise UsageError(f"compare takes one policy, but was given {len(policy)}; use select for several.")
        ((name, form),) = policy.items()
        return str(name), check_name(str(name), as_policy(form))
    several = isinstance(policy, list | tuple) and len(policy) > 1 and all(isinstance(one, str) for one in policy)
    if several and logs is not None and logs.declaration.action is None:
        # Such a list stands for one policy only where the logs say which of its columns was taken.
        raise UsageError(f"one policy is asked about, but {len(policy)} were given; use select for several.")
    return name_of(policy), check_name(name_of(policy), as_policy(policy))
