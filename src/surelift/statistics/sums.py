"""``Sums``: what one pass over the rounds leaves behind, enough for every answer and small enough to send."""

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import repeat
from operator import attrgetter
from typing import Any

import numpy as np

from surelift.arrays import FloatArray
from surelift.batch import Batch, RewardColumn
from surelift.controls.model import RewardModel
from surelift.errors import LogsError, SureliftError, UsageError
from surelift.logs.faults import Fault, Tally, merge_tallies
from surelift.logs.fingerprint import Fingerprint
from surelift.policies import Policy
from surelift.statistics.dealing import Dealt
from surelift.statistics.looped import program_of
from surelift.statistics.plan import MEAN, SQUARES, Moment, Needed, Plan, Request, Term, arranged
from surelift.statistics.redraws import Proxies, Redraws, Resamples
from surelift.statistics.splits import Key, KeyValue, Split
from surelift.statistics.statistic import Groups, Statistic, groups_of
from surelift.statistics.terms import LogSums, MomentSums
from surelift.statistics.totals import Count, PolicyWeights, ProductionSums, ProductionTotals, RewardMoments, WeightSums

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
    """The sums of logarithms, in the order of the components."""
    sums: FloatArray
    """The sums of the terms with their offsets, in the same order."""
    moments: Mapping[Moment, float]
    resamples: FloatArray | None
    """The sum of terms and the number of rounds of each resample, (2, resamples)."""
    weights: WeightSums
    proxies: Proxies | None
    blocks: "tuple[TermSums, ...]" = ()
    """Those of each block, where a bound bets in blocks; none is empty."""

    def mean(self, moment: Moment) -> float:
        return self.moments[moment] / self.rounds


@dataclass(frozen=True)
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
    _terms: dict[Any, TermSums] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __add__(self, other: "Sums") -> "Sums":
        if (self.asked and other.asked and self.asked != other.asked) or (
            self.rows and other.rows and self.states.keys() != other.states.keys()
        ):
            raise UsageError(OTHER_QUESTION)
        left_out, excluded, asked = self.left_out + other.left_out, self.excluded + other.excluded, self.asked or other.asked
        if self.rows == 0 or other.rows == 0:
            return replace(other if self.rows == 0 else self, left_out=left_out, excluded=excluded, asked=asked)
        added = dict[Request, States]()
        for request, states in self.states.items():
            added[request] = both = dict(states)
            for value, state in other.states[request].items():
                both[value] = both[value] + state if value in both else state
        invalid, fingerprint = merge_tallies(self.invalid, other.invalid), self.fingerprint + other.fingerprint
        return Sums(self.rows + other.rows, added, invalid, fingerprint, left_out, excluded, asked)

    @cached_property
    def units(self) -> int:
        """The n of the bounds: rounds, or clusters."""
        return int(self.get(COUNT) or 0)

    @cached_property
    def production(self) -> ProductionSums:
        found: ProductionSums = self.get(PRODUCTION) or ProductionSums()
        return found

    def weights(self, candidate: str) -> WeightSums:
        found: WeightSums = self.get(PolicyWeights(candidate)) or WeightSums()
        return found

    def get(self, statistic: Statistic, key: Key = (), value: KeyValue = ()) -> Any:
        return None if self.rows == 0 else self.states[Request(statistic, key)].get(value)

    def by(self, statistic: Statistic, *key: Split) -> States:
        return dict(sorted(self.states[Request(statistic, key)].items()))

    def parts(self, *splits: Split) -> "dict[tuple[Split, str], Sums]":
        """The sums of each value of these splits, where a key begins with one, as if its rounds were the whole log."""
        states, wanted = dict[tuple[Split, str], dict[Request, dict[KeyValue, Any]]](), {*splits}
        for request, found in self.states.items():
            if request.key and request.key[0] in wanted:
                inner = request._replace(key=request.key[1:])
                for value, state in found.items():
                    states.setdefault((request.key[0], value[0]), {}).setdefault(inner, {})[value[1:]] = state
        return {place: Sums(rows=int(own[Request(COUNT)][()]), states=own) for place, own in states.items()}

    def judged_by(self, outcome: RewardColumn | None) -> "Sums":
        if outcome is None and set(map(attrgetter("outcome"), self.states)) <= {None}:
            return self
        own = {request: found for request, found in self.states.items() if request.outcome == outcome}
        return replace(self, states={request._replace(outcome=None): found for request, found in own.items()})

    def only(self, requests: Iterable[Request]) -> "Sums":
        return replace(self, states={request: self.states[request] for request in requests} if self.rows else {})

    def with_units(self, units: int) -> "Sums":
        """The same sums as if so many rounds had been counted, those that sampling dropped included."""
        return replace(self, states={**self.states, Request(COUNT): {(): units}})

    def of(self, term: Term, key: Key = (), value: KeyValue = (), units: int | None = None) -> TermSums:
        """What was added up for a term, in one group of the rounds; ``units`` counts those that sampling dropped too."""
        if (known := self._terms.get((term, key, value, units))) is not None:
            return known
        found, needed = dict[type, Any](), term.needed
        moments_of, *others = statistics_of(term)
        for statistic in (moments_of, *others, COUNT, PolicyWeights(term.candidate)):
            found[type(statistic)] = self.states[Request(statistic, key)].get(value) if self.rows else None
        moments, whole = found[MomentSums], found.get(Redraws)
        named = {} if moments is None else dict(zip(moments_of.moments, moments.tolist(), strict=True))
        rounds = int(found[Count] or 0) if units is None else units
        dealt = needed.blocks if self.rows else None
        blocks = () if dealt is None else tuple(self._blocks(term, dealt, rounds, key, value))
        if blocks:
            log_sums, sums = (np.sum([getattr(block, name) for block in blocks], axis=0) for name in ("log_sums", "sums"))
        else:
            # Sums of the terms with their offsets: what a control leaves of a term was added up beside the log sums.
            layout, state, count = arranged(needed.components), found.get(LogSums), len(needed.components)
            if state is None:
                state = np.zeros(count + len(layout.controlled))
            log_sums, sums = state[:count], named.get(MEAN, 0.0) + rounds * layout.offsets
            sums[layout.controlled] = state[count:]
        self._terms[term, key, value, units] = TermSums(
            rounds=rounds, needed=needed, log_sums=log_sums, sums=sums, moments=named, resamples=found.get(Resamples),
            weights=found[PolicyWeights] or WeightSums(), proxies=None if whole is None else whole.proxies, blocks=blocks,
        )  # fmt: skip
        return self._terms[term, key, value, units]

    def _blocks(self, term: Term, blocks: Dealt, rounds: int, key: Key, value: KeyValue) -> Iterator[TermSums]:
        one, within = in_one_block(term), (*key, blocks)
        counts = [int(self.get(COUNT, within, (*value, name)) or 0) for name in blocks.names]
        dropped = np.random.default_rng(DEALT_BY).multinomial(rounds - sum(counts), blocks.shares)
        for name, count in zip(blocks.names, (counts + dropped).tolist(), strict=True):
            if count:
                yield self.of(one, within, (*value, name), count)

    def to_state(self) -> dict[str, Any]:
        """The sums as JSON, in the order of the plan, whose requests need not be kept; numbers come back to the last bit."""
        states, besides = list[Any](), {"excluded": self.excluded, "left_out": self.left_out}
        for request, found in self.states.items():
            states.append([[list(value), request.statistic.encode(state)] for value, state in found.items()])
        return {
            "asked": self.asked, "rows": self.rows, **{name: count for name, count in besides.items() if count},
            "states": states, "fingerprint": [self.fingerprint.rounds, f"{self.fingerprint.total:032x}"],
        }  # fmt: skip

    @classmethod
    def from_state(cls, content: Mapping[str, Any], plan: Plan) -> "Sums":
        """What ``to_state`` wrote of the sums of a plan; those of another question are refused."""
        try:
            return cls._read(content, plan)
        except (LookupError, TypeError, ValueError, AttributeError, zlib.error) as error:
            if isinstance(error, SureliftError):
                raise
            raise LogsError(f"these are no sums of such a question, or they are damaged ({error}).") from error

    @classmethod
    def _read(cls, content: Mapping[str, Any], plan: Plan) -> "Sums":
        # Those that were stored by earlier versions, or of which no row was counted, do not name their question.
        if (content.get("asked") or plan.asked) != plan.asked:
            raise UsageError(OTHER_QUESTION)
        empty = cls(excluded=int(content.get("excluded", 0)), left_out=int(content.get("left_out", 0)), asked=plan.asked)
        if not content["rows"]:
            return empty
        optional = {request for request in plan.requests if request.statistic.optional}
        # Rewards by day were kept last, tables of weights before them.
        by_day = {request for request in optional if isinstance(request.statistic, RewardMoments)}
        unkept = len(plan.requests) - len(content["states"])
        missing = next(group for group in (set(), by_day, optional) if len(group) == unkept or group is optional)
        kept = dict(zip([each for each in plan.requests if each not in missing], content["states"], strict=True))
        states = dict[Request, States]()
        for request in plan.requests:
            if request in kept:
                states[request] = {tuple(value): request.statistic.decode(state) for value, state in kept[request]}
            else:
                states[request] = {} if request.key else {(): request.statistic.absent()}
        rounds, total = content["fingerprint"]
        return replace(empty, rows=int(content["rows"]), states=states, fingerprint=Fingerprint(int(rounds), int(total, 16)))


def in_one_block(term: Term) -> Term:
    return replace(term, needed=replace(term.needed, blocks=None))


@lru_cache(maxsize=1 << 13)
def statistics_of(term: Term) -> tuple[Any, ...]:
    """What is added up for one term, its moments first."""
    candidate, quantity, needed = term.candidate, term.quantity, term.needed
    found: list[Any] = [MomentSums(candidate, quantity, tuple(dict.fromkeys([MEAN, SQUARES, *needed.moments])))]
    if needed.components and needed.blocks is None:
        found.append(LogSums(candidate, quantity, needed.offset, needed.components, needed.smallest))
    if needed.resamples:
        found.append(Resamples(candidate, quantity, needed.resamples))
    if needed.redraws:
        found.append(Redraws(candidate, needed.redraws))
    return tuple(found)


def requests_of(
    policies: Iterable[str], terms: Iterable[Term], key: Key = (), outcome: RewardColumn | None = None
) -> list[Request]:
    """What every bound needs: the terms, and the counts, rewards and weights beside them."""
    wanted: list[Any] = [*zip((COUNT, PRODUCTION, *map(PolicyWeights, policies)), repeat(key))]
    for term in terms:
        wanted += zip(statistics_of(term), repeat(key))
        if term.needed.blocks is not None:
            in_blocks = (COUNT, PolicyWeights(term.candidate), *statistics_of(in_one_block(term)))
            wanted += zip(in_blocks, repeat((*key, term.needed.blocks)))
    return [Request(statistic, splits, outcome) for statistic, splits in wanted]


def plan_of(
    policies: Mapping[str, Policy], terms: Iterable[Term] = (), model: RewardModel | None = None, *, key: Key = ()
) -> Plan:
    return Plan(policies, tuple(requests_of(policies, terms, key)), model)


def accumulate(batch: Batch, plan: Plan) -> Sums:
    """The sums of one batch; one with faults adds nothing but their count, and will be refused."""
    table = batch.rows.batch
    if not batch.size and (table.left_out or table.excluded):
        return Sums(left_out=table.left_out, excluded=table.excluded, asked=plan.asked)
    if batch.declared.identifying_roles:
        _ = batch.identified
    found, fingerprint, plain = dict[Request, Sequence[Any]](), Fingerprint(), None
    groups = {key: groups_of(key, batch) if key else Groups([()], None, batch.units.starts) for key in plan.keys}
    if plan.looped is not None:
        of_key = groups[plan.looped[0].key]
        looped = tuple([request.statistic for request in plan.looped])
        program = program_of(looped, of_key.codes is None and batch.plainly_counted)
        plain = program.add_up_columns(batch, of_key)
        if plain is not None and plain.hashes is not None:
            for request, (each, places) in zip(plan.looped, program.places, strict=True):
                found[request] = each.states(batch, of_key, plain, places)
            fingerprint = Fingerprint(batch.size, plain.hashes)
    if plain is not None or batch.read().fit:
        for requests in plan.shared:
            (statistic, key, batch.outcome), statistics = requests[0], [request.statistic for request in requests]
            if requests[0] not in found:
                found.update(zip(requests, type(statistic).of_all(statistics, batch, groups[key]), strict=True))
        fingerprint = fingerprint if plain is not None else batch.rows.hashes.fingerprint()
    states = dict[Request, States]()
    for request in plan.requests:
        states[request] = dict(zip(groups[request.key].values, found[request], strict=True)) if found else {}
    return Sums(batch.size, states, batch.rows.tallies, fingerprint, table.left_out, table.excluded, plan.asked)
