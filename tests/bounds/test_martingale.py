"""Exact checks: on laws that can be written out, each factor is never negative and has mean 1, or less without support."""

import math
from itertools import product

import numpy as np
import pytest

from surelift import grids
from surelift.arrays import FloatArray
from surelift.logs.decisions import Limits
from surelift.logs.rewards import RewardLine
from surelift.logs.units import Weights, ends_of
from surelift.quantities import Decline, Difference, Gain, Quantity, Shortfall, Value
from tests.laws import LAWS, Law
from tests.term_sums import offset_under

ALPHAS = (0.05, 0.5, 1.0)


def mixed(policy: tuple[float, ...], logging: tuple[float, ...], alpha: float) -> tuple[float, ...]:
    return tuple((1 - alpha) * q + alpha * p for p, q in zip(policy, logging, strict=True))


def cases(law: Law) -> list[tuple[str, Quantity, float]]:
    """Each quantity of the candidate, with what it is bounded by."""
    new, other, now = law.value(law.candidate), law.value(law.rival), law.value(law.logging)
    return [
        ("new", Value(), new),
        ("new", Shortfall(), 1 - new),
        ("new", Gain(), new - now),
        ("new", Decline(), now - new),
        ("new", Difference("rival"), new - other),
        ("rival", Difference("new"), other - new),
    ]


def terms_of(quantity: Quantity, candidate: str, weights: dict[str, Weights], reward: FloatArray) -> FloatArray:
    return RewardLine(reward).terms(*ends_of(quantity.pieces(candidate), weights))


@pytest.mark.parametrize("name, alpha", list(product(LAWS, ALPHAS)))
def test_every_factor_is_nonnegative_with_mean_one(name: str, alpha: float) -> None:
    plain = LAWS[name]
    law = Law(
        plain.logging,
        mixed(plain.candidate, plain.logging, alpha),
        mixed(plain.rival, plain.logging, alpha / 2),
        plain.reward_levels,
        plain.high_chance,
    )
    drops = {"new": Limits(alpha), "rival": Limits(alpha / 2)}
    chances, new, rival, _, reward = (np.array(column) for column in zip(*law.outcomes(), strict=True))
    assert chances.sum() == pytest.approx(1.0)
    for candidate, quantity, target in cases(law):
        offset = offset_under(candidate, quantity, drops)
        weights = {"new": Weights(new, new - 1), "rival": Weights(rival, rival - 1)}
        terms = terms_of(quantity, candidate, weights, reward) + offset
        assert terms.min() >= -1e-12, (candidate, quantity)
        for smoothing in grids.anytime().smoothings:
            factors = (1 + smoothing * terms) / (1 + smoothing * (target + offset))
            mean = math.fsum(chances * factors)
            if law.full_support:
                assert mean == pytest.approx(1.0, abs=1e-12), (candidate, quantity, smoothing)
            else:
                assert mean <= 1.0 + 1e-12, (candidate, quantity, smoothing)


def test_the_check_can_fail() -> None:
    """A smallest weight that is not true makes a factor negative, and a wrong target moves its mean."""
    law = LAWS["even"]
    chances, new, _, _, reward = (np.array(column) for column in zip(*law.outcomes(), strict=True))
    offset = offset_under("new", Gain(), {"new": Limits(0.05)})
    terms = terms_of(Gain(), "new", {"new": Weights(new, new - 1)}, reward) + offset
    assert terms.min() < -0.1
    factors = (1 + 0.5 * new * reward) / (1 + 0.5 * 0.3)
    assert math.fsum(chances * factors) > 1.05
