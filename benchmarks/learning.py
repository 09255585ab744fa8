"""How much improvement does each objective guarantee and achieve on MNIST and FashionMNIST? How fast is its forward pass?

The protocol of ``surelift reproduce opl``, with ten passes. First, the Gaussian policy forward and backward, compared with
plain Monte Carlo in torch:
python benchmarks/learning.py [data sets, with commas] [objectives, with semicolons] [seeds of the split, with commas]
"""

import statistics
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from surelift.learning.policies import modules
from surelift.reproduce import opl

OBJECTIVES: dict[str, dict[str, Any]] = {
    **opl.LEARNERS,
    "linear, two stages": {"policy": "linear", "progressive": 2},
    "linear, four stages": {"policy": "linear", "progressive": 4},
    "LS-LIN, mixture": {"objective": "value", "control": "none"},
    "LS-LIN, weight control": {"objective": "value"},
    "moments, L=1": {"objective": "moments"},
}


def improvements(name: str, asked: list[str], seeds: list[int]) -> None:
    results: dict[str, list[tuple[float, float]]] = {objective: [] for objective in asked}
    for seed in seeds:
        learn_all(name, asked, seed, results)
    print(f"{name}: guaranteed and true relative improvement, mean over temperatures and {len(seeds)} split(s)")
    for objective, pairs in results.items():
        guaranteed, true = np.mean(pairs, axis=0)
        print(f"  {objective:28} {guaranteed:.3f}  {true:.3f}", flush=True)


def learn_all(name: str, asked: list[str], seed: int, results: dict[str, list[tuple[float, float]]]) -> None:
    for problem in opl.problems(opl.load(name), [seed]):
        for objective in asked:
            start = time.perf_counter()
            ((learner,),) = opl.learned([problem], [OBJECTIVES[objective]], passes=10, device="cpu")
            guaranteed, true = problem.improvements(learner)
            results[objective].append((guaranteed, true))
            print(
                f"  {name}, split {seed}, temperature {problem.temperature}, {objective}: guaranteed {guaranteed:.3f}, "
                f"true {true:.3f} ({time.perf_counter() - start:.0f} s)",
                flush=True,
            )


def monte_carlo(scores: torch.Tensor, action: torch.Tensor, draws: int = 32) -> torch.Tensor:
    """Fresh draws for every row, and the product of Phi over the other actions, as in the paper."""
    gap = scores.gather(1, action[:, None]) - scores
    others = gap[torch.nn.functional.one_hot(action, scores.shape[1]) == 0].view(len(action), -1, 1)
    phi = torch.distributions.Normal(0.0, 1.0).cdf(others + torch.randn(len(action), 1, draws))  # type: ignore[no-untyped-call]
    return torch.as_tensor(phi.prod(1).mean(-1))


def against_monte_carlo() -> None:
    print("Gaussian policy, forward and backward, one thread, 512 rows: compared with Monte Carlo with 32 draws")
    torch.set_num_threads(1)
    for actions in (10, 47, 81):
        scores = torch.randn(512, actions, requires_grad=True)
        action = torch.randint(0, actions, (512,))
        variants: dict[str, Callable[[], Any]] = {
            "ours": lambda: modules.logged_probability(scores, action),
            "Monte-Carlo": lambda: monte_carlo(scores, action),
        }
        times: dict[str, list[float]] = {variant: [] for variant in variants}
        for _ in range(41):
            for variant, forward in variants.items():
                start = time.process_time()
                forward().sum().backward()
                times[variant].append(time.process_time() - start)
        ours, theirs = (statistics.median(times[variant]) for variant in variants)
        print(f"  {actions:3} actions: {1e6 * ours / 512:.2f} us per row, {theirs / ours:.1f}x", flush=True)


def main(sets: str = "mnist,fashion-mnist", objectives: str = "", seeds: str = "0,1,2") -> None:
    warnings.simplefilter("ignore")
    against_monte_carlo()
    asked = [name.strip() for name in objectives.split(";")] if objectives else list(OBJECTIVES)
    for name in sets.split(","):
        improvements(name, asked, [int(seed) for seed in seeds.split(",")])


if __name__ == "__main__":
    main(*sys.argv[1:])
