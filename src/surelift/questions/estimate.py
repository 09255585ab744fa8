"""What is each policy worth, by one of the usual point estimates: a number without a promise."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from surelift.controls import models
from surelift.controls.model import RewardModel
from surelift.errors import UsageError, is_number, positive, printed
from surelift.estimates import ESTIMATES, Estimate, plug_ins
from surelift.quantities import Value
from surelift.quantities.regularizers import Discrepancy, LinearDiscrepancy, Plain, Regularizer
from surelift.questions.assumptions import doubts_of
from surelift.questions.claims import BoundedClaim, Place
from surelift.questions.method import RoundCount
from surelift.questions.question import Question
from surelift.questions.segments import split_by
from surelift.results.evaluation import Estimation, PolicyEstimate
from surelift.statistics.plan import Moment, Needed, Request, Term
from surelift.statistics.splits import Key
from surelift.statistics.sums import Sums, requests_of

FROM_ROUNDS = {"smoothing": lambda rounds: 1.0 / math.sqrt(rounds), "clip": math.sqrt}
"""Hyper-parameters with a default that depends on the number of rounds."""


@dataclass(frozen=True, kw_only=True)
class EstimateQuestion(Question):
    """``parameter`` is the hyper-parameter the estimator names in ``ESTIMATES``; None for its default."""

    kind: ClassVar[str] = "estimate"
    estimator: str = "ips"
    parameter: float | None = None
    model: RewardModel | None = None

    @classmethod
    def fields_from(cls, options: dict[str, Any]) -> dict[str, Any]:
        """The hyper-parameter goes by its own name."""
        estimator, model = options.pop("estimator", "ips"), options.pop("model", None)
        by, segments = options.pop("by", None), options.pop("segments", None)
        split = None if by is None and segments is None else split_by(by, segments)
        own: dict[str, Any] = {name: options.pop(name) for name in ("delta", "parameter") if name in options}
        if not isinstance(estimator, str) or estimator not in ESTIMATES:
            raise UsageError(f"no estimator {printed(estimator)}; the estimators are {', '.join(ESTIMATES)}.")
        takes = ESTIMATES[estimator].parameter
        if takes in options:
            own["parameter"] = options.pop(takes)
        for name in options:
            known = f"it takes {takes}=" if takes else "it takes none"
            raise UsageError(f"estimator {estimator!r} does not use {name}=; {known}.")
        return {"estimator": estimator, "model": choose_model(estimator, model), "by": split, **own}

    def check_fields(self) -> None:
        object.__setattr__(self, "known", frozenset())
        if self.estimator not in ESTIMATES:
            raise UsageError(f"no estimator {printed(self.estimator)}; the estimators are {', '.join(ESTIMATES)}.")
        name = self.line.parameter
        object.__setattr__(self, "counts_rounds", self.parameter is None and self.line.parameter in FROM_ROUNDS)
        if self.parameter is None and name and name not in FROM_ROUNDS:
            raise UsageError(f"estimator {self.estimator!r} needs {name}=; there is no default that suits every log.")
        if self.parameter is not None:
            _check_parameter(name, self.parameter, self.estimator)

    @property
    def own_features(self) -> frozenset[str]:
        used = [moment.regularizer for moment in self._moments(lambda: 1)[1]]
        found = {
            "point estimate": True, "estimate by a reward model": self.line.asks_model,
            "regularized estimate": any(each != Plain() for each in used),
            "densities above 1": not all(each.for_densities for each in used),
        }  # fmt: skip
        return super().own_features.union(name for name, is_so in found.items() if is_so)

    @property
    def line(self) -> Estimate:
        return ESTIMATES[self.estimator]

    def _moments(self, count: RoundCount) -> tuple[Mapping[str, float], tuple[Moment, ...]]:
        """The hyper-parameter, and the moments: the estimate's own first, then those beside it."""
        name = self.line.parameter
        parameter: dict[str, float] = {}
        if name:
            value = FROM_ROUNDS[name](count()) if self.parameter is None else float(self.parameter)
            parameter = {name: value}
        own = Moment(self.line.regularizer(**parameter))
        besides = [Moment(regularizer) for regularizer in self.line.besides]
        if self.estimator in _DISCREPANCIES:
            besides.append(Moment(_DISCREPANCIES[self.estimator](parameter["smoothing"])))
        return parameter, (own, *besides)

    def _term(self, name: str, count: RoundCount) -> Term:
        return Term(name, Value(), Needed(moments=self._moments(count)[1]))

    def requests(self, count: RoundCount, key: Key = ()) -> list[Request]:
        return list(requests_of(self.policies, [self._term(name, count) for name in self.policies], key))

    def result(self, found: Mapping[str, BoundedClaim], sums: Sums, place: Place) -> Estimation:
        parameter, moments = self._moments(lambda: sums.units)
        added = {name: sums.of(self._term(name, lambda: sums.units)) for name in self.policies}
        values = {name: self.line.value(term_sums, moments[0]) for name, term_sums in added.items()}
        best = added[max(values, key=lambda name: values[name])]
        declared = self.declaration
        estimates = {
            name: PolicyEstimate(
                policy=name, estimate=declared.scale.value(values[name]), estimator=self.estimator, parameter=parameter,
                model=None if self.model is None else self.model.describe(), rounds=term_sums.rounds,
                mean_weight=term_sums.weights.total / term_sums.rounds,
                plug_ins=plug_ins(term_sums, moments[-1], best=best, candidates=len(values), delta=self.delta),
                doubts=doubts_of(declared, {name: self.policies[name]}),
            )
            for name, term_sums in added.items()
        }  # fmt: skip
        return Estimation(estimates, self.estimator, sums.units, place.provenance.notes)


_DISCREPANCIES: Mapping[str, Callable[[float], Regularizer]] = {"ls": Discrepancy, "ls-lin": LinearDiscrepancy}


def choose_model(estimator: str, model: Any) -> RewardModel | None:
    """A reward model where the estimator uses one: predictions, an estimator to cross-fit, or one of ``models``."""
    if not ESTIMATES[estimator].asks_model:
        if model is not None:
            raise UsageError(f"estimator {estimator!r} does not use model=; it has no reward model.")
        return None
    if isinstance(model, str):
        return models.given(model)
    chosen: RewardModel = model if models.is_model(model) else models.cross_fitted(model)
    return chosen


def _check_parameter(name: str, value: Any, estimator: str) -> None:
    zero_allowed = (name == "smoothing" and estimator == "ls") or name == "alpha"
    if zero_allowed and is_number(value) and value == 0:
        return
    if positive(name, value) > 1.0 and (name == "alpha" or estimator == "harmonic"):
        raise UsageError(f"{name} must be at most 1 for estimator {estimator!r}, but is {value}.")
