"""What is each policy worth, by one of the usual point estimates: a number without a promise."""

import math
from collections.abc import Mapping
from typing import Any

from surelift.controls import models
from surelift.controls.model import RewardModel
from surelift.decisions.asking import Progress, ask, count_rounds, require_logs
from surelift.decisions.method import check_delta
from surelift.errors import UsageError, is_number, positive
from surelift.estimates import (
    ESTIMATES,
    bias_bound,
    selection_suboptimality,
    sub_gaussian_smoothing,
    variance_bound,
)
from surelift.logs.logs import Logs
from surelift.policies.resolve import name_policies
from surelift.quantities import Value
from surelift.quantities.smoothing import Discrepancy, LinearDiscrepancy
from surelift.results.estimation import Estimation, PolicyEstimate
from surelift.results.provenance import doubts_of
from surelift.statistics import SQUARES, Moment, Needed, Plan, Term, TermSums


def estimate(
    logs: Logs,
    policies: Any,
    *,
    estimator: str = "ips",
    clip: float | None = None,
    alpha: float | None = None,
    strength: float | None = None,
    smoothing: float | None = None,
    delta: float = 0.05,
    model: Any = None,
    progress: Progress | None = None,
) -> Estimation:
    """Estimate the value of each policy; for a bound that holds, use ``evaluate``.

    The estimator takes the hyper-parameter it names in ``ESTIMATES``: a smoothing defaults to 1/sqrt(rounds), a clip to
    sqrt(rounds), the others have to be given. ``delta`` is used by the plug-ins of logarithmic smoothing alone. The
    estimators that ask a reward model (dm, dr, sndr, switch-dr, dr-os) take ``model``: an object with ``fit`` and
    ``predict``, cross-fitted in five folds (gradient boosting by default), or one of ``surelift.models``.

    >>> logs = Logs(reward=[1, 0], propensity=[0.25, 0.5])
    >>> estimate(logs, {"new": [0.5, 0.5]}, estimator="snips")["new"].estimate  # weights 2 and 1
    0.6666666666666666
    """
    require_logs(logs)
    if estimator not in ESTIMATES:
        raise UsageError(f"no estimator {estimator!r}; the estimators are {', '.join(ESTIMATES)}.")
    line, delta = ESTIMATES[estimator], check_delta(delta)
    given = {"clip": clip, "alpha": alpha, "strength": strength, "smoothing": smoothing}
    for name, value in given.items():
        if value is not None and name != line.parameter:
            takes = f"it takes {line.parameter}=" if line.parameter else "it takes none"
            raise UsageError(f"estimator {estimator!r} does not use {name}=; {takes}.")
    asked = _model(estimator, model)
    parameter: dict[str, float] = (
        {line.parameter: _parameter(line.parameter, given, estimator, logs)} if line.parameter else {}
    )
    named = name_policies(policies)
    moment = Moment(line.regularizer(**parameter))
    discrepancy = _discrepancy(estimator, parameter)
    besides = [Moment(regularizer) for regularizer in line.besides] + ([] if discrepancy is None else [discrepancy])
    needed = Needed(moments=(moment, *besides))
    terms = {name: Term(name, Value(), needed) for name in named}
    sums = ask(logs, Plan(named, tuple(terms.values()), asked), progress=progress)
    found = {name: sums.of(term) for name, term in terms.items()}
    units = {name: line.value(one, moment) for name, one in found.items()}
    best = max(units, key=lambda name: units[name])
    return Estimation(
        {
            name: PolicyEstimate(
                policy=name,
                estimate=logs.scale.value(units[name]),
                estimator=estimator,
                parameter=parameter,
                model=None if asked is None else asked.describe(),
                rounds=one.rounds,
                mean_weight=one.weights.total / one.rounds,
                plug_ins={} if discrepancy is None else _plug_ins(one, discrepancy, found[best], len(found), delta),
                doubts=doubts_of(logs, {name: named[name]}),
            )
            for name, one in found.items()
        },
        estimator,
        sums.units,
    )


def _model(estimator: str, model: Any) -> RewardModel | None:
    if not ESTIMATES[estimator].asks_model:
        if model is not None:
            raise UsageError(f"estimator {estimator!r} does not use model=; it asks no reward model.")
        return None
    if isinstance(model, str):
        return models.given(model)
    return model if models.is_model(model) else models.cross_fitted(model)


def _discrepancy(estimator: str, parameter: Mapping[str, float]) -> Moment | None:
    """What the paper's statements about an estimate rest on, where it makes any."""
    if estimator == "ls":
        return Moment(Discrepancy(parameter["smoothing"]))
    return Moment(LinearDiscrepancy(parameter["smoothing"])) if estimator == "ls-lin" else None


def _parameter(name: str, given: Mapping[str, float | None], estimator: str, logs: Logs) -> float:
    value = given[name]
    if value is None:
        if name == "smoothing":
            return 1.0 / math.sqrt(count_rounds(logs))
        if name == "clip":
            return math.sqrt(count_rounds(logs))
        raise UsageError(f"estimator {estimator!r} needs {name}=; there is no default that suits every log.")
    if name == "smoothing" and estimator == "ls" and is_number(value) and value == 0:
        return 0.0
    number = positive(name, value) if (name, value) != ("alpha", 0) else 0.0
    if number > 1.0 and (name == "alpha" or estimator == "harmonic"):
        raise UsageError(f"{name} must be at most 1 for estimator {estimator!r}, but is {value}.")
    return number


def _plug_ins(sums: TermSums, discrepancy: Moment, best: TermSums, candidates: int, delta: float) -> dict[str, float]:
    regularizer = discrepancy.regularizer
    if isinstance(regularizer, LinearDiscrepancy):
        return {"linear_discrepancy": sums.mean(discrepancy)}
    assert isinstance(regularizer, Discrepancy)
    smoothing, spread, second = regularizer.smoothing, sums.mean(discrepancy), sums.mean(SQUARES)
    found = {
        "discrepancy": spread,
        "bias_at_most": bias_bound(spread, smoothing=smoothing),
        "variance_at_most": variance_bound(spread, rounds=sums.rounds),
    }
    if second > 0.0:
        found["sub_gaussian_smoothing"] = sub_gaussian_smoothing(second, rounds=sums.rounds, delta=delta)
    if smoothing > 0.0:
        found["selection_suboptimality"] = selection_suboptimality(
            best.mean(discrepancy), smoothing=smoothing, candidates=candidates, rounds=sums.rounds, delta=delta
        )
    return found
