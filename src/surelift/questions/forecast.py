"""How many more rounds like these would certify an improvement?"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from surelift.arrays import FloatArray
from surelift.errors import LogsError, UsageError, is_number
from surelift.questions.improvement import ImprovementQuestion
from surelift.questions.question import Place, RoundCount
from surelift.results.forecast import Forecast, Growth
from surelift.results.improvement import Improvement
from surelift.statistics.plan import Component, Request, Term
from surelift.statistics.splits import Key, RandomBlocks
from surelift.statistics.sums import COUNT, Sums, in_one_block, requests_of

BLOCKS = RandomBlocks(64)
MOST_ROUNDS = 10**15


@dataclass(frozen=True, kw_only=True)
class ForecastQuestion(ImprovementQuestion):
    """The improvement, and how its evidence varies from block to block of the log."""

    kind: ClassVar[str] = "power"
    improvement_to_find: float | None = None
    """The true improvement to assume; None for the estimate."""
    power: float = 0.8

    def __post_init__(self) -> None:
        super().__post_init__()
        assumed = self.improvement_to_find
        if not (is_number(self.power) and 0.0 < self.power < 1.0):
            raise UsageError(f"power, the chance to certify, must lie strictly between 0 and 1, but is {self.power!r}.")
        if assumed is not None and not (is_number(assumed) and math.isfinite(assumed)):
            raise UsageError(f"improvement must be a finite number, but is {assumed!r}.")
        width = self.declaration.scale.width
        if assumed is not None and not abs(assumed) <= width:
            raise UsageError(f"an improvement of {assumed:g} is impossible where rewards lie within {width:g}.")
        if self.declaration.is_sampled:
            raise UsageError("power forecasts rounds like these, but the log was sampled; ask of a log that was not.")

    def requests(self, count: RoundCount, key: Key = ()) -> Iterator[Request]:
        yield from super().requests(count, key)
        yield from block_requests([self.terms(self.policy, count)[0]], key)

    def result(self, sums: Sums, place: Place) -> Any:
        improvement = self.improvement(sums, self.policy, place)
        return self.forecast(sums, improvement)

    def forecast(self, sums: Sums, answer: Improvement) -> Forecast:
        if sums.units < 2:
            raise LogsError("these logs have fewer than 2 rounds, which is too few for a forecast.")
        term = self.terms(answer.policy, lambda: sums.units)[0]
        return forecast_of(sums, term, answer, width=self.declaration.scale.width, assumed=self.improvement_to_find,
                           power=float(self.power))  # fmt: skip


def block_requests(terms: Sequence[Term], key: Key = ()) -> Iterator[Request]:
    """What a forecast needs beside the whole: the terms block by block."""
    return requests_of([term.candidate for term in terms], map(in_one_block, terms), (*key, BLOCKS))


def forecast_of(
    sums: Sums, term: Term, answer: Improvement, *, width: float, assumed: float | None, power: float
) -> Forecast:
    """``answer`` is what the whole log says of the term."""
    improvement = answer.estimate if assumed is None else float(assumed)
    growth = _growth(sums, term, improvement / width, answer.margin / width)
    hope = improvement > answer.margin and not answer.doubts
    needed = _rounds_needed(growth, delta=answer.delta, power=power, from_now=False) if hope else None
    more = None
    if answer.certified:
        more = 0
    elif hope:
        more = _rounds_needed(growth, delta=answer.delta, power=power, from_now=True)
    return Forecast(
        policy=answer.policy, over=answer.over, estimate=answer.estimate, lower=answer.lower,
        certified=answer.certified, improvement=improvement, margin=answer.margin, delta=answer.delta, power=power,
        rounds=answer.rounds, rounds_needed=needed, more_rounds=more, counted=answer.counted, method=answer.method,
        control=answer.control, doubts=answer.doubts, growth=growth,
    )  # fmt: skip


def _growth(sums: Sums, term: Term, assumed: float, margin: float) -> Growth:
    """From the log sums of many blocks: their mean per round, and how much they vary from block to block."""
    counts = sums.by(COUNT, BLOCKS)
    rounds = np.array(list(counts.values()), dtype=np.float64)
    totals = np.stack([sums.of(in_one_block(term), (BLOCKS,), value).log_sums for value in counts])
    mean = totals.sum(axis=0) / rounds.sum()
    variance = ((totals - rounds[:, None] * mean) ** 2 / rounds[:, None]).sum(axis=0) / max(len(counts) - 1, 1)
    parts = term.needed.components
    smoothing, offset = np.array([part.smoothing for part in parts]), np.array([part.offset for part in parts])
    estimate = _means(mean, parts)
    # As if every factor were larger, or smaller, by what the assumed improvement makes of its mean.
    shifted = (
        mean
        + np.log1p(smoothing * np.maximum(assumed + offset, 0.0))
        - np.log1p(smoothing * np.maximum(estimate + offset, 0.0))
    )
    against = np.log1p(smoothing * np.maximum(margin + offset, 0.0))
    prior, gained = np.array([part.prior for part in parts]), totals.sum(axis=0) - rounds.sum() * against
    return Growth(prior, shifted - against, np.sqrt(variance), gained)


def _means(mean: FloatArray, parts: Sequence[Component]) -> FloatArray:
    """The mean of the terms of each component, which a control moves: a logarithm with hardly any smoothing is the mean."""
    kinds = [
        None if part.control is None else (type(part.control), getattr(part.control, "share", part.control))
        for part in parts
    ]
    means = np.empty(len(parts))
    for kind in set(kinds):
        own = [column for column, other in enumerate(kinds) if other == kind]
        least = min(own, key=lambda column: parts[column].smoothing)
        means[own] = np.expm1(mean[least]) / parts[least].smoothing - parts[least].offset
    return means


def _rounds_needed(growth: Growth, *, delta: float, power: float, from_now: bool) -> int | None:
    from scipy.special import ndtri

    quantile, target = -float(ndtri(power)), math.log(1.0 / delta)
    low, high = 0.0, 1.0
    while growth.log_wealth(high, quantile, from_now=from_now) < target:
        low, high = high, 2.0 * high
        if high > MOST_ROUNDS:
            return None
    for _ in range(60):
        middle = (low + high) / 2.0
        enough = growth.log_wealth(middle, quantile, from_now=from_now) >= target
        low, high = (low, middle) if enough else (middle, high)
    return math.ceil(high)
