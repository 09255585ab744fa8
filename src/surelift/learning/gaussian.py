r"""The probabilities of a Gaussian argmax: draw a score for every action, take the largest.

With scores of means s_a and one standard deviation, standardised to d = s / deviation,

.. math:: p_a = \int \phi(t - d_a) \prod_{b \ne a} \Phi(t - d_b)\,dt,

which the trapezoid rule gives to many digits, since the integrand is smooth and dies out on both sides: 200 nodes from 9
below to 9 above the largest d are exact to 1e-13, and 32 nodes serve for training. No simulation is involved.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_ndtr

from surelift.arrays import FloatArray, IntArray
from surelift.learning import gaussian_kernel

TOLERANCE = 1e-12
"""How far a probability by ``EXACT`` may be from the integral; a certificate takes it off."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Evenly spaced nodes around the largest score, and a table of log Phi at phases between them."""

    first: float
    last: float
    nodes: int
    phases: int
    farthest: float
    """An action this far below the best neither wins nor stands in the way, to the precision of the rule."""
    real: Any
    """The type of number it is computed in."""
    least: float
    """Densities whose logarithm is below this count for nothing."""
    smallest: float
    """Entries of the table below this are 0: products of what is left stay normal numbers."""

    @property
    def step(self) -> float:
        return (self.last - self.first) / (self.nodes - 1)


class Layout(NamedTuple):
    """What the compiled loops are told of a rule."""

    nodes: int
    entries: int
    phases: int
    first: float
    step: float
    farthest: float
    least: float


@cache
def _laid_out(rule: Rule) -> tuple[FloatArray, Layout]:
    """A table with log Phi, and the coefficients of a step of fourth order from there, one after the other by phase."""
    entries = rule.nodes + math.ceil(rule.farthest / rule.step) + 2
    layout = Layout(rule.nodes, entries, rule.phases, rule.first, rule.step, rule.farthest, rule.least)
    z = rule.first + (np.arange(entries)[None, :] + np.arange(rule.phases)[:, None] / rule.phases) * rule.step
    f = log_ndtr(z)
    ratio = np.exp(-0.5 * z * z - f) / math.sqrt(2.0 * math.pi)
    second = -ratio * (z + ratio)
    third = -second * (z + ratio) - ratio * (1.0 + second)
    fourth = -third * (z + 2.0 * ratio) - 2.0 * second * (1.0 + second)
    table = np.concatenate([f, ratio, second / 2.0, third / 6.0, fourth / 24.0], axis=1).ravel()
    table[np.abs(table) < rule.smallest] = 0.0
    return table.astype(rule.real), layout


TRAINING = Rule(-5.0, 7.0, 32, phases=8, farthest=14.0, real=np.float32, least=-20.0, smallest=1e-10)
EXACT = Rule(-9.0, 9.0, 200, phases=64, farthest=23.0, real=np.float64, least=-60.0, smallest=1e-60)


def argmax_probabilities(standardised: FloatArray, rule: Rule = EXACT) -> FloatArray:
    """How likely each action has the largest score, (rows, actions).

    >>> argmax_probabilities(np.array([[1.0, 1.0], [3.0, 0.0]])).round(6).tolist()
    [[0.5, 0.5], [0.983053, 0.016947]]
    """
    out = np.empty(standardised.shape, rule.real)
    gaussian_kernel.all_probabilities(np.ascontiguousarray(standardised), *_laid_out(rule), out)
    # A step in the far tail may come out below zero by 1e-88.
    return np.maximum(out, 0.0, out=out)


def slopes(standardised: FloatArray, worth: FloatArray, rule: Rule = TRAINING) -> FloatArray:
    """The gradient of sum_a worth_a p_a in the standardised scores, (rows, actions)."""
    out = np.empty(standardised.shape, rule.real)
    scores, worth = np.ascontiguousarray(standardised), np.ascontiguousarray(worth)
    gaussian_kernel.all_slopes(scores, worth, *_laid_out(rule), out)
    return out


def logged_probability(
    standardised: FloatArray, action: IntArray, rule: Rule = TRAINING
) -> tuple[FloatArray, FloatArray]:
    """The probability of one action a row, and its gradient in the standardised scores."""
    probability, gradient = np.empty(len(standardised), rule.real), np.empty(standardised.shape, rule.real)
    scores = np.ascontiguousarray(standardised)
    table, layout = _laid_out(rule)
    gaussian_kernel.logged_probability(scores, np.ascontiguousarray(action), table, layout, probability, gradient)
    return probability, gradient
