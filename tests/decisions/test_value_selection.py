"""The paper's selection: the largest lower bound of a value, production among the candidates."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import surelift as sl
from surelift.cli.app import main
from tests.strategies import LoggedRounds, deltas, logged_rounds

SHOP = sl.datasets.shop(2_000)
THREE = {"better": "p_better", "slight": "p_slight", "worse": "p_worse"}


def selected(logs: sl.Logs, policies: Any, **options: Any) -> sl.results.ValueSelection:
    answer = sl.select(logs, policies, choose="value", **options)
    assert isinstance(answer, sl.results.ValueSelection)
    return answer


@given(rounds=logged_rounds(30), delta=deltas())
def test_with_one_smoothing_it_is_the_papers(rounds: LoggedRounds, delta: float) -> None:
    """Section 5.1: the largest estimate by logarithmic smoothing, whatever delta, also where every bound is 0."""
    try:
        answer = selected(
            rounds.logs(),
            {"new": rounds.probability, "other": rounds.other},
            delta=delta,
            method="logarithmic-smoothing",
        )
    except sl.LogsError:
        return
    n = len(rounds.reward)
    weights = {"new": rounds.weights, "other": rounds.other / rounds.propensity, "production": np.ones(n)}
    estimates = {name: float(np.log1p(w * rounds.reward / math.sqrt(n)).sum()) for name, w in weights.items()}
    assert estimates[answer.chosen] == pytest.approx(max(estimates.values()), rel=1e-9, abs=1e-9)
    for name, total in estimates.items():
        bound = math.expm1((total - math.log(3.0 / delta)) / n) * math.sqrt(n)
        assert answer[name].lower == pytest.approx(max(0.0, bound), rel=1e-9, abs=1e-9)


def test_by_hand() -> None:
    # Rewards 1 and 0 with smoothing 1: log sums log(1 + w) of the rounds that earn. Production has log 2, "new" log 3,
    # "bold" log 1.5, each minus log(3 / 0.75) = log 4 over 2 rounds; (3/4)^(1/2) - 1 < 0, so all bounds are 0.
    logs = sl.Logs(reward=[1.0, 0.0], propensity=[0.4, 0.5])
    policies = {"new": [0.8, 0.5], "bold": [0.2, 0.5]}
    tied = selected(logs, policies, method="logarithmic-smoothing", smoothing=1.0, delta=0.75)
    assert [value.lower for value in tied.policies.values()] == [0.0, 0.0, 0.0]
    assert tied.chosen == "new"
    # With one policy beside production log(2 / 0.9): (3 * 0.45)^(1/2) - 1 and (2 * 0.45)^(1/2) - 1.
    two = selected(logs, {"new": [0.8, 0.5]}, method="logarithmic-smoothing", smoothing=1.0, delta=0.9)
    assert two["new"].lower == pytest.approx(math.sqrt(1.35) - 1.0)
    assert two["production"].lower == 0.0
    assert list(two.policies) == ["new", "production"]


def test_by_default_it_takes_the_largest_bound_of_the_mixture_at_a_share_of_delta() -> None:
    answer = selected(SHOP.logs(), THREE)
    values = sl.evaluate(SHOP.logs(), {**THREE, "production": "production"}, sides="lower")
    assert {name: value.lower for name, value in answer.policies.items()} == {
        name: value.lower for name, value in values.items()
    }
    assert answer.chosen == max(values, key=lambda name: values[name].lower or 0.0) == "better"
    assert all(value.upper is None for value in answer.policies.values())
    assert "not certified" in answer.sentence()
    assert "falls short of the best" in " ".join(str(answer).split())
    assert not hasattr(answer, "certified")


def test_production_may_be_chosen_and_wins_ties() -> None:
    worse = selected(SHOP.logs(), {"worse": "p_worse"})
    assert worse.chosen == "production"
    assert worse.sentence().startswith("Keep production: worth at least 0.0")
    assert selected(SHOP.logs(), {"same": "propensity"}).chosen == "production"
    assert selected(SHOP.logs(), {"worse": "p_worse", "production": "production"}) == worse


def test_a_cost_is_chosen_by_its_upper_bound() -> None:
    table = SHOP.table.to_pandas()
    table["minutes"] = 60.0 - 30.0 * table["click"]
    logs = sl.Logs(table, cost="minutes", propensity="propensity", reward_range=(30, 60))
    reward, cost = selected(SHOP.logs(), THREE, control="none"), selected(logs, THREE, control="none")
    assert cost.chosen == reward.chosen
    for name, value in cost.policies.items():
        assert value.lower is None
        assert value.upper == pytest.approx(60.0 - 30.0 * (reward[name].lower or 0.0))
    assert "a cost of at most 5" in cost.sentence()
    assert "smallest upper bound of 4 policies" in cost.sentence()
    assert "its cost exceeds the best policy's by no more" in " ".join(str(cost).split())


def test_every_method_selects_and_says_what_is_in_doubt() -> None:
    for method in sl.bounds.BOUNDS:
        if method != "efron-stein":
            answer = selected(SHOP.logs(), THREE, method=method)
            assert answer.chosen in (*THREE, "production")
            assert bool(answer.doubts) == (not sl.bounds.BOUNDS[method].certifies)


def test_the_chosen_one_trails_the_best_by_no_more_than_the_best_exceeds_its_bound() -> None:
    for seed in range(20):
        shop = sl.datasets.shop(300, seed=seed)
        answer = selected(shop.logs(), THREE, delta=0.01)
        truth = shop.true_values
        best = max(truth, key=lambda name: truth[name])
        assert truth[best] - truth[answer.chosen] <= truth[best] - (answer[best].lower or 0.0)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"margin": 0.1}, "does not use margin="), ({"many": "e-holm"}, "does not use many="),
     ({"over": {"slight": "p_slight"}}, "does not use over="), ({"over": np.ones(3)}, "does not use over=")],
)  # fmt: skip
def test_what_compares_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(sl.UsageError, match=words):
        sl.select(SHOP.logs(), THREE, choose="value", **options)


def test_another_choice_and_another_delta_are_refused() -> None:
    with pytest.raises(sl.UsageError, match="choose must be 'improvement' or 'value', but is 'best'"):
        sl.select(SHOP.logs(), THREE, choose="best")  # type: ignore[arg-type]
    with pytest.raises(sl.UsageError, match="delta, the probability of error"):
        selected(SHOP.logs(), THREE, delta=2.0)


def test_segments_certificates_and_questions(tmp_path: Path) -> None:
    logs, path = SHOP.logs(), tmp_path / "certificate.json"
    segments = sl.select(logs, THREE, choose="value", by="device")
    assert {name: one.delta for name, one in segments.items()} == {"desktop": 0.025, "phone": 0.025}
    assert "phone: Choose 'better'" in str(segments)
    assert sl.verify(sl.Certificate.of(segments), logs).same
    answer = selected(logs, THREE)
    sl.Certificate.of(answer).save(path)
    assert sl.verify(path, logs).same
    assert not sl.verify(path, sl.datasets.shop(2_000, seed=8).logs()).same
    asked = sl.Question.of("select by value", SHOP.columns(), THREE)
    assert sl.Question.from_dict(asked.to_dict()) == asked
    assert asked.ask(logs) == answer
    assert [record["chosen"] for record in answer.records()] == [True, False, False, False]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import pyarrow.parquet as pq

    log, certificate = str(tmp_path / "log.parquet"), str(tmp_path / "certificate.json")
    pq.write_table(SHOP.table, log)
    columns = ["--reward", "click", "--propensity", "propensity"]
    worse = ["select", log, *columns, "--policy", "worse=p_worse"]
    assert main([*worse]) == 3
    capsys.readouterr()
    assert main([*worse, "--choose", "value", "--json", "--certificate", certificate]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["chosen"] == "production"
    assert answer["policies"].keys() == {"worse", "production"}
    assert main(["verify", certificate, log]) == 0
    assert main(["explain", certificate]) == 0
    assert "chosen: 'production'" in capsys.readouterr().out
    assert main([*worse, "--choose", "value", "--margin", "0.1"]) == 2
    three = ["select", log, *columns, *(f"--policy={name}={column}" for name, column in THREE.items())]
    assert main([*three, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["many"] == "e-holm"
    assert main([*three, "--many", "simultaneous", "--certificate", certificate]) == 0
    assert main(["verify", certificate, log]) == 0
