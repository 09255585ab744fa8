import json
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest

import surelift as sl
from surelift import grids
from tests import reference
from tests.prose import flat

CERTIFIED = [name for name, bound in sl.bounds.BOUNDS.items() if bound.certifies]
ROWS = 4_000
RNG = np.random.default_rng(12)
P = np.full(ROWS, 0.5)
GOOD = RNG.random(ROWS) < 0.5
CLICK = (RNG.random(ROWS) < np.where(GOOD, 0.5, 0.2)).astype(float)
BETTER = np.where(GOOD, 0.8, 0.2)
WORSE = np.where(GOOD, 0.2, 0.8)
SAME = np.where(GOOD, 0.501, 0.499)


@pytest.fixture
def logs() -> sl.Logs:
    return sl.Logs(reward=CLICK, propensity=P)


def test_better_is_certified_worse_never(logs: sl.Logs) -> None:
    assert sl.compare(logs, {"better": BETTER}).certified
    worse = sl.compare(logs, {"worse": WORSE})
    assert not worse.certified
    assert worse.upper < 0
    choice = sl.select(logs, {"better": BETTER, "worse": WORSE, "same": SAME})
    assert choice.chosen == "better"
    assert sl.select(logs, {"worse": WORSE, "same": SAME}).chosen is None


def test_a_margin_has_to_be_exceeded(logs: sl.Logs) -> None:
    lower = sl.compare(logs, {"better": BETTER}).lower
    assert sl.compare(logs, {"better": BETTER}, margin=lower - 1e-6).certified
    assert not sl.compare(logs, {"better": BETTER}, margin=lower + 1e-6).certified
    # A margin below anything possible is exceeded for sure.
    beyond = sl.compare(logs, {"worse": sl.blend(WORSE, 0.01)}, margin=-0.5)
    assert beyond.certified


def test_the_e_value_certifies_exactly_when_the_bound_does(logs: sl.Logs) -> None:
    for margin in (0.0, 0.03, 0.06, 0.09, 0.12):
        answer = sl.compare(logs, {"better": BETTER}, margin=margin)
        assert answer.certified == (answer.e_value > 1 / answer.delta)
        assert answer.p_value == min(1.0, 1 / answer.e_value)


def test_evidence_too_large_for_a_float_is_rounded_down() -> None:
    rows = 200_000
    logs = sl.Logs(reward=np.tile([0.0, 1.0], rows // 2), propensity=np.full(rows, 0.5))
    answer = sl.compare(logs, {"better": np.tile([0.1, 0.9], rows // 2)})
    assert 1e308 < answer.e_value < float("inf")
    assert 0 < answer.p_value < 1e-300
    json.loads(answer.to_json())


def test_production_against_itself_is_zero(logs: sl.Logs) -> None:
    for same in ("production", sl.blend(BETTER, 0.0)):
        answer = sl.compare(logs, {"same": same})
        assert (answer.lower, answer.estimate, answer.upper) == (0.0, 0.0, 0.0)
        assert (answer.e_value, answer.certified) == (1.0, False)


def test_the_value_of_production_can_be_asked_for(logs: sl.Logs) -> None:
    answer = sl.evaluate(logs, "production")["production"]
    assert answer.estimate == pytest.approx(CLICK.mean())


def test_estimated_propensities_are_never_certified() -> None:
    logs = sl.Logs(reward=CLICK, propensity=P, propensity_is_estimated=True)
    answer = sl.compare(logs, {"better": BETTER})
    assert answer.lower > 0
    assert not answer.certified
    assert "conditional on the propensity model" in answer.doubts[0]
    assert "conditional on the propensity model" in str(answer)
    assert "but this is in doubt: conditional" in flat(str(answer))
    assert sl.select(logs, {"better": BETTER}).chosen is None
    assert "conditional on the propensity model" in str(sl.evaluate(logs, {"better": BETTER}))
    assert {finding.severity for finding in sl.check(logs, {"better": BETTER}).findings} == {"warn"}


def test_bounds_that_contradict_each_other_are_refused_not_capped() -> None:
    # Propensities logged ten times too small: every weight is ten times too large.
    logs = sl.Logs(reward=CLICK, propensity=P / 10)
    for ask in (
        lambda: sl.evaluate(logs, {"better": BETTER}),
        lambda: sl.evaluate(logs, {"better": BETTER}, sides="lower"),
        lambda: sl.compare(logs, {"better": BETTER}),
        lambda: sl.select(logs, {"better": BETTER}),
    ):
        with pytest.raises(sl.LogsError, match="The mean weight is"):
            ask()


def test_bounds_that_cross_inside_the_range_are_refused() -> None:
    # Weights of 1.5 on every round: at least 0.7 and at most 0.3 at once.
    reward = np.tile([0.0, 1.0], 2_000)
    logs, new = sl.Logs(reward=reward, propensity=np.full(4_000, 0.2)), {"new": np.full(4_000, 0.3)}
    for sides in ("both", "lower", "upper"):
        for method in CERTIFIED:
            with pytest.raises(sl.LogsError, match="contradict"):
                sl.evaluate(logs, new, sides=sides, method=method)


def test_one_side_shows_what_it_did_and_refuses_what_both_sides_do() -> None:
    """Of a side that is not shown every third smoothing is made: enough to contradict, and no delta is spent on it."""
    rng = np.random.default_rng(20261116)
    reward = (rng.random(600) < 0.4).astype(np.float64)
    logs, new = sl.Logs(reward=reward, propensity=np.full(600, 0.5)), {"new": rng.choice([0.25, 0.75], 600)}
    x = new["new"] / 0.5
    low, high = sl.evaluate(logs, new, sides="lower")["new"], sl.evaluate(logs, new, sides="upper")["new"]
    assert (low.upper, high.lower) == (None, None)
    assert low.lower == pytest.approx(reference.lower(x * reward, 0.05, reference.ANYTIME), rel=1e-9)
    assert high.upper == pytest.approx(1 - reference.lower(x * (1 - reward), 0.05, reference.ANYTIME), rel=1e-9)


def test_a_false_largest_weight_is_refused_from_one_side() -> None:
    """Half of the candidate's actions are impossible here: its weights average 1/2, and half a value is added back."""
    reward, weight = np.tile([0.0, 1.0], 5_000), np.full(10_000, 0.5)
    logs, new = sl.Logs(reward=reward, propensity=np.full(10_000, 0.5)), {"new": sl.bounded(weight / 2, 2.0)}
    for sides in ("both", "lower", "upper"):
        with pytest.raises(sl.LogsError, match=r"contradict|average 0\.5"):
            sl.evaluate(logs, new, sides=sides)


def test_a_wrong_number_of_rounds_before_sampling_is_refused_from_one_side() -> None:
    kept = {
        "r": np.tile([0.0, 1.0], 2_000),
        "p": np.full(4_000, 0.5),
        "k": np.full(4_000, 0.5),
        "new": np.full(4_000, 0.5),
    }
    logs = sl.Logs(kept, reward="r", propensity="p", keep_probability="k", rounds_before_sampling=5_000)
    for sides in ("both", "lower", "upper"):
        with pytest.raises(sl.LogsError, match="contradict"):
            sl.evaluate(logs, "new", sides=sides)


def test_a_tiny_mixture_does_not_hide_a_contradiction_nor_rounding() -> None:
    wrong = sl.Logs(reward=np.ones(2_000), propensity=np.full(2_000, 0.2))
    with pytest.raises(sl.LogsError, match="contradict"):
        sl.compare(wrong, {"new": sl.blend(np.ones(2_000), 1e-10)})
    weights = np.tile([0.0, 2.0], 2_000)
    for q in np.random.default_rng(1).uniform(0.05, 0.5, 20):
        logs = sl.Logs(reward=np.ones(4_000), propensity=np.full(4_000, q))
        assert not sl.compare(logs, {"new": sl.blend(weights * q, 1e-15)}).certified


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.2, 0.3, 1.0])
def test_the_floor_of_an_improvement_certifies_nothing(alpha: float) -> None:
    logs = sl.Logs(reward=np.ones(5), propensity=np.full(5, 0.5))
    answer = sl.compare(logs, {"never": sl.blend(np.zeros(5), alpha)}, margin=-alpha)
    assert (answer.lower, answer.certified) == (-alpha, False)


def test_e_values_with_a_margin_in_other_units() -> None:
    plain = sl.compare(sl.Logs(reward=CLICK, propensity=P), {"new": BETTER}, margin=0.05)
    money = sl.compare(sl.Logs(reward=20 * CLICK, propensity=P, reward_range=(0, 20)), {"new": BETTER}, margin=1.0)
    assert money.e_value == pytest.approx(plain.e_value, rel=1e-6)
    assert money.lower == pytest.approx(20 * plain.lower)


def test_a_margin_no_improvement_can_miss_has_all_the_evidence(logs: sl.Logs) -> None:
    for policy in (sl.blend(WORSE, 0.01), sl.blend(WORSE, 0.0)):
        answer = sl.compare(logs, {"new": policy}, margin=-0.5)
        assert answer.certified
        assert answer.e_value > 1e300


@pytest.mark.parametrize("ask", [sl.compare, sl.gate, sl.select, sl.report, sl.power])
@pytest.mark.parametrize("margin", [5, 1.0, -1.5])
def test_a_margin_beyond_the_range_is_refused(ask: Any, margin: float, logs: sl.Logs) -> None:
    """Whoever asks for 5 means per cent, or another range: it would never be certified, or -1.5 always."""
    with pytest.raises(sl.UsageError, match=r"no improvement can be that large: each reward lies in \[0, 1\]"):
        ask(logs, {"new": BETTER}, margin=margin)


def test_select_takes_the_largest_lower_bound_not_the_first(logs: sl.Logs) -> None:
    policies = {"some": np.where(GOOD, 0.65, 0.35), "more": BETTER, "less": np.where(GOOD, 0.6, 0.4)}
    choice = sl.select(logs, policies)
    assert all(one.certified for one in choice.improvements.values())
    assert choice.chosen == "more"


def test_options_from_numpy_leave_as_json(logs: sl.Logs) -> None:
    single: Any = np.float32(0.0)
    answer = sl.compare(logs, {"new": BETTER}, margin=single, delta=np.float64(0.05))
    assert json.loads(answer.to_json())["margin"] == 0.0
    labelled = sl.Logs(
        reward=[0, 1],
        propensity=[0.5, 0.5],
        action=np.array([0, 1]),
        actions=np.array([0, 1]),
        logging=[[0.5, 0.5]] * 2,
    )
    sl.Certificate.of(sl.evaluate(labelled, "production"))


def test_a_range_of_any_size_can_be_shown() -> None:
    for high in (1e-12, 1e30, 1e300):
        logs = sl.Logs(reward=high * CLICK, propensity=P, reward_range=(0, high))
        assert "Certified" in str(sl.compare(logs, {"new": BETTER}))
        assert "estimate" in str(sl.evaluate(logs, {"new": BETTER}))
    with pytest.raises(sl.UsageError, match="two finite numbers"):
        sl.Logs(reward=CLICK, propensity=P, reward_range=(-1.5e308, 1.5e308))


def test_an_empty_log_is_refused_by_every_grid() -> None:
    logs = sl.Logs({"r": [], "p": [], "n": []}, reward="r", propensity="p")
    each: list[dict[str, Any]] = [{}, {"grid": "planned"}, {"method": "logarithmic-smoothing"}]
    for options in each:
        with pytest.raises(sl.LogsError, match="empty"):
            sl.evaluate(logs, "n", **options)


@pytest.mark.parametrize("ask", [sl.check, sl.evaluate, sl.compare, sl.select])
def test_a_frame_is_not_yet_a_log(ask: Any) -> None:
    with pytest.raises(sl.UsageError, match="logs must be given as Logs"):
        ask({"r": [1]}, "n")


def test_without_evidence_the_range_is_the_answer() -> None:
    logs = sl.Logs(reward=[3.0], propensity=[0.5], reward_range=(2, 7))
    answer = sl.evaluate(logs, {"new": [0.5]})["new"]
    assert (answer.lower, answer.upper) == (2.0, 7.0)


def test_whether_it_holds_at_any_number_of_looks(logs: sl.Logs) -> None:
    def promise(**options: Any) -> str:
        return str(sl.compare(logs, {"better": BETTER}, **options).promise)

    assert promise() == "any number of looks"
    assert promise(grid=grids.anytime()) == "any number of looks"
    assert promise(method="logarithmic-smoothing", smoothing=0.1) == "any number of looks"
    assert promise(grid="planned") == "one look"
    assert promise(grid=grids.improvement(4_000)) == "one look"
    assert promise(method="logarithmic-smoothing") == "one look"
    assert promise(method="normal") == "asymptotic"


@pytest.mark.parametrize(
    "options, says",
    [
        ({"delta": 0.0}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"delta": float("nan")}, "delta"),
        ({"delta": "0.05"}, "delta"),
        ({"margin": None}, "margin"),
        ({"method": "logarithmic-smoothing", "smoothing": "x"}, "smoothing must be a positive"),
        ({"margin": float("nan")}, "margin"),
        ({"method": "voodoo"}, "the methods are mixture, blocks, logarithmic-smoothing"),
        ({"method": "empirical-bernstein"}, "bounds values, not improvements"),
        ({"method": "normal", "smoothing": 0.1}, "it has no options"),
        ({"method": "bootstrap", "draws": 1}, "draws must be"),
        ({"method": "mixture", "smoothing": 0.1}, "does not use smoothing="),
        ({"method": "logarithmic-smoothing", "grid": "planned"}, "does not use grid="),
        ({"method": "logarithmic-smoothing", "smoothing": -1.0}, "smoothing must be a positive"),
        ({"grid": "hourly"}, "no grid 'hourly'"),
        ({"control": "magic"}, "no control 'magic'"),
        ({"control": "weights"}, "needs production's whole distribution, in logging="),
        ({"over": {"better": BETTER}}, "compared with itself"),
        ({"over": {"a": BETTER, "b": WORSE}}, "one policy"),
    ],
)
def test_an_option_that_cannot_be_is_refused(logs: sl.Logs, options: dict[str, Any], says: str) -> None:
    with pytest.raises(sl.UsageError, match=says):
        sl.compare(logs, {"better": BETTER}, **options)


def test_sides_and_several_policies_to_compare(logs: sl.Logs) -> None:
    with pytest.raises(sl.UsageError, match="sides must be"):
        sl.evaluate(logs, {"better": BETTER}, sides="left")  # type: ignore[call-overload]
    with pytest.raises(sl.UsageError, match="use select"):
        sl.compare(logs, {"better": BETTER, "worse": WORSE})
    with pytest.raises(sl.UsageError, match="does not use detla="):
        sl.compare(logs, {"better": BETTER}, detla=0.1)  # type: ignore[call-overload]


def test_control_auto_is_plain_without_vectors(logs: sl.Logs) -> None:
    auto, none = (sl.compare(logs, {"better": BETTER}, control=control) for control in ("auto", "none"))
    assert auto.lower == none.lower
    assert auto.control == "none"


def test_results_are_frozen_and_leave_in_many_forms(logs: sl.Logs) -> None:
    evaluation = sl.evaluate(logs, {"better": BETTER, "worse": WORSE})
    results: list[Any] = [
        evaluation,
        evaluation["better"],
        sl.compare(logs, {"better": BETTER}),
        sl.select(logs, {"better": BETTER}),
        sl.check(logs, {"better": BETTER}),
        sl.verify(sl.Certificate.of(evaluation), logs, {"better": BETTER, "worse": WORSE}),
    ]
    for result in results:
        with pytest.raises((FrozenInstanceError, AttributeError)):
            result.rounds = 3
        assert json.loads(result.to_json()) == result.to_dict()
        for kind in ("pandas", "polars", "pyarrow"):
            assert len(result.to_frame(kind)) == len(result.records())
        assert str(result) == repr(result)
    assert list(evaluation) == ["better", "worse"]
    assert len(evaluation) == 2
    assert set(evaluation.to_frame("pandas")["policy"]) == {"better", "worse"}


def test_progress_is_told(logs: sl.Logs) -> None:
    told: list[int] = []
    sl.compare(logs, {"better": BETTER}, progress=told.append)
    assert told == [ROWS]


def test_every_result_names_its_assumptions(logs: sl.Logs) -> None:
    answer = sl.compare(logs, {"better": BETTER}, grid="planned")
    text = " ".join(answer.assumptions)
    for words in (
        "rewards always lie in [0, 1]",
        "recorded when the decisions were made",
        "no policy was fitted on these rounds, or uses what was not known before the action",
        "no round comes twice, and none was left out because of its action or its reward",
        "only look",
    ):
        assert words in text


def test_a_result_is_no_truth_value(logs: sl.Logs) -> None:
    answer = sl.compare(logs, {"better": BETTER})
    for result in (
        answer,
        sl.select(logs, {"better": BETTER}),
        sl.check(logs),
        sl.evaluate(logs, "production")["production"],
    ):
        with pytest.raises(TypeError, match="neither true nor false"):
            bool(result)
    assert sl.evaluate(logs, "production")


def test_costs_are_called_costs() -> None:
    logs = sl.Logs(cost=CLICK, propensity=P)
    assert "Expected cost" in str(sl.evaluate(logs, "production"))
    assert "production cost" in str(sl.check(logs))


def test_a_delta_that_was_meant_as_the_confidence_is_told(logs: sl.Logs) -> None:
    assert "at 0.95, bounds may be wrong more often than not" in flat(str(sl.compare(logs, {"new": BETTER}, delta=0.95)))
    assert "Delta is" not in str(sl.compare(logs, {"new": BETTER}, delta=0.5))
    with pytest.raises(sl.UsageError, match=r"but is 95\. For 95% confidence it is 0\.05\."):
        sl.compare(logs, {"new": BETTER}, delta=95)
    with pytest.raises(sl.UsageError, match=r"does not use alpha=; it uses grid\. Did you mean delta=\?"):
        sl.compare(logs, {"new": BETTER}, alpha=0.05)  # type: ignore[call-overload]


def test_an_estimate_that_was_moved_into_its_bounds_says_so() -> None:
    """Weights that are large by chance: the mean of the terms lies above what the shortfall allows."""
    often = np.tile([1.0, 1.0, 1.0, 0.0], 500)
    logs = sl.Logs(reward=often, propensity=P[:2_000])
    value = sl.evaluate(logs, {"new": np.where(often > 0, 0.53, 0.5)})["new"]
    assert value.estimate == value.upper
    assert value.terms_mean > value.estimate
    assert "the weighted mean is 0.795, outside the bounds: the mean weight is 1.05, not 1" in flat(str(value))


def test_segments_that_are_not_listed_say_what_listing_gives(logs: sl.Logs) -> None:
    columns = {"reward": CLICK, "p": P, "new": BETTER, "side": np.where(np.arange(ROWS) % 2, "a", "b")}
    by_side = sl.Logs(columns, reward="reward", propensity="p")
    says = "With all segments listed in advance, these bounds hold at any number of looks."
    assert says in flat(str(sl.compare(by_side, "new", by="side")))
    assert says not in flat(str(sl.compare(by_side, "new", by="side", segments=["a", "b"])))
    assert says not in flat(str(sl.compare(by_side, "new", by="side", method="blocks")))
    # These take no segments=, and estimates promise nothing at any look.
    for ask in (sl.estimate, sl.profile, sl.power):
        assert "listed in advance" not in flat(str(ask(by_side, "new", by="side")))


def test_a_list_of_columns_is_a_vector_over_actions() -> None:
    table = {"r": [0.0, 1.0], "p": [1.0, 1.0], "new": [1.0, 1.0], "a": [0, 0]}
    with pytest.raises(sl.UsageError, match="action alone is given by its name, not in a list"):
        sl.compare(sl.Logs(table, reward="r", propensity="p"), ["new"])
    assert sl.compare(sl.Logs(table, reward="r", propensity="p", action="a"), ["new"]).estimate == 0.0


def test_segments_that_tell_of_the_action_are_suspected_before_the_propensities() -> None:
    rng = np.random.default_rng(5)
    shares = np.array([0.4, 0.3, 0.2, 0.1])
    promo = rng.choice(4, p=shares, size=4_000)
    table = {"r": rng.random(4_000), "p": shares[promo], "new": np.array([0.1, 0.2, 0.3, 0.4])[promo], "promo": promo}
    logs = sl.Logs(table, reward="r", propensity="p", action_count=4)
    assert sl.check(logs, "new").ok
    (finding,) = [found for found in sl.check(logs, "new", by="promo").findings if found.severity == "refuse"]
    assert finding.remedy.startswith("If 'promo' tells of the action, it is no segment. Otherwise: They were")


def test_a_word_that_is_no_file_may_be_a_column() -> None:
    with pytest.raises(sl.UsageError, match=r"no file matches 'click'.*If it is a column, name it in reward="):
        sl.Logs("click", reward="click", propensity="p")
    with pytest.raises(sl.UsageError) as refused:
        sl.Logs("logs/*.csv", reward="click", propensity="p")
    assert "If it is a column" not in str(refused.value)
