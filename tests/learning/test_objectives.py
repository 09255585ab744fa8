"""Every objective: the formula in plain loops, golden values, the gradient, and the property its bound rests on."""

import itertools
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from surelift import grids
from surelift.arrays import FloatArray
from surelift.grids import Grid
from surelift.learning.data.dataset import Examples
from surelift.learning.objectives.logarithmic_smoothing import (
    ControlledObjective,
    ImprovementObjective,
    MomentsObjective,
    ObjectivePart,
    ValueObjective,
    controlled_parts,
    plain_parts,
)
from surelift.learning.objectives.objective import Objective, PlainEstimate, sums_of
from surelift.learning.objectives.rivals import (
    ClippingObjective,
    ExponentialSmoothingObjective,
    ImplicitExplorationObjective,
)
from surelift.learning.tensors import logged

GOLDEN = json.loads((Path(__file__).parent.parent / "golden.json").read_text())
FEW = Grid("few", (0.05, 0.4, 2.0), (0.2, 0.5, 0.3))
LAMBDAS = (0.05, 0.4)
OBJECTIVES: dict[str, Objective] = {
    "ls-lin": ValueObjective(plain_parts(grids.single(0.2), offset=0.0)),
    "ls-lin, union": ValueObjective(plain_parts(FEW, offset=0.0), union=True),
    "ls-lin, mixture": ValueObjective(plain_parts(FEW, offset=0.0)),
    "ls-lin, control": ControlledObjective(
        plain_parts(FEW, offset=0.0, mass=0.5) + controlled_parts(FEW, paired=False), paired=False
    ),
    "improvement": ImprovementObjective(plain_parts(FEW, offset=1.0)),
    "improvement, control": ControlledObjective(
        plain_parts(FEW, offset=1.0, mass=0.5) + controlled_parts(FEW, paired=True), paired=True
    ),
    "improvement, model": ControlledObjective(
        plain_parts(FEW, offset=1.0, mass=0.5)
        + controlled_parts(FEW, paired=True, by_model=True, mass=0.25)
        + controlled_parts(FEW, paired=True, mass=0.25),
        paired=True,
    ),
    "moments": MomentsObjective(plain_parts(FEW, offset=0.0), order=2, clip=0.3),
    "implicit exploration": ImplicitExplorationObjective(LAMBDAS),
    "clipping": ClippingObjective(LAMBDAS, clip=0.3),
    "clipping with a baseline": ClippingObjective(LAMBDAS, clip=0.3, baseline=0.5),
    "exponential smoothing": ExponentialSmoothingObjective(LAMBDAS, alpha=0.7),
}
KL, DELTA = 3.0, 0.05


def some_examples(rounds: int = 40, actions: int = 4, seed: int = 0) -> tuple[Examples, FloatArray]:
    rng = np.random.default_rng(seed)
    logging, p = rng.dirichlet(np.ones(actions), rounds), rng.dirichlet(np.ones(actions), rounds)
    action = (rng.random(rounds)[:, None] > np.cumsum(logging, axis=1)[:, :-1]).sum(axis=1)
    propensity = logged(logging, action)
    return Examples(
        None, action, rng.random(rounds), propensity, logging, rng.random((rounds, actions)), np.zeros(rounds)
    ), p


def bound(objective: Objective, examples: Examples, p: Any, divergence: Any = KL) -> Any:
    shares = p if objective.every_action else p[np.arange(len(examples)), examples.action]
    divergence = np.float64(divergence) if isinstance(divergence, float) else divergence
    return objective.bound(sums_of(objective.coefficients(examples), shares), divergence, rounds=len(examples), delta=DELTA)


def written_out(objective: Any, examples: Examples, p: FloatArray) -> Any:
    """THEORY, section 6, with plain loops."""
    n, actions = p.shape
    r, q, a, pi0 = examples.reward, examples.propensity, examples.action, examples.logging
    pq = [(p[i, a[i]], float(r[i]), float(q[i])) for i in range(n)]

    def g(u: float) -> float:
        return (math.exp(u) - 1.0 - u) / u**2

    def root(sums: list[float], parts: tuple[ObjectivePart, ...]) -> float:
        def excess(v: float) -> float:
            logs = [
                math.log(part.prior) + s - n * math.log1p(part.smoothing * (v + part.offset))
                for s, part in zip(sums, parts, strict=True)
            ]
            return float(np.logaddexp.reduce(logs)) - KL - math.log(1.0 / DELTA)

        low = max(-1.0 / part.smoothing - part.offset for part in parts) + 1e-9
        high = 2.0
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if excess(middle) > 0 else (low, middle)
        return low

    if isinstance(objective, ImplicitExplorationObjective):
        return max(
            sum(pi * ri / (qi + lam / 2) for pi, ri, qi in pq) / n - (KL + math.log(2 / DELTA)) / (lam * n)
            for lam in LAMBDAS
        )
    if isinstance(objective, ClippingObjective | ExponentialSmoothingObjective):
        bounds = []
        for lam in LAMBDAS:
            terms = math.sqrt((KL + math.log(4 * math.sqrt(n) / (DELTA / 2))) / (2 * n))
            terms += (KL + math.log(2 / (DELTA / 2))) / (lam * n)
            if isinstance(objective, ExponentialSmoothingObjective):
                al = objective.alpha
                spread = (
                    sum(pi0[i, k] * p[i, k] / pi0[i, k] ** (2 * al) for i in range(n) for k in range(actions)) / n
                    + sum(pi * ri**2 / qi ** (2 * al) for pi, ri, qi in pq) / n
                )
                bounds.append(-(-sum(pi * ri / qi**al for pi, ri, qi in pq) / n + terms + lam / 2 * spread))
                continue
            tau, xi = objective.clip, -objective.baseline
            second = sum(pi0[i, k] * p[i, k] / max(pi0[i, k], tau) ** 2 for i in range(n) for k in range(actions)) / n
            risk = xi + sum((-ri - xi) * pi / max(qi, tau) for pi, ri, qi in pq) / n
            risk -= xi * sum(p[i, k] * (1 - pi0[i, k] / max(pi0[i, k], tau)) for i in range(n) for k in range(actions)) / n
            factor = max(xi**2, (1 + xi) ** 2) * lam * g(lam * ((1 + xi) / tau - xi))
            bounds.append(-(risk + terms + factor * second))
        return max(bounds)
    sums = []
    for part in objective.parts:
        total, lam, k = 0.0, part.smoothing, part.offset
        for i in range(n):
            for b in range(actions):
                own = b == a[i]
                if isinstance(objective, MomentsObjective):
                    y = lam * r[i] / max(q[i], objective.clip) * own
                    total += p[i, b] * sum((-1) ** (m + 1) * y**m / m for m in range(1, 2 * objective.order + 1))
                elif isinstance(objective, ValueObjective):
                    total += p[i, b] * math.log1p(lam * r[i] / q[i] * own)
                elif isinstance(objective, ImprovementObjective):
                    total += p[i, b] * math.log1p(lam * (1 - r[i] + r[i] / q[i] * own))
                else:
                    foreseen = part.share * (examples.predicted[i, b] if part.by_model else 1.0)
                    taken = min(foreseen, k * pi0[i, b])
                    phi = own * (r[i] - taken) / pi0[i, b] + taken - (r[i] if objective.paired else 0.0)
                    total += p[i, b] * math.log1p(lam * (phi + k))
        sums.append(total)
    if objective.union:
        return max(
            math.expm1((s + math.log(part.prior) - KL - math.log(1 / DELTA)) / n) / part.smoothing - part.offset
            for s, part in zip(sums, objective.parts, strict=True)
        )
    return root(sums, objective.parts)


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("seed", range(4))
def test_the_formula_in_plain_loops(name: str, seed: int) -> None:
    examples, p = some_examples(rounds=3 + 30 * seed, actions=2 + seed, seed=seed)
    expected = written_out(OBJECTIVES[name], examples, p)
    assert bound(OBJECTIVES[name], examples, p) == pytest.approx(expected, rel=1e-9, abs=1e-11)


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: golden["name"])
def test_golden_values(golden: dict[str, Any]) -> None:
    logging, first = np.array(golden["logging"]), np.array(golden["first"])
    action, expected = np.array(golden["action"]), golden["values"]
    examples = Examples(None, action, np.array(golden["reward"]), logged(logging, action), logging)
    anytime = grids.anytime()
    single = bound(ValueObjective(plain_parts(grids.single(0.2), offset=0.0)), examples, first)
    mixed = bound(ValueObjective(plain_parts(anytime, offset=0.0)), examples, first)
    improved = bound(ImprovementObjective(plain_parts(anytime, offset=1.0)), examples, first)
    bounds = {
        "pac-bayes ls-lin lower, first as pi_Q, KL 3, smoothing 0.2, unfloored": single,
        "pac-bayes mixture lower, anytime, KL 3": max(0.0, mixed),
        "pac-bayes improvement lower, anytime, KL 3, unfloored": improved,
    }
    for name, value in bounds.items():
        assert value == pytest.approx(expected[name], rel=1e-11, abs=1e-12)


def test_by_hand() -> None:
    # One round of reward 1 at propensity 1/2, probability 1, smoothing 1/2: log(1 + 1) meets KL + log(1/delta) = log 2.
    examples = Examples(None, np.array([0]), np.array([1.0]), np.array([0.5]), np.array([[0.5, 0.5]]))
    value = ValueObjective(plain_parts(grids.single(0.5), offset=0.0))
    sums = sums_of(value.coefficients(examples), np.array([1.0]))
    assert value.bound(sums, np.float64(0.0), rounds=1, delta=0.5) == pytest.approx(0.0, abs=1e-15)
    # IX: 1/(1/2 + 1/4) - log 2/(1/2).
    sums = sums_of(ImplicitExplorationObjective((0.5,)).coefficients(examples), np.array([1.0]))
    result = ImplicitExplorationObjective((0.5,)).bound(sums, np.float64(0.0), rounds=1, delta=0.5)
    assert result == pytest.approx(4.0 / 3.0 - 2.0 * math.log(2.0))
    # Improvement at smoothing 1: the logged action has 1 + (0 + 2) = 3, and 3/2 = 1 + (1 + 1/2) - 1 leaves -1/2.
    paired = ImprovementObjective(plain_parts(grids.single(1.0), offset=1.0))
    sums = sums_of(paired.coefficients(examples), np.array([1.0]))
    assert paired.bound(sums, np.float64(0.0), rounds=1, delta=0.5) == pytest.approx(3.0 / 2.0 - 2.0)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_torch_gives_the_same_value_and_the_gradient(name: str) -> None:
    objective = OBJECTIVES[name]
    examples, p = some_examples()
    tensors = Examples(*(None if part is None else torch.from_numpy(part) for part in examples.arrays()))
    shares, divergence = torch.from_numpy(p).requires_grad_(), torch.tensor(KL, dtype=torch.float64, requires_grad=True)
    result = bound(objective, tensors, shares, divergence)
    assert float(result.detach()) == pytest.approx(float(bound(objective, examples, p)), rel=1e-12)
    by_share, by_divergence = torch.autograd.grad(result, (shares, divergence))
    step = 1e-6
    ahead, behind = (bound(objective, examples, p, KL + sign * step) for sign in (1.0, -1.0))
    assert float(by_divergence) == pytest.approx((ahead - behind) / (2 * step), rel=1e-5)
    for i, b in [(0, int(examples.action[0])), (5, 1), (17, 2), (39, int(examples.action[39]))]:
        moved = np.zeros_like(p)
        moved[i, b] = step
        change = (bound(objective, examples, p + moved) - bound(objective, examples, p - moved)) / (2 * step)
        assert float(by_share[i, b]) == pytest.approx(change, rel=1e-4, abs=1e-9)


@given(st.integers(0, 10_000), st.floats(0.01, 3.0), st.floats(0.0, 20.0))
def test_no_rival_of_the_same_smoothing_is_tighter(seed: int, smoothing: float, divergence: float) -> None:
    """For every input: log(1 + y) >= its Taylor sums of even order, and >= 2y/(2 + y)."""
    examples, p = some_examples(rounds=12, actions=3, seed=seed)
    parts = plain_parts(grids.single(smoothing), offset=0.0)
    ours = bound(ValueObjective(parts), examples, p, divergence)
    rivals = (
        MomentsObjective(parts, order=1),
        MomentsObjective(parts, order=3, clip=0.2),
        ImplicitExplorationObjective((smoothing,)),
    )
    for rival in rivals:
        assert ours >= bound(rival, examples, p, divergence) - 1e-9


def wealth_of_rules(objective: Objective, parts: tuple[ObjectivePart, ...], worth: Callable[[int], float]) -> float:
    """The expected wealth of the mixture after one round, under a uniform prior on the rules "always action a"."""
    logging, high = np.array([[0.2, 0.5, 0.3]]), (0.9, 0.2, 0.5)
    predicted, total = np.array([[0.8, 0.1, 0.7]]), 0.0
    for action, reward in itertools.product(range(3), (0.25, 1.0)):
        chance = logging[0, action] * (high[action] if reward == 1.0 else 1.0 - high[action])
        examples = Examples(
            None, np.array([action]), np.array([reward]), logging[:, action], logging, predicted, np.zeros(1)
        )
        for rule in range(3):
            shares = np.eye(3)[[rule]]
            sums = sums_of(objective.coefficients(examples), shares if objective.every_action else shares[:, action])
            growth = [
                part.prior * math.exp(s) / (1.0 + part.rate * worth(rule))
                for s, part in zip(sums.tolist(), parts, strict=True)
            ]
            assert min(growth) >= 0.0
            total += chance / 3.0 * sum(growth)
    return total


@pytest.mark.parametrize("name", [name for name in OBJECTIVES if hasattr(OBJECTIVES[name], "parts")])
def test_every_factor_has_mean_one_and_is_never_negative(name: str) -> None:
    """The theorem rests on this; it is exact for rules "always action a". Taylor sums may only fall short."""
    objective: Any = OBJECTIVES[name]
    mean = [0.25 + 0.75 * high for high in (0.9, 0.2, 0.5)]
    production = 0.2 * mean[0] + 0.5 * mean[1] + 0.3 * mean[2]
    shift = production if objective.paired else 0.0
    wealth = wealth_of_rules(objective, objective.parts, lambda rule: mean[rule] - shift)
    if name == "moments":
        assert wealth <= 1.0
    else:
        assert wealth == pytest.approx(1.0, abs=1e-12)


def whole_estimate(estimate: PlainEstimate, examples: Examples, shares: Any) -> Any:
    return estimate.bound(estimate.terms(examples, shares).sum(0), 0.0, rounds=len(examples), delta=DELTA)


def test_plain_estimates_by_hand_and_in_torch() -> None:
    examples = Examples(
        None, np.array([0, 1]), np.array([1.0, 0.5]), np.array([0.5, 0.25]), None, np.array([[0.5, 0.1], [0.2, 0.4]])
    )
    p, every = np.array([0.25, 0.5]), np.array([[0.25, 0.75], [0.5, 0.5]])
    # Weights 1/2 and 2: terms 1/2 and 1.
    expected = {
        "ips": 0.75, "snips": 1.5 / 2.5, "logarithmic-smoothing": (math.log(1.25) + math.log(1.5)) / 2 / 0.5,
        "doubly-robust": ((0.25 * 0.5 + 0.75 * 0.1 + 0.5 * 0.5) + (0.5 * 0.2 + 0.5 * 0.4 + 2 * 0.1)) / 2,
    }  # fmt: skip
    tensors = Examples(*(None if part is None else torch.from_numpy(part) for part in examples.arrays()))
    for kind, value in expected.items():
        estimate = PlainEstimate(kind, 0.5)  # type: ignore[arg-type]
        shares = every if kind == "doubly-robust" else p
        assert whole_estimate(estimate, examples, shares) == pytest.approx(value)
        tensor = torch.from_numpy(shares).requires_grad_()
        result = whole_estimate(estimate, tensors, tensor)
        assert float(result.detach()) == pytest.approx(value)
        (gradient,) = torch.autograd.grad(result, tensor)
        moved = np.zeros_like(shares)
        moved.flat[0] = 1e-6
        change = (
            whole_estimate(estimate, examples, shares + moved) - whole_estimate(estimate, examples, shares - moved)
        ) / 2e-6
        assert float(gradient.flatten()[0]) == pytest.approx(change, rel=1e-5)
