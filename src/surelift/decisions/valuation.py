"""The values of several policies on the same rounds: the machinery of evaluate."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from surelift.bounds.bound import Promise
from surelift.decisions.asking import refuse_contradiction
from surelift.decisions.method import Method, control_of
from surelift.estimates import plain_mean
from surelift.logs.logs import Logs
from surelift.policies import Policy
from surelift.quantities import Shortfall, Value
from surelift.results.evaluation import Evaluation, PolicyValue, Sides
from surelift.results.provenance import Provenance, assumed_of, assumptions_of, doubts_of, provenance_of, within
from surelift.statistics import Needed, Plan, Sums, Term


@dataclass(frozen=True, slots=True, kw_only=True)
class Valuation:
    logs: Logs
    policies: Mapping[str, Policy]
    sides: Sides
    method: Method
    known: frozenset[str]
    options: Mapping[str, Any]
    one_look: bool = False
    """Whether the answer may be looked at only once, whatever the method promises."""

    @property
    def promise(self) -> Promise:
        promised = self.method.promise
        return "one look" if self.one_look and promised == "any number of looks" else promised

    @property
    def everyone(self) -> Mapping[str, Policy]:
        return self.policies

    @property
    def _bounded(self) -> tuple[bool, bool]:
        """From below and from above, as a reward: a lower bound on a cost is an upper bound on its reward."""
        below, above = self.sides in ("both", "lower"), self.sides in ("both", "upper")
        return (above, below) if self.logs.scale.is_cost else (below, above)

    def plan(self, count: Callable[[], int]) -> Plan:
        return Plan(self.policies, tuple(self._terms(count)), self.method.model)

    def _terms(self, count: Callable[[], int]) -> Iterator[Term]:
        """For each policy its value, of which at least the mean is needed, and its shortfall where it is bounded above."""
        below, above = self._bounded
        both_from_value = self.method.bound.upper_bound is not None
        for name in self.policies:
            value, shortfall = (
                self.method.plan(name, quantity, policies=self.policies, count=count, known=self.known)
                for quantity in (Value(), Shortfall())
            )
            yield value if below or both_from_value else Term(name, Value())
            if above:
                yield shortfall

    def provenance(self, sums: Sums, **place: str) -> Provenance:
        options = {"sides": self.sides, **self.method.describe(), **self.options, **place}
        return provenance_of("evaluate", self.logs, self.policies, sums, options)

    def answer(self, plan: Plan, sums: Sums, delta: float, segment: str | None = None) -> Evaluation:
        method, (below, above) = self.method, self._bounded
        each = delta / (len(self.policies) * (2 if self.sides == "both" else 1))
        results = {}
        terms = {(term.candidate, type(term.quantity)): term for term in plan.terms}
        for name in self.policies:
            value = terms[name, Value]
            shortfall = terms.get((name, Shortfall), Term(name, Shortfall()))
            low = method.lower_bound(sums, value, delta=each) if below else None
            high = method.upper_bound(sums, value, shortfall, most=1.0, delta=each) if above else None
            asked = value if value.needed != Needed() else shortfall
            doubts = (*doubts_of(self.logs, {name: self.policies[name]}), *method.doubts(sums, asked, delta=each))
            results[value.candidate] = self._in_units(
                sums, (value, shortfall), low, high, delta=delta, doubts=doubts, segment=segment
            )
        used = {result.control for result in results.values()}
        provenance = self.provenance(sums, **({} if segment is None else {"segment": segment}))
        control = used.pop() if len(used) == 1 else "mixed"
        return Evaluation(results, delta, sums.units, method.name, control, self.sides, provenance)

    def _in_units(
        self, sums: Sums, terms: tuple[Term, Term], low: float | None, high: float | None, *, delta: float,
        doubts: tuple[str, ...], segment: str | None,
    ) -> PolicyValue:  # fmt: skip
        """The answer on [0, 1], checked and turned into the units of the column."""
        name, method, scale = terms[0].candidate, self.method, self.logs.scale
        mean_weight = sums.weights[name].total / sums.units
        if method.believes_contradictions:
            # In the units of the column, where of a cost the upper end is the worse one.
            ends = [scale.value(0.0 if low is None else low), scale.value(1.0 if high is None else high)]
            refuse_contradiction(
                *(reversed(ends) if scale.is_cost else ends), possible=(scale.low, scale.high),
                subject=f"value of {name!r}{within(segment)}", mean_weight=mean_weight,
            )  # fmt: skip
        if scale.is_cost:
            low, high = high, low
        return PolicyValue(
            policy=name,
            estimate=scale.value(plain_mean(sums, name, Value())),
            lower=None if low is None else scale.lower(low),
            upper=None if high is None else scale.upper(high),
            delta=delta,
            rounds=sums.units,
            counted=self.logs.declaration.counted,
            method=method.name,
            control=control_of(*terms),
            promise=self.promise,
            mean_weight=mean_weight,
            kind="cost" if scale.is_cost else "reward",
            value_range=(scale.low, scale.high),
            assumptions=(
                *assumptions_of(self.logs, self.promise, method.assumes(*terms), segment),
                *assumed_of({name: self.policies[name]}),
                *doubts,
            ),
            doubts=doubts,
        )
