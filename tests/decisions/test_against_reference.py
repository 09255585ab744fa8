"""Every certified path against thirty lines of NumPy, on random logs."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import surelift as sl
from surelift.arrays import FloatArray
from tests import reference
from tests.strategies import LoggedRounds, deltas, logged_rounds

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Paired:
    """Terms and offset of an improvement, on the grid in units of the offset."""

    terms: FloatArray
    offset: float

    def lower(self, delta: float, *, planned: bool) -> float:
        if self.offset == 0.0:
            return 0.0
        scaled = [(lam / self.offset, prior) for lam, prior in reference.ANYTIME]
        grid = reference.planned(len(self.terms), centre=4.0, spread=2.0) if planned else scaled
        return reference.lower(self.terms, delta, grid, self.offset)


def close(value: float, scale: float) -> object:
    return pytest.approx(value, rel=1e-9, abs=1e-11 * max(1.0, scale))


@given(rounds=logged_rounds(30), delta=deltas(), planned=st.booleans(), sides=st.sampled_from(["both", "lower", "upper"]))
def test_evaluate(rounds: LoggedRounds, delta: float, planned: bool, sides: str) -> None:
    n, w, r = len(rounds.reward), rounds.weights, rounds.reward
    v = rounds.other / rounds.propensity
    grid = reference.planned(n, centre=2.0, spread=1.5) if planned else reference.ANYTIME
    each = delta / (4 if sides == "both" else 2)
    # A side that is not shown is made of every third smoothing, at delta/4, to find contradictions.
    kept = grid[len(grid) // 2 % 3 :: 3]
    thin = [(lam, prior / sum(share for _, share in kept)) for lam, prior in kept]
    made = [(each, grid) if sides in ("both", side) else (delta / 4, thin) for side in ("lower", "upper")]
    expected = {
        name: (reference.lower(x * r, *made[0]), 1 - reference.lower(x * (1 - r), *made[1]))
        for name, x in (("new", w), ("other", v))
    }
    assume(all(low <= 1 and high >= 0 and low <= high for low, high in expected.values()))
    found = sl.evaluate(  # type: ignore[call-overload]
        rounds.logs(), {"new": rounds.probability, "other": rounds.other}, delta=delta,
        grid="planned" if planned else "anytime", sides=sides, control="none",
    )  # fmt: skip
    for name, (low, high) in expected.items():
        assert found[name].lower == (None if sides == "upper" else close(low, 1.0))
        assert found[name].upper == (None if sides == "lower" else close(high, 1.0))
    low, high = expected["new"]
    assert found["new"].estimate == pytest.approx(min(max((w * r).mean(), max(low, 0)), min(high, 1)))


@given(
    rounds=logged_rounds(30), delta=deltas(), planned=st.booleans(), alpha=st.sampled_from([1.0, 0.5, 0.05]),
    margin=st.sampled_from([0.0, 0.01, -0.05]),
)  # fmt: skip
def test_compare_with_production(rounds: LoggedRounds, delta: float, planned: bool, alpha: float, margin: float) -> None:
    w, r = 1 + alpha * (rounds.weights - 1), rounds.reward
    below, above = Paired((w - 1) * r, alpha), Paired((w - 1) * (1 - r), alpha)
    low, high = below.lower(delta, planned=planned), -above.lower(delta, planned=planned)
    assume(low <= high and low <= alpha and high >= -alpha)
    found = sl.compare(
        rounds.logs(), {"new": sl.blend(rounds.probability, alpha)}, delta=delta, margin=margin,
        grid="planned" if planned else "anytime", control="none",
    )  # fmt: skip
    scale = rounds.weights.max()
    assert (found.lower, found.upper) == (close(low, scale), close(high, scale))
    if abs(low - margin) > 1e-9:
        assert found.certified == (low > margin)
    if margin > -alpha:
        scaled = [(lam / alpha, prior) for lam, prior in reference.ANYTIME]
        grid = reference.planned(len(r), centre=4.0, spread=2.0) if planned else scaled
        log_e = reference.wealth(margin, below.terms, grid, alpha)
        assert found.e_value == pytest.approx(np.exp(log_e), rel=1e-6)
        assert found.p_value == pytest.approx(min(1.0, np.exp(-log_e)), rel=1e-6)


@given(rounds=logged_rounds(30), delta=deltas(), alphas=st.sampled_from([(1.0, 1.0), (0.1, 1.0), (0.2, 0.1)]))
def test_compare_with_another_policy(rounds: LoggedRounds, delta: float, alphas: tuple[float, float]) -> None:
    r, a, b = rounds.reward, *alphas
    w, v = 1 + a * (rounds.weights - 1), 1 + b * (rounds.other / rounds.propensity - 1)
    offset = max(a, b)
    low = Paired(w * r + v * (1 - r) - 1, offset).lower(delta, planned=False)
    high = -Paired(v * r + w * (1 - r) - 1, offset).lower(delta, planned=False)
    assume(low <= high and low <= offset and high >= -offset)
    found = sl.compare(
        rounds.logs(), {"new": sl.blend(rounds.probability, a)}, over={"other": sl.blend(rounds.other, b)},
        delta=delta, control="none",
    )  # fmt: skip
    scale = max(rounds.weights.max(), (rounds.other / rounds.propensity).max())
    assert (found.lower, found.upper) == (close(low, scale), close(high, scale))


@given(rounds=logged_rounds(30), delta=deltas())
def test_select_spends_delta_over_the_candidates(rounds: LoggedRounds, delta: float) -> None:
    policies = {"new": rounds.probability, "other": rounds.other}
    try:
        singles = {name: sl.compare(rounds.logs(), {name: form}, delta=delta / 2) for name, form in policies.items()}
    except sl.LogsError:
        assume(False)
    found = sl.select(rounds.logs(), policies, delta=delta, many="simultaneous")
    assert {name: one.lower for name, one in found.improvements.items()} == {n: s.lower for n, s in singles.items()}
    best = max(singles.values(), key=lambda one: one.lower)
    assert found.chosen == (best.policy if best.lower > 0 else None)
    assert found.certified == (found.chosen is not None)


def test_bounds_that_contradict_each_other_at_delta_alone_are_held_to_half_of_it() -> None:
    """Right logs are refused with probability at most delta: by two bounds that each fail with half of it."""
    r, seen = np.tile([0.0, 1.0], 10), set()
    logs, new = sl.Logs(reward=r, propensity=np.full(20, 0.2)), {"new": np.full(20, 0.3)}
    for delta in np.geomspace(1e-4, 0.99, 100).tolist():
        low, high = (sign * Paired(0.5 * kind, 1.0).lower(delta, planned=False) for sign, kind in ((1, r), (-1, 1 - r)))
        try:
            answer = sl.compare(logs, new, delta=delta)
        except sl.LogsError:
            assert low > high
            seen.add("refused")
        else:
            assert answer.lower <= answer.upper
            assert (answer.lower == close(low, 1.0)) == (low <= high)
            seen.add("as asked" if low <= high else "at half of delta")
    assert seen == {"refused", "at half of delta", "as asked"}
