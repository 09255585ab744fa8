"""The embedded engine: one batch after the other, in this process, in memory that does not grow with the log."""

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from importlib import import_module

import numpy as np

from surelift.arrays import IntArray
from surelift.logs.batch import Batch, Needs
from surelift.logs.faults import refuse_faults
from surelift.logs.fingerprint import scramble
from surelift.logs.logs import Logs
from surelift.logs.rounds import Rounds
from surelift.logs.sources.remote import SparkFrame, SqlTable
from surelift.policies import Policy
from surelift.statistics.adding import WORTH_COMPILING, add_up
from surelift.statistics.efron_stein import WholeLog
from surelift.statistics.fused import Fused, Partial
from surelift.statistics.plan import Plan
from surelift.statistics.reading import Reading, read
from surelift.statistics.segments import positions_of
from surelift.statistics.sums import Sums

Progress = Callable[[int], None]
# Sources whose own engine does the adding; imported when one is met.
REMOTE: Mapping[type, str] = {SparkFrame: "surelift.engines.spark", SqlTable: "surelift.engines.sql"}


def known_distributions(logs: Logs, policies: Mapping[str, Policy]) -> frozenset[str]:
    """The policies whose probabilities are known for every action, as production's are: a look at the first batch."""
    if logs.declaration.logging is None:
        return frozenset()
    for batch in logs.batches(needs_of(logs, Plan(policies))):
        rounds = Rounds(logs, batch)
        found = {name: policy.probabilities(rounds, f"policy {name!r}") for name, policy in policies.items()}
        if rounds.faults.tallies:
            break
        return frozenset(name for name, one in found.items() if one.vectors is not None)
    return frozenset(policies)  # the log will be refused, for a better reason


def collect(
    logs: Logs,
    plan: Plan,
    *,
    besides: Needs = Needs(),
    look: Callable[[Reading], None] | None = None,
    progress: Progress | None = None,
) -> Sums:
    """Add up the plan over all rounds, where they are; ``progress`` is told the rows read so far.

    ``look`` is shown every batch that is fit, with the columns ``besides``, for what sums do not hold.
    """
    remote = None if look is not None else REMOTE.get(type(logs.source))
    if remote is not None:
        return import_module(remote).collect(logs, plan, progress=progress)  # type: ignore[no-any-return]
    return collect_here(logs, plan, besides=besides, look=look, progress=progress)


def collect_here(
    logs: Logs,
    plan: Plan,
    *,
    besides: Needs = Needs(),
    look: Callable[[Reading], None] | None = None,
    progress: Progress | None = None,
) -> Sums:
    """The same, in this process, wherever the rounds are."""
    fused = Fused.of(logs, plan) if look is None else None
    if fused is not None:
        return _collect_fused(logs, plan, fused, progress)
    adding = _Adding(plan)
    for reading in _readings(logs, plan, besides, progress):
        adding.add(reading)
        if look is not None and reading.fit:
            look(reading)
    return adding.total()


def _collect_fused(logs: Logs, plan: Plan, fused: Fused, progress: Progress | None) -> Sums:
    """Compiled loops over batches in several threads; they are added up in the order of the log, so that sums repeat."""
    odd, plain, rows, worth = Sums(), None, 0, False
    waiting, threads = deque[tuple[Batch, Future[Partial | None] | None]](), os.cpu_count() or 1

    def settle() -> None:
        nonlocal odd, plain, rows
        batch, future = waiting.popleft()
        found = None if future is None else future.result()
        if found is None:
            odd = odd + add_up(read(Rounds(logs, batch), plan), plan)
        else:
            plain = found if plain is None else plain + found
        rows += batch.table.num_rows
        if progress is not None:
            progress(rows)

    with ThreadPoolExecutor(threads) as pool:
        for batch in logs.batches(needs_of(logs, plan)):
            # Once the compiler is loaded, short batches have the use of it too.
            worth = worth or batch.table.num_rows >= WORTH_COMPILING
            waiting.append((batch, pool.submit(fused.add_up, batch) if worth else None))
            while len(waiting) > 2 * threads:
                settle()
        while waiting:
            settle()
    return odd if plain is None else odd + fused.sums(plain)


def collect_by(logs: Logs, plans: Mapping[str, Plan], by: str, *, progress: Progress | None = None) -> dict[str, Sums]:
    """Add up over the rounds of each segment, a plan to each; all plans have the same policies and the same model."""
    everyone = next(iter(plans.values()))
    segments = {name: _Adding(plan) for name, plan in plans.items()}
    for reading in _readings(logs, everyone, Needs(read=(by,)), progress):
        if not reading.fit:
            # The log will be refused: it does not matter which segment says so.
            next(iter(segments.values())).add(reading)
            continue
        for name, chosen in positions_of(reading.rounds, by).items():
            segments[name].add(reading.only(chosen))
    return {name: adding.total() for name, adding in segments.items()}


def by_chance(places: IntArray, count: int) -> IntArray:
    """Deal rounds out evenly, and not simply in turn: a log may have a rhythm of its own."""
    dealt: IntArray = (scramble(places.astype(np.uint64)) % np.uint64(count)).astype(np.int64)
    return dealt


def collect_blocks(
    logs: Logs,
    plan: Plan,
    count: int,
    *,
    deal: Callable[[IntArray, int], IntArray] = by_chance,
    progress: Progress | None = None,
) -> list[Sums]:
    """Add up over the rounds (or clusters) of each of several blocks.

    ``deal`` is told the places of rounds in the log, and in how many blocks to put them.
    """
    blocks = [_Adding(plan) for _ in range(count)]
    dealt = 0
    for reading in _readings(logs, plan, Needs(), progress):
        rounds = reading.rounds
        if not reading.fit:
            refuse_faults(rounds.faults.tallies, rows=rounds.start + rounds.size)
        sizes = np.ones(rounds.size, dtype=np.int64) if rounds.clusters is None else rounds.clusters.sizes
        turns = np.repeat(deal(dealt + np.arange(len(sizes)), count), sizes)
        dealt += len(sizes)
        for turn in np.unique(turns):
            blocks[turn].add(reading.only(turns == turn))
    return [block.total() for block in blocks]


def _readings(logs: Logs, plan: Plan, besides: Needs, progress: Progress | None) -> Iterator[Reading]:
    predictor = None if plan.model is None else plan.model.start(logs)
    rows = 0
    for batch in logs.batches(needs_of(logs, plan) + besides):
        reading = read(Rounds(logs, batch), plan, predictor)
        yield reading
        rows += reading.rounds.size
        if progress is not None:
            progress(rows)
    if predictor is not None:
        predictor.finish()


def needs_of(logs: Logs, plan: Plan) -> Needs:
    needs = Needs() if plan.model is None else plan.model.needs(logs)
    for policy in plan.policies.values():
        needs = needs + policy.needs(logs)
    return needs


class _Adding:
    """The sums of one plan so far, and of what does not add up all that it needs."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._sums = Sums()
        self._asked = {
            term.candidate: term.needed.efron_stein for term in plan.terms if term.needed.efron_stein is not None
        }
        self._whole = {name: WholeLog() for name in self._asked}

    def add(self, reading: Reading) -> None:
        self._sums = self._sums + add_up(reading, self._plan)
        for name, kept in self._whole.items():
            kept.add(reading.rounds, reading.probabilities[name], name)

    def total(self) -> Sums:
        if not self._whole or self._sums.invalid or self._sums.rows == 0:
            return self._sums
        return replace(
            self._sums, proxies={name: kept.proxies(self._asked[name]) for name, kept in self._whole.items()}
        )
