"""How long do fifty problems take at once, and what do they guarantee? Five temperatures, ten splits, one call.

The protocol is that of benchmarks/learning.py, at the paper's 100 passes and batches of 128. Beside it, one problem trained
with plain PyTorch steps on the same device, timed over some hundred steps:
python -m benchmarks.many [device] [passes] [data sets, with commas] [objectives, with semicolons] [number of splits]
"""

import sys
import time
import warnings
from typing import Any

import numpy as np
import torch
from benchmarks.learning import OBJECTIVES, TEMPERATURES, load, logging_weights, softmax

import surelift as sl
from surelift.learning import fit_many
from surelift.learning.options import Choice
from surelift.learning.policies import LinearGaussian

BATCH, RATE = 128, 1e-3


def problems(name: str, splits: int) -> list[dict[str, Any]]:
    """One for every split and temperature: its log, its prior, and what is needed for the truth."""
    (images, labels), (test, truth) = load(name)
    found: list[dict[str, Any]] = []
    for seed in range(splits):
        rng = np.random.default_rng(seed)
        few, many = np.split(rng.permutation(len(images)), [len(images) // 20])
        weights = logging_weights(images[few], labels[few], seed)
        contexts, right = images[many], labels[many]
        for temperature in TEMPERATURES:
            logging = softmax(temperature * contexts @ weights.T)
            action = (rng.random(len(logging))[:, None] >= np.cumsum(logging, axis=1)[:, :-1]).sum(axis=1)
            rows = np.arange(len(action))
            columns = {
                "x": contexts, "action": action, "reward": (action == right).astype(float), "logging": logging,
                "propensity": logging[rows, action], "t": np.arange(len(action)),
            }  # fmt: skip
            logs = sl.Logs(
                columns, contexts=["x"], action="action", reward="reward", propensity="propensity", logging="logging",
                time="t",
            )  # fmt: skip
            on_test = softmax(temperature * test @ weights.T)[np.arange(len(truth)), truth]
            found.append({
                "logs": logs, "prior": temperature * weights, "seed": seed, "value": float(logging[rows, right].mean()),
                "test": test, "truth": truth, "test value": float(on_test.mean()), "contexts": contexts, "action": action,
                "reward": action == right, "logging": logging,
            })  # fmt: skip
    return found


def at_once(given: list[dict[str, Any]], options: dict[str, Any], device: str, passes: int) -> tuple[float, float, Any]:
    """Seconds in all, seconds of the passes, and guaranteed and true relative improvements."""
    learners = [
        sl.PolicyLearner(
            **options, prior=one["prior"], intercept=False, epochs=passes, batch_size=BATCH, learning_rate=RATE,
            patience=None, device=device, seed=one["seed"],
        )
        for one in given
    ]  # fmt: skip
    ends: list[float] = []
    start = time.perf_counter()
    fit_many(learners, [one["logs"] for one in given], progress=lambda *_: ends.append(time.perf_counter()))
    seconds = time.perf_counter() - start
    between = (ends[-1] - ends[0]) * passes / max(1, passes - 1)
    pairs = []
    for learner, one in zip(learners, given, strict=True):
        answer: Any = learner.answer_
        lower = answer.lower - (one["value"] if answer.about == "value" else 0.0)
        rows = np.arange(len(one["truth"]))
        true = float(learner.policy_.predict_proba({"x": list(one["test"])})[rows, one["truth"]].mean())
        pairs.append((lower / (1.0 - one["value"]), (true - one["test value"]) / (1.0 - one["test value"])))
    return seconds, between, np.array(pairs)


def plain_step(one: dict[str, Any], options: dict[str, Any], device: str, steps: int = 300) -> float:
    """Seconds a step of one problem, as one would write it down in PyTorch."""
    from surelift.learning.examples import Examples
    from surelift.learning.objective import sums_of

    rounds = len(one["action"])
    objective = Choice(**options).build(rounds=rounds, actions=10, distributions=True)
    numbers = (
        one["contexts"], one["action"], one["reward"].astype(float), one["logging"][np.arange(rounds), one["action"]],
        one["logging"], one["logging"], np.zeros(rounds),
    )  # fmt: skip
    examples = Examples(*numbers).tensors(device)
    policy = LinearGaussian(torch.from_numpy(one["prior"])).to(device)
    optimizer = torch.optim.Adam(policy.parameters(), lr=RATE)
    start = 0.0
    for step in range(steps + 20):
        if step == 20:
            torch.cuda.synchronize() if device == "cuda" else None
            start = time.perf_counter()
        batch = examples.at(torch.randint(0, rounds, (BATCH,), device=device))
        p = policy.every(batch.features) if objective.every_action else policy.logged(batch.features, batch.action)
        sums = sums_of(objective.coefficients(batch), p, problems=1).double() * (rounds / BATCH)
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
        given = problems(name, int(splits))
        print(f"{name}: {len(given)} problems made in {time.perf_counter() - start:.0f} s", flush=True)
        for objective in (one.strip() for one in objectives.split(";")):
            seconds, between, pairs = at_once(given, OBJECTIVES[objective], device, int(passes))
            steps = -(-len(given[0]["action"]) // BATCH) * int(passes)
            alone = plain_step(given[0], OBJECTIVES[objective], device)
            one_by_one = alone * steps * len(given)
            guaranteed, true = pairs.mean(axis=0)
            print(
                f"  {objective:28} {seconds:.1f} s in all, {between:.1f} s of passes ({1e6 * between / steps:.0f} us a step "
                f"of all); a plain step of one {1e6 * alone:.0f} us, {one_by_one:.0f} s one by one: "
                f"{one_by_one / seconds:.0f}x. Guaranteed {guaranteed:.3f}, true {true:.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
