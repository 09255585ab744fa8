"""Bounds on the ratio of two values: exact expectations, coverage, and the tempting ways that are false or loose."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import surelift as sl
from surelift import grids
from surelift.arrays import FloatArray
from surelift.bounds.relative import Part, RatioEvidence
from surelift.statistics import on_grid
from surelift.statistics.weight_table import Side
from tests.laws import LAWS, Law, draw_index
from tests.statistics.test_weight_table import ROUNDS, cells_of, parts

COMPONENTS = on_grid(grids.anytime(), offset=1.0).components
# Of each claim of the table: the pair it is about, the part that is scaled, and by what at a ratio g of the first value to
# the second; (candidate, baseline, is a cost).
CLAIMS: dict[str, tuple[Side, Part, bool]] = {
    "lift above": ("gain", "first", True),
    "lift below": ("decline", "first", False),
    "cost reduced by more": ("gain", "second", False),
    "cost reduced by less": ("decline", "second", True),
}


def evidence_of(side: Side, weight: FloatArray, reward: FloatArray) -> RatioEvidence:
    return RatioEvidence.of(cells_of(weight, reward), side, COMPONENTS, units=len(weight))


def exact_evidence(side: Side, weight: FloatArray, reward: FloatArray) -> RatioEvidence:
    found = evidence_of(side, weight, reward)
    ones = np.ones(len(weight))
    return RatioEvidence(*parts(side, weight, reward), ones, len(weight), found.smoothings, found.log_prior)


def values(law: Law, *, cost: bool) -> tuple[float, float, float]:
    """Of candidate, production and rival; of an unsupported action nothing is known, so the worst is as good as any."""
    found = [law.value(policy) for policy in (law.candidate, law.logging, law.rival)]
    candidate, production, rival = (1.0 - value if cost else value for value in found)
    return candidate, production, rival


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("claim", CLAIMS)
def test_where_the_claim_is_false_the_mean_of_the_evidence_is_at_most_1(name: str, claim: str) -> None:
    """Two rounds of a small law, in full, at the very ratio of the two values: the hypothesis is just true."""
    law, (side, part, inverse) = LAWS[name], CLAIMS[claim]
    candidate, production, _ = values(law, cost="cost" in claim)
    ratio = candidate / production
    outcomes, mean = law.outcomes(), 0.0
    for first, second in product(outcomes, repeat=2):
        weight, reward = np.array([first[1], second[1]]), np.array([first[4], second[4]])
        scale = 1.0 / ratio if inverse else ratio
        mean += first[0] * second[0] * math.exp(evidence_of(side, weight, reward).log_e_value(scale, part))
    assert mean <= 1.0 + 1e-12


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("cost", [False, True])
def test_so_it_is_for_two_candidates(name: str, cost: bool) -> None:
    """z = w1 r/g + w2 (1 - r), and mirrored; of costs the other part is scaled."""
    law = LAWS[name]
    candidate, _, rival = values(law, cost=cost)
    for side in ("above", "below"):
        mean = 0.0
        for first, second in product(law.outcomes(), repeat=2):
            pairs = [(one[1], one[2]) if side == "above" else (one[2], one[1]) for one in (first, second)]
            reward = np.array([first[4], second[4]])
            x = np.array([pair[0] for pair in pairs]) * reward
            y = np.array([pair[1] for pair in pairs]) * (1.0 - reward)
            share = np.divide(x, x + y, out=np.zeros(2), where=x + y > 0)
            # "above" refutes V1 <= g V2 by X/g + Y; "below" refutes V1 >= g V2 by g X + Y. Costs scale Y, the other way.
            inverse = (side == "above") != cost
            scale = rival / candidate if inverse else candidate / rival
            found = evidence_of("pair", x + y, share).log_e_value(scale, "second" if cost else "first")
            mean += first[0] * second[0] * math.exp(found)
        assert mean <= 1.0 + 1e-12


@given(ROUNDS, st.sampled_from(["gain", "decline"]), st.sampled_from(["first", "second"]), st.floats(0.01, 100.0))
def test_evidence_rises_with_the_scale_and_is_never_more_than_that_of_the_rounds(
    rounds: list[tuple[float, float]], side: Side, part: Part, scale: float
) -> None:
    weight, reward = np.minimum(np.array(rounds)[:, 0], 60_000.0), np.array(rounds)[:, 1]
    ours, exact = evidence_of(side, weight, reward), exact_evidence(side, weight, reward)
    assert ours.log_e_value(scale, part) <= exact.log_e_value(scale, part) + 1e-9
    assert ours.log_e_value(1.1 * scale, part) >= ours.log_e_value(scale, part) - 1e-9
    least = ours.least_scale(part, delta=0.05)
    if 1e-9 < least < math.inf:
        assert ours.log_e_value(least, part) >= math.log(20.0)
        assert ours.log_e_value(least * (1.0 - 1e-9), part) < math.log(20.0) + 1e-6


@pytest.mark.parametrize("rewards", ["clicks", "graded", "small"])
def test_the_table_loses_next_to_nothing_of_the_width(rewards: str) -> None:
    rng, rounds = np.random.default_rng(5), 20_000
    weight = rng.lognormal(-0.125, 0.5, rounds)
    reward = {
        "clicks": (rng.random(rounds) < 0.1).astype(float),
        "graded": rng.beta(2.0, 8.0, rounds),
        "small": np.minimum(rng.lognormal(-5.0, 1.0, rounds), 1.0),
    }[rewards]
    for side, part, _ in CLAIMS.values():
        found = evidence_of(side, weight, reward).least_scale(part, delta=0.05)
        exact = exact_evidence(side, weight, reward).least_scale(part, delta=0.05)
        first, second = (each.mean() for each in parts(side, weight, reward))
        estimate = (1.0 - second) / first if part == "first" else (1.0 - first) / second
        assert exact <= found <= exact + 0.03 * (exact - estimate)


def draws(law: Law, logs: int, rounds: int, seed: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    outcomes = law.outcomes()
    index = draw_index(np.random.default_rng(seed), [one[0] for one in outcomes], (logs, rounds))
    weight, reward, propensity = (np.array([one[k] for one in outcomes])[index] for k in (1, 4, 3))
    return weight, reward, propensity


@pytest.mark.parametrize("name", ["even", "rare", "graded", "no support"])
def test_coverage_of_both_sides(name: str) -> None:
    """Misses at delta 10%: of 200 logs at most 36 with probability 0.9997, were each missed with the full 10%."""
    law, missed = LAWS[name], {"lower": 0, "upper": 0}
    candidate, production, _ = values(law, cost=False)
    for weight, reward in zip(*draws(law, 200, 400, seed=11)[:2], strict=True):
        lower = 1.0 / evidence_of("gain", weight, reward).least_scale("first", delta=0.1)
        upper = evidence_of("decline", weight, reward).least_scale("first", delta=0.1)
        missed["lower"] += lower > candidate / production
        missed["upper"] += upper < candidate / production
    assert max(missed.values()) <= 36


def test_scaling_the_weights_on_the_upper_side_is_false() -> None:
    """z = r + (w/g)(1 - r) has a mean above 1 for g < 1: of a policy that is production itself it "shows" 10% less."""
    g, chance = 0.9, 0.01
    assert chance + (1.0 - chance) / g == pytest.approx(1.11)
    reward = (np.random.default_rng(2).random(2_000) < chance).astype(float)
    weight = np.ones(len(reward))
    ours = evidence_of("decline", weight, reward)
    naive = RatioEvidence(reward, (1.0 - reward) / g, np.ones(len(reward)), len(reward), ours.smoothings, ours.log_prior)
    assert naive.log_e_value(1.0, "first") > math.log(1e20)
    assert ours.log_e_value(g, "first") < 0.0
    logs = sl.Logs({"r": reward, "p": np.full(len(reward), 0.5)}, reward="r", propensity="p")
    assert sl.compare(logs, {"same": "p"}).relative_upper > 0.0  # type: ignore[operator]


def test_dividing_one_bound_by_another_is_looser() -> None:
    law = LAWS["even"]
    weight, reward, propensity = (each[0] for each in draws(law, 1, 4_000, seed=3))
    logs = sl.Logs({"r": reward, "p": propensity, "n": weight * propensity}, reward="r", propensity="p")
    both = sl.evaluate(logs, {"new": "n", "production": "production"}, delta=0.05)
    divided = both["new"].lower / both["production"].upper - 1.0  # type: ignore[operator]
    lower = sl.compare(logs, "n", delta=0.05).relative_lower
    truth = law.value(law.candidate) / law.value(law.logging) - 1.0
    assert lower is not None
    assert divided + 0.2 * truth < lower < truth


@settings(max_examples=20)
@given(st.floats(0.02, 1.0), st.integers(0, 2**20), st.booleans())
def test_the_lift_of_a_blend_is_its_share_of_that_of_the_candidate(alpha: float, seed: int, cost: bool) -> None:
    weight, reward, propensity = (each[0] for each in draws(LAWS["graded"], 1, 300, seed=seed))
    source = {"r": reward, "p": propensity, "n": weight * propensity}
    logs = sl.Logs(source, propensity="p", cost="r") if cost else sl.Logs(source, propensity="p", reward="r")
    whole, some = sl.compare(logs, "n"), sl.compare(logs, {"some": sl.blend("n", alpha)})
    for name in ("relative_lower", "relative_upper"):
        assert getattr(some, name) == pytest.approx(alpha * getattr(whole, name), rel=1e-6)


def test_of_costs_it_is_the_saving() -> None:
    law, missed = LAWS["even"], 0
    candidate, production, _ = values(law, cost=True)
    saving = 1.0 - candidate / production
    assert saving == pytest.approx(0.32)
    for weight, reward in zip(*draws(law, 60, 2_000, seed=5)[:2], strict=True):
        logs = sl.Logs({"c": 3.0 * (1.0 - reward), "p": np.full(len(weight), 0.1), "n": 0.1 * weight}, cost="c",
                       propensity="p", reward_range=(0, 3))  # fmt: skip
        found = sl.compare(logs, "n", delta=0.1)
        assert found.relative_lower is not None
        assert found.relative_upper is not None
        missed += not found.relative_lower <= saving <= found.relative_upper
        assert found.relative_upper - found.relative_lower < 0.3
    assert missed <= 21


def test_the_tipping_factor_holds_where_all_weights_are_too_large() -> None:
    """Propensities logged at half their size: the certificate is often false, and its tipping factor reaches 2 seldom."""
    rounds, rng = 3_000, np.random.default_rng(8)
    certified = survived = 0
    for _ in range(100):
        weight = np.where(rng.random(rounds) < 0.5, 1.2, 0.8)
        reward = (rng.random(rounds) < 0.3).astype(float)
        logs = sl.Logs({"r": reward, "p": np.full(rounds, 0.2), "n": 0.2 * 2.0 * weight}, reward="r", propensity="p")
        gain = evidence_of("gain", 2.0 * weight, reward)
        certified += gain.log_e_value(1.0, "first") > math.log(10.0)
        survived += 1.0 / gain.least_scale("first", delta=0.1) > 2.0
    assert certified == 100
    assert survived <= 21
    with pytest.raises(sl.LogsError, match="contradict"):
        sl.compare(logs, "n")


def test_of_two_candidates_the_tipping_factor_is_the_bound_on_the_mean_of_z() -> None:
    law = LAWS["even"]
    outcomes = law.outcomes()
    index = draw_index(np.random.default_rng(4), [one[0] for one in outcomes], (5_000,))
    w, v, q, r = (np.array([one[k] for one in outcomes])[index] for k in (1, 2, 3, 4))
    logs = sl.Logs({"r": r, "p": q, "n": w * q, "o": v * q}, reward="r", propensity="p")
    found = sl.compare(logs, {"new": "n"}, over={"old": "o"})
    assert found.certified
    assert found.tipping_factor == pytest.approx(1.0 + found.lower, rel=1e-2)
    assert found.tipping_factor <= 1.0 + found.lower  # type: ignore[operator]
    truth = law.value(law.candidate) / law.value(law.rival) - 1.0
    assert 0.0 < found.relative_lower < truth < found.relative_upper  # type: ignore[operator]
