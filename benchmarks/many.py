"""How long do fifty problems take at once, and what do they guarantee? Five temperatures, ten splits, one call.

The protocol of ``surelift reproduce opl``, with the paper's 100 passes and batches of 128. For comparison, one problem
trained with plain PyTorch steps on the same device, timed over some hundred steps:
python benchmarks/many.py [device] [passes] [data sets, with commas] [objectives, with semicolons] [number of splits]
"""

import sys
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from surelift.learning.data.dataset import Dataset, Examples
from surelift.learning.data.survey import survey
from surelift.learning.objectives.objective import sums_of
from surelift.learning.objectives.options import ObjectiveOptions
from surelift.learning.policies.modules import LinearGaussian
from surelift.reproduce import opl


def at_once(
    tasks: Sequence[opl.LearningTask], options: dict[str, Any], device: str, passes: int
) -> tuple[float, float, Any]:
    """Total seconds, seconds of the passes, and guaranteed and true relative improvements."""
    ends: list[float] = []
    start = time.perf_counter()
    learners = opl.learned(
        tasks, options, passes=passes, device=device, progress=lambda *_: ends.append(time.perf_counter())
    )
    seconds = time.perf_counter() - start
    between = (ends[-1] - ends[0]) * passes / max(1, passes - 1)
    pairs = [task.improvements(learner) for task, learner in zip(tasks, learners, strict=True)]
    return seconds, between, np.array(pairs)


def plain_step(task: opl.LearningTask, options: dict[str, Any], device: str, steps: int = 300) -> float:
    """Seconds a step of one problem, as one would write it down in PyTorch."""
    surveyed = survey(task.logs, intercept=False)
    chosen = ObjectiveOptions(**options)
    dataset = Dataset(task.logs, surveyed.layout, surveyed.actions, chosen.model)
    objective = chosen.build(dataset)
    examples, rounds = Examples.concatenate(list(dataset)).tensors(device), dataset.rounds
    policy = LinearGaussian(torch.from_numpy(task.prior)).to(device)
    optimizer = torch.optim.Adam(policy.parameters(), lr=opl.RATE)
    start = 0.0
    for step in range(steps + 20):
        if step == 20:
            torch.cuda.synchronize() if device == "cuda" else None
            start = time.perf_counter()
        batch = examples.at(torch.randint(0, rounds, (opl.BATCH,), device=device))
        p = policy.every(batch.features) if objective.every_action else policy.logged(batch.features, batch.action)
        sums = sums_of(objective.coefficients(batch), p, problems=1).double() * (rounds / opl.BATCH)
        loss = -objective.bound(sums, policy.divergence().double(), rounds=rounds, delta=0.05).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize() if device == "cuda" else None
    return (time.perf_counter() - start) / steps


def main(
    device: str = "cuda" if torch.cuda.is_available() else "cpu", passes: str = "100", sets: str = "mnist,fashion-mnist",
    objectives: str = "LS-LIN;improvement, weight control;improvement, reward model", splits: str = "10",
) -> None:  # fmt: skip
    warnings.simplefilter("ignore")
    for name in sets.split(","):
        start = time.perf_counter()
        tasks = opl.problems(opl.load(name), range(int(splits)))
        print(f"{name}: {len(tasks)} problems made in {time.perf_counter() - start:.0f} s", flush=True)
        for objective in (name.strip() for name in objectives.split(";")):
            seconds, between, pairs = at_once(tasks, opl.OBJECTIVES[objective], device, int(passes))
            steps = -(-tasks[0].logs.count() // opl.BATCH) * int(passes)
            alone = plain_step(tasks[0], opl.OBJECTIVES[objective], device)
            one_by_one = alone * steps * len(tasks)
            guaranteed, true = pairs.mean(axis=0)
            print(
                f"  {objective:28} {seconds:.1f} s in all, {between:.1f} s of passes ({1e6 * between / steps:.0f} us a "
                f"step of all); a plain step of one {1e6 * alone:.0f} us, {one_by_one:.0f} s one by one: "
                f"{one_by_one / seconds:.0f}x. Guaranteed {guaranteed:.3f}, true {true:.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
