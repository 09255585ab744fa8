"""Segments, selections, gates and checks: many claims about one log, which hold together."""

from dataclasses import replace
from typing import Any

import numpy as np

import surelift as sl
from campaigns.laws.growing import cuts_of
from campaigns.laws.law import Claim, World, coins, law, outside, sides, some_rounds
from campaigns.laws.plain import two_actions
from campaigns.laws.vectors import contextual, drawn, one

Rng = np.random.Generator


def segmented(rng: Rng, rounds: int) -> tuple[World, dict[str, World]]:
    """The whole log, with its context as the segment, and the log of each segment."""
    world = one(contextual(rng, rounds, contexts=4))
    names = np.array(["de", "fr", "it", "us"])[world.columns["x"]]
    world = replace(world, columns={**world.columns, "s": names})
    parts = {}
    for name in np.unique(names):
        here = names == name
        columns = {column: np.asarray(values)[here] for column, values in world.columns.items()}
        values = {policy: np.asarray(value)[here] for policy, value in world.values.items()}
        parts[str(name)] = replace(world, columns=columns, values=values)
    return world, parts


def by_segment(world: World, parts: dict[str, World], delta: float, **options: Any) -> list[Claim]:
    try:
        values = sl.evaluate(world.logs, world.policies, delta=delta, by="s", **options)
        missed = any(
            any(outside(found["new"].lower, found["new"].upper, parts[name].truth("new"))) for name, found in values.items()
        )
    except sl.LogsError:
        missed = True
    ends, refused = [(False, False)], False
    try:
        gains = sl.compare(world.logs, world.policies, delta=delta, by="s", **options)
        ends = [outside(found.lower, found.upper, parts[name].improvement("new")) for name, found in gains.items()]
    except sl.LogsError:
        refused = True
    below, above = any(low for low, _ in ends), any(high for _, high in ends)
    return [
        Claim("values of all segments", delta, missed),
        *sides("improvements of all segments", delta, below, above, refused=refused),
    ]


@law("segments", logs=25)
def segments(rng: Rng, delta: float) -> list[Claim]:
    world, parts = segmented(rng, some_rounds(rng, 100))
    return by_segment(world, parts, delta, **({"grid": "planned"} if rng.random() < 0.5 else {}))


@law("segments declared in advance", logs=25)
def declared(rng: Rng, delta: float) -> list[Claim]:
    world, parts = segmented(rng, some_rounds(rng, 100))
    return by_segment(world, parts, delta, segments=["de", "fr", "it", "us", "none"])


@law("declared segments, looked at as they grow", logs=10)
def growing_segments(rng: Rng, delta: float) -> list[Claim]:
    missed = dict[tuple[str, float], bool]()
    world, _ = segmented(rng, 500)
    for rounds in cuts_of(rng, 500, 4)[1:]:
        part = world.part(0, rounds)
        parts = {}
        for name in set(part.columns["s"]):
            here = part.columns["s"] == name
            values = {policy: np.asarray(value)[here] for policy, value in part.values.items()}
            parts[str(name)] = replace(part, values=values)
        for claim in by_segment(part, parts, delta, segments=["de", "fr", "it", "us"]):
            key = claim.name, claim.level
            missed[key] = missed.get(key, False) or claim.missed
    return [Claim(f"{name}, at any look", level, each) for (name, level), each in missed.items()]


def useless(rng: Rng, rounds: int, candidates: int) -> World:
    """No action is better than another, so no candidate is."""
    mean, contexts = rng.uniform(0.05, 0.95), 3
    vectors = {f"c{number}_": rng.dirichlet(np.full(3, 0.3), contexts) for number in range(candidates)}
    logging = 0.9 * rng.dirichlet(np.ones(3), contexts) + 0.1 / 3
    return drawn(rng, rng.integers(0, contexts, rounds), logging, vectors, np.full((contexts, 3), mean))


@law("the best of many useless candidates", logs=10)
def best_of_many(rng: Rng, delta: float) -> list[Claim]:
    world = useless(rng, some_rounds(rng, 100), 20)
    missed, chosen, refused = False, False, False
    try:
        found = sl.select(world.logs, world.policies, delta=delta)
        missed, chosen = any(outside(each.lower, None, 0.0)[0] for each in found.improvements.values()), found.certified
    except sl.LogsError:
        refused = True
    return [
        Claim("all improvements, lower", delta, missed),
        Claim("one was chosen", delta, chosen),
        Claim("all improvements, lower, or a refusal", 2 * delta, missed or refused),
    ]


@law("discoveries among useless candidates", logs=10)
def discoveries(rng: Rng, delta: float) -> list[Claim]:
    """All are false, so that a discovery is a false discovery proportion of 1."""
    world = useless(rng, some_rounds(rng, 100), 15)
    missed, refused = False, False
    try:
        missed = bool(sl.select(world.logs, world.policies, delta=delta, many="e-bh").discoveries)
    except sl.LogsError:
        refused = True
    return [Claim("a discovery", delta, missed), Claim("a discovery, or a refusal", 2 * delta, missed or refused)]


@law("a gate with guardrails", logs=20)
def gate(rng: Rng, delta: float) -> list[Claim]:
    """A useless candidate that costs more than its guardrail allows: certified by chance alone."""
    rounds, margin = some_rounds(rng, 100), 0.05
    world = two_actions(rng, rounds, logging=0.3, candidate=0.8, means=(0.5, 0.5))
    first = np.isclose(world.columns["q"], 0.3)
    paid, returned = coins(rng, np.where(first, 0.6, 0.3)), coins(rng, np.where(first, 0.4, 0.7))
    columns = {**world.columns, "euros": 100 * returned, "paid": paid}
    # Costs rise by 0.5 * 0.3 and euros fall by 50 * 0.3 where the first action is taken half more often.
    rails = [
        sl.Outcome("euros", at_most_worse=100 * margin, range=(0, 100)),
        sl.Outcome("paid", at_most_worse=margin, cost=True),
    ]
    truths = {"euros": -15.0, "paid": -0.15}
    asked = replace(world, columns=columns)
    lower, held, certified, refused = False, False, False, False
    try:
        found = sl.gate(asked.logs, asked.policies, delta=delta, guardrails=rails)
        refused, certified = found.improvement is None, found.certified
        gained = 0.0 if found.improvement is None else found.improvement.lower
        lower = outside(gained, None, 0.0)[0] or any(
            outside(rail.lower, None, truths[column], 100.0)[0] for column, rail in found.guardrails.items()
        )
        held = any(rail.certified for rail in found.guardrails.values())
    except sl.LogsError:
        refused = True
    return [
        Claim("all lower bounds", delta, lower),
        Claim("certified", delta, certified),
        Claim("a guardrail that does not hold", delta, held),
        Claim("a lower bound, or a refusal", 2 * delta, lower or refused),
    ]


@law("right propensities are not accused", logs=20)
def accused(rng: Rng, delta: float) -> list[Claim]:
    world, _ = segmented(rng, some_rounds(rng, 100))
    alone = rng.random() < 0.3
    if alone:
        kept = {name: value for name, value in world.declared.items() if name not in ("logging", "action")}
        columns = {**world.columns, "new": _logged(world)}
        world = replace(world, columns=columns, declared={**kept, "action_count": 3}, policies={"new": "new"})
    missed = False
    for rounds in cuts_of(rng, world.rounds, 4)[1:]:
        missed |= not sl.check(world.part(0, rounds).logs, world.policies, level=delta, by=["s"]).ok
    return [Claim(f"accused {'by weights' if alone else 'by vectors'}, at any look", delta, missed)]


def _logged(world: World) -> Any:
    vectors = np.stack([world.columns[name] for name in world.policies["new"]], axis=1)
    return vectors[np.arange(world.rounds), world.columns["a"]]
