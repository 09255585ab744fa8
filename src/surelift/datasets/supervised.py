"""Turn features and labels into bandit feedback, as in Section 5 of the paper: actions are labels, the right one pays."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from surelift.arrays import FloatArray, IntArray
from surelift.datasets.draws import draw
from surelift.errors import UsageError
from surelift.traits.logs import Logs

Labels = Sequence[Any] | npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class BanditFeedback:
    """The log of a policy on a labelled data set, and the true expected rewards."""

    features: FloatArray
    actions: tuple[str, ...]
    """The labels, sorted as strings."""
    action: IntArray
    reward: FloatArray
    logging: FloatArray  # (rounds, actions)
    expected_rewards: FloatArray  # (rounds, actions)

    def logs(self) -> Logs:
        propensity = self.logging[np.arange(len(self.action)), self.action]
        arrays: dict[str, Any] = {"reward": self.reward, "action": self.action, "contexts": self.features}
        return Logs(**arrays, logging=self.logging, propensity=propensity)

    def true_value(self, policy: FloatArray) -> float:
        """The expected reward of a policy, (rounds, actions), over this data set's contexts."""
        return float((policy * self.expected_rewards).sum(axis=1).mean())


def encode_labels(labels: Labels) -> tuple[IntArray, tuple[str, ...]]:
    """Labels as positions among their strings in sorted order.

    >>> encode_labels(["b", "a", "b"])[1]
    ('a', 'b')
    """
    names, codes = np.unique(np.asarray([str(label) for label in labels]), return_inverse=True)
    return codes.astype(np.int64), tuple(str(name) for name in names)


def ideal_policy(codes: IntArray, actions: int, *, temperature: float) -> FloatArray:
    r"""Proportional to exp(1[a is the right label] / temperature).

    >>> ideal_policy(np.array([1]), 2, temperature=1.0).round(3).tolist()
    [[0.269, 0.731]]
    """
    if not temperature > 0:
        raise UsageError(f"temperature must be positive, but is {temperature}.")
    # Relative to the peak, so that a small temperature does not overflow.
    policy = np.full((len(codes), actions), np.exp(-1.0 / temperature))
    policy[np.arange(len(codes)), codes] = 1.0
    return np.asarray(policy / policy.sum(axis=1, keepdims=True))


def faulty_policy(codes: IntArray, actions: int, *, temperature: float, faulty: Sequence[int] = (0, 1)) -> FloatArray:
    """An ideal policy, except that for the labels in ``faulty`` the peak is on the next label, a wrong one."""
    shifted = np.where(np.isin(codes, list(faulty)), (codes + 1) % actions, codes)
    return ideal_policy(shifted, actions, temperature=temperature)


def supervised_to_bandit(
    features: FloatArray, labels: Labels, logging: FloatArray, *, noise: float = 0.0, rng: np.random.Generator
) -> BanditFeedback:
    """Let a logging policy choose a label per row; the right one pays with probability 1 - noise, a wrong one with noise.

    Args:
        features: One row of numbers for each row of the data set.
        labels: The right labels.
        logging: The probability of each label in each row, (rounds, labels); its columns follow the sorted strings of
            the labels.
        noise: The probability that a wrong label pays, at most 0.5.
        rng: The generator that draws.
    """
    codes, actions = encode_labels(labels)
    rows, shape = np.arange(len(codes)), (len(codes), len(actions))
    wrong = ""
    if not 0.0 <= noise <= 0.5:
        wrong = f"noise must lie in [0, 0.5], but is {noise}."
    elif logging.shape != shape:
        wrong = f"logging must have shape {shape}, one column per label, not {logging.shape}."
    if wrong:
        raise UsageError(wrong)
    expected = np.full(shape, noise)
    expected[rows, codes] = 1.0 - noise
    action = draw(logging, rng.random(len(codes)))
    reward = (rng.random(len(codes)) < expected[rows, action]).astype(np.float64)
    return BanditFeedback(np.asarray(features), actions, action, reward, logging, expected)
