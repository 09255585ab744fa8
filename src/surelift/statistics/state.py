"""Sums as plain numbers and back, so that adding up can go on tomorrow."""

import math
from collections.abc import Mapping
from typing import Any

from surelift.logs.fingerprint import Fingerprint
from surelift.statistics.plan import MEAN, SQUARES, Moment, Plan, Term
from surelift.statistics.sums import LoggingSums, LogSumKey, MomentKey, Sums, WeightSums


def to_state(sums: Sums, plan: Plan) -> dict[str, Any]:
    """In the order of the plan, whose keys need not be kept; the numbers come back to the last bit."""
    assert not sums.resamples
    assert not sums.proxies
    return {
        "rows": sums.rows,
        "units": sums.units,
        "log_sums": [
            [sums.log_sums[LogSumKey(term.candidate, term.quantity, part)] for part in term.needed.components]
            for term in plan.terms
        ],
        "moments": [
            [sums.moments[MomentKey(term.candidate, term.quantity, moment)] for moment in _moments(term)]
            for term in plan.terms
        ],
        "weights": {name: [one.total, one.squares, one.largest, one.unsupported] for name, one in sums.weights.items()},
        "logging": [
            sums.logging.rewards,
            _finite(sums.logging.smallest_propensity),
            sums.logging.largest_slack,
            _finite(sums.logging.smallest_keep),
            sums.logging.largest_keep,
        ],
        "fingerprint": [sums.fingerprint.rounds, f"{sums.fingerprint.total:032x}"],
    }


def from_state(state: Mapping[str, Any], plan: Plan) -> Sums:
    rewards, smallest, slack, smallest_keep, largest_keep = state["logging"]
    return Sums(
        rows=int(state["rows"]),
        units=int(state["units"]),
        log_sums={
            LogSumKey(term.candidate, term.quantity, part): float(total)
            for term, totals in zip(plan.terms, state["log_sums"], strict=True)
            for part, total in zip(term.needed.components, totals, strict=True)
        },
        moments={
            MomentKey(term.candidate, term.quantity, moment): float(total)
            for term, totals in zip(plan.terms, state["moments"], strict=True)
            for moment, total in zip(_moments(term), totals, strict=True)
        },
        weights={name: WeightSums(*numbers) for name, numbers in state["weights"].items()},
        logging=LoggingSums(rewards, _or_infinite(smallest), slack, _or_infinite(smallest_keep), largest_keep),
        fingerprint=Fingerprint(int(state["fingerprint"][0]), int(state["fingerprint"][1], 16)),
    )


def _moments(term: Term) -> list[Moment]:
    return list(dict.fromkeys([MEAN, SQUARES, *term.needed.moments]))


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _or_infinite(number: float | None) -> float:
    return math.inf if number is None else number
