"""coba's logged interactions, from coba itself."""

from typing import Any

import coba as cb
import numpy as np
import pyarrow as pa
import pytest

import surelift as sl
from surelift import importers
from surelift.errors import LogsError, UsageError

ITEMS = ["boots", "coat", "hat"]


def logged(learner: Any, rounds: int = 600) -> Any:
    """Old visitors like hats; the learner decides, and learns as it goes."""

    def reward(_: int, context: Any, action: Any, rng: Any) -> float:
        return float(rng.random() < (0.6 if (context["age"] > 0.5) == (action == "hat") else 0.2))

    simulated = cb.Environments.from_lambda(rounds, lambda _, rng: {"age": rng.random()}, lambda *_: ITEMS, reward, seed=3)
    return simulated.logged(learner)[0]


def test_interactions_give_the_answers_of_the_plain_table() -> None:
    environment = logged(cb.BanditEpsilonLearner(0.3))
    brought = importers.coba(environment, {"hats": cb.FixedLearner([0.1, 0.1, 0.8])})
    rows = list(environment.read())
    action = np.array([ITEMS.index(row["action"]) for row in rows])
    table = pa.table({
        "reward": [row["reward"] for row in rows], "propensity": [row["probability"] for row in rows],
        "action": action, "age": [row["context"]["age"] for row in rows], "p_hats": np.where(action == 2, 0.8, 0.1),
        "action_count": [3] * len(rows),
    })  # fmt: skip
    plain = sl.Logs(
        table, reward="reward", propensity="propensity", action="action", action_count="action_count", contexts=["age"]
    )
    ours, theirs = (
        sl.evaluate(logs, {"hats": hats, "uniform": sl.uniform()})
        for logs, hats in ((brought.logs, brought.policies["hats"]), (plain, "p_hats"))
    )
    assert ours.to_dict() == theirs.to_dict()
    assert ours.provenance.fingerprint == theirs.provenance.fingerprint
    assert len({row["probability"] for row in rows}) > 1  # the production learner did learn


def test_contexts_of_other_shapes_become_columns_too() -> None:
    row = {"reward": 1.0, "probability": 0.5, "actions": [(1, 0), (0, 1)], "action": (0, 1)}
    for context, names in [([0.5, 2], ["x0", "x1"]), ("old", ["x0"]), (None, None)]:
        brought = importers.coba([{**row, "context": context}] * 20)
        contexts = brought.logs.declaration.contexts
        assert (None if contexts is None else list(contexts)) == names
        assert list(brought.policies) == ["uniform"]


def test_what_is_no_logged_interaction_is_refused() -> None:
    row = {"context": 1, "reward": 1.0, "probability": 0.5, "actions": [1, 2], "action": 2}
    faults: list[tuple[dict[str, Any], str]] = [
        (
            {"probability": None},
            "1 interactions have no number in 'probability'; it has no default; the first is line 2 of",
        ),
        ({"reward": "x"}, r"once logged\(learner\) has run"),
        ({"actions": None}, "continuous actions are not supported"),
        ({"action": 3}, "twice, or not at all"),
        ({"actions": [2, 2]}, "twice, or not at all"),
    ]
    for wrong, says in faults:
        with pytest.raises(LogsError, match=says):
            importers.coba([row, {**row, **wrong}])
    with pytest.raises(LogsError, match="not dicts"):
        importers.coba([1])
    for odd, hint in [("file.zip", "not a str"), ([], "no interaction"), (cb.Environments(), r"environments\[0\]")]:
        with pytest.raises(UsageError, match=hint):
            importers.coba(odd)
    with pytest.raises(UsageError, match="named 'reward'"):
        importers.coba([{**row, "context": {"reward": 1}}])
    with pytest.raises(UsageError, match="not of one type"):
        importers.coba([row, {**row, "context": "text"}])


def test_a_learner_that_cannot_score_is_refused() -> None:
    environment = logged(cb.RandomLearner(), 5)
    with pytest.raises(UsageError, match="'mine' has no score"):
        importers.coba(environment, {"mine": object()})

    class Silent(cb.Learner):  # type: ignore[misc]
        pass

    with pytest.raises(UsageError, match="its probability of the logged action as a column"):
        importers.coba(environment, {"silent": Silent()})
