"""Every sentence is true in every case: doubts, margins of either sign, costs, clusters, many candidates."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surelift as sl
from surelift.cli.app import main
from surelift.views.vega import spec
from tests.prose import flat

N = 400
RNG = np.random.default_rng(0)
P = np.full(N, 0.5)
G = RNG.random(N) < 0.5
R = (RNG.random(N) < np.where(G, 0.8, 0.2)) * 1.0
NEW = np.where(G, 0.9, 0.1)
TABLE: dict[str, Any] = {"r": R, "p": P, "n": NEW, "c": G * 1.0}
LOGS = sl.Logs(reward=R, propensity=P)


def test_a_guardrail_within_its_margin_is_not_called_unharmed() -> None:
    rail = sl.Outcome("c", at_most_worse=0.9, cost=True)
    answer = sl.gate(sl.Logs(TABLE, reward="r", propensity="p"), "n", guardrails=[rail])
    assert answer.certified
    assert answer.guardrails["c"].upper < 0
    assert answer.sentence().endswith("and every guardrail holds.")
    assert "better by -" in str(answer)
    assert "improvement" in getattr(answer.figure(), "label", "")


@pytest.mark.parametrize(
    "logs, says",
    [
        ({"reward": R}, "earn nothing; a cluster earns 8 times the value"),
        ({"cost": 1 - R}, "cost 1, the maximum; a cluster saves 8 times the improvement"),
        (
            {"reward": 2 * R - 1, "reward_range": (-1, 1)},
            "earn -1, the minimum; a cluster gains 8 times the improvement",
        ),
    ],
)
def test_the_assumptions_say_what_fills_up_a_cluster(logs: dict[str, Any], says: str) -> None:
    clustered = sl.Logs(**logs, propensity=P, cluster=np.repeat(range(100), 4), cluster_max=8)
    answer = sl.evaluate(clustered, "production")
    assert any(
        "filled up to 8 rounds that earn the least, or cost the most" in each for each in answer["production"].assumptions
    )
    assert any(says in line for line in answer.notes)
    earned = sl.check(clustered).mean_reward
    assert earned == pytest.approx(np.mean(logs["reward"] if "reward" in logs else logs["cost"]))


def test_with_a_doubt_nothing_is_promised() -> None:
    logs = sl.Logs(reward=R, propensity=P, propensity_is_estimated=True)
    report = sl.report(logs, {"a": NEW})
    assert report.selection is not None
    assert report.history is not None
    assert report.forecasts["a"].more_rounds is None
    assert "no number of rounds would" in report.forecasts["a"].sentence()
    assert "in doubt: conditional on the propensity model" in report.history.sentence()
    page = report.to_html() or ""
    assert "apart from the doubt stated below" in page
    assert "the propensity model is correct" in page
    assert "recorded when the decisions were made" not in page


def test_discoveries_are_not_called_certified() -> None:
    selection = sl.select(LOGS, {"a": NEW, "b": 1 - NEW}, many="e-bh")
    verdicts = {row["verdict"] for row in _rows(spec(selection.figure())) if "verdict" in row}
    assert verdicts == {"found better", "not found"}


def _rows(chart: Any) -> list[dict[str, Any]]:
    rows = [row for values in (chart.get("datasets") or {}).values() for row in values]
    rows += (chart.get("data") or {}).get("values", [])
    return rows + [row for layer in chart.get("layer", []) for row in _rows(layer)]


def test_a_negative_margin_is_no_improvement() -> None:
    answer = sl.compare(LOGS, {"a": P * 0.98}, margin=-0.2)
    assert answer.sentence() == "Certified: 'a' is not worse than production by more than 0.2."
    selection = sl.select(LOGS, {"a": 1 - NEW, "b": np.where(G, 0.45, 0.55)}, margin=-0.5)
    assert selection.sentence().startswith("Choose 'b': worse than production by at most 0.")
    page = sl.report(LOGS, {"a": NEW}, margin=0.5).to_html() or ""
    assert "<td>no</td>" in page


def test_no_number_promises_more_than_the_bound() -> None:
    assert "probability 0.99999999," in str(sl.compare(LOGS, {"a": NEW}, delta=1e-8))
    assert "99.6% should hold" in flat(str(sl.simulate(LOGS, {"a": NEW}, runs=2, rounds=50, delta=0.004)))
    assert "by more than 0.0123456749" in str(sl.compare(LOGS, {"a": NEW}, margin=0.0123456749))
    almost = dataclasses.replace(sl.compare(LOGS, {"a": P}), e_value=19.96)
    assert "e-value 19.9; 20 certifies" in str(almost)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        logs = sl.Logs(reward=(rng.random(N) < 0.4) * 1.0, propensity=P)
        forecast, profile = sl.power(logs, {"a": NEW}), sl.profile(logs, {"a": NEW})
        shown = float(flat(str(forecast)).split("lower bound ")[1].split(" ")[0])
        assert shown <= forecast.lower
        assert float(profile.sentence().split(" at ")[1].split(";")[0]) <= profile.lower


def test_the_page_reports_contradictory_bounds(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("r,p,q\n" + "1,0.05,1\n" * 300)
    page = tmp_path / "page.html"
    flags = ["--reward", "r", "--propensity", "p", "--policy", "q", "-o", str(page)]
    assert main(["report", str(tmp_path / "log.csv"), *flags]) == 4
    assert "Not fit for a guarantee" in page.read_text()


def test_a_planned_grid_is_valid_at_one_look() -> None:
    report = sl.report(LOGS, {"a": NEW}, grid="planned")
    assert report.history is not None
    assert "only one, fixed in advance, may be looked at" in report.history.sentence()
    assert "each valid when it was reached" not in (report.to_html() or "")


@pytest.mark.parametrize("name", ["production", "", "\ud800"])
def test_misleading_names_are_refused(name: str) -> None:
    for ask in (sl.compare, sl.evaluate, sl.select, sl.report):
        with pytest.raises(sl.UsageError):
            ask(LOGS, {name: NEW})
    with pytest.raises(sl.UsageError):
        sl.compare(LOGS, {"a": NEW}, over={name: P})


def test_production_goes_by_its_plain_name_and_other_policies_in_quotes() -> None:
    report = sl.report(LOGS, {"a": NEW})
    assert report.selection is not None
    assert report.values is not None
    assert "'a' is better than production" in report.selection["a"].sentence()
    assert [row.name for row in getattr(report.values.figure(), "rows", ())] == ["production", "a"]
    assert "Better than production?" in (report.to_html() or "")
    assert "Better than &#39;old&#39;?" in (sl.report(LOGS, {"a": NEW}, over={"old": P}).to_html() or "")


def test_the_difference_of_two_is_the_difference_of_their_values() -> None:
    rng = np.random.default_rng(3)
    other = np.clip(NEW * rng.uniform(0.5, 1.5, N), 0, 1)
    logs = sl.Logs(reward=80 * R, propensity=P, reward_range=(0, 80))
    values = sl.evaluate(logs, {"a": NEW, "b": other})
    forth, back = sl.compare(logs, {"a": NEW}, over={"b": other}), sl.compare(logs, {"b": other}, over={"a": NEW})
    assert forth.estimate == pytest.approx(values["a"].estimate - values["b"].estimate)
    assert forth.estimate == pytest.approx(-back.estimate)
    assert forth.estimate == pytest.approx(80 * np.mean((NEW - other) / P * R))


def test_contradictions_are_reported_in_the_units_of_the_column() -> None:
    logs = sl.Logs(reward=80 * np.ones(N), propensity=P / 20, reward_range=(0, 80))
    with pytest.raises(sl.LogsError, match=r"where only \[-80, 80\] is possible"):
        sl.compare(logs, {"a": NEW})
    with pytest.raises(sl.LogsError, match=r"where only \[0, 80\] is possible"):
        sl.evaluate(logs, {"a": NEW})


def test_a_question_about_one_policy_refuses_a_list() -> None:
    logs = sl.Logs(TABLE, reward="r", propensity="p")
    for ask in (sl.compare, sl.power, sl.profile):
        with pytest.raises(sl.UsageError, match="one policy is needed, but 2 were given; use select"):
            ask(logs, ["n", "c"])


def test_a_certificate_knows_the_columns_of_its_log(tmp_path: Path) -> None:
    import pandas as pd

    pd.DataFrame(TABLE).to_csv(tmp_path / "log.csv", index=False)
    logs = sl.Logs(tmp_path / "log.csv", reward="r", propensity="p")
    assert sl.verify(sl.Certificate.of(sl.compare(logs, "n")), tmp_path / "log.csv").same


def test_the_command_line_as_people_type_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import pandas as pd

    pd.DataFrame({**TABLE, "euros": 80 * R, "a=b": NEW}).to_csv(tmp_path / "log.csv", index=False)
    log, flags = str(tmp_path / "log.csv"), ["--propensity", "p", "--reward", "euros"]
    for flag in (["--reward-range", "0,80"], ["--reward-range", "0", "80"], ["--reward-range=0,80"]):
        assert main(["compare", log, *flags, *flag, "--policy", "n"]) == 0
    assert main(["compare", log, *flags, "--policy", "n"]) == 4
    assert "--reward-range LOW,HIGH" in capsys.readouterr().err
    assert main(["compare", log, *flags, "--reward-range", "0,80", "--policy", "a=b", "--over", "x=c"]) in (0, 3)
    table = tmp_path / "answer.csv"
    assert main(["select", log, *flags, "--reward-range", "0,80", "--policy", "n", "--csv", str(table)]) == 0
    assert table.read_text().startswith("policy,over,estimate")
    capsys.readouterr()
    assert main(["explain", "Propensity"]) == 0
    assert main(["explain", "uper bound"]) == 2
    assert "Did you mean 'upper bound'" in capsys.readouterr().err
    assert main(["verify", log, "x.json"]) == 4
    assert "name the certificate first" in capsys.readouterr().err
