"""How many more rounds like these would certify an improvement?"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from surelift.arrays import FloatArray, IntArray
from surelift.bounds.betting import BlockBets, alike
from surelift.bounds.mixture import central_weights
from surelift.errors import LogsError, UsageError, exact, is_number, printed
from surelift.evidence.growth import BlockGrowth, BlockTotals, Growth, PowerCurve
from surelift.questions.claims import BoundedClaim, Claim, Place
from surelift.questions.improvement import ImprovementQuestion
from surelift.questions.method import RoundCount, check_chance, slack_of
from surelift.results.forecast import RANGE, Forecast, Range
from surelift.results.improvement import Improvement
from surelift.statistics.plan import Component, Request, Term
from surelift.statistics.splits import Key, RandomBlocks
from surelift.statistics.sums import COUNT, Sums, in_one_block, requests_of

BLOCKS = RandomBlocks(64)
RESAMPLES = 200
NO_NUMBER: tuple[int | None, Range] = (None, (None, None))


@dataclass(frozen=True, kw_only=True)
class ForecastQuestion(ImprovementQuestion):
    """The improvement, and how its evidence varies from block to block of the log."""

    kind: ClassVar[str] = "power"
    improvement_to_find: float | None = None
    """The true improvement to assume; None for the estimate."""
    power: float = 0.8

    def check_fields(self) -> None:
        super().check_fields()
        assumed, width = self.improvement_to_find, self.declaration.scale.width
        check_chance("power", self.power, "the chance to certify")
        if assumed is not None and not (is_number(assumed) and abs(exact(assumed)) < math.inf):
            raise UsageError(f"improvement must be a finite number, but is {printed(assumed)}.")
        if assumed is not None and not abs(exact(assumed)) <= width:
            raise UsageError(f"an improvement of {printed(assumed)} is impossible where rewards lie within {width:g}.")

    def requests(self, count: RoundCount, key: Key = ()) -> list[Request]:
        return [*super().requests(count, key), *block_requests([self.claim(self.policy, count).low], key)]

    def result(self, found: Mapping[str, BoundedClaim], sums: Sums, place: Place) -> Any:
        if sums.units < 2:
            raise LogsError("these logs have fewer than 2 rounds, which is too few for a forecast.")
        (bounded,) = found.values()
        return forecast_of(
            bounded.claim, bounded.sums, self.improvement(bounded), assumed=self.improvement_to_find, power=float(self.power)
        )


def block_requests(terms: Sequence[Term], key: Key = ()) -> list[Request]:
    """What a forecast needs beside the whole: the terms block by block."""
    return list(requests_of([term.candidate for term in terms], map(in_one_block, terms), (*key, BLOCKS)))


def forecast_of(
    claim: Claim, sums: Sums, answer: Improvement, *, assumed: float | None = None, power: float = 0.8
) -> Forecast:
    """``answer`` is what the whole log says."""
    term, width, planned = claim.low, claim.declaration.scale.width, claim.method.counts_rounds
    prospect = Prospect.of(sums, term, answer, width=width, assumed=assumed, planned=planned)
    hope = bool(term.needed.components) and not answer.doubts and (assumed is None or assumed > answer.margin)
    needed = prospect.rounds_needed(power) if hope else NO_NUMBER
    more = NO_NUMBER
    if answer.certified:
        more = (0, (0, 0))
    elif hope and term.needed.any_looks:
        more = prospect.more_rounds(power)
    return Forecast(
        policy=answer.policy, over=answer.over, estimate=answer.estimate, lower=answer.lower,
        certified=answer.certified, improvement=answer.estimate if assumed is None else float(assumed),
        margin=answer.margin, delta=answer.delta, power=power, rounds=answer.rounds, rounds_needed=needed[0],
        rounds_needed_range=needed[1], more_rounds=more[0], more_rounds_range=more[1], counted=answer.counted,
        method=answer.method, control=answer.control, any_looks=term.needed.any_looks,
        assumptions=answer.assumptions, doubts=answer.doubts, growth=prospect.growing,
        notes=answer.notes,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Prospect:
    """Rounds to come in many cases: like those of the log (the first), and like those of blocks drawn from it again."""

    totals: BlockTotals
    growth: Growth
    improvements: FloatArray
    margin: float
    gained: FloatArray
    """The log evidence that the rounds so far have brought."""
    bets: BlockBets | None
    shares: tuple[float, ...]
    """The share of the rounds in each block, where bets are made in blocks."""
    planned: tuple[int, IntArray] | None

    @classmethod
    def of(
        cls, sums: Sums, term: Term, answer: Improvement, *, width: float, assumed: float | None, planned: bool
    ) -> "Prospect":
        whole, parts, blocks = sums.of(term), term.needed.components, term.needed.blocks
        totals = _totals(sums, term).resampled(RESAMPLES)
        margin = answer.margin / width + slack_of(sums, term)
        improvements = np.full(1 + RESAMPLES, (answer.estimate if assumed is None else assumed) / width)
        if assumed is None and parts:
            means, lower = totals.means, max(answer.lower / width, -term.needed.offset)
            improvements += (means - means[0]) @ central_weights(whole, lower)
        against, log_prior = totals.log_factor(margin), np.log([part.prior for part in parts])
        deviation = np.sqrt((totals.residuals(totals.logs) ** 2).sum(axis=-2))
        growth = Growth(log_prior, totals.log_means(improvements) - against, deviation, math.log(1.0 / answer.delta))
        table = _smoothings(parts) if planned else None
        return cls(
            totals, growth, improvements, margin, whole.log_sums - whole.rounds * against,
            BlockBets.of(whole, delta=answer.delta) if whole.blocks else None,
            () if blocks is None else tuple(blocks.shares),
            None if table is None else (whole.rounds, table),
        )  # fmt: skip

    @property
    def growing(self) -> PowerCurve:
        growth = self.growth
        return self._in_blocks(0) or replace(growth, mean=growth.mean[0], deviation=growth.deviation[0])

    def rounds_needed(self, power: float) -> tuple[int | None, Range]:
        """The length of a new log that would do.

        Bets in blocks are simulated like the log, and like the cases at the ends of the range; as these were chosen by
        what the mixture needs, the range is at least as wide as the mixture's.
        """
        needed = self._needed(self.growth, power)
        first, ends = float(needed[0]), list(_ends(needed))
        if self.bets is None:
            return _with_range(first, needed[ends])
        simulated = self._simulated(0, power, first)
        scaled = needed[ends] * (simulated / first if math.isfinite(first) else 1.0)
        own = [self._simulated(case, power, float(start)) for case, start in zip(ends, scaled, strict=True)]
        return _with_range(simulated, [*own, *scaled] if math.isfinite(first) else own)

    def _simulated(self, case: int, power: float, start: float) -> float:
        growth = self._in_blocks(case)
        return math.inf if growth is None or math.isinf(start) else growth.rounds_needed(power, start)

    def more_rounds(self, power: float) -> tuple[int | None, Range]:
        """How many rounds are needed beside those so far."""
        needed = self._needed(replace(self.growth, log_start=self.growth.log_start + self.gained), power)
        return _with_range(float(needed[0]), needed[list(_ends(needed))])

    def _needed(self, growth: Growth, power: float) -> FloatArray:
        return np.where(self.improvements > self.margin, growth.rounds_needed(power), np.inf)

    def _in_blocks(self, case: int) -> BlockGrowth | None:
        if self.bets is None:
            return None
        improvement = float(self.improvements[case])
        return BlockGrowth(
            self.bets, self.totals[case], self.shares, improvement, self.margin, self.growth.target, self.planned
        )


def _totals(sums: Sums, term: Term) -> BlockTotals:
    found = [sums.of(in_one_block(term), (BLOCKS,), value) for value in sums.by(COUNT, BLOCKS)]
    parts = term.needed.components
    return BlockTotals(
        np.array([block.rounds for block in found], dtype=np.float64), np.array([block.log_sums for block in found]),
        np.array([block.sums for block in found]), np.array([part.smoothing for part in parts]),
        np.array([part.offset for part in parts]),
    )  # fmt: skip


def _smoothings(parts: Sequence[Component]) -> IntArray | None:
    """The places of components, (controls, smoothings), each row in the order of a grid; None where they are no grid."""
    rows = [sorted(group, key=lambda place: parts[place].smoothing) for group in alike(parts)]
    lengths = {len(row) for row in rows}
    return np.array(rows) if len(lengths) == 1 and min(lengths) > 1 else None


def _ends(needed: FloatArray) -> tuple[int, int]:
    """The cases at the ends of the range of those drawn again."""
    order = 1 + np.argsort(needed[1:], kind="stable")
    low, high = (round((len(order) - 1) * share) for share in ((1.0 - RANGE) / 2.0, (1.0 + RANGE) / 2.0))
    return int(order[low]), int(order[high])


def _with_range(needed: float, ends: Iterable[float]) -> tuple[int | None, Range]:
    """A forecast and its range, in whole rounds; the range includes the forecast."""
    found = [needed, *ends]
    first, low, high = (math.ceil(count) if math.isfinite(count) else None for count in (needed, min(found), max(found)))
    return first, (low, high)
