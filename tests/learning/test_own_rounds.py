"""What a policy, its prior or its reward model was learned from cannot judge it: not in part, not in another form."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import surelift as sl
from surelift.learning.learned import LearnedPolicy
from surelift.learning.learner import PolicyLearner
from surelift.logs.seen import Origins
from tests.learning.test_learner import FEW, GAUSSIAN, logs_of, problem

OWN = "learned from these very rounds"


def rows(data: dict[str, Any], chosen: Any) -> dict[str, Any]:
    return {name: column[chosen] for name, column in data.items()}


def joined(*parts: dict[str, Any]) -> dict[str, Any]:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


DATA, FRESH = problem(), problem(seed=1)
SHUFFLED = np.random.default_rng(0).permutation(2_000)
PARTS = {
    "all": DATA, "the first half": rows(DATA, slice(0, 1_000)), "the second half": rows(DATA, slice(1_000, None)),
    "a twentieth": rows(DATA, slice(700, 800)), "all and one more": joined(DATA, rows(FRESH, slice(0, 1))),
    "some among many others": joined(problem(6_000, seed=2), rows(DATA, slice(300, 700)), FRESH),
    "half, shuffled": rows(DATA, SHUFFLED[:1_000]),
    "another reward": {**DATA, "reward": 1.0 - DATA["reward"]},
}  # fmt: skip


@pytest.fixture(scope="module")
def gaussian() -> PolicyLearner:
    return PolicyLearner(**GAUSSIAN).fit(logs_of(DATA))


@pytest.fixture(scope="module")
def softmax() -> PolicyLearner:
    return PolicyLearner("linear", **FEW).fit(logs_of(DATA))


@pytest.mark.parametrize("part", PARTS)
def test_a_policy_is_not_judged_by_its_own_rounds(part: str, gaussian: PolicyLearner) -> None:
    with pytest.raises(sl.UsageError, match=OWN):
        sl.compare(logs_of(PARTS[part]), {"new": gaussian})
    with pytest.raises(sl.UsageError, match="voids the certificate"):
        PolicyLearner(**GAUSSIAN, prior=gaussian).fit(logs_of(PARTS[part]))


@pytest.mark.parametrize("ask", [sl.evaluate, sl.select, sl.gate, sl.power, sl.report, sl.estimate])
def test_no_question_takes_its_own_rounds(ask: Any, gaussian: PolicyLearner) -> None:
    with pytest.raises(sl.UsageError, match=OWN):
        ask(logs_of(PARTS["the first half"]), {"new": gaussian})


def test_a_monitor_does_not_take_its_own_rounds(gaussian: PolicyLearner) -> None:
    columns = {f"x{k}": DATA["contexts"][:, k] for k in range(3)}
    columns |= {name: DATA[name] for name in ("action", "reward", "propensity")}
    watch = sl.Monitor({"new": gaussian.policy_}, reward="reward", propensity="propensity", action="action", action_count=3)
    with pytest.raises(sl.UsageError, match=OWN):
        watch.update(pa.table(columns).slice(500, 700))


@pytest.mark.parametrize(
    "wrap",
    [
        lambda policy: sl.blend(policy, 0.3), lambda policy: sl.bounded(policy, 100.0),
        lambda policy: sl.softmax(policy, 0.5), lambda policy: sl.epsilon_greedy(policy, 0.2),
        lambda policy: sl.blend(sl.softmax(policy, 0.5), 0.3), lambda policy: policy.predict_proba,
    ],
)  # fmt: skip
def test_nothing_hides_the_policy(wrap: Any, gaussian: PolicyLearner) -> None:
    for form in (gaussian, gaussian.policy_):
        with pytest.raises(sl.UsageError, match=OWN):
            sl.compare(logs_of(PARTS["the first half"]), {"new": wrap(form)})
        assert sl.compare(logs_of(FRESH), {"new": wrap(form)}).rounds == 2_000


def test_the_rounds_of_a_baseline_are_its_own_too(gaussian: PolicyLearner) -> None:
    with pytest.raises(sl.UsageError, match=OWN):
        sl.compare(logs_of(PARTS["the first half"]), {"same": sl.uniform()}, over={"learned": gaussian})


def test_another_file_format_does_not_hide_them(tmp_path: Path) -> None:
    rng, rounds = np.random.default_rng(0), 3_000
    action = rng.integers(0, 2, rounds)
    table = pa.table({
        "size": rng.normal(size=rounds).astype(np.float32), "age": rng.integers(18, 80, rounds),
        "kind": rng.choice(["a", "b", "c"], rounds), "action": action,
        "reward": (rng.random(rounds) < 0.2 + 0.3 * action).astype(float), "propensity": np.full(rounds, 0.5),
    })  # fmt: skip
    declared: dict[str, Any] = {
        "reward": "reward", "propensity": "propensity", "action": "action", "action_count": 2,
        "contexts": ["size", "age", "kind"],
    }  # fmt: skip
    pq.write_table(table, tmp_path / "log.parquet", row_group_size=1_000)
    pyarrow.csv.write_csv(table.slice(500, 2_000), tmp_path / "log.csv")
    policy = PolicyLearner(**GAUSSIAN).fit(sl.Logs(tmp_path / "log.parquet", **declared)).policy_
    policy.save(tmp_path / "policy")
    for form in (policy, LearnedPolicy.load(tmp_path / "policy")):
        with pytest.raises(sl.UsageError, match=OWN):
            sl.compare(sl.Logs(tmp_path / "log.csv", **declared), {"new": form})
    assert (tmp_path / "policy").stat().st_size < 300_000


def test_held_out_rounds_judge_and_the_others_do_not(softmax: PolicyLearner) -> None:
    logs = logs_of(DATA)
    assert sl.compare(logs.part(1_400, 2_000), {"new": softmax}).rounds == 600
    for part in (logs.part(0, 300), logs.part(1_250, 1_400), logs.part(1_200, 2_000)):
        with pytest.raises(sl.UsageError, match=OWN):
            sl.compare(part, {"new": softmax})


def test_warm_starts_on_a_growing_log_are_refused() -> None:
    """Noise: no policy is better than another. With yesterday's policy as the prior, all of its rounds would certify it."""
    rng = np.random.default_rng(0)
    data = {**problem(2_000), "reward": rng.integers(0, 2, 2_000).astype(float)}
    yesterday = PolicyLearner(**GAUSSIAN, prior="zero").fit(logs_of(rows(data, slice(0, 1_000))))
    with pytest.raises(sl.UsageError, match="voids the certificate"):
        PolicyLearner(**GAUSSIAN, prior=yesterday).fit(logs_of(data))
    today = PolicyLearner(**GAUSSIAN, prior=yesterday).fit(logs_of(rows(data, slice(1_000, None))))
    assert not today.answer_.certified
    # It remembers the rounds of its prior, at one remove too.
    with pytest.raises(sl.UsageError, match=OWN):
        sl.compare(logs_of(rows(data, slice(0, 1_000))), {"new": today})
    later = PolicyLearner(**GAUSSIAN, prior=today).fit(logs_of(FRESH))
    with pytest.raises(sl.UsageError, match=OWN):
        sl.compare(logs_of(rows(data, slice(0, 500))), {"new": later})


def test_verify_finds_rounds_of_the_prior_among_the_judges(tmp_path: Path) -> None:
    """A certificate made where the prior's rounds were not known, by a policy that knows them."""
    yesterday = PolicyLearner(**GAUSSIAN, prior="zero").fit(logs_of(rows(DATA, slice(0, 1_000)))).policy_
    unaware = LearnedPolicy(yesterday.rule, yesterday.layout, None, 3, Origins(), Origins())
    today = PolicyLearner(**GAUSSIAN, prior=unaware).fit(logs_of(DATA))
    aware = LearnedPolicy(
        today.policy_.rule, today.policy_.layout, None, 3, today.policy_.trained_on, yesterday.learned_from
    )
    aware.save(tmp_path / "policy")
    for policy in (aware, LearnedPolicy.load(tmp_path / "policy")):
        with pytest.raises(sl.UsageError, match="voids the certificate"):
            sl.verify(today.certificate_, logs_of(DATA), policy)
    right = PolicyLearner(**GAUSSIAN, prior=yesterday).fit(logs_of(FRESH))
    right.save(str(tmp_path / "right"))
    assert sl.verify(right.certificate_, logs_of(FRESH), LearnedPolicy.load(tmp_path / "right")).same


@pytest.mark.parametrize("part", PARTS)
def test_a_reward_model_does_not_predict_its_own_rounds(part: str) -> None:
    model = sl.models.fitted_on(logs_of(DATA), "linear")
    judged = logs_of(PARTS[part])
    for ask in (sl.evaluate, sl.compare):
        with pytest.raises(sl.UsageError, match="fitted on the rounds it predicts"):
            ask(judged, {"new": sl.uniform()}, control=model)
    for policy, objective in (("gaussian", "improvement"), ("linear", "doubly-robust")):
        with pytest.raises(sl.UsageError, match="fitted on the rounds it predicts"):
            PolicyLearner(policy, objective=objective, **FEW, control=model).fit(judged)


def test_the_rounds_of_its_reward_model_do_not_judge_a_policy() -> None:
    fewer = sl.Logs(**{**FRESH, "contexts": FRESH["contexts"][:, :2]})
    for other in (logs_of(FRESH), fewer):
        learner = PolicyLearner(**GAUSSIAN, control=sl.models.fitted_on(other, "linear")).fit(logs_of(DATA))
        with pytest.raises(sl.UsageError, match=OWN):
            sl.compare(logs_of(rows(FRESH, slice(0, 1_000))), {"new": learner})
        assert sl.compare(logs_of(problem(seed=5)), {"new": learner}).rounds == 2_000
        control = sl.models.fitted_on(other, "linear")
        assert sl.verify(learner.certificate_, logs_of(DATA), learner.policy_, control=control).same


def small(seed: int, rounds: int = 600) -> sl.Logs:
    """One category of three values, two actions."""
    rng = np.random.default_rng(seed)
    action = rng.integers(0, 2, rounds)
    table = {"kind": rng.choice(["a", "b", "c"], rounds), "action": action, "r": rng.integers(0, 2, rounds)}
    declared: dict[str, Any] = {"reward": "r", "propensity": "p", "action": "action", "action_count": 2}
    return sl.Logs({**table, "p": np.full(rounds, 0.5)}, **declared, contexts=["kind"])


def test_fresh_rounds_of_the_same_law_are_never_refused() -> None:
    for draw, fits in ((small, 3), (lambda seed: logs_of(problem(600, seed)), 2)):
        for seed in range(fits):
            policy = PolicyLearner("linear", epochs=1).fit(draw(1_000 + seed)).policy_
            for other in range(40):
                assert sl.compare(draw(other), {"new": policy}).rounds == 600
    with pytest.raises(sl.UsageError, match=OWN):
        sl.compare(small(1_002).part(50, 350), {"new": PolicyLearner("linear", epochs=1).fit(small(1_002))})


def test_given_means_are_assumed_to_be_fixed_before() -> None:
    given = PolicyLearner(**GAUSSIAN, prior=np.zeros((3, 4))).fit(logs_of(DATA))
    assert any("assumed to be fixed before" in line for line in given.answer_.assumptions)


def test_an_object_of_your_own_is_looked_into(gaussian: PolicyLearner) -> None:
    class Mine:
        def __init__(self, policy: Any) -> None:
            self.policy = policy

        def __call__(self, table: pa.Table) -> Any:
            return gaussian.predict_proba(table)

    with pytest.raises(sl.UsageError, match=OWN):
        sl.compare(logs_of(PARTS["the first half"]), {"new": Mine(gaussian)})
    endless = Mine(None)
    endless.policy = endless
    assert sl.compare(logs_of(FRESH), {"new": endless}).rounds == 2_000
