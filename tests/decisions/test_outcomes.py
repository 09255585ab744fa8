"""Several outcomes at once: each claim is its own comparison at delta over their number, and all bounds hold together."""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import surelift as sl
from surelift.engines import collect
from surelift.questions.outcomes import OutcomesQuestion
from surelift.questions.question import Question
from surelift.saving import sealed
from tests.prose import flat

ROUNDS = 4_000
CLAIMS = {
    "quality": sl.Outcome("quality", at_most_worse=0.05),
    "cost": sl.Outcome("usd", range=(0, 2), cost=True, at_least=0.1),
    "latency": sl.Outcome("ms", range=(0, 10_000), cost=True, at_most_worse=900),
}


def table(rounds: int = ROUNDS) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    small = rng.random(rounds) < 0.5
    return {
        "p": np.full(rounds, 0.5), "new": np.where(small, 0.9, 0.1), "country": rng.choice(["de", "fr"], rounds),
        "quality": (rng.random(rounds) < np.where(small, 0.7, 0.68)).astype(float),
        "usd": np.where(small, 0.4, 1.6) * rng.random(rounds),
        "ms": np.where(small, 500.0, 480.0) + rng.integers(100, size=rounds),
    }  # fmt: skip


TABLE = table()


def logs(**changed: Any) -> sl.Logs:
    return sl.Logs(TABLE, **{"reward": "quality", "propensity": "p", **changed})


def test_each_claim_is_a_comparison_at_its_share_of_delta() -> None:
    answer = sl.compare(logs(), "new", outcomes=CLAIMS, delta=0.06)
    alone = {
        "quality": sl.compare(logs(), "new", delta=0.02, margin=-0.05),
        "cost": sl.compare(logs(reward=None, cost="usd", reward_range=(0, 2)), "new", delta=0.02, margin=0.1),
        "latency": sl.compare(logs(reward=None, cost="ms", reward_range=(0, 1e4)), "new", delta=0.02, margin=-900),
    }
    for name, result in alone.items():
        found = answer[name]
        bounds = (result.lower, result.upper, result.e_value)
        assert (found.lower, found.upper, found.e_value) == pytest.approx(bounds, rel=1e-9)
        assert (found.certified, found.margin) == (result.certified, result.margin)
    assert answer.certified
    said = flat(str(answer))
    assert "bounded at delta 0.02. Together, all lower bounds hold with probability 0.94" in said
    assert (
        "'quality' is worse by no more than 0.05, 'cost' is lower by at least 0.1 and 'latency' is worse by no more than 900"
        in said
    )
    assert [record["outcome"] for record in answer.records()] == list(CLAIMS)
    assert "'cost': costs always lie in [0, 2]" in answer.assumptions
    assert answer.assumptions.count("the propensities were recorded when the decisions were made") == 1


def test_one_claim_that_fails_keeps_it_from_being_certified() -> None:
    strict = {**CLAIMS, "quality": sl.Outcome("quality", at_least=0.5)}
    answer = sl.compare(logs(), "new", outcomes=strict)
    assert (answer.certified, answer["cost"].certified) == (False, True)
    assert "with 'new' instead of production, it is ruled out that 'quality' is higher by at least 0.5." in answer.sentence()
    unsure = sl.compare(logs(), "new", outcomes={**CLAIMS, "quality": sl.Outcome("quality", at_least=0.01)})
    assert unsure.sentence().startswith("Not certified: with 'new' instead of production, these rounds do not show that")


def test_a_doubt_is_told_as_one() -> None:
    answer = sl.compare(logs(propensity_is_estimated=True), "new", outcomes=CLAIMS)
    assert not answer.certified
    assert "it looks as if 'quality' is worse by no more than 0.05, 'cost' is lower" in answer.sentence()
    assert "this is in doubt: conditional on the propensity model" in answer.sentence()


def test_what_cannot_change_is_not_worse_and_not_better() -> None:
    same = {"same": sl.blend("new", 0.0)}
    assert sl.compare(logs(), same, outcomes=[sl.Outcome("usd", range=(0, 2), at_most_worse=0)]).certified
    assert not sl.compare(logs(), same, outcomes=[sl.Outcome("usd", range=(0, 2))]).certified


def test_certificates_questions_and_parts_say_the_same() -> None:
    answer = sl.compare(logs(), "new", outcomes=CLAIMS)
    certificate = sl.Certificate.of(answer)
    order = np.random.default_rng(1).permutation(ROUNDS)
    assert sl.verify(certificate, {name: column[order] for name, column in TABLE.items()}).same
    question = Question.from_dict(certificate.content["question"])
    assert question.to_dict() == certificate.content["question"]
    halves = [{name: column[part] for name, column in TABLE.items()} for part in (slice(1_000), slice(1_000, None))]
    parts = [sl.partial_sums([half], question) for half in halves]
    assert question.answer(parts[0] + parts[1])["latency"].lower == pytest.approx(answer["latency"].lower, rel=1e-9)


def test_a_bound_in_other_units_is_compared_in_these() -> None:
    """A part in a billion of the log's own range would be as wide as the outcome."""
    euros = logs(reward="ms", reward_range=(0, 1e9))
    content: Any = dict(sl.Certificate.of(sl.compare(euros, "new", outcomes={"q": CLAIMS["quality"]})).content)
    assert sl.verify(content, euros).same
    content["answer"]["outcomes"]["q"]["lower"] += 1e-4
    assert not sl.verify(sealed({name: part for name, part in content.items() if name != "checksum"}), euros).same


def test_segments_share_delta_too() -> None:
    answer = sl.compare(logs(), "new", outcomes=CLAIMS, by="country", segments=["de", "fr"], delta=0.06)
    chosen = TABLE["country"] == "de"
    part = {name: column[chosen] for name, column in TABLE.items()}
    alone = sl.compare(sl.Logs(part, reward="usd", reward_range=(0, 2), propensity="p"), "new", delta=0.01)
    as_reward = sl.compare(
        logs(), "new", outcomes={**CLAIMS, "cost": sl.Outcome("usd", range=(0, 2))}, by="country", segments=["de", "fr"],
        delta=0.06,
    )  # fmt: skip
    assert as_reward["de"]["cost"].lower == pytest.approx(alone.lower, rel=1e-9)
    assert answer.certified == tuple(name for name, result in answer.items() if result.certified)
    assert "'latency'" in str(answer)
    assert "any number of looks" in flat(str(answer))
    assert sl.verify(sl.Certificate.of(answer), logs()).same
    planned = sl.compare(logs(), "new", outcomes=CLAIMS, by="country", grid="planned")
    assert planned["fr"]["cost"].promise == "one look"


def test_a_reward_model_narrows_the_logs_own_reward() -> None:
    from tests.controls.test_models import columns, logs_of

    data = columns(2, 300)
    data["g"] = np.ones(300)
    log = logs_of(data)
    own = sl.Outcome(log.declaration.reward.name, at_most_worse=0.9, range=log.declaration.reward.reward_range)
    answer = sl.compare(log, "new", outcomes=[own, sl.Outcome("g", at_most_worse=0.5)], control=sl.models.given("q"))
    assert [result.control for result in answer.values()] == ["model", "weights"]
    assert sl.verify(sl.Certificate.of(answer), log).same


def test_a_sampled_log_counts_the_rounds_that_were_dropped() -> None:
    half = {name: column[:2_000] for name, column in TABLE.items()} | {"k": np.full(2_000, 0.5)}
    sampled = sl.Logs(half, reward="quality", propensity="p", keep_probability="k", rounds_before_sampling=4_000)
    answer = sl.compare(sampled, "new", outcomes=CLAIMS)
    assert (answer.rounds, answer["cost"].rounds) == (4_000, 4_000)


def wanted(column: str, **claim: Any) -> dict[str, sl.Outcome]:
    return {"one": sl.Outcome(column, **claim)}


@pytest.mark.parametrize(
    "outcomes, says",
    [
        ({}, "must be a mapping"), ("quality", "must be a mapping"), ({"quality": 0.1}, "must be a mapping"),
        ({1: sl.Outcome("ms")}, "must be a mapping"), ([], "must be a mapping"),
        ({"a": sl.Outcome("ms"), "b": sl.Outcome("ms", at_most_worse=0.5)}, "'a' and 'b' are both the reward 'ms'"),
        ([sl.Outcome("ms"), sl.Outcome("ms", cost=True)], "outcome 'ms' is given twice"),
        (wanted("qualty"), "no column 'qualty' for an outcome. Did you mean 'quality'"),
    ],
)  # fmt: skip
def test_outcomes_that_make_no_sense(outcomes: Any, says: str) -> None:
    with pytest.raises(sl.UsageError, match=says):
        sl.compare(logs(), "new", outcomes=outcomes)


@pytest.mark.parametrize(
    "claim, says",
    [
        ({"at_least": 0.1, "at_most_worse": 0.1}, "makes one claim"),
        ({"at_least": -0.1}, r"at_least= must be a number of at least 0, not -0\.1"),
        ({"at_most_worse": math.nan}, "at_most_worse= must be a number"),
        ({"at_most_worse": 1}, r"a change of 1 is claimed, but none can be that large: its values lie in \[0, 1\]"),
        ({"at_least": 20, "range": (0, 20)}, "a change of 20 is claimed"),
        ({"range": (1, 0)}, "the smaller first"), ({"range": (0, math.inf)}, "two finite numbers"),
        ({"range": "0,1"}, "two finite numbers"),
    ],
)  # fmt: skip
def test_claims_that_make_no_sense(claim: dict[str, Any], says: str) -> None:
    with pytest.raises(sl.UsageError, match=says):
        sl.Outcome("ms", **claim)


def test_an_outcome_decides_nothing() -> None:
    """Functions and segments must not see what is known only after the action; nor does one margin fit several units."""
    peeks = {"peeks": lambda batch: np.where(np.asarray(batch["usd"]) < 1, 0.9, 0.1)}
    for ask in (
        lambda: sl.compare(logs(), peeks, outcomes=CLAIMS),
        lambda: sl.gate(logs(), peeks, guardrails=[CLAIMS["cost"]]),
    ):
        with pytest.raises(sl.UsageError, match=r"is shown 'usd'.*in contexts="):
            ask()
    with pytest.raises(sl.UsageError, match="by 'usd' is an outcome"):
        sl.compare(logs(), "new", outcomes=CLAIMS, by="usd")
    with pytest.raises(sl.UsageError, match="at_least= or at_most_worse="):
        sl.compare(logs(), "new", outcomes=CLAIMS, margin=0.1)
    with pytest.raises(sl.LogsError, match=r"lie outside the declared range of the outcome(.|\n)*Outcome\(column, range="):
        sl.compare(logs(), "new", outcomes=wanted("usd"))


# Two actions; the outcomes depend on each other and on the action: (action, quality, dollars) with its probability.
ATOMS = [
    ((action, quality, dollars), chance * quality_chance * dollars_chance)
    for action, chance in ((0, 0.2), (1, 0.8))
    for quality, quality_chance in ((0.0, 0.6 - 0.3 * action), (1.0, 0.4 + 0.3 * action))
    for dollars, dollars_chance in ((0.5, 0.7 - 0.4 * quality), (4.0, 0.3 + 0.4 * quality))
]
LOGGING, NEW = np.array([0.2, 0.8]), np.array([0.7, 0.3])


def every_log(chances: Sequence[float], rounds: int) -> Iterator[tuple[float, list[int]]]:
    """Every log of so many rounds, whose order does not matter, with its probability."""
    for atoms in itertools.combinations_with_replacement(range(len(chances)), rounds):
        orders = math.factorial(rounds) // math.prod(math.factorial(count) for count in Counter(atoms).values())
        yield orders * math.prod(chances[atom] for atom in atoms), list(atoms)


def expected(column: int, policy: Any) -> float:
    return float(sum(chance * policy[atom[0]] / LOGGING[atom[0]] * atom[column] for atom, chance in ATOMS))


def test_exactly_no_e_value_promises_more_than_one_and_all_bounds_hold_together() -> None:
    quality = expected(1, NEW) - expected(1, LOGGING)
    saved = expected(2, LOGGING) - expected(2, NEW)
    assert quality < 0 < saved
    claims = {
        "quality": sl.Outcome("quality", at_most_worse=-quality),
        "cost": sl.Outcome("usd", at_least=saved, range=(0, 5), cost=True),
    }
    delta, failed, mean = 0.5, 0.0, dict.fromkeys(claims, 0.0)
    for chance, atoms in every_log([chance for _, chance in ATOMS], 3):
        action, rewards, dollars = (np.array(column) for column in zip(*(ATOMS[atom][0] for atom in atoms), strict=True))
        action = action.astype(int)
        columns = {"q": LOGGING[action], "new": NEW[action], "quality": rewards, "usd": dollars}
        answer = sl.compare(sl.Logs(columns, reward="quality", propensity="q"), "new", outcomes=claims, delta=delta)
        for name, result in answer.items():
            mean[name] += chance * result.e_value
        failed += chance * any(result.lower > claims[name].margin for name, result in answer.items())
    assert failed <= delta
    for name in claims:
        assert 0.5 < mean[name] <= 1.0 + 1e-12


def kinds(rng: np.random.Generator, rounds: int, count: int, rare: float) -> tuple[Any, Any]:
    return rng.random(rounds) < rare, rng.integers(0, count, rounds)


def judged(taken: Any, kind: Any, count: int, *, rare: float, delta: float, smoothing: float) -> tuple[bool, bool]:
    """Whether any lower bound fails where outcome j counts rounds of kind j, which no action changes: split, and naive."""
    columns = {"q": np.where(taken, rare, 1 - rare), "new": np.where(taken, 0.9, 0.1)}
    columns |= {f"r{each}": (kind == each).astype(float) for each in range(count)}
    log = sl.Logs(columns, reward="r0", propensity="q")
    question = Question.of(
        "compare outcomes", log, "new", outcomes={f"r{each}": sl.Outcome(f"r{each}") for each in range(count)},
        method="logarithmic-smoothing", smoothing=smoothing, delta=delta,
    )  # fmt: skip
    assert isinstance(question, OutcomesQuestion)
    sums = collect(log, question.plan())

    def at_delta_each() -> dict[str, sl.results.Improvement]:
        return {
            name: replace(question, outcomes={name: one}).answered(sums)[name] for name, one in question.outcomes.items()
        }

    return fails(lambda: question.answer(sums)), fails(at_delta_each)


def fails(bounds: Callable[[], Mapping[str, sl.results.Improvement]]) -> bool:
    """No outcome changes, so a lower bound above zero fails; so it does where it is too large to be believed."""
    try:
        return any(result.lower > 0.0 for result in bounds().values())
    except sl.LogsError:
        return True


def test_exactly_bounds_at_delta_each_do_not_hold_together() -> None:
    count, rounds, rare, delta = 5, 3, 0.085, 0.1
    atoms = [(taken, kind) for taken in (False, True) for kind in range(count)]
    chances = [(rare if taken else 1 - rare) / count for taken, _ in atoms]
    split = naive = 0.0
    for chance, found in every_log(chances, rounds):
        taken, kind = np.array([atoms[atom] for atom in found]).T
        failed = judged(taken.astype(bool), kind, count, rare=rare, delta=delta, smoothing=20.0)
        split, naive = split + chance * failed[0], naive + chance * failed[1]
    assert split <= delta
    assert naive > 1.3 * delta


@pytest.mark.slow
def test_all_lower_bounds_hold_as_often_as_promised_and_the_naive_ones_do_not() -> None:
    count, rounds, rare, delta, runs = 20, 60, 0.05, 0.2, 160
    rng = np.random.default_rng(7)
    failed = np.array(
        [judged(*kinds(rng, rounds, count, rare), count, rare=rare, delta=delta, smoothing=0.8) for _ in range(runs)]
    ).sum(axis=0)
    most = int(binom.isf(1e-6, runs, delta))  # a valid statement fails more often with probability one in a million
    assert failed[0] <= most < failed[1]
