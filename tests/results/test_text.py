"""What people read in a terminal: the bounds, and a verdict in a sentence."""

from typing import Any

import numpy as np

import surelift as sl
from tests.prose import flat

ROWS = 3_000
RNG = np.random.default_rng(1)
P = np.full(ROWS, 0.5)
GOOD = RNG.random(ROWS) < 0.5
CLICK = (RNG.random(ROWS) < np.where(GOOD, 0.5, 0.2)).astype(float)
LOGS = sl.Logs(reward=CLICK, propensity=P)


ADVICE = "\nFor one look at independent rounds without drift, method='blocks' is narrower;\n  name it before looking."


def verdict(text: str) -> str:
    assert text.endswith(ADVICE)
    return text.removesuffix(ADVICE)


def test_a_certified_improvement() -> None:
    text = str(sl.compare(LOGS, {"new": np.where(GOOD, 0.8, 0.2)}))
    assert text.startswith("Improvement of 'new' over production, 3,000 rounds")
    assert "holds with probability 0.95, at any number of looks (mixture)" in flat(text)
    assert verdict(text).endswith("Certified: 'new' is better than production.")


def test_the_verdict_distinguishes_worse_undecided_and_ruled_out() -> None:
    worse = str(sl.compare(LOGS, {"worse": np.where(GOOD, 0.2, 0.8)}))
    assert verdict(worse).endswith("Worse: 'worse' performs worse than production.")
    coin = np.random.default_rng(2).random(ROWS) < 0.5
    undecided = str(sl.compare(LOGS, {"same": np.where(coin == GOOD, 0.8, 0.2)}))
    assert verdict(undecided).endswith("they do not rule it out either.")
    margin = str(sl.compare(LOGS, {"new": np.where(GOOD, 0.8, 0.2)}, margin=0.3))
    assert verdict(margin).endswith(
        "Not certified: these rounds rule out that 'new' is better than production by\n  more than 0.3."
    )
    planned = str(sl.compare(LOGS, {"new": np.where(GOOD, 0.8, 0.2)}, grid="planned"))
    assert "at one look" in verdict(planned)


def test_blocks_are_advised_where_they_can_be_used() -> None:
    new = {"new": np.where(GOOD, 0.8, 0.2)}
    table = {"r": CLICK, "p": P, "new": new["new"], "s": np.tile(["x", "y"], ROWS // 2)}
    declared: dict[str, Any] = {"reward": "r", "propensity": "p"}
    logs = sl.Logs(table, **declared)
    watch = sl.Monitor("new", **declared)
    watch.update(table)
    answer = sl.compare(logs, "new")
    assert str(watch.answer()) == verdict(str(answer))
    assert "advice" not in answer.to_dict()
    estimated = sl.Logs(table, **declared, propensity_is_estimated=True)
    vectors = sl.Logs(reward=CLICK, propensity=P, action=GOOD.astype(int), logging=np.full((ROWS, 2), 0.5))
    model = sl.models.given(np.full((ROWS, 2), 0.3))
    for other in (
        sl.compare(logs, "new", method="blocks"),
        sl.compare(logs, "new", method="normal"),
        sl.compare(logs, "new", by="s"),
        sl.compare(estimated, "new"),
        sl.compare(vectors, {"new": np.tile([0.2, 0.8], (ROWS, 1))}, control=model),
        sl.gate(logs, "new"),
        sl.verify(sl.Certificate.of(answer), logs),
    ):
        assert "blocks' is narrower" not in str(other)


def test_an_estimate_outside_the_range_says_so() -> None:
    logs = sl.Logs(reward=[1.0, 1.0, 1.0], propensity=[0.3, 0.5, 0.5])
    text = str(sl.evaluate(logs, {"new": [1.0, 1.0, 1.0]}))
    assert (
        "'new': the weighted mean is 2.444, not a possible value: it lies outside [0, 1], and the mean weight is 2.44, "
        "not 1; the nearest bound is shown as the estimate" in flat(text)
    )


def test_a_selection_chooses_a_candidate_or_keeps_production() -> None:
    both = {"new": np.where(GOOD, 0.8, 0.2), "worse": np.where(GOOD, 0.2, 0.8)}
    bounded, joint = (sl.select(LOGS, both, many=many) for many in ("simultaneous", "e-holm"))
    assert "Choose 'new': better than production by at least 0." in str(bounded)
    assert "at any number of looks" in flat(str(bounded))
    assert "Choose 'new': better than production." in str(joint)
    assert "at one look" in flat(str(joint))
    assert "by how much is not bounded here" in flat(str(joint)).lower()
    one_more = sl.select(LOGS, {**both, "half": sl.blend(both["new"], 0.5)})
    assert one_more.sentence().endswith("Of 2 certified, its own lower bound, not shown, is the largest.")
    kept = sl.select(LOGS, both, margin=-0.01).sentence()
    assert kept == "Choose 'new': not worse than production by more than 0.01."
    much = sl.select(LOGS, both, margin=0.01).sentence()
    assert much == "Choose 'new': better than production by more than 0.01."
    assert "Keep production: no candidate is certified better." in str(sl.select(LOGS, {"worse": both["worse"]}))


def test_control_characters_in_names_are_escaped() -> None:
    text = str(sl.compare(LOGS, {"new\x1b[2J\n": np.full(ROWS, 0.5)}))
    assert "\x1b" not in text
    assert text.splitlines()[1].startswith("  estimate")
