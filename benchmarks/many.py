"""How long do fifty problems take at once, and what do they guarantee? Five temperatures, ten splits, one call.

The protocol of ``surelift reproduce opl``, with the paper's 100 passes and batches of 128 (10 passes for a softmax). For
comparison, one problem trained with plain PyTorch steps on the same device, timed over some hundred steps:
python benchmarks/many.py [device] [data sets, with commas] [learners, with semicolons] [passes] [number of splits]
"""

import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from surelift.learning.data.dataset import Dataset, Examples
from surelift.learning.data.survey import survey
from surelift.learning.objectives.objective import sums_of
from surelift.learning.objectives.options import ObjectiveOptions
from surelift.learning.policies.modules import LinearGaussian
from surelift.learning.training.processes import in_threads
from surelift.reproduce import opl

LEARNERS = {"LS-LIN": 100, "improvement, reward model": 100, "linear, held out": 10, "network, held out": 10}
"""With the number of passes."""


def at_once(
    tasks: Sequence[opl.LearningTask], options: dict[str, Any], device: str, passes: int
) -> tuple[float, float, Any]:
    """Total seconds, seconds of the passes, and guaranteed and true relative improvements."""
    ends: list[float] = []
    start = time.perf_counter()
    (learners,) = opl.learned(
        tasks, [options], passes=passes, device=device, progress=lambda *_: ends.append(time.perf_counter())
    )
    seconds = time.perf_counter() - start
    between = (ends[-1] - ends[0]) * passes / max(1, passes - 1)
    pairs = in_threads(lambda pair: pair[0].improvements(pair[1]), [*zip(tasks, learners, strict=True)])
    return seconds, between, np.array(pairs)


def plain_step(task: opl.LearningTask, options: dict[str, Any], device: str, steps: int = 300) -> float:
    """Seconds a step of one problem, as one would write it down in PyTorch."""
    surveyed = survey(task.logs, intercept=False)
    dataset = Dataset(task.logs, surveyed.layout, surveyed.actions, options.get("control"))
    examples, rounds = Examples.concatenate(list(dataset)).tensors(device), dataset.rounds
    if "policy" in options:
        policy, loss_of = softmax(options["policy"], examples.features.shape[1], surveyed.actions)
    else:
        objective = ObjectiveOptions(**options).build(dataset)
        policy = LinearGaussian(torch.from_numpy(task.prior))

        def loss_of(batch: Examples) -> Any:
            every = objective.every_action
            p = policy.every(batch.features) if every else policy.logged(batch.features, batch.action)
            sums = sums_of(objective.coefficients(batch), p, problems=1).double() * (rounds / opl.BATCH)
            return -objective.bound(sums, policy.divergence().double(), rounds=rounds, delta=0.05).sum()

    policy.to(device)
    optimizer = torch.optim.Adam(policy.parameters(), lr=opl.RATE)
    start = 0.0
    for step in range(steps + 20):
        if step == 20:
            torch.cuda.synchronize() if device == "cuda" else None
            start = time.perf_counter()
        loss = loss_of(examples.at(torch.randint(0, rounds, (opl.BATCH,), device=device)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize() if device == "cuda" else None
    return (time.perf_counter() - start) / steps


def softmax(kind: str, features: int, actions: int) -> tuple[torch.nn.Module, Callable[[Examples], Any]]:
    linear, relu = torch.nn.Linear, torch.nn.ReLU()
    network = torch.nn.Sequential(linear(features, 256), relu, linear(256, actions))
    module = linear(features, actions) if kind == "linear" else network

    def loss_of(batch: Examples) -> Any:
        p = torch.softmax(module(batch.features), 1).gather(1, batch.action[:, None])[:, 0]
        return -torch.log1p(0.005 * p / batch.propensity * batch.reward).mean()

    return module, loss_of


def main(
    device: str = "cuda" if torch.cuda.is_available() else "cpu", sets: str = "mnist,fashion-mnist",
    learners: str = ";".join(LEARNERS), passes: str = "", splits: str = "10",
) -> None:  # fmt: skip
    warnings.simplefilter("ignore")
    for name in sets.split(","):
        start = time.perf_counter()
        tasks = opl.problems(opl.load(name), range(int(splits)))
        print(f"{name}: {len(tasks)} problems made in {time.perf_counter() - start:.0f} s", flush=True)
        for learner in (name.strip() for name in learners.split(";")):
            options, times = opl.LEARNERS[learner], int(passes or LEARNERS.get(learner, 100))
            seconds, between, pairs = at_once(tasks, options, device, times)
            steps = -(-tasks[0].logs.count() // opl.BATCH) * times
            alone = plain_step(tasks[0], options, device)
            one_by_one = alone * steps * len(tasks)
            guaranteed, true = pairs.mean(axis=0)
            print(
                f"  {learner:28} {times} passes: {seconds:.1f} s in all, {between:.1f} s of passes; a plain step of one "
                f"{1e6 * alone:.0f} us, {one_by_one:.0f} s one by one: {one_by_one / seconds:.0f}x. Guaranteed "
                f"{guaranteed:.3f}, true {true:.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
