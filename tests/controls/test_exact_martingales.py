"""On laws that can be enumerated, controlled factors are never negative and have mean 1, or less without support."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import surelift as sl
from surelift.arrays import FloatArray
from surelift.bounds import mixture
from surelift.engines import collect
from surelift.policies import Policy
from surelift.policies.resolve import name_policies
from surelift.quantities import Gain, Quantity, Value
from surelift.statistics import Narrowing, Term, automatic, by_max_weight, by_model, by_weights, plan_of
from tests.controls.exact import cases, log_of, means_of_factors
from tests.laws import LAWS, Law
from tests.term_sums import offset_of

ALPHAS = (0.05, 0.5, 1.0)
MODELS: dict[str, Callable[[Law], FloatArray]] = {
    "right": lambda law: np.array(law.high_chance),
    "hopeless": lambda law: np.full(len(law.logging), 0.37),
    "opposite": lambda law: 1.0 - np.array(law.high_chance),
    "nothing": lambda law: np.zeros(len(law.logging)),
    "everything": lambda law: np.ones(len(law.logging)),
}


def blends(law: Law, alpha: float) -> tuple[dict[str, Policy], tuple[float, float, float]]:
    """The candidate and the rival blended into production, and the values of candidate, production and rival."""
    rows = len(log_of(law)[0])
    policies = name_policies(
        {
            "new": sl.blend(np.tile(law.candidate, (rows, 1)), alpha),
            "rival": sl.blend(np.tile(law.rival, (rows, 1)), alpha / 2),
        }
    )
    now = law.value(law.logging)
    new = now + alpha * (law.value(law.candidate) - now)
    rival = now + alpha / 2 * (law.value(law.rival) - now)
    return policies, (new, now, rival)


def check_means(law: Law, policies: dict[str, Policy], values: tuple[float, float, float], narrow: Any, model: Any) -> None:
    for candidate, quantity, target in cases(*values):
        offset = offset_of(candidate, quantity, policies)
        narrowing: Narrowing = narrow(quantity, candidate)
        needed = mixture.plan(quantity=quantity, offset=offset, count=lambda: 1, narrowing=narrowing)
        assert sum(component.prior for component in needed.components) == pytest.approx(1.0)
        assert any(component.control is not None for component in needed.components)
        means = means_of_factors(law, policies, Term(candidate, quantity, needed), target, model)
        for component, mean in means.items():
            if law.full_support:
                assert mean == pytest.approx(1.0, abs=1e-9), (candidate, quantity, component)
            else:
                assert mean <= 1.0 + 1e-9, (candidate, quantity, component)


@pytest.mark.parametrize("narrow", [by_weights, automatic])
@pytest.mark.parametrize("name, alpha", list(product(LAWS, ALPHAS)))
def test_weight_control(name: str, alpha: float, narrow: Callable[[Quantity], Narrowing]) -> None:
    policies, values = blends(LAWS[name], alpha)
    check_means(LAWS[name], policies, values, lambda quantity, candidate: narrow(quantity), None)


@pytest.mark.parametrize("name, alpha, model", list(product(LAWS, ALPHAS, MODELS)))
def test_model_control(name: str, alpha: float, model: str) -> None:
    law = LAWS[name]
    policies, values = blends(law, alpha)
    rows = len(log_of(law)[0])
    low, high = law.reward_levels
    predicted = low + (high - low) * MODELS[model](law)
    predictions = sl.models.given(np.tile(predicted, (rows, 1)))
    check_means(law, policies, values, lambda quantity, candidate: by_model(quantity), predictions)


@pytest.mark.parametrize("name, alpha", [(name, alpha) for name, alpha in product(LAWS, ALPHAS) if name != "no support"])
def test_max_weight_control(name: str, alpha: float) -> None:
    """With logged probabilities only, and the law's largest weight."""
    law = LAWS[name]
    chances, logs = log_of(law)
    action = np.asarray(logs.source._columns["action"])  # type: ignore[attr-defined]
    largest = {
        which: float((np.array(getattr(law, which)) / np.array(law.logging)).max()) for which in ("candidate", "rival")
    }
    policies = name_policies(
        {
            "new": sl.blend(sl.bounded(np.array(law.candidate)[action], largest["candidate"]), alpha),
            "rival": sl.blend(sl.bounded(np.array(law.rival)[action], largest["rival"]), alpha / 2),
        }
    )
    limits = {name: policy.limits for name, policy in policies.items()}
    assert limits["new"].rise == pytest.approx(alpha * (largest["candidate"] - 1))
    _, values = blends(law, alpha)
    assert len(chances) == len(action)
    check_means(law, policies, values, lambda quantity, candidate: by_max_weight(quantity, candidate, limits), None)


def test_max_weight_control_by_hand() -> None:
    # w <= 3 and beta = 1/4: rho (3 - 1) must not exceed (8/9) * 4, so rho stays 1/2 and 1, with offsets 1 and 2.
    limits = {"new": sl.bounded("p", 3.0).limits}
    plan = mixture.plan(
        quantity=Value(), offset=0.0, count=lambda: 1, grid=sl.grids.single(0.25),
        narrowing=by_max_weight(Value(), "new", limits),
    )  # fmt: skip
    _, half, whole = plan.components
    assert (half.offset, whole.offset) == (1.0, 2.0)
    assert half.smoothing == pytest.approx(0.25 / 0.75)
    assert whole.smoothing == pytest.approx(0.25 / 0.5)
    # At beta = 1 the share is reduced to (8/9) / 2, the offset to 8/9 and the smoothing to 9.
    cut = mixture.plan(
        quantity=Value(), offset=0.0, count=lambda: 1, grid=sl.grids.single(1.0),
        narrowing=by_max_weight(Value(), "new", limits),
    ).components[-1]  # fmt: skip
    assert cut.offset == pytest.approx(8 / 9)
    assert cut.smoothing == pytest.approx(9.0)


def test_the_checks_can_fail() -> None:
    """Without support a mean exceeds 1, and with too small a maximum weight a term falls below its floor."""
    law = LAWS["no support"]
    _, logs = log_of(law)
    action = np.asarray(logs.source._columns["action"])  # type: ignore[attr-defined]
    policies = name_policies({"new": np.array(law.candidate)[action]})
    limits = {"new": sl.bounded("p", 40.0).limits}
    needed = mixture.plan(quantity=Value(), offset=0.0, count=lambda: 1, narrowing=by_max_weight(Value(), "new", limits))
    # Without support, max-weight control is false, not loose.
    means = means_of_factors(law, policies, Term("new", Value(), needed), law.value(law.candidate))
    assert max(means.values()) > 1.0005
    false = {"new": sl.bounded("p", 1.01).limits}
    needed = mixture.plan(quantity=Gain(), offset=1.0, count=lambda: 1, narrowing=by_max_weight(Gain(), "new", false))
    heavy = LAWS["heavy"]
    _, logs = log_of(heavy)
    action = np.asarray(logs.source._columns["action"])  # type: ignore[attr-defined]
    terms = (Term("new", Gain(), needed),)
    with pytest.raises(sl.LogsError, match="outside what was declared possible"):
        collect(logs, plan_of(name_policies({"new": np.array(heavy.candidate)[action]}), terms))
