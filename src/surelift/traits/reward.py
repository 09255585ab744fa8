"""The reward slot: what did each decision earn, or cost, and when is that final?"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from surelift.arrays import FloatArray
from surelift.errors import UsageError, printed
from surelift.kernels.columns import count_outside
from surelift.logs import faults
from surelift.logs.batch import TableBatch
from surelift.logs.rewards import RewardLine, Scale
from surelift.logs.rows import Rows
from surelift.traits.settled import AS_OF_NEEDED, duration, keeping_settled, moment, settled_assumption, younger_words
from surelift.traits.trait import Recipe, Trait, anything, column, given, shared

UNIT_RANGE = (0.0, 1.0)
LABELS_TOGETHER = (
    "score= and label_probability= go together: all rounds carry a score, and those drawn with that probability carry the "
    "reward. State the probability of the draw, not the share of rounds with a label."
)


def two_numbers(name: str, reward_range: Any) -> tuple[float, float]:
    try:
        low, high = reward_range
        if isinstance(low, bool) or isinstance(high, bool):
            raise TypeError("a truth value is no number")
        return float(low), float(high)
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"reward_range must be two numbers, (low, high), but is {printed(reward_range)}.") from error


@dataclass(frozen=True, kw_only=True)
class Reward(Trait):
    slot = "reward"
    known: ClassVar[bool] = True
    """Every row carries its reward."""
    reward: str | None = column("reward", "Column of the reward.", hidden=True)
    cost: str | None = column("cost", "Column of the cost, instead of a reward.", hidden=True, feature="cost")
    reward_range: tuple[float, float] = given(
        "The smallest and the largest possible reward (or cost), known in advance.", "LOW,HIGH", two_numbers,
        default=UNIT_RANGE, read="two_numbers",
    )  # fmt: skip
    settled_after: str | float | None = given(
        "How old a round must be for its reward to be final: 7d, 12h, or a number in units of --time.", "AGE",
        lambda name, value: duration(value), rare=True, feature="settled rewards",
    )  # fmt: skip
    as_of: str | float | None = given(
        "The moment at which rewards were joined; by default the newest time, if times are moments.", "TIME", anything,
        rare=True,
    )  # fmt: skip
    time: str | None = shared()
    """The column by which age is measured."""
    scale: Scale = field(init=False, compare=False, repr=False)
    name: str = field(init=False, compare=False, repr=False)
    """The column of rewards, or of costs."""
    is_complete: bool = field(init=False, compare=False, repr=False)
    refuses: ClassVar[Mapping[str, str]] = {"label_probability": LABELS_TOGETHER}

    def check(self) -> None:
        if (self.reward is None) == (self.cost is None):
            problem = "both were given" if self.cost is not None else "neither was given"
            raise UsageError(
                f"give exactly one of reward= and cost=, the column that holds what each decision earned; {problem}."
            )
        is_cost = self.cost is not None
        vars(self).update(scale=Scale(*self.reward_range, is_cost=is_cost), name=self.cost if is_cost else self.reward)
        vars(self).update(is_complete=self.settled_after is None or self.as_of is not None)
        if self.as_of is not None:
            object.__setattr__(self, "as_of", moment(self.as_of, self.settled_after))
        if self.settled_after is not None and self.time is None:
            raise UsageError("settled_after= needs time=, the column of the time of each decision.")

    @cached_property
    def features(self) -> frozenset[str]:
        low = self.scale.low
        return frozenset() if low == 0.0 else frozenset({"range below 0" if low < 0.0 else "range above 0"})

    @property
    def subject(self) -> str:
        return f"{'reward' if self.cost is None else 'cost'} {self.name!r}"

    def of_column(self, column: str, reward_range: tuple[float, float], *, is_cost: bool) -> "Reward":
        """What another column earned, of which every round has one."""
        role = {"cost": column} if is_cost else {"reward": column}
        return Reward(**role, reward_range=reward_range, settled_after=self.settled_after, as_of=self.as_of, time=self.time)

    @cached_property
    def assumes(self) -> tuple[str, ...]:
        scale = self.scale
        bounded = f"{'costs' if scale.is_cost else 'rewards'} always lie in [{scale.low:g}, {scale.high:g}]"
        return (bounded,) if self.settled_after is None else (bounded, settled_assumption(self.settled_after, self.as_of))

    def recipe(self) -> Recipe | None:
        scale = self.scale
        return Recipe(self.name, scale.low, scale.high, scale.zero, scale.divisor)

    def line(self, rows: Rows) -> RewardLine:
        return RewardLine(read_rewards(rows, self.name, self.scale, faults.REWARD))

    # Delayed rewards: a round is judged once it is old enough for its reward to be final.

    def settled(self, batches: Iterator[TableBatch]) -> Iterator[TableBatch]:
        """The rounds that are old enough."""
        assert self.settled_after is not None
        return keeping_settled(batches, str(self.time), self.settled_after, self.as_of)

    def completed(self, newest: Callable[[str], str]) -> "Reward":
        """With the moment at which age is measured, which a first pass finds."""
        if self.is_complete:
            return self
        if isinstance(self.settled_after, float):
            raise UsageError(AS_OF_NEEDED)
        return replace(self, as_of=newest(str(self.time)))

    def remarks(self, left_out: int, judged: int) -> tuple[str, ...]:
        """What is said of the rounds that were left out, where there are any."""
        return (younger_words(self.settled_after, self.as_of, left_out, judged),) if left_out else ()


def read_rewards(rows: Rows, name: str, scale: Scale, reason: faults.Reason) -> FloatArray:
    """A column of rewards, or costs, on [0, 1]."""
    subject = f"{'cost' if scale.is_cost else 'reward'} {name!r}"
    values, _ = rows.numbers(name, subject)
    if count_outside(values, scale.low, scale.high):
        outside = ((values < scale.low) | (values > scale.high)) & np.isfinite(values)
        rows.refuse(f"{subject}, declared in [{scale.low:g}, {scale.high:g}]", reason, outside, values)
    return scale.unit(values)
