"""The reward slot: what did each decision earn, or cost, and when is that final?"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from surelift.arrays import FloatArray
from surelift.errors import UsageError, printed
from surelift.kernels.columns import count_outside
from surelift.logs import faults
from surelift.logs.batch import TableBatch
from surelift.logs.rewards import RewardLine, Scale
from surelift.logs.rows import Rows
from surelift.traits.settled import AS_OF_NEEDED, duration, keeping_settled, length_text, moment
from surelift.traits.trait import Recipe, Trait, anything, column, derived, given

UNIT_RANGE = (0.0, 1.0)


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
    known: ClassVar[bool] = True  # every row carries its reward
    reward: str | None = column("reward", "Column of the reward.", hidden=True)
    cost: str | None = column("cost", "Column of the cost, instead of a reward.", hidden=True, feature="cost")
    reward_range: tuple[float, float] = given(
        "The smallest and the largest possible reward (or cost), known in advance.", "LOW,HIGH", two_numbers,
        default=UNIT_RANGE, read="two_numbers",
    )  # fmt: skip
    settled_after: str | float | None = given(
        "How old a round must be for its reward to be final: 7d, 12h, or a number in units of --time.", "AGE", duration,
        rare=True, feature="settled rewards",
    )  # fmt: skip
    as_of: str | float | None = given(
        "The moment at which rewards were joined; by default the newest time, if times are moments.", "TIME", anything,
        rare=True,
    )  # fmt: skip
    time: str | None = None  # the column by which age is measured

    scale: Scale = derived()
    name: str = derived()  # the column of rewards, or of costs
    subject: str = derived()
    recipe: Recipe | None = derived()  # how a loop over plain columns reads the reward; None where there is more to it
    is_complete: bool = derived(True)

    def problems(self) -> Iterator[str]:
        if (self.reward is None) == (self.cost is None):
            problem = "both were given" if self.cost is not None else "neither was given"
            yield f"give exactly one of reward= and cost=, the column that holds what each decision earned; {problem}."
        if self.as_of is not None and self.settled_after is None:
            yield "as_of= says how old rounds are, for settled_after=; give both."
        if self.settled_after is not None and self.time is None:
            yield "settled_after= needs time=, the column of the time of each decision."

    def derive(self) -> None:
        own, (low, high), is_cost = vars(self), self.reward_range, self.cost is not None
        own["scale"] = scale = Scale(low, high, is_cost=is_cost)
        own["name"] = name = self.cost if is_cost else self.reward
        own["subject"] = f"{'cost' if is_cost else 'reward'} {name!r}"
        own["recipe"] = Recipe(str(name), low, high, scale.zero, scale.divisor)
        own["assumes"] = (f"{'costs' if is_cost else 'rewards'} always lie in [{low:g}, {high:g}]",)
        if low != 0.0:
            own["features"] |= {"range below 0" if low < 0.0 else "range above 0"}
        if self.settled_after is not None:
            age, own["is_complete"] = length_text(self.settled_after), self.as_of is not None
            waited = f"a round was counted {age} after its decision, or later, whatever its reward: by then it is final"
            if self.as_of is not None:
                own["as_of"] = own["flat"]["as_of"] = as_of = moment(self.as_of, self.settled_after)
                until = f"{age} before {length_text(as_of)}"
                waited = f"only rounds up to {until} are judged, whatever their rewards: by then they are final"
            own["assumes"] += (waited,)

    def line(self, rows: Rows) -> RewardLine:
        return RewardLine(read_rewards(rows, self.name, self.scale, faults.REWARD))

    # Delayed rewards: a round is judged once it is old enough for its reward to be final.

    def settled(self, batches: Iterator[TableBatch]) -> Iterator[TableBatch]:
        """The rounds that are old enough."""
        assert self.settled_after is not None
        return keeping_settled(batches, str(self.time), self.settled_after, self.as_of)

    def completed(self, newest: Callable[[str], str]) -> "Reward":
        """The trait with the moment at which age is measured, which a first pass finds."""
        if self.is_complete:
            return self
        if isinstance(self.settled_after, float):
            raise UsageError(AS_OF_NEEDED)
        return replace(self, as_of=newest(str(self.time)))

    def remarks(self, left_out: int, judged: int) -> tuple[str, ...]:
        """What is said of the rounds that were left out, where there are any."""
        age, as_of = length_text(self.settled_after), length_text(self.as_of)
        said = f"{left_out:,} of {left_out + judged:,} rounds were younger than {age} at {as_of}, and were left out."
        return (said,) if left_out else ()


def read_rewards(rows: Rows, name: str, scale: Scale, reason: faults.Reason) -> FloatArray:
    """A column of rewards, or costs, on [0, 1]."""
    subject = f"{'cost' if scale.is_cost else 'reward'} {name!r}"
    values, _ = rows.numbers(name, subject)
    if count_outside(values, scale.low, scale.high):
        outside = ((values < scale.low) | (values > scale.high)) & np.isfinite(values)
        rows.refuse(f"{subject}, declared in [{scale.low:g}, {scale.high:g}]", reason, outside, values)
    return scale.unit(values)
