"""The reward slot, where only rounds drawn with a known probability carry their reward, and all carry a score."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from surelift.arrays import FloatArray
from surelift.errors import UsageError, is_number, printed
from surelift.kernels.log_sums import log_products
from surelift.logs import faults
from surelift.logs.faults import Finding
from surelift.logs.rewards import LabelledLine
from surelift.logs.rows import Rows
from surelift.traits.propensity import SMALLEST
from surelift.traits.reward import Reward
from surelift.traits.trait import column, given

if TYPE_CHECKING:
    from surelift.batch import Batch
    from surelift.statistics.statistic import Groups

LABELS_TOGETHER = (
    "score= and label_probability= go together: all rounds carry a score, and those drawn with that probability carry the "
    "reward. State the probability of the draw, not the share of rounds with a label."
)
DRAWN = (
    "every round was drawn to be labelled by a coin of its own, with the stated label_probability, whatever its reward and "
    "the rounds after it; all that were drawn have their reward, and no others"
)
BLIND_SCORE = (
    "the score of a round was made without knowing whether it was drawn, or its label; how good it is does not matter"
)
RATES = np.array([sign * 0.5**halving for halving in range(1, 11) for sign in (1.0, -1.0)])
"""The rates of the bets that labels were not drawn with the stated probability."""
LARGEST_LOG = 700.0


def probability_or_column(name: str, value: Any) -> float:
    if not (is_number(value) and 0.0 < value <= 1.0):
        raise UsageError(f"{name} must lie in (0, 1], or name a column, but is {printed(value)}.")
    return float(value)


@dataclass(frozen=True, kw_only=True)
class Labels(Reward):
    named_by = ("score", "label_probability")
    known = False
    score: str = column(
        "score", "Column of a score that every round has, in units of the reward, where few rounds are labelled.", rare=True,
        hidden=True, feature="labels",
    )  # fmt: skip
    label_probability: str | float = given(
        "Probability with which a round was drawn to be labelled.", "P|COL", probability_or_column, rare=True,
        read="number_or_text", role="label_probability", hidden="label_probability", array=True,
    )  # fmt: skip
    is_audited = True
    audited_by_segment = True

    def problems(self) -> Iterator[str]:
        yield from super().problems()
        if self.score is None or self.label_probability is None:
            yield LABELS_TOGETHER
        if self.score in (self.reward, self.cost):
            yield (
                f"score={self.score!r} is also the column of the reward; a reward filled in by its score is none. Leave the "
                "reward null where the round was not labelled."
            )

    def derive(self) -> None:
        super().derive()
        vars(self).update(recipe=None, assumes=(*self.assumes, DRAWN, BLIND_SCORE))

    def line(self, rows: Rows) -> LabelledLine:
        """The rewards that were drawn, where neither null nor NaN is one, the scores, and the probabilities."""
        scale, limits = self.scale, f"declared in [{self.scale.low:g}, {self.scale.high:g}]"
        numbers = rows.numbers_or_missing(self.name, self.subject)
        rows.refuse(self.subject, faults.INFINITE, np.isinf(numbers.values), numbers.values)
        missing = np.isnan(numbers.values)
        reward = np.where(missing, np.nan, numbers.values)
        rows.hashes.mix(reward)
        known = np.where(missing, scale.low, reward)
        rows.refuse_outside(f"{self.subject}, {limits}", faults.REWARD, known, scale.low, scale.high)
        subject = f"score {self.score!r}"
        score, _ = rows.numbers(self.score, subject)
        rows.refuse_outside(f"{subject}, {limits}", faults.SCORE, score, scale.low, scale.high)
        if not isinstance(self.label_probability, str):
            probability = np.full(rows.size, self.label_probability)
        else:
            subject = f"label_probability {self.label_probability!r}"
            probability, tolerance = rows.numbers(self.label_probability, subject)
            rows.refuse_outside(subject, faults.LABEL_PROBABILITY, probability, SMALLEST, 1.0 + tolerance)
            probability = np.minimum(probability, 1.0)
        rows.refuse(self.subject, faults.LABEL_MISSING, missing & (probability >= 1.0), None)
        return LabelledLine(scale.unit(reward), ~missing, probability, scale.unit(score))

    def audit(self, batch: "Batch", groups: "Groups") -> list[FloatArray]:
        r"""Bets that labels were not drawn with the stated probability.

        With L = 1 where a round was drawn, E[L - kappa] = 0 whatever is known before the draw, so each factor
        1 + beta (L - kappa) and 1 + beta (2 s - 1)(L - kappa), with \|beta\| < 1 and s the score, is nonnegative and has
        mean 1. Their products, mixed over beta of both signs, are evidence that too many or too few rounds carry a
        label, or the wrong ones by their score. A cluster is one factor, made from its mean.
        """
        line, units = batch.line, batch.units
        assert isinstance(line, LabelledLine)
        surprise = line.drawn - line.probability
        bets = (units.mean(bet, 0.0) for bet in (surprise, surprise * (2.0 * line.score - 1.0)))
        won = [log_products(bet, RATES, groups.units.sorted(units.count)) for bet in bets]
        seen = [groups.counts(batch.size), groups.sums(line.drawn.astype(np.float64)), groups.sums(line.probability)]
        return list(np.column_stack([*won, *seen]))

    def judge(self, state: FloatArray, level: float) -> Iterator[Finding]:
        mixed = float(np.logaddexp.reduce(state[:-3])) - math.log(len(state) - 3)
        e_value, (rounds, labels, expected) = math.exp(min(mixed, LARGEST_LOG)), state[-3:].tolist()
        if e_value >= 1.0 / level:
            yield Finding(
                "refuse", "label_probability",
                f"labels were not drawn with the stated probability: {labels:,.0f} of {rounds:,.0f} rounds carry "
                f"one, where {expected:,.0f} were to be expected, or the score chose them (e-value {e_value:.3g})",
                "State the probability of the draw itself, round by round, also where it depends on the score, and give "
                "every round that was drawn its reward. Labels that were picked by hand cannot be certified.",
                None, e_value,
            )  # fmt: skip

    def remarks_on(self, state: FloatArray) -> tuple[str, ...]:
        rounds, labels, _ = state[-3:].tolist()
        return (f"{labels:,.0f} of {rounds:,.0f} rounds carry their {'reward' if self.cost is None else 'cost'}.",)
