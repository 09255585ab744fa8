"""The paper's theorems about its rivals, true for every input; values by hand; coverage where it is claimed."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import surelift as sl
from surelift.arrays import FloatArray
from surelift.bounds import BOUNDS
from surelift.bounds.independent_rounds import unfloored_empirical_bernstein
from surelift.bounds.single_smoothing import (
    unfloored_implicit_exploration,
    unfloored_logarithmic_smoothing,
    unfloored_moments,
)
from surelift.kernels.resamples import resample
from surelift.kernels.sorting import Sorted
from surelift.quantities import Shortfall, Value
from surelift.quantities.regularizers import (
    REGULARIZERS,
    Clipping,
    ExponentialSmoothing,
    Harmonic,
    ImplicitExploration,
    PolicyRounds,
    RepairedHarmonic,
    Shrinkage,
    describe_regularizer,
    regularizer_named,
)
from surelift.statistics import MEAN, SQUARES, Needed, TermSums, WeightSums
from tests.laws import LAWS, SIMULATORS, Simulated, from_law
from tests.strategies import LoggedRounds, deltas, logged_rounds, smoothings
from tests.term_sums import collected

NAMES = ["none", "clipping:3", "exponential-smoothing:0.7", "implicit-exploration:0.1", "shrinkage:5", "harmonic:0.2",
         "global-clipping:0.5"]  # fmt: skip
QUANTITIES = st.sampled_from([Value(), Shortfall()])


def room(bound: float) -> float:
    return 1e-9 * (1.0 + abs(bound))


@given(rounds=logged_rounds(), smoothing=smoothings(), delta=deltas(), quantity=QUANTITIES)
def test_logarithmic_smoothing_is_never_looser_than_the_second_moment(
    rounds: LoggedRounds, smoothing: float, delta: float, quantity: Value | Shortfall
) -> None:
    """The paper, Proposition: for every input, not on average."""
    ours, theirs = both(rounds, smoothing, delta, quantity, "second-moment")
    assert ours >= theirs - room(theirs)


@given(rounds=logged_rounds(), smoothing=smoothings(), delta=deltas(), quantity=QUANTITIES)
def test_logarithmic_smoothing_is_never_looser_than_implicit_exploration(
    rounds: LoggedRounds, smoothing: float, delta: float, quantity: Value | Shortfall
) -> None:
    """The paper, Proposition 8."""
    ours = unfloored_logarithmic_smoothing(
        collected(rounds, "logarithmic-smoothing", quantity, smoothing=smoothing), delta=delta
    )
    sums = collected(rounds, "implicit-exploration", quantity, smoothing=smoothing)
    theirs = unfloored_implicit_exploration(sums, delta=delta)
    assert ours >= theirs - room(theirs)


@given(
    rounds=logged_rounds(), smoothing=smoothings(), delta=deltas(), quantity=QUANTITIES, order=st.integers(1, 6),
    regularizer=st.sampled_from(NAMES),
)  # fmt: skip
def test_logarithmic_smoothing_is_never_looser_than_any_moments(
    rounds: LoggedRounds, smoothing: float, delta: float, quantity: Value | Shortfall, order: int, regularizer: str
) -> None:
    """For every regularizer with C1, every smoothing and every order, with no condition on the smoothing."""
    ours, theirs = both(rounds, smoothing, delta, quantity, "moments", order=order, regularizer=regularizer)
    assert ours >= theirs - room(theirs)


def both(
    rounds: LoggedRounds, smoothing: float, delta: float, quantity: Value | Shortfall, method: str, **options: Any
) -> tuple[float, float]:
    ours = collected(rounds, "logarithmic-smoothing", quantity, smoothing=smoothing)
    theirs = collected(rounds, method, quantity, smoothing=smoothing, **options)
    return unfloored_logarithmic_smoothing(ours, delta=delta), unfloored_moments(theirs, delta=delta)


@given(
    rounds=logged_rounds(),
    delta=deltas(),
    order=st.integers(1, 4),
    regularizer=st.sampled_from(NAMES),
    share=st.floats(0.01, 1.0),
)
def test_a_higher_order_is_never_looser_while_the_smoothing_is_small(
    rounds: LoggedRounds, delta: float, order: int, regularizer: str, share: float
) -> None:
    """Order L + 1 is at least order L when smoothing <= (2L + 2)/((2L + 1) g) for every g."""
    g = regularizer_named(regularizer).values(seen(rounds)).max()
    smoothing = min(share * (2 * order + 2) / ((2 * order + 1) * max(g, 1e-9)), 1e3)
    lower, higher = (
        unfloored_moments(
            collected(rounds, "moments", smoothing=smoothing, order=level, regularizer=regularizer), delta=delta
        )
        for level in (order, order + 1)
    )
    assert higher >= lower - room(lower)


@given(rounds=logged_rounds(), delta=deltas(), smoothing=smoothings(), quantity=QUANTITIES)
def test_no_certified_bound_exceeds_the_mean(
    rounds: LoggedRounds, delta: float, smoothing: float, quantity: Value | Shortfall
) -> None:
    """Every bound is at most the mean of w r, but Efron-Stein's, and bets that stop before the last block."""
    for name, bound in BOUNDS.items():
        if name in ("efron-stein", "bootstrap", "blocks"):
            continue
        options = {"smoothing": smoothing} if "smoothing" in bound.options else {}
        sums = collected(rounds, name, quantity, **options)
        if name == "normal" and delta > 0.5:
            continue  # beyond the median it lies above the mean on purpose
        found = bound.lower_bound(sums, delta=delta)
        assert found <= max(0.0, sums.mean(MEAN)) + room(sums.mean(MEAN)), name


def seen(rounds: LoggedRounds) -> PolicyRounds:
    terms = rounds.weights * rounds.reward
    return PolicyRounds(rounds.weights, rounds.probability, rounds.propensity, rounds.reward, terms)


@given(rounds=logged_rounds(), name=st.sampled_from(NAMES))
def test_a_regularizer_fit_for_a_bound_never_exceeds_w_r(rounds: LoggedRounds, name: str) -> None:
    values = regularizer_named(name).values(seen(rounds))
    assert (values >= 0).all()
    assert (values <= seen(rounds).terms * (1 + 1e-12)).all()


def test_regularizers_that_break_the_condition_are_refused() -> None:
    logs = sl.Logs(reward=[1.0, 1.0], propensity=[0.5, 0.5])
    policy = {"new": [0.25, 0.75]}
    with pytest.raises(sl.UsageError, match="condition C1"):
        sl.evaluate(logs, policy, method="moments", regularizer=Harmonic(0.5))
    with pytest.raises(sl.UsageError, match=r"violates condition C1 in 2 rounds: .* w r = 0.5, but returned 1"):
        sl.evaluate(logs, policy, method="moments", regularizer=lambda w, p, q, r: w * r + 0.5)
    with pytest.raises(sl.UsageError, match="violates condition C1 in 2 rounds"):
        sl.evaluate(logs, policy, method="moments", regularizer=lambda w, p, q, r: -w)
    with pytest.raises(sl.UsageError, match="one number for each"):
        sl.evaluate(logs, policy, method="moments", regularizer=lambda w, p, q, r: np.stack([w * r] * 2))
    for make in (lambda: ExponentialSmoothing(3.0), lambda: Shrinkage(-50.0), lambda: ImplicitExploration(-0.05)):
        with pytest.raises(sl.UsageError, match="must be"):
            make()
    assert regularizer_named("exponential-smoothing:0") == ExponentialSmoothing(0.0)
    function = sl.evaluate(logs, policy, method="moments", regularizer=lambda w, p, q, r: w * r)
    with pytest.raises(sl.UsageError, match="cannot be stored in a certificate"):
        sl.Certificate.of(function)
    halved = sl.evaluate(logs, policy, method="moments", regularizer=lambda w, p, q, r: w * r / 2, smoothing=0.1)
    assert halved["new"].lower == 0.0
    # The harmonic one is repaired: w/(1 - s + s w) is 2/3 at w = 1/2, above it; max(1, ...) keeps it at 1/2.
    assert regularizer_named("harmonic:0.5") == RepairedHarmonic(0.5)
    for wrong in (
        "magic:1",
        "clipping:",
        "clipping:-1",
        "clipping:x",
        3,
        "exponential-smoothing:3",
        "harmonic:5",
        "shrinkage:0",
    ):
        with pytest.raises(sl.UsageError, match=r"regularizer|clip|alpha|strength"):
            sl.evaluate(logs, policy, method="moments", regularizer=wrong)
    with pytest.raises(sl.UsageError, match="clip="):
        sl.evaluate(logs, policy, method="moments", regularizer="shrinkage:5", clip=3.0)
    with pytest.raises(sl.UsageError, match="order must be"):
        sl.evaluate(logs, policy, method="moments", order=0)


@pytest.mark.parametrize("name", NAMES)
def test_a_regularizer_survives_its_description(name: str) -> None:
    assert regularizer_named(describe_regularizer(regularizer_named(name))) == regularizer_named(name)
    assert name.split(":")[0] in REGULARIZERS


def test_densities_refuse_what_has_no_meaning_for_them() -> None:
    logs = sl.Logs(reward=[1.0, 0.0], propensity=[2.5, 0.5], density=True)
    for method, options in (
        ("implicit-exploration", {}),
        ("moments", {"regularizer": "exponential-smoothing:0.5"}),
    ):
        with pytest.raises(sl.UsageError, match="may exceed 1, and this has no meaning then"):
            sl.evaluate(logs, {"new": [1.0, 1.0]}, method=method, **options)  # type: ignore[call-overload]


# Two rounds with weights 2 and 1/2, rewards 1 and 1, propensities 1/4 and 1/2: w r is 2 and 1/2.
HAND = LoggedRounds(np.array([1.0, 1.0]), np.array([0.25, 0.5]), np.array([0.5, 0.25]), np.array([0.0, 0.0]))


def test_bounds_by_hand() -> None:
    half = 0.5
    # Order 1 of min(w r, 2) with smoothing 1/2: mean 1.25, mean square 2.125; exp(.625 - .265625 - ln 2 / 2).
    second = unfloored_moments(collected(HAND, "second-moment", smoothing=half), delta=half)
    assert second == pytest.approx(2 * math.expm1(0.625 - 0.265625 - math.log(2) / 2))
    # Order 2 adds + s^3/3 mean z^3 - s^4/4 mean z^4: cubes 8.125/2, fourth powers 16.0625/2.
    fourth = unfloored_moments(collected(HAND, "moments", smoothing=half, order=2, regularizer="none"), delta=half)
    exponent = 0.625 - 0.265625 + 8.125 / 48 - 16.0625 / 128 - math.log(2) / 2
    assert fourth == pytest.approx(2 * math.expm1(exponent))
    # p r/(q + s/2): 1/2 / (1/4 + 1/4) = 1 and 1/4 / (3/4) = 1/3, minus ln 2 / (1/2 * 2).
    ix = unfloored_implicit_exploration(collected(HAND, "implicit-exploration", smoothing=half), delta=half)
    assert ix == pytest.approx(2 / 3 - math.log(2))
    # min(w, 1) r is 1 and 1/2: mean 3/4, unbiased variance 1/8, ln(2/delta) = ln 4.
    bernstein = unfloored_empirical_bernstein(collected(HAND, "empirical-bernstein", clip=1.0), delta=half)
    assert bernstein == pytest.approx(0.75 - math.sqrt(2 / 8 * math.log(4) / 2) - 7 * math.log(4) / 3)
    # Mean 1.25, unbiased variance 1.125; the 97.5% normal quantile is 1.95996.
    normal = BOUNDS["normal"]
    sums = collected(HAND, "normal")
    assert normal.upper_bound is not None
    assert normal.upper_bound(sums, delta=0.025) == pytest.approx(1.25 + 1.959964 * math.sqrt(1.125 / 2), rel=1e-6)
    assert normal.lower_bound(sums, delta=0.4) == pytest.approx(1.25 - 0.2533471 * 0.75, rel=1e-6)


def test_the_bootstrap_by_hand() -> None:
    # Four resamples of two rounds with means 1/2, 1, 3/2 and 2: a third of the way up is 1, two thirds 3/2.
    resamples = np.array([[1.0, 2.0, 3.0, 4.0], [2.0, 2.0, 2.0, 2.0]])
    sums = TermSums(2, Needed(), np.zeros(0), np.zeros(0), {}, resamples, WeightSums(), None)
    upper = BOUNDS["bootstrap"].upper_bound
    assert upper is not None
    assert BOUNDS["bootstrap"].lower_bound(sums, delta=1 / 3) == pytest.approx(1.0)
    assert upper(sums, delta=1 / 3) == pytest.approx(1.5)


def test_one_round_is_enough_for_nothing() -> None:
    logs = sl.Logs(reward=[1.0], propensity=[0.5])
    for method in ("empirical-bernstein", "normal"):
        answer = sl.evaluate(logs, {"new": [0.5]}, method=method)["new"]
        assert (answer.lower, answer.upper) == (0.0, 1.0)


def test_powers_that_overflow_say_nothing() -> None:
    logs = sl.Logs(reward=[1.0, 1.0], propensity=[1e-140, 0.5])
    answer = sl.evaluate(logs, {"new": [1.0, 0.5]}, method="moments", order=3, regularizer="none", sides="lower")
    assert answer["new"].lower == 0.0


CERTIFIED: dict[str, tuple[str, dict[str, Any]]] = {
    "mixture": ("mixture", {}),
    "logarithmic smoothing": ("logarithmic-smoothing", {}),
    "second moment": ("second-moment", {}),
    "moments of clipping": ("moments", {"order": 2}),
    "moments of the repaired harmonic": ("moments", {"order": 3, "regularizer": "harmonic:0.3"}),
    "implicit exploration": ("implicit-exploration", {}),
    "empirical Bernstein": ("empirical-bernstein", {}),
}
DELTA, LOGS = 0.1, 300


def resampled(terms: FloatArray, first: int, draws: int) -> FloatArray:
    numbers = np.arange(first, first + len(terms), dtype=np.uint64)
    [[totals]] = resample([terms], numbers, draws, Sorted.whole(len(terms)))
    return np.asarray(totals)


def many_sums(drawn: Simulated, method: str, *, shortfall: bool, **options: Any) -> list[TermSums]:
    """The sums of every simulated log at once, with the library's own regularizers."""
    logs, rounds = drawn.weights.shape
    earned = 1 - drawn.reward if shortfall else drawn.reward
    terms = drawn.weights * earned
    view = PolicyRounds(drawn.weights, drawn.weights * drawn.propensity, drawn.propensity, earned, terms)
    needed = BOUNDS[method].plan(quantity=Value(), offset=0.0, count=lambda: rounds, **options)
    logs_of = [np.log1p(component.smoothing * terms).sum(axis=1) for component in needed.components]
    found = {m: (m.regularizer.values(view) ** m.power).sum(axis=1) for m in {MEAN, SQUARES, *needed.moments}}
    return [
        TermSums(
            rounds, needed, np.array([one[i] for one in logs_of]), np.zeros(len(logs_of)),
            {m: float(total[i]) for m, total in found.items()},
            resampled(terms[i], i * rounds, needed.resamples) if needed.resamples else None,
            WeightSums(total=float(drawn.weights[i].sum())), None,
        )
        for i in range(logs)
    ]  # fmt: skip


def misses(drawn: Simulated, method: str, *, shortfall: bool, **options: Any) -> int:
    truth = 1 - drawn.true_value if shortfall else drawn.true_value
    sums = many_sums(drawn, method, shortfall=shortfall, **options)
    return sum(BOUNDS[method].lower_bound(one, delta=DELTA) > truth for one in sums)


@pytest.mark.parametrize("rounds", [50, 500, 5_000])
@pytest.mark.parametrize("law", SIMULATORS)
def test_bounds_that_claim_to_hold_do(law: str, rounds: int) -> None:
    drawn = SIMULATORS[law](np.random.default_rng(rounds), LOGS, rounds)
    allowed = stats.binom.isf(1e-6, LOGS, DELTA)
    for name, (method, options) in CERTIFIED.items():
        assert BOUNDS[method].certifies
        for shortfall in (False, True):
            assert misses(drawn, method, shortfall=shortfall, **options) <= allowed, (name, shortfall)


def test_every_bound_that_certifies_is_covered() -> None:
    covered = {method for method, _ in CERTIFIED.values()} | {"blocks"}  # in test_blocks.py
    assert {name for name, bound in BOUNDS.items() if bound.certifies} == covered


@pytest.mark.parametrize("method", ["normal", "bootstrap"])
def test_the_usual_intervals_fail_where_a_rare_weight_decides(method: str) -> None:
    """An action of propensity 1/1000 carries half the value: a log of 100 rounds rarely holds it, and then nobody knows."""
    drawn = from_law(LAWS["heavy"])(np.random.default_rng(0), LOGS, 100)
    upper = BOUNDS[method].upper_bound
    assert upper is not None
    missed = sum(upper(one, delta=DELTA) < drawn.true_value for one in many_sums(drawn, method, shortfall=False))
    assert missed > 0.8 * LOGS
    # The certified upper bound, through the shortfall, stays true on the same logs.
    assert misses(drawn, "mixture", shortfall=True) <= stats.binom.isf(1e-6, LOGS, DELTA)


def test_the_normal_interval_breaks_under_daily_looks() -> None:
    drawn = SIMULATORS["even"](np.random.default_rng(1), LOGS, 2_000)
    ever = np.zeros(LOGS, dtype=bool)
    for look in range(100, 2_001, 100):
        part = Simulated(drawn.weights[:, :look], drawn.propensity[:, :look], drawn.reward[:, :look], drawn.true_value, 0.0)
        sums = many_sums(part, "normal", shortfall=False)
        ever |= np.array([BOUNDS["normal"].lower_bound(one, delta=DELTA) > drawn.true_value for one in sums])
    assert ever.sum() > stats.binom.isf(1e-6, LOGS, DELTA)


def test_what_does_not_certify_says_so() -> None:
    rng = np.random.default_rng(0)
    good = rng.random(4_000) < 0.5
    click = (rng.random(4_000) < np.where(good, 0.5, 0.2)).astype(float)
    logs, better = sl.Logs(reward=click, propensity=np.full(4_000, 0.5)), {"new": np.where(good, 0.8, 0.2)}
    for method in ("normal", "bootstrap"):
        answer = sl.compare(logs, better, method=method)
        assert answer.lower > 0
        assert not answer.certified
        assert answer.promise == "asymptotic"
        assert "asymptotic" in answer.doubts[0]
        assert "only asymptotically" in str(answer)
        assert sl.select(logs, better, method=method).chosen is None
        assert answer.lower < answer.estimate < answer.upper


def test_clipping_defaults_to_the_square_root_of_the_rounds() -> None:
    sums = collected(HAND, "empirical-bernstein")
    assert sums.needed.moments[0].regularizer == Clipping(math.sqrt(2))
    assert BOUNDS["moments"].plan(quantity=Value(), offset=0.0, count=lambda: 100).moments[0].regularizer == Clipping(10.0)


PROMISES: list[tuple[str, dict[str, Any], str]] = [
    ("mixture", {}, "any number of looks"),
    ("mixture", {"grid": "planned"}, "one look"),
    ("logarithmic-smoothing", {}, "one look"),
    ("logarithmic-smoothing", {"smoothing": 0.1}, "any number of looks"),
    ("second-moment", {}, "one look"),
    ("second-moment", {"smoothing": 0.1}, "any number of looks"),
    ("moments", {}, "one look"),
    ("moments", {"smoothing": 0.1}, "one look"),
    ("moments", {"clip": 5.0}, "one look"),
    ("moments", {"smoothing": 0.1, "clip": 5.0}, "any number of looks"),
    ("moments", {"smoothing": 0.1, "regularizer": "shrinkage:5"}, "any number of looks"),
    ("implicit-exploration", {}, "one look"),
    ("implicit-exploration", {"smoothing": 0.1}, "any number of looks"),
    ("empirical-bernstein", {}, "one look"),
    ("empirical-bernstein", {"clip": 5.0}, "one look"),
    ("normal", {}, "asymptotic"),
    ("bootstrap", {}, "asymptotic"),
]


@pytest.mark.parametrize("method, options, promise", PROMISES)
def test_what_each_method_promises_with_each_option(method: str, options: dict[str, Any], promise: str) -> None:
    logs = sl.Logs(reward=[1.0, 0.0] * 50, propensity=[0.5, 0.5] * 50)
    answer = sl.evaluate(logs, "production", method=method, **options)["production"]
    assert answer.promise == promise
    assert ("only look" in " ".join(answer.assumptions)) == (promise != "any number of looks")
    assert ("independent" in " ".join(answer.assumptions)) == (method in ("empirical-bernstein", "normal", "bootstrap"))


def test_the_default_order_is_two_and_numpy_options_are_options() -> None:
    assert len(BOUNDS["moments"].plan(quantity=Value(), offset=0.0, count=lambda: 4).moments) == 4
    logs = sl.Logs(reward=[1.0, 0.0] * 50, propensity=[0.5, 0.5] * 50)
    answer = sl.evaluate(logs, "production", method="moments", order=np.int64(1), smoothing=float(np.float32(0.1)))
    assert sl.verify(sl.Certificate.of(answer), logs).same


def test_the_bootstrap_at_its_level() -> None:
    """For a mean of many tame terms its quantiles are those of the normal interval."""
    rng = np.random.default_rng(0)
    rounds = LoggedRounds(rng.random(20_000), np.full(20_000, 0.5), np.full(20_000, 0.5), np.full(20_000, 0.5))
    ours, usual = collected(rounds, "bootstrap", draws=4_000), collected(rounds, "normal")
    for side in ("lower_bound", "upper_bound"):
        found, expected = (getattr(BOUNDS[m], side)(s, delta=0.05) for m, s in (("bootstrap", ours), ("normal", usual)))
        assert found == pytest.approx(expected, abs=0.1 * abs(expected - 0.5) + 2e-4)


@pytest.mark.parametrize(
    "options", [{"smoothing": 1e100}, {"smoothing": 1e60, "order": 4}, {"smoothing": 20.0, "order": 300}]
)
def test_extreme_options_say_nothing_instead_of_crashing(options: dict[str, Any]) -> None:
    logs = sl.Logs(reward=[1.0, 0.0] * 50, propensity=[0.5, 0.5] * 50)
    assert sl.evaluate(logs, "production", method="moments", **options)["production"].lower == 0.0
    assert sl.evaluate(logs, "production", method="normal", delta=1e-17)["production"].lower is not None


def test_a_usual_interval_beyond_the_range_is_shown_as_it_is() -> None:
    """On right logs too it may lie where no value can; that says nothing of the logs, and lower never exceeds upper."""
    logs = sl.Logs(reward=np.ones(50), propensity=np.full(50, 0.4))
    for method in ("normal", "bootstrap"):
        answer = sl.evaluate(logs, {"new": np.full(50, 0.5)}, method=method)["new"]
        assert answer.lower == pytest.approx(1.25)
        assert answer.upper == pytest.approx(1.25)
        with pytest.raises(sl.LogsError, match="contradict"):
            sl.evaluate(sl.Logs(reward=np.ones(500), propensity=np.full(500, 0.4)), {"new": np.full(500, 0.5)})
