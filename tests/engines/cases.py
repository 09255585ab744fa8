"""Random logs of every kind, and all that can be asked of each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

import surelift as sl
from surelift.questions.question import Question

ROUNDS = 3_000
BY = {"by": "s"}
CLAIMS = {"r": sl.Outcome("r"), "g": sl.Outcome("g", range=(0, 2), cost=True, at_most_worse=0.1)}
RAIL = sl.Outcome("g", at_most_worse=0.1)


@dataclass(frozen=True)
class Asked:
    """A question before it has seen a log."""

    kind: str
    policies: Any
    options: Mapping[str, Any]

    def of(self, logs: sl.Logs) -> Question:
        return Question.of(self.kind, logs, self.policies, **self.options)


@dataclass(frozen=True)
class LogKind:
    table: Callable[..., pa.Table]
    declared: Mapping[str, Any]
    questions: Mapping[str, Asked]

    def logs(self, source: Any) -> sl.Logs:
        return sl.Logs(source, **self.declared)


def plain_table(seed: int = 0, rounds: int = ROUNDS) -> pa.Table:
    rng = np.random.default_rng(seed)
    q = rng.uniform(0.05, 1.0, rounds)
    a, b = (np.minimum(1.0, q * rng.uniform(0.1, 1.9, rounds)) for _ in range(2))
    r = np.where(rng.random(rounds) < 0.3, rng.uniform(0.5, 1.0, rounds), 0.0)
    return pa.table({"r": r, "q": q, "a": a, "b": b, "g": (rng.random(rounds) < 0.9).astype(float)})


def timed_table(seed: int = 1, rounds: int = ROUNDS) -> pa.Table:
    rng, table = np.random.default_rng(seed), plain_table(seed, rounds)
    start = datetime(2024, 3, 1)
    times = [start + timedelta(minutes=3 * row) for row in range(rounds)]
    segments = np.array(["de", "fr", "it", None], dtype=object)[rng.integers(0, 4, rounds)]
    return table.append_column("t", pa.array(times, pa.timestamp("us"))).append_column("s", pa.array(segments))


def sliced_table(seed: int = 8, rounds: int = ROUNDS) -> pa.Table:
    """Several columns of segments: texts with commas and quotes, whole numbers with nulls, and floats with NaN."""
    rng, table = np.random.default_rng(seed), timed_table(seed, rounds)
    device = np.array(["phone", "desk, old", 'a "tablet"'], dtype=object)[rng.integers(0, 3, rounds)]
    age = pa.array(rng.integers(10, 70, rounds), mask=rng.random(rounds) < 0.1)
    load = np.where(rng.random(rounds) < 0.1, np.nan, rng.integers(0, 9, rounds) / 4.0)
    return table.append_column("d", pa.array(device)).append_column("age", age).append_column("load", pa.array(load))


def identified_table(seed: int = 6, rounds: int = ROUNDS) -> pa.Table:
    """Whole numbers in no order, some of them negative, as ids; and texts."""
    ids = np.random.default_rng(seed).permutation(rounds) * 12_345_678_901 - 10**13
    names = pa.array([f"visit {number:x}" for number in ids.tolist()])
    return timed_table(seed, rounds).append_column("id", pa.array(ids)).append_column("name", names)


def vector_table(seed: int = 2, rounds: int = ROUNDS) -> pa.Table:
    """Whole distributions as list columns, of three actions or of four."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(3, 5, rounds)
    logging, first, second = ([rng.dirichlet(np.ones(k)) for k in lengths] for _ in range(3))
    action = np.array([rng.choice(k, p=p) for k, p in zip(lengths, logging, strict=True)])
    propensity = np.array([p[k] for p, k in zip(logging, action, strict=True)])
    reward = (rng.random(rounds) < 0.2 + 0.1 * action).astype(float)
    lists = {"l": logging, "va": first, "vb": second}
    return pa.table({"r": reward, "q": propensity, "act": action, **{name: pa.array(one) for name, one in lists.items()}})


def clustered_table(seed: int = 3, rounds: int = ROUNDS) -> pa.Table:
    rng, table = np.random.default_rng(seed), plain_table(seed, rounds)
    ends = np.cumsum(rng.integers(1, 4, rounds))
    cluster = np.searchsorted(ends, np.arange(rounds), side="right")
    segments = np.array(["x", "y"])[cluster % 2]
    return table.append_column("c", pa.array(cluster)).append_column("s", pa.array(segments))


def sequence_table(seed: int = 6, rounds: int = ROUNDS) -> pa.Table:
    """Sessions of one to three steps."""
    table = clustered_table(seed, rounds)
    clusters = np.asarray(table["c"])
    firsts = np.concatenate([[0], np.flatnonzero(np.diff(clusters)) + 1])
    steps = np.arange(rounds) - np.repeat(firsts, np.diff([*firsts, rounds]))
    return table.append_column("step", pa.array(steps))


def sampled_table(seed: int = 4, rounds: int = ROUNDS) -> pa.Table:
    """All that earned something, and a tenth of the rest."""
    table, rng = plain_table(seed, 4 * rounds), np.random.default_rng(seed)
    keep = np.where(np.asarray(table["r"]) > 0.0, 1.0, 0.1)
    kept = rng.random(len(keep)) < keep
    return table.append_column("k", pa.array(keep)).filter(pa.array(kept))


def drawn_table(seed: int = 7, rounds: int = ROUNDS) -> pa.Table:
    """Counts of draws in place of the propensities, and of one candidate's probabilities."""
    table, rng = plain_table(seed, rounds), np.random.default_rng(seed)
    draws = rng.integers(20, 40, rounds)
    wins, own = rng.binomial(draws, np.asarray(table["q"])), rng.binomial(50, np.asarray(table["b"]))
    counts = {"wins": wins, "draws": draws, "own": own}
    return pa.table({**{name: table[name] for name in ("r", "a")}, **counts})


def cost_table(seed: int = 5, rounds: int = ROUNDS) -> pa.Table:
    table = plain_table(seed, rounds)
    return table.set_column(0, "r", pa.array(2.0 + 8.0 * np.asarray(table["r"])))


def labelled_table(seed: int = 7, rounds: int = ROUNDS) -> pa.Table:
    """A score for every round, and the reward of those that were drawn."""
    table, rng = timed_table(seed, rounds), np.random.default_rng(seed)
    reward = np.asarray(table["r"])
    score = np.clip(0.2 + 0.6 * reward + rng.normal(0.0, 0.1, rounds), 0.0, 1.0)
    chance = np.where(score > 0.5, 0.5, 0.2)
    labels = pa.array(np.where(rng.random(rounds) < chance, reward, np.nan), from_pandas=True)
    return table.set_column(0, "r", labels).append_column("j", pa.array(score)).append_column("k", pa.array(chance))


def _asked(kind: str, policies: Any, **options: Any) -> Asked:
    return Asked(kind, policies, options)


def certified_questions(a: Any = "a", b: Any = "b") -> dict[str, Asked]:
    """What logs of every kind can answer; ``a`` and ``b`` are the two candidates."""
    both, one = {"a": a, "b": b}, {"a": a}
    return {
        "evaluate": _asked("evaluate", both),
        "evaluate, lower": _asked("evaluate", both, sides="lower"),
        "evaluate, upper": _asked("evaluate", one, sides="upper"),
        "evaluate, planned": _asked("evaluate", one, grid="planned"),
        "evaluate, logarithmic-smoothing": _asked("evaluate", both, method="logarithmic-smoothing", smoothing=0.2),
        "evaluate, its own smoothing": _asked("evaluate", one, method="logarithmic-smoothing"),
        "compare": _asked("compare", one),
        "compare, planned": _asked("compare", one, grid="planned", margin=0.01),
        "compare over another": _asked("compare", one, over={"b": b}),
        "compare a blend": _asked("compare", {"some": sl.blend(a, 0.1)}, delta=0.01),
        "select": _asked("select", both),
        "select, bounds": _asked("select", both, many="simultaneous"),
        "select, e-bh": _asked("select", both, many="e-bh"),
        "select by value": _asked("select by value", both),
        "profile": _asked("profile", one, control="none"),
        "check": _asked("check", both),
        "gate": _asked("gate", one),
        "report": _asked("report", both, ordered=False),
        "report in order": _asked("report", one),
        "report in order, planned": _asked("report", one, grid="planned"),
    }


def unit_questions(a: Any = "a", b: Any = "b") -> dict[str, Asked]:
    """What only logs of independent rounds, all of them kept, can answer."""
    both, one = {"a": a, "b": b}, {"a": a}
    return {
        **certified_questions(a, b),
        "evaluate, second-moment": _asked("evaluate", both, method="second-moment"),
        "evaluate, moments": _asked("evaluate", one, method="moments", order=3),
        "evaluate, implicit-exploration": _asked("evaluate", one, method="implicit-exploration"),
        "evaluate, empirical-bernstein": _asked("evaluate", both, method="empirical-bernstein"),
        "evaluate, normal": _asked("evaluate", both, method="normal"),
        "evaluate, bootstrap": _asked("evaluate", one, method="bootstrap"),
        "compare, normal": _asked("compare", one, method="normal"),
        "compare, bootstrap": _asked("compare", one, method="bootstrap"),
        "power": _asked("power", one),
        "power over another": _asked("power", one, over={"b": b}),
        "estimate": _asked("estimate", both),
        "estimate, snips": _asked("estimate", both, estimator="snips"),
        "estimate, ls": _asked("estimate", one, estimator="ls"),
        "estimate, clipped": _asked("estimate", one, estimator="clipped"),
    }


def block_questions() -> dict[str, Asked]:
    """Of rounds that every engine deals into the same blocks, by an id or by their cluster."""
    return {
        "evaluate, blocks": _asked("evaluate", ["a", "b"], method="blocks"),
        "compare, blocks": _asked("compare", "a", method="blocks"),
        "compare by, blocks": _asked("compare", "a", method="blocks", **BY),
        "select, blocks": _asked("select", ["a", "b"], method="blocks"),
        "gate, blocks": _asked("gate", "a", method="blocks"),
        "report, blocks": _asked("report", "a", method="blocks", ordered=False),
    }


def segment_questions() -> dict[str, Asked]:
    return {
        "evaluate by": _asked("evaluate", ["a", "b"], **BY),
        "compare by": _asked("compare", "a", **BY),
        "compare by, planned": _asked("compare", "a", grid="planned", **BY),
        "compare by, declared": _asked("compare", "a", by="s", segments=["de", "fr", "it", "x", "y", "(missing)"]),
        "select by": _asked("select", ["a", "b"], **BY),
        "profile by": _asked("profile", "a", control="none", **BY),
        "check by": _asked("check", ["a", "b"], by=("s",)),
    }


def slice_questions() -> dict[str, Asked]:
    age, load = sl.bins("age", [18, 30, 50]), sl.bins("load", [0.25, 1])
    named = [(place, name) for place in ("de", "fr", "it", "(missing)") for name in (*age.names, "(missing)")]
    return {
        "compare by two": _asked("compare", "a", by=["s", "d"]),
        "compare by two, declared": _asked("compare", "a", by=["s", age], segments=named),
        "evaluate by bins": _asked("evaluate", ["a", "b"], by=load),
        "select by two": _asked("select", ["a", "b"], by=["s", "d"]),
        "check by several": _asked("check", "a", by=["s", age, ("d", load)]),
    }


def _only(questions: Mapping[str, Asked], *words: str) -> dict[str, Asked]:
    return {name: asked for name, asked in questions.items() if name.split(",")[0] in words}


OUTCOMES = {
    "outcomes": _asked("compare outcomes", "a", outcomes=CLAIMS),
    "gate, a guardrail": _asked("gate", "a", guardrails=(RAIL,)),
}
PLAIN: Mapping[str, Any] = {"reward": "r", "propensity": "q"}
KINDS: Mapping[str, LogKind] = {
    "plain": LogKind(plain_table, PLAIN, {**unit_questions(), **OUTCOMES}),
    "timed": LogKind(
        timed_table,
        {**PLAIN, "time": "t"},
        {
            **_only(unit_questions(), "compare", "check", "gate", "report", "report in order"),
            **segment_questions(),
            "outcomes by": _asked("compare outcomes", "a", outcomes=CLAIMS, **BY),
            "outcomes by, planned": _asked("compare outcomes", "a", outcomes=CLAIMS, grid="planned", **BY),
            "power by": _asked("power", "a", **BY),
            "estimate by": _asked("estimate", ["a", "b"], estimator="snips", **BY),
            "estimate by, ls": _asked("estimate", "a", estimator="ls", **BY),
        },
    ),
    "sliced": LogKind(sliced_table, {**PLAIN, "time": "t"}, slice_questions()),
    "identified": LogKind(identified_table, {**PLAIN, "time": "t", "id": "id"}, block_questions()),
    "named": LogKind(identified_table, {**PLAIN, "id": "name"}, _only(block_questions(), "evaluate", "compare")),
    "vectors": LogKind(
        vector_table,
        {**PLAIN, "action": "act", "logging": "l"},
        {
            **unit_questions("va", "vb"),
            "evaluate, controlled": _asked("evaluate", {"a": "va"}, control="weights"),
            "evaluate, no control": _asked("evaluate", {"a": "va"}, control="none"),
            "evaluate, efron-stein": _asked("evaluate", {"a": "va"}, method="efron-stein"),
        },
    ),
    "clustered": LogKind(
        clustered_table,
        {**PLAIN, "cluster": "c", "cluster_max": 3},
        {**certified_questions(), **segment_questions(), **block_questions(), **OUTCOMES},
    ),
    "sequences": LogKind(
        sequence_table,
        {**PLAIN, "cluster": "c", "cluster_max": 3, "position": "step"},
        _only(certified_questions(), "evaluate", "compare", "compare over another", "compare a blend", "check"),
    ),
    "sampled": LogKind(
        sampled_table, {**PLAIN, "keep_probability": "k", "rounds_before_sampling": 4 * ROUNDS},
        {**certified_questions(), **OUTCOMES},
    ),
    "drawn": LogKind(
        drawn_table,
        {"reward": "r", "propensity": sl.wins("wins", "draws")},
        _only(
            unit_questions("a", sl.wins("own", 50)),
            "evaluate", "compare", "compare over another", "compare a blend", "select", "check", "report", "power",
        ),
    ),
    "labelled": LogKind(
        labelled_table,
        {**PLAIN, "score": "j", "label_probability": "k"},
        {
            **{name: certified_questions()[name] for name in ("evaluate", "compare", "compare over another", "check")},
            "compare, labels alone": _asked("compare", "a", control="none"),
            "compare by": segment_questions()["compare by"],
            "gate, a guardrail": _asked("gate", "a", guardrails=(RAIL,)),
        },
    ),
    "costs": LogKind(
        cost_table,
        {"cost": "r", "propensity": "q", "reward_range": (0.0, 12.0)},
        _only(unit_questions(), "evaluate", "compare", "select", "power", "report", "estimate"),
    ),
}  # fmt: skip
