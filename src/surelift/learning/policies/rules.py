r"""Learned policies of every kind: their parameters, and the probabilities of all actions for many contexts.

A Gaussian rule draws a score for every action and takes the largest. With means s_a and a common standard deviation,
standardised to d = s / deviation,

.. math:: p_a = \int \phi(t - d_a) \prod_{b \ne a} \Phi(t - d_b)\,dt,

which the trapezoid rule integrates to many digits, since the integrand is smooth and vanishes on both sides: 200 nodes
within 9 of the largest d are exact to 1e-13, and 32 nodes are enough for training. Nothing is simulated.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from os import cpu_count
from typing import Any

import numpy as np
import numpy.typing as npt

from surelift.arrays import FloatArray, IntArray, as_numpy
from surelift.errors import UsageError
from surelift.kernels import quadrature
from surelift.kernels.quadrature import Quadrature

Single = npt.NDArray[np.float32]
TOLERANCE = 1e-12  # the largest error of a probability by ``EXACT``; certificates allow for it
TRAINING = Quadrature(-5.0, 7.0, 32, phases=8, farthest=14.0, least=-20.0, smallest=1e-10, single=True)
EXACT = Quadrature(-9.0, 9.0, 200, phases=64, farthest=23.0, least=-60.0, smallest=1e-60)
_ROUNDING, _SCORES_AT_ONCE = 2.0**-52, 1 << 20


def as_single(name: str, numbers: Any) -> Single:
    array = as_numpy(numbers, name)
    if array.dtype.kind not in "fiu":
        raise UsageError(f"{name} cannot be read as numbers: their type is {array.dtype}")
    return np.array(array, dtype=np.float32, order="C")


def argmax_probabilities(standardised: FloatArray, rule: Quadrature = EXACT) -> FloatArray:
    """The probability that each action has the largest score, (rows, actions).

    >>> argmax_probabilities(np.array([[1.0, 1.0], [3.0, 0.0]])).round(6).tolist()
    [[0.5, 0.5], [0.983053, 0.016947]]
    """
    out = quadrature.all_probabilities(standardised, rule)
    # In the far tail a Taylor step may fall below zero by 1e-88.
    return np.maximum(out, 0.0, out=out)


@dataclass(frozen=True, slots=True, eq=False)
class GaussianRule:
    """The weights of every action are independent N(means, deviation^2); the prior is N(prior, 1)."""

    means: Single  # (actions, features)
    deviation: Single  # (features,)
    prior: Single  # (actions, features)

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of actions and features, as in the rules below; empty where the arrays do not fit together."""
        shape = self.means.shape
        matches = self.prior.shape == shape and self.deviation.shape == shape[1:] and bool((self.deviation > 0.0).all())
        return shape if matches else ()

    def probabilities(self, features: Single) -> FloatArray:
        """The probability of every action, (rows, actions), exact to ``tolerance``."""
        double = features.astype(np.float64)
        variance = (double * double) @ (self.deviation.astype(np.float64) ** 2)
        spread = np.sqrt(np.where(variance > 0.0, variance, 1.0))
        return argmax_probabilities(_scores(double, self.means) / spread[:, None])

    def probabilities_on_device(self, features: Any) -> Any:
        """The same from a double tensor, computed by torch on its device."""
        import torch

        from surelift.learning.policies.modules import by_log_ndtr

        means, deviation = (torch.from_numpy(part).to(features) for part in (self.means, self.deviation))
        variance = (features * features) @ (deviation * deviation)
        spread = torch.sqrt(torch.where(variance > 0.0, variance, 1.0))
        return by_log_ndtr((features @ means.T) / spread[:, None], EXACT)

    @property
    def tolerance(self) -> float:
        """The largest error of a probability, from the quadrature and from rounding of the scores."""
        # |x m - x m'| / |x s| is at most |m - m'| / min s, and a product of n numbers is off by n units in the last place.
        means, least = self.means.astype(np.float64), float(self.deviation.min())
        largest = 2.0 * float(np.sqrt((means * means).sum(axis=1)).max()) / least
        return float(TOLERANCE + 2.0 * (self.means.shape[1] + 8) * _ROUNDING * largest)

    @property
    def divergence(self) -> float:
        """KL divergence from the prior, rounded up."""
        moved = self.means.astype(np.float64) - self.prior.astype(np.float64)
        logarithm = np.log(self.deviation.astype(np.float64))
        spread = np.expm1(2.0 * logarithm) - 2.0 * logarithm
        return 0.5 * float((moved * moved).sum() + len(self.means) * spread.sum()) * (1.0 + 1e-12)


@dataclass(frozen=True, slots=True, eq=False)
class ItemRule:
    """Probabilities proportional to exp(embedding . weights features)."""

    weights: Single  # (columns, features)
    embeddings: Single  # (items, columns)

    @property
    def shape(self) -> tuple[int, ...]:
        matches = self.weights.ndim == 2 and self.embeddings.shape[1:] == self.weights.shape[:1]
        single = self.weights.dtype == self.embeddings.dtype == np.float32
        return (len(self.embeddings), self.weights.shape[1]) if matches and single else ()

    def probabilities(self, features: Single) -> FloatArray:
        return _softmax(_scores(_scores(features, self.weights), self.embeddings))

    def logged(self, features: Single, action: IntArray) -> FloatArray:
        """The probability of one item per row, (rows,), a few rows at a time to bound the memory."""
        probability, query = np.empty(len(features)), _scores(features, self.weights)
        items = self.embeddings.astype(np.float64)
        size = max(1, _SCORES_AT_ONCE // len(items))

        def fill(start: int) -> None:
            rows = slice(start, start + size)
            shares = _softmax(_scores(query[rows], items))
            probability[rows] = shares[np.arange(len(shares)), action[rows]]

        with ThreadPoolExecutor(cpu_count()) as pool:
            list(pool.map(fill, range(0, len(features), size)))
        return probability


@dataclass(frozen=True, slots=True, eq=False)
class SoftmaxRule:
    """Probabilities proportional to exp(weights . features)."""

    weights: Single  # (actions, features)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.weights.shape

    def probabilities(self, features: Single) -> FloatArray:
        return _softmax(_scores(features, self.weights))


@dataclass(frozen=True, slots=True, eq=False)
class NetworkRule:
    """Probabilities proportional to exp(score), with scores of a network of one hidden layer of rectified units."""

    hidden: Single  # (units, features)
    hidden_constants: Single  # (1, units)
    weights: Single  # (actions, units)
    constants: Single  # (1, actions)

    @property
    def shape(self) -> tuple[int, ...]:
        units, actions = len(self.hidden), len(self.weights)
        shapes = (self.hidden_constants.shape, self.weights.shape, self.constants.shape)
        matches = self.hidden.ndim == 2 and shapes == ((1, units), (actions, units), (1, actions))
        return (actions, self.hidden.shape[1]) if matches else ()

    def probabilities(self, features: Single) -> FloatArray:
        units = np.maximum(_scores(features, self.hidden) + self.hidden_constants, 0.0)
        return _softmax(_scores(units, self.weights) + self.constants)


@dataclass(frozen=True, slots=True, eq=False)
class StagesRule:
    """Draws one of several rules at every decision, each with a probability proportional to its number of rounds."""

    stages: "tuple[SoftmaxRule | NetworkRule, ...]"
    rounds: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.stages or len(self.stages) != len(self.rounds) or min(self.rounds) < 1:
            raise ValueError("its stages must follow each other, each with a number of rounds")

    def probabilities(self, features: Single) -> FloatArray:
        shares = np.array(self.rounds) / sum(self.rounds)
        several = np.stack([stage.probabilities(features) for stage in self.stages])
        mixed: FloatArray = np.tensordot(shares, several, axes=1)
        return mixed


@dataclass(frozen=True, slots=True, eq=False)
class ModuleRule:
    """Probabilities proportional to exp(score), with the scores of a torch module."""

    module: Any

    def probabilities(self, features: Single) -> FloatArray:
        import torch

        device = next((parameter.device for parameter in self.module.parameters()), torch.device("cpu"))
        with torch.no_grad():
            scores = self.module(torch.from_numpy(np.ascontiguousarray(features)).to(device))
        return _softmax(np.array(scores.double().cpu().numpy()))


def _scores(rows: Any, weights: Any) -> FloatArray:
    scores: FloatArray = rows.astype(np.float64, copy=False) @ weights.astype(np.float64, copy=False).T
    return scores


def _softmax(scores: FloatArray) -> FloatArray:
    """The softmax in the memory of the scores, since there may be many items."""
    scores -= scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    return scores


Rule = GaussianRule | SoftmaxRule | NetworkRule | StagesRule | ModuleRule | ItemRule
KINDS: dict[str, type[Any]] = {
    "gaussian": GaussianRule, "softmax": SoftmaxRule, "network": NetworkRule, "stages": StagesRule,
    "module": ModuleRule, "items": ItemRule,
}  # fmt: skip


def kind_of(rule: Rule) -> str:
    return next(kind for kind, of in KINDS.items() if isinstance(rule, of))


def arrays_of(rule: Rule) -> dict[str, Any]:
    if isinstance(rule, ModuleRule):
        return {name: tensor.detach().cpu().contiguous().numpy() for name, tensor in rule.module.state_dict().items()}
    if isinstance(rule, StagesRule):
        stages = enumerate(rule.stages)
        named = {f"{k}.{kind_of(stage)}.{name}": array for k, stage in stages for name, array in arrays_of(stage).items()}
        return {"rounds": np.array(rule.rounds, dtype=np.int64), **named}
    return {field.name: getattr(rule, field.name) for field in fields(rule)}


def in_double(rule: Rule) -> Rule:
    """The same rule, with the linear weights in double precision that every decision would otherwise convert again."""
    if isinstance(rule, StagesRule):
        stages: Any = tuple(map(in_double, rule.stages))
        return replace(rule, stages=stages)
    if isinstance(rule, ModuleRule):
        return rule
    return replace(rule, **{name: array.astype(np.float64) for name, array in arrays_of(rule).items()})


def rule_from(kind: str, arrays: Mapping[str, Any], module: Any, shape: tuple[int, int]) -> Rule:
    """The policy of these arrays, checked against its number of actions and features."""
    if kind == "stages":
        parts: dict[tuple[int, str], dict[str, Any]] = {}
        for name in arrays.keys() - {"rounds"}:
            number, of_stage, part = name.split(".")
            parts.setdefault((int(number), of_stage), {})[part] = arrays[name]
        ordered = [(number, of in ("softmax", "network")) for number, of in sorted(parts)]
        in_order = ordered == [(number, True) for number in range(len(parts))]
        stages: Any = (rule_from(of, parts[number, of], None, shape) for number, of in sorted(parts) if in_order)
        return StagesRule(tuple(stages), tuple(arrays["rounds"].tolist()))
    if kind == "module":
        return ModuleRule(_loaded(module, arrays))
    rule: Any = KINDS[kind](**arrays)
    if rule.shape != shape or not all(np.isfinite(array).all() for array in arrays.values()):
        raise ValueError(f"its numbers must be finite, and fit {shape[0]} actions and {shape[1]} features")
    return rule  # type: ignore[no-any-return]


def _loaded(module: Any, arrays: Mapping[str, Any]) -> Any:
    if module is None:
        raise UsageError("this policy is a torch module; pass a module of the same architecture in module=.")
    import torch

    try:
        module.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})
    except RuntimeError as error:
        raise UsageError(f"the module in module= does not match the one that was saved: {error}") from error
    return module.eval()
