"""``Sums``: what one pass over the rounds leaves behind, enough for every answer and small enough to send."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from surelift.arrays import FloatArray
from surelift.batch import RewardColumn
from surelift.controls.model import RewardModel
from surelift.errors import UsageError
from surelift.logs.faults import Fault, Tally, merge_tallies
from surelift.logs.fingerprint import Fingerprint
from surelift.policies import Policy
from surelift.statistics.counts import Count
from surelift.statistics.log_sums import LogSums, controlled
from surelift.statistics.moments import MomentSums
from surelift.statistics.plan import MEAN, SQUARES, Component, Moment, Needed, Plan, Request, Term
from surelift.statistics.production import ProductionSums, ProductionTotals, RewardMoments
from surelift.statistics.redraws import Proxies, Redraws
from surelift.statistics.resamples import Resamples
from surelift.statistics.splits import Key, KeyValue, Split
from surelift.statistics.statistic import Statistic
from surelift.statistics.weights import PolicyWeights, WeightSums

States = Mapping[KeyValue, Any]
"""The state of a statistic for each value of its key."""
COUNT, PRODUCTION = Count(), ProductionTotals()
OTHER_QUESTION = (
    "these sums answer different questions, so they do not add up: they were made of other columns, another range, delta, "
    "margin or method, or other policies. Make both by one question, as question.to_dict() sends it."
)
DEALT_BY = 20240523
"""The seed of what no round decides: fixed, so that an answer can be repeated."""


@dataclass(frozen=True, slots=True)
class TermSums:
    """All that was added up for one term: what a bound or an estimate is made from."""

    rounds: int
    needed: Needed
    log_sums: FloatArray
    """In the order of the components."""
    sums: FloatArray
    """Of the terms with their offsets, in the same order."""
    moments: Mapping[Moment, float]
    resamples: FloatArray | None
    """For each resample its sum of terms and its number of rounds, (2, resamples)."""
    weights: WeightSums
    proxies: Proxies | None
    blocks: "tuple[TermSums, ...]" = ()
    """The same of each block, where a bound bets in blocks; none is empty."""

    def mean(self, moment: Moment) -> float:
        return self.moments[moment] / self.rounds


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums over rounds. They add up: over batches, files, machines and days."""

    rows: int = 0
    """Rows that were read, fit or not."""
    states: Mapping[Request, States] = field(default_factory=dict)
    invalid: Mapping[Fault, Tally] = field(default_factory=dict)
    fingerprint: Fingerprint = Fingerprint()
    left_out: int = 0
    """Rows that were not read, since their rewards are not final."""
    excluded: int = 0
    """Rows that do not meet the condition of ``where=``."""
    asked: str = ""
    """The digest of the question that they answer."""

    def __add__(self, other: "Sums") -> "Sums":
        left_out, excluded, asked = (
            self.left_out + other.left_out,
            self.excluded + other.excluded,
            self.asked or other.asked,
        )
        if self.asked and other.asked and self.asked != other.asked:
            raise UsageError(OTHER_QUESTION)
        if self.rows == 0 or other.rows == 0:
            return replace(other if self.rows == 0 else self, left_out=left_out, excluded=excluded, asked=asked)
        if self.states.keys() != other.states.keys():
            raise UsageError(OTHER_QUESTION)
        return Sums(
            rows=self.rows + other.rows,
            states={request: _added(states, other.states[request]) for request, states in self.states.items()},
            invalid=merge_tallies(self.invalid, other.invalid),
            fingerprint=self.fingerprint + other.fingerprint,
            left_out=left_out,
            excluded=excluded,
            asked=asked,
        )

    @property
    def units(self) -> int:
        """The n of the bounds: rounds (or clusters) that entered them."""
        return int(self.get(COUNT) or 0)

    @property
    def production(self) -> ProductionSums:
        found: ProductionSums = self.get(PRODUCTION) or ProductionSums()
        return found

    def weights(self, candidate: str) -> WeightSums:
        found: WeightSums = self.get(PolicyWeights(candidate)) or WeightSums()
        return found

    def get(self, statistic: Statistic, key: Key = (), value: KeyValue = ()) -> Any:
        """One state; None where no round belongs to it."""
        return None if self.rows == 0 else self.states[Request(statistic, key)].get(value)

    def by(self, statistic: Statistic, *key: Split) -> States:
        """The states for each value of a key, in the order of the values."""
        return dict(sorted(self.states[Request(statistic, key)].items()))

    def parts(self, *splits: Split) -> "dict[tuple[Split, str], Sums]":
        """The sums of each value of these splits, where a key begins with one, as if its rounds were the whole log."""
        states: dict[Split, dict[str, dict[Request, dict[KeyValue, Any]]]] = {split: {} for split in splits}
        for request, found in self.states.items():
            if request.key and request.key[0] in states:
                inner, of_split = replace(request, key=request.key[1:]), states[request.key[0]]
                for value, state in found.items():
                    of_split.setdefault(value[0], {}).setdefault(inner, {})[value[1:]] = state
        return {
            (split, name): Sums(rows=int(own[Request(COUNT)][()]), states=own)
            for split, of_split in states.items()
            for name, own in of_split.items()
        }

    def judged_by(self, outcome: RewardColumn | None) -> "Sums":
        """The sums of the requests about one outcome."""
        own = ((request, found) for request, found in self.states.items() if request.outcome == outcome)
        if outcome is not None:
            own = ((replace(request, outcome=None), found) for request, found in own)
        return replace(self, states=dict(own))

    def only(self, requests: Iterable[Request]) -> "Sums":
        return replace(self, states={request: self.states[request] for request in requests} if self.rows else {})

    def with_units(self, units: int) -> "Sums":
        """The same sums, where more rounds are known to have been dropped."""
        return replace(self, states={**self.states, Request(COUNT): {(): units}})

    def of(self, term: Term, key: Key = (), value: KeyValue = ()) -> TermSums:
        """What was added up for a term, in one group of the rounds."""
        return self._of(term, int(self.get(COUNT, key, value) or 0), key, value)

    def _of(self, term: Term, rounds: int, key: Key, value: KeyValue) -> TermSums:
        found = {type(statistic): self.get(statistic, key, value) for statistic in statistics_of(term)}
        moments, logs, whole = (found.get(kind) for kind in (MomentSums, LogSums, Redraws))
        named = {} if moments is None else dict(zip(moments_of(term), moments.tolist(), strict=True))
        blocks = tuple(self._blocks(term, rounds, key, value))
        if blocks:
            log_sums, sums = (np.sum([getattr(block, name) for block in blocks], axis=0) for name in ("log_sums", "sums"))
        else:
            log_sums, sums = _split_state(term.needed.components, logs, rounds, named.get(MEAN, 0.0))
        return TermSums(
            rounds=rounds,
            needed=term.needed,
            log_sums=log_sums,
            sums=sums,
            moments=named,
            resamples=found.get(Resamples),
            weights=self.get(PolicyWeights(term.candidate), key, value) or WeightSums(),
            proxies=None if whole is None else whole.proxies,
            blocks=blocks,
        )

    def _blocks(self, term: Term, rounds: int, key: Key, value: KeyValue) -> Iterator[TermSums]:
        """What was added up in each block; rounds that sampling dropped are dealt to them, by chance, as the others were."""
        blocks = term.needed.blocks
        if blocks is None or self.rows == 0:
            return
        one, within = in_one_block(term), (*key, blocks)
        counts = [int(self.get(COUNT, within, (*value, name)) or 0) for name in blocks.names]
        dropped = np.random.default_rng(DEALT_BY).multinomial(rounds - sum(counts), blocks.shares)
        for name, count in zip(blocks.names, (counts + dropped).tolist(), strict=True):
            if count:
                yield self._of(one, count, within, (*value, name))

    def to_state(self) -> dict[str, Any]:
        """As JSON, in the order of the plan, whose requests need not be kept; numbers come back to the last bit."""
        return {
            "rows": self.rows,
            **({"excluded": self.excluded} if self.excluded else {}),
            "states": [
                [[list(value), request.statistic.encode(state)] for value, state in states.items()]
                for request, states in self.states.items()
            ],
            "fingerprint": [self.fingerprint.rounds, f"{self.fingerprint.total:032x}"],
        }

    @classmethod
    def from_state(cls, content: Mapping[str, Any], plan: Plan) -> "Sums":
        excluded = int(content.get("excluded", 0))
        if not content["rows"]:
            return cls(excluded=excluded)
        kept = content["states"]
        optional = [request for request in plan.requests if request.statistic.optional]
        # Rewards by day were kept last, tables of weights before them.
        by_day = [request for request in optional if isinstance(request.statistic, RewardMoments)]
        unkept = len(plan.requests) - len(kept)
        missing = next(group for group in ([], by_day, optional) if len(group) == unkept or group is optional)
        pairs = zip((request for request in plan.requests if request not in missing), kept, strict=True)
        rounds, total = content["fingerprint"]
        return cls(
            rows=int(content["rows"]),
            states={
                **{request: {} if request.key else {(): request.statistic.absent()} for request in missing},
                **{
                    request: {tuple(value): request.statistic.decode(state) for value, state in states}
                    for request, states in pairs
                },
            },
            fingerprint=Fingerprint(int(rounds), int(total, 16)),
            excluded=excluded,
        )


def _added(left: States, right: States) -> States:
    added = dict(left)
    for value, state in right.items():
        added[value] = added[value] + state if value in added else state
    return added


def _split_state(
    components: tuple[Component, ...], state: FloatArray | None, rounds: int, total: float
) -> tuple[FloatArray, FloatArray]:
    """Log sums, and sums of the terms with their offsets: what a control leaves of a term was added up beside them."""
    if state is None:
        state = np.zeros(len(components) + len(controlled(components)))
    sums = total + rounds * np.array([part.offset for part in components])
    sums[controlled(components)] = state[len(components) :]
    return state[: len(components)], sums


def moments_of(term: Term) -> tuple[Moment, ...]:
    return tuple(dict.fromkeys([MEAN, SQUARES, *term.needed.moments]))


def in_one_block(term: Term) -> Term:
    return replace(term, needed=replace(term.needed, blocks=None))


def statistics_of(term: Term) -> Iterator[Statistic]:
    """What is added up for one term."""
    candidate, quantity, needed = term.candidate, term.quantity, term.needed
    yield MomentSums(candidate, quantity, moments_of(term))
    if needed.components and needed.blocks is None:
        yield LogSums(candidate, quantity, needed.offset, needed.components, needed.smallest)
    if needed.resamples:
        yield Resamples(candidate, quantity, needed.resamples)
    if needed.redraws:
        yield Redraws(candidate, needed.redraws)


def requests_of(
    policies: Iterable[str], terms: Iterable[Term], key: Key = (), outcome: RewardColumn | None = None
) -> Iterator[Request]:
    """What every bound needs: the terms, and the counts, rewards and weights beside them."""
    yield Request(COUNT, key, outcome)
    yield Request(PRODUCTION, key, outcome)
    for name in policies:
        yield Request(PolicyWeights(name), key, outcome)
    for term in terms:
        for statistic in statistics_of(term):
            yield Request(statistic, key, outcome)
        if term.needed.blocks is not None:
            for statistic in (COUNT, PolicyWeights(term.candidate), *statistics_of(in_one_block(term))):
                yield Request(statistic, (*key, term.needed.blocks), outcome)


def plan_of(
    policies: Mapping[str, Policy], terms: Iterable[Term] = (), model: RewardModel | None = None, *, key: Key = ()
) -> Plan:
    """The plan of some terms alone."""
    return Plan(policies, tuple(requests_of(policies, terms, key)), model)
