"""Trees of rounds written out: the mean of every factor, of every component of every bound, is at most 1.

The log-terms are the library's own, of logs with a row for each round of each course that a tree can take. Where production
supports every action the mean is 1; where the true mean changes along the course, its average gives less.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import stats

import surelift as sl
from campaigns.campaign import Case, Told
from campaigns.trees import Course, Shape, courses, distribution, table_of
from surelift.arrays import FloatArray
from surelift.engines import collect
from surelift.policies import Policy
from surelift.policies.resolve import name_policies
from surelift.quantities import Decline, Difference, Gain, Quantity, Shortfall, Value
from surelift.questions.method import Method, choose_method
from surelift.questions.soundness import weight_tests
from surelift.statistics import Plan, Request, Term
from surelift.statistics.bets import Bets
from surelift.statistics.restricted import TakenActions
from surelift.statistics.splits import Segment
from surelift.statistics.sums import requests_of
from surelift.statistics.terms import LogSums

SLICE, FULL = 60, 1_000
ROUNDING, SLACK = 1e-12, 1e-9
MOST_ROWS = 900
CONTROLS = ("none", "largest weight", "weights", "model")
UNITS = ("rounds", "kept rounds", "clusters", "kept clusters", "padded clusters", "kept padded clusters")


@dataclass(frozen=True)
class World:
    """A tree as a log, how its rounds are counted, and what is known of them."""

    tree: list[Course]
    shape: Shape
    units: str
    control: str
    grid: Any

    @property
    def clustered(self) -> bool:
        return "clusters" in self.units

    @property
    def padded(self) -> bool:
        return "padded" in self.units

    @property
    def most(self) -> int:
        return self.shape.depth

    def logs(self) -> sl.Logs:
        declared: dict[str, Any] = {"reward": "r", "propensity": "q", "action": "a"}
        if self.control in ("weights", "model"):
            declared["logging"] = "l"
        if self.clustered:
            declared |= {"cluster": "course"}
            declared |= {"cluster_max": self.most} if self.padded else {"cluster_size": "size"}
        if self.units.startswith("kept"):
            keep = "k_course" if self.clustered else "k"
            declared |= {"keep_probability": keep, "rounds_before_sampling": 1_000_000}
        return sl.Logs(table_of(self.tree), **declared)

    def policies(self) -> dict[str, Policy]:
        """Blends, so that the smallest weight follows; with a largest weight where that is the control."""
        policies: dict[str, Any] = {}
        for name, share in self.shape.shares.items():
            policies[name] = f"{name}_vector" if self.control in ("weights", "model") else name
            if self.control == "largest weight":
                policies[name] = sl.bounded(policies[name], max(1.0, self.largest(name)))
            if share < 1.0:
                policies[name] = sl.blend(policies[name], share)
        return name_policies(policies)

    def largest(self, name: str) -> float:
        """The largest weight that any round of any course can have."""
        pairs = [(step.vectors[name], step.vectors["production"]) for course in self.tree for step in course.steps]
        return max(float((new / now).max()) for new, now in pairs)

    def method(self) -> Method:
        control: Any = {"none": "none", "model": sl.models.given("m")}.get(self.control, "weights")
        return choose_method("mixture", control, grid=self.grid)

    @property
    def whole(self) -> bool:
        """Whether every mean must be 1, and not only at most 1."""
        return self.shape.support


def drawn(case: Case) -> World:
    rng = case.rng
    while True:
        shape = Shape.drawn(rng)
        tree = list(courses(rng, shape))
        if sum(len(course.steps) for course in tree) <= MOST_ROWS:
            break
    controls = CONTROLS if shape.support else ("none", "weights", "model")
    # A size that depends on the rewards is not known in advance.
    units = [unit for unit in UNITS if not shape.stops or "padded" in unit or "clusters" not in unit]
    grid = [sl.grids.anytime(), sl.grids.planned(50), sl.grids.improvement(50), sl.grids.single(float(rng.lognormal()))]
    return World(
        tree, shape, units=str(rng.choice(units)), control=str(rng.choice(controls)),
        grid="anytime" if rng.random() < 0.5 else grid[rng.integers(len(grid))],
    )  # fmt: skip


QUANTITIES: tuple[tuple[str, Quantity], ...] = (
    ("new", Value()), ("new", Shortfall()), ("new", Gain()), ("new", Decline()), ("new", Difference("rival")),
    ("rival", Difference("new")),
)  # fmt: skip


def target(candidate: str, quantity: Quantity, values: Mapping[str, float]) -> float:
    """What the quantity is on average in a round, given what came before."""
    if isinstance(quantity, Difference):
        return values[candidate] - values[quantity.over]
    if isinstance(quantity, Decline):
        return values["production"] - values[candidate]
    if isinstance(quantity, Gain):
        return values[candidate] - values["production"]
    return 1 - values[candidate] if isinstance(quantity, Shortfall) else values[candidate]


def case(case: Case) -> str | Told:
    world = drawn(case)
    found = [*factors(world), *bets(world), *mean_weights(world), *told(case.rng)]
    wrong = [each for each in found if each]
    if not wrong:
        return Told("exact", None, len(found))
    return "\n".join([f"{world.units}, {world.control}, {world.shape}", *wrong[:5]])


def factors(world: World) -> Iterator[str]:
    """For every component of every quantity what is wrong with its mean, or nothing."""
    logs, policies, method = world.logs(), world.policies(), world.method()
    known = frozenset(policies) if world.control in ("weights", "model") else frozenset[str]()
    limits = {name: logs.declaration.unit.limits(policy.limits) for name, policy in policies.items()}
    terms = [method.plan(name, quantity, limits=limits, count=lambda: 50, known=known) for name, quantity in QUANTITIES]
    by_row, by_course = Segment(("row",)), Segment(("course",))
    keys = (by_course,) if world.clustered else (by_row, by_course)
    requests = [request for key in keys for request in requests_of(policies, terms, (key,))]
    sums = collect(logs, Plan(policies, tuple(requests), method.model))
    whole = collect(logs, Plan(policies, tuple(requests_of(policies, terms)), method.model))
    for term in terms:
        statistic = log_sums_of(term)
        of_course = np.stack([sums.states[Request(statistic, (by_course,))][str(n),] for n in range(len(world.tree))])
        total = whole.states[Request(statistic)][()]
        yield from differing(total, of_course, f"{term.candidate} {term.quantity}: the whole log and its courses")
        if world.clustered:
            yield from means(world, term, of_course, per_course=True)
            continue
        rows = sum(len(course.steps) for course in world.tree)
        of_row = np.stack([sums.states[Request(statistic, (by_row,))][str(n),] for n in range(rows)])
        for n, (first, last) in enumerate(edges(world.tree)):
            yield from differing(
                of_course[n], of_row[first:last], f"{term.candidate} {term.quantity}: course {n} and its rounds"
            )
        yield from means(world, term, of_row, per_course=False)


def log_sums_of(term: Term) -> LogSums:
    return LogSums(term.candidate, term.quantity, term.needed.offset, term.needed.components, term.needed.smallest)


def edges(tree: list[Course]) -> Iterator[tuple[int, int]]:
    return pairwise(np.cumsum([0, *(len(course.steps) for course in tree)]).tolist())


def differing(total: FloatArray, parts: FloatArray, what: str) -> Iterator[str]:
    apart = np.abs(total - parts.sum(axis=0)).max()
    if not apart <= SLACK * (1 + np.abs(parts).sum(axis=0).max()):
        yield f"{what} differ by {apart}"


def means(world: World, term: Term, logs: FloatArray, *, per_course: bool) -> Iterator[str]:
    """``logs`` holds the log-factors, of rounds or of clusters, by component."""
    chances = np.array([course.chance for course in world.tree])
    components = term.needed.components
    logs = logs[:, : len(components)]
    smoothing, offset = (np.array([getattr(part, name) for part in components]) for name in ("smoothing", "offset"))
    name = f"{term.candidate} {term.quantity}"
    if not (np.isfinite(logs) | (logs == -np.inf)).all():
        yield f"{name}: a factor is no number, or infinite"
    if per_course:
        mean = math.fsum(course.chance * cluster_mean(world, course, term) for course in world.tree)
        factor = kept(np.exp(logs), [min(step.keep for step in course.steps) for course in world.tree], world)
        ratio = factor / (1 + smoothing * (mean + offset))
        yield from judged(chances @ ratio, world.whole, f"{name}, clusters", components)
        return
    steps = [step for course in world.tree for step in course.steps]
    factor = kept(np.exp(logs), [step.keep for step in steps], world)
    conditional = np.array([target(term.candidate, term.quantity, step.values) for step in steps])
    ratio = factor / (1 + smoothing * (conditional[:, None] + offset))
    product = np.stack([np.prod(ratio[first:last], axis=0) for first, last in edges(world.tree)])
    yield from judged(chances @ product, world.whole, f"{name}, rounds", components)
    # What a bound uses: the average of the conditional means.
    rows = []
    for first, last in edges(world.tree):
        average = conditional[first:last].mean()
        rows.append(np.prod(factor[first:last], axis=0) / (1 + smoothing * (average + offset)) ** (last - first))
    yield from judged(chances @ np.stack(rows), False, f"{name}, average", components)


def cluster_mean(world: World, course: Course, term: Term) -> float:
    values = [target(term.candidate, term.quantity, step.values) for step in course.steps]
    if not world.padded:
        return math.fsum(values) / len(values)
    return (math.fsum(values) + (world.most - len(values)) * isinstance(term.quantity, Shortfall)) / world.most


def kept(factor: FloatArray, keep: list[float], world: World) -> FloatArray:
    """The mean over the coin that keeps it; what was dropped has a factor of 1."""
    if not world.units.startswith("kept"):
        return factor
    share = np.array(keep)[:, None]
    return np.asarray(share * factor + (1 - share))


def judged(means: FloatArray, exact: bool, name: str, components: Any) -> Iterator[str]:
    for mean, component in zip(means.tolist(), components, strict=True):
        if not mean <= 1 + ROUNDING:
            yield f"{name}: mean {mean!r} of {component}"
        elif exact and not mean >= 1 - SLACK:
            yield f"{name}: mean {mean!r}, which should be 1, of {component}"
        else:
            yield ""


def bets(world: World) -> Iterator[str]:
    """Those against the propensities: every rate of every bet that is made in all rounds."""
    if world.clustered or world.units.startswith("kept"):
        return
    logs, policies = world.logs(), world.policies()
    statistic, by_row = Bets(tuple(sorted(policies)), None), Segment(("row",))
    states = collect(logs, Plan(policies, (Request(statistic, (by_row,)),))).states[Request(statistic, (by_row,))]
    rows = [states[str(n),].bets for n in range(len(states))]
    chances = np.array([course.chance for course in world.tree])
    for name in set.intersection(*(set(row) for row in rows)):
        won = np.stack([row[name].logs for row in rows])
        wealth = np.stack([np.exp(won[first:last].sum(axis=0)) for first, last in edges(world.tree)])
        exact = rows[0][name].both_ways
        yield from judged(chances @ wealth, exact, f"bet on {name}", range(wealth.shape[1]))


def mean_weights(world: World) -> Iterator[str]:
    """The test of a largest weight, with a factor for each round or cluster."""
    logs, policies = world.logs(), world.policies()
    by, chances = Segment(("course",)), np.array([course.chance for course in world.tree])
    for test in weight_tests(
        logs.declaration, {name: logs.declaration.unit.limits(policy.limits) for name, policy in policies.items()}
    ):
        states = collect(logs, Plan(policies, (Request(test, (by,)),))).states[Request(test, (by,))]
        wealth = np.exp([states[str(n),][: len(test.rates)] for n in range(len(world.tree))])
        yield from judged(chances @ wealth, world.whole, f"mean weight of {test.candidate}", test.rates)


def told(rng: np.random.Generator) -> Iterator[str]:
    """The test of segments, whose sums depend on how often each action was taken: all counts, with their chances.

    One context and two or three actions, or two contexts with distributions of their own.
    """
    contexts, actions = ((1, 2), (1, 3), (2, 2))[rng.integers(3)]
    rounds = int(rng.integers(2, 60 if contexts * actions == 2 else 20 if contexts == 1 else 13))
    vectors = [distribution(rng, actions, support=True) for _ in range(contexts)]
    odds = np.concatenate([odd * vector for odd, vector in zip(rng.dirichlet(np.ones(contexts)), vectors, strict=True)])
    counts = np.array([(*most, rounds - sum(most)) for most in _parts(rounds, len(odds) - 1)])
    outcome = np.concatenate([np.repeat(np.arange(len(odds)), each) for each in counts])
    columns: dict[str, Any] = {
        "r": np.zeros(len(outcome)), "a": outcome % actions, "q": np.concatenate(vectors)[outcome],
        "s": np.repeat(np.arange(len(counts)), rounds), "l": [vectors[each] for each in outcome // actions],
    }  # fmt: skip
    chances, request = stats.multinomial.logpmf(counts, rounds, odds), Request(TakenActions(), (Segment(("s",)),))
    for logging in (None, "l"):
        logs = sl.Logs(columns, reward="r", propensity="q", action="a", logging=logging)
        states = collect(logs, Plan({}, (request,))).states[request]
        e_values = np.array([states[str(n),].log_e_value() for n in range(len(counts))])
        said = f"segments of {rounds} rounds, {'distributions' if logging else 'propensities'} {vectors}"
        yield from judged(np.exp(chances + e_values).sum(keepdims=True), False, said, ["the mean of all bets"])


def _parts(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Every way to give at most ``total`` to some parts."""
    return (counts for counts in np.ndindex(*[total + 1] * parts) if sum(counts) <= total)
