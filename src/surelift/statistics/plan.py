"""The plan: which statistics to add up over the rounds, and by what the rounds are split."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from surelift.arrays import FloatArray
from surelift.batch import RewardColumn
from surelift.controls import MaxWeightControl, ScoreControl, WeightControl
from surelift.controls.model import CROSS_FITTED, RewardModel
from surelift.errors import UsageError
from surelift.grids import Grid
from surelift.logs.batch import Needs
from surelift.policies import Policy
from surelift.quantities import Quantity
from surelift.quantities.regularizers import Plain, Regularizer
from surelift.statistics.dealing import Dealt
from surelift.statistics.looped import Looped
from surelift.statistics.splits import Key
from surelift.statistics.statistic import Statistic
from surelift.traits.logs import Logs


class Component(NamedTuple):
    """One factor 1 + smoothing (term + offset) per round, with its share of the prior."""

    smoothing: float
    offset: float
    prior: float
    control: WeightControl | MaxWeightControl | ScoreControl | None = None


class Moment(NamedTuple):
    regularizer: Regularizer
    power: int = 1


MEAN, SQUARES = Moment(Plain()), Moment(Plain(), 2)


class Arranged(NamedTuple):
    smoothings: FloatArray
    offsets: FloatArray
    log_prior: FloatArray
    lines: list[tuple[MaxWeightControl | None, float, list[int]]]
    """Those of one control and one offset are made of one line."""
    by_weights: list[int]
    by_score: list[int]
    controlled: list[int]


@lru_cache(maxsize=1024)
def arranged(components: tuple[Component, ...]) -> Arranged:
    columns = np.array([part[:3] for part in components], dtype=np.float64).reshape(-1, 3).T.copy()
    lines, found = dict[Any, list[int]](), Arranged(columns[0], columns[1], np.log(columns[2]), [], [], [], [])
    for place, part in enumerate(components):
        if part.control is not None:
            found.controlled.append(place)
        if isinstance(part.control, WeightControl):
            found.by_weights.append(place)
        elif isinstance(part.control, ScoreControl):
            found.by_score.append(place)
        else:
            lines.setdefault((part.control, part.offset), []).append(place)
    found.lines.extend((*alike, places) for alike, places in lines.items())
    return found


@dataclass(frozen=True, kw_only=True)
class Needed:
    """What a bound adds up for one quantity, and whether that depends on the number of rounds."""

    offset: float = 0.0
    """How far below zero the quantity can be."""
    smoothing: float = 0.0
    components: tuple[Component, ...] = ()
    smallest: tuple[tuple[str, float], ...] = ()
    """The smallest weight that each policy can have, from which control counts."""
    moments: tuple[Moment, ...] = ()
    resamples: int = 0
    redraws: int = 0
    blocks: Dealt | None = None
    any_looks: bool = True


NOTHING = Needed()
"""What is needed of a quantity that is certainly zero, since two policies are one."""


@dataclass(frozen=True, eq=False)
class Term:
    candidate: str
    quantity: Quantity
    needed: Needed = NOTHING


class Request(NamedTuple):
    statistic: Statistic
    key: Key = ()
    outcome: RewardColumn | None = None


@dataclass(frozen=True)
class Plan:
    policies: Mapping[str, Policy]
    requests: tuple[Request, ...]
    model: RewardModel | None = None
    asked: str = ""
    keys: tuple[Key, ...] = field(init=False, repr=False)
    outcomes: tuple[RewardColumn, ...] = field(init=False, repr=False)
    shared: tuple[list[Request], ...] = field(init=False, repr=False)
    """The requests, those together whose statistics share their work, and each other alone."""
    looped: list[Request] | None = field(init=False, repr=False)
    """Those of one pass over plain columns, where all others look at the rows alone; None where that is not enough."""

    def __post_init__(self) -> None:
        requests, together = tuple(dict.fromkeys(self.requests)), dict[Any, list[Request]]()
        foretold = self.model is None or self.model.predictable
        if not foretold and any(getattr(request.statistic, "components", ()) for request in requests):
            raise UsageError(CROSS_FITTED)
        for request in requests:
            kind = request.statistic.works_with
            together.setdefault(request if kind is None else (kind, request.key, request.outcome), []).append(request)
        looped = [group for group in together.values() if not group[0].statistic.looks_at_rows]
        is_one = len(looped) == 1 and looped[0][0].statistic.works_with is Looped and looped[0][0].outcome is None
        vars(self).update(
            requests=requests, shared=tuple(together.values()),
            keys=tuple(dict.fromkeys([request.key for request in requests])),
            outcomes=tuple(dict.fromkeys([request.outcome for request in requests if request.outcome is not None])),
            looped=looped[0] if is_one and self.policies and self.model is None else None,
        )  # fmt: skip

    @property
    def needs_order(self) -> str | None:
        """What of it depends on the order of the rows; None where nothing does."""
        labels = [request.statistic.label for request in self.requests if request.statistic.needs_order]
        labels += [split.label for request in self.requests for split in request.key if split.needs_order]
        if self.model is not None and self.model.in_order:
            labels.append("a reward model that is refitted in the order of time")
        return labels[0] if labels else None

    def needs(self, logs: Logs) -> Needs:
        """The columns it reads beside the log's own; raises if these logs cannot carry a policy or the model."""
        needs = [] if self.model is None else [self.model.needs(logs)]
        needs += [policy.needs(logs) for policy in self.policies.values()]
        read = dict.fromkeys(map(attrgetter("column"), self.outcomes))
        looked_at = dict.fromkeys(chain.from_iterable(map(attrgetter("statistic.columns"), self.requests)))
        logs.require_columns(tuple(looked_at), role="what a policy or a reward model was learned from")
        splits = tuple(column for split in chain.from_iterable(self.keys) for column in split.columns())
        return Needs.all_of([*needs, Needs(read=(*read, *splits), handed_on=tuple(looked_at), coded=splits)])


@lru_cache(maxsize=256)
def on_grid(grid: Grid, *, offset: float) -> Needed:
    """A component for every smoothing of a grid; many candidates share them."""
    pairs = zip(grid.smoothings, grid.prior, strict=True)
    components = tuple(Component(smoothing, offset, prior) for smoothing, prior in pairs)
    return Needed(offset=offset, components=components, any_looks=grid.any_looks)
