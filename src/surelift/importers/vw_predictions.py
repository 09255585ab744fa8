"""Vowpal Wabbit's predictions (``-p``) as policies: probabilities, one action, or a density, for each event.

    0:0.8,1:0.2      --cb_explore, --cb_explore_adf    a distribution over the actions, numbered from 0
    2                --cb, --cb_adf                    the one action that is taken
    0-2:0.1,2-6:0.2  --cats_pdf                        a density over a continuous action

VW prints six decimals, so that many actions sum to 1 only roughly: within that rounding they are rescaled.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa

from surelift.errors import LogsError, UsageError
from surelift.importers.events import numbered
from surelift.logs.batch import Needs, Slice
from surelift.logs.decisions import Decisions
from surelift.logs.vectors import Vectors
from surelift.policies.continuous import CONTINUOUS
from surelift.policies.over_actions import OVER_ALL, peaked
from surelift.policies.policy import Reader, Singles
from surelift.policies.readers import Array
from surelift.saving import exists
from surelift.traits.logs import Logs

_ROUNDING = 5e-7
"""Half of the last of six decimals."""
_SEGMENT = re.compile(r"(-?[\d.]+(?:e[+-]?\d+)?)-(-?[\d.]+(?:e[+-]?\d+)?):([\d.]+(?:e[+-]?\d+)?)")
_MASS = 1e-3
Kind = Literal["one action", "probabilities", "a density"]


def predictions(path: str | Path, *, first_action: Literal[0, 1] | None = None) -> Reader:
    """A policy from a file that ``-p`` wrote, in the order of the events.

    A line has the probabilities of all actions, ``0:0.8,1:0.2`` or ``0.8,0.2``, or the one action that is taken, or
    with ``--cats_pdf`` a density. Blank lines are skipped.

    Args:
        path: The file.
        first_action: The number of the first action, where the file does not tell: a 0 among single actions does.
    """
    if not (exists(path) and Path(path).is_file()):
        raise UsageError(f"the predictions {path} cannot be read: the file does not exist.")
    kind: Kind | None = None
    began, rows = 0, list[list[float]]()
    for number, line in numbered(str(path)):
        # A tag may follow the numbers.
        word = next(iter(line.decode(errors="replace").split()), "")
        if not word:
            continue
        found = _kind(word)
        kind, began = kind or found, began or number
        row = _READ[kind](word) if found == kind else f"holds {found}, but line {began:,} {kind}"
        if isinstance(row, str):
            raise LogsError(f"line {number:,} of {path}, {word[:80]!r}, {row}. Nothing was computed.")
        rows.append(row)
    single = np.array(rows)[:, 0] if kind == "one action" else None
    wrong = ""
    if single is None and first_action is not None:
        wrong = f"first_action= is for files with one action per line, but {path} holds {kind or 'no line'}."
    elif first_action not in (None, 0, 1):
        wrong = f"first_action must be 0 or 1, but is {first_action!r}."
    elif single is not None and first_action is None and single.min() > 0:
        either = "from 0 (--cb_adf, and --cb of VW 9) or from 1 (--cb_force_legacy, and older versions)"
        wrong = f"{path} holds actions of which none is 0, numbered {either}. Say which in first_action=, 0 or 1."
    elif single is not None and first_action == 1 and single.min() < 1:
        wrong = f"{path} holds action 0, so its actions are numbered from 0, not from first_action=1."
    if wrong:
        raise UsageError(wrong)
    if single is not None:
        return PredictedActions(single - (first_action or 0), path=str(path))
    made = PredictedDensities if kind == "a density" else PredictedProbabilities
    return made(pa.array(rows, pa.list_(pa.float64())), path=str(path))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Predicted(Array):
    path: str
    features = frozenset[str]()

    def needs(self, logs: Logs) -> Needs:
        source, wrong = logs.source, ""
        while isinstance(source, Slice):
            source = source.source
        if "density" in logs.declaration.features and not isinstance(self, PredictedDensities):
            wrong = "holds no densities, which a log of continuous actions needs: write them with --cats_pdf, not --cats."
        elif source.ordered and len(self.array) != source.count():
            sizes = f"{len(self.array):,} events, but the log has {source.count():,} rounds"
            wrong = f"has predictions for {sizes}; it must be written on the same events, in the same order."
        if wrong:
            raise UsageError(f"{self.path} {wrong}")
        return Array.needs(self, logs)


class PredictedProbabilities(Predicted):
    __slots__ = ()


class PredictedActions(Predicted):
    """All probability on one action."""

    __slots__ = ()
    features = OVER_ALL

    def read(self, decisions: Decisions, subject: str) -> Singles | Vectors:
        found = Array.read(self, decisions, subject)
        assert isinstance(found, Singles)
        positions = found.values.astype(np.int64)
        if decisions.logging is not None or decisions.counts is not None:
            decisions.check_positions(positions, subject, decisions.available(subject))
        peak = peaked(decisions, positions, 0.0, subject)
        return Singles(peak.logged, 0.0) if peak.vectors is None else peak.vectors


class PredictedDensities(Predicted):
    """The density at the logged action; rows hold the low end, the high end and the density of each segment."""

    __slots__ = ()
    features = CONTINUOUS

    def read(self, decisions: Decisions, subject: str) -> Singles | Vectors:
        found = Array.read(self, decisions, subject)
        assert isinstance(found, Vectors)
        assert decisions.continuous is not None
        low, high, density = found.values.reshape(-1, 3).T
        action = found.spread(decisions.continuous).reshape(-1, 3)[:, 0]
        # A segment holds its low end, and the last its high end too.
        last = np.zeros(len(low), dtype=np.bool_)
        last[found.starts[1:] // 3 - 1] = True
        inside = (action >= low) & ((action < high) | (last & (action == high)))
        per_round = np.add.reduceat(np.where(inside, density, 0.0), found.starts[:-1] // 3)
        return Singles(np.asarray(per_round), 0.0)


def _kind(word: str) -> Kind:
    if word.isdecimal():
        return "one action"
    return "a density" if _SEGMENT.fullmatch(word.split(",")[0]) else "probabilities"


def _action(word: str) -> list[float] | str:
    return "has an action number that is too large" if len(word) > 9 else [int(word)]


def _shares(word: str) -> list[float] | str:
    pairs = ":" in word
    try:
        listed = [part.split(":") if pairs else (str(place), part) for place, part in enumerate(word.split(","))]
        by_action = {int(action): float(share) for action, share in listed}
    except ValueError:
        return "has no action probabilities"
    if sorted(by_action) != list(range(len(listed))):
        return "must list each action from 0 once; --ccb_explore_adf lists those its own draws left, not the log's"
    shares = [by_action[action] for action in range(len(listed))]
    total = sum(shares)
    if not (abs(total - 1.0) <= 1e-9 + len(shares) * _ROUNDING and min(shares) >= 0.0):
        remedy = "write probabilities with --cb_explore or --cb_explore_adf, or actions without --rank_all"
        return f"has numbers that are no probabilities, with a sum of {total:g}. These are scores; {remedy}"
    return shares if abs(total - 1.0) <= 1e-9 else [share / total for share in shares]


def _segments(word: str) -> list[float] | str:
    matches = [_SEGMENT.fullmatch(part) for part in word.split(",")]
    try:
        found = [[float(text) for text in match.groups()] for match in matches if match]
    except ValueError:
        found = []
    end, mass = -np.inf, 0.0
    for low, high, density in found:
        if low < end or high < low:
            return "has segments that overlap"
        end, mass = high, mass + (high - low) * density
    if len(found) < len(matches) or not abs(mass - 1.0) <= _MASS:
        return "has no density with a mass of 1"
    return [value for low, high, density in found for value in (low, high, density / mass)]


_READ: dict[Kind, Callable[[str], list[float] | str]] = {
    "one action": _action, "probabilities": _shares, "a density": _segments,
}  # fmt: skip
