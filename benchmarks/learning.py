"""How much improvement does each objective guarantee, and bring, on MNIST and FashionMNIST? How fast are its probabilities?

The paper's protocol: a logging policy fitted on 5% of the images, tempered by five factors; each objective learns a random
linear rule from the other 95%, from the tempered weights as prior. Improvements are relative to the best possible one: the
guaranteed ones over production on the images that were logged, of which the guarantee speaks; the true ones on the test
images. Before, the Gaussian policy forward and backward, against plain Monte-Carlo in torch:
python benchmarks/learning.py [data sets, with commas] [objectives, with semicolons] [seeds of the split, with commas]
"""

import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import surelift as sl
from surelift.learning import gaussian_torch

TEMPERATURES = (0.1, 0.3, 0.5, 0.7, 1.0)
OBJECTIVES: dict[str, dict[str, Any]] = {
    "LS-LIN": {"objective": "ls-lin"},
    "LS-LIN, mixture": {"objective": "value", "control": "none"},
    "LS-LIN, weight control": {"objective": "value"},
    "improvement": {"objective": "improvement", "control": "none"},
    "improvement, weight control": {"objective": "improvement"},
    "improvement, reward model": {"objective": "improvement", "control": sl.models.refitted("linear")},
    "IX": {"objective": "implicit-exploration"},
    "cIPS": {"objective": "clipping"},
    "cvcIPS": {"objective": "clipping-with-baseline"},
    "ES": {"objective": "exponential-smoothing"},
    "moments, L=1": {"objective": "moments"},
}
Images = tuple[np.ndarray, np.ndarray]


def load(name: str) -> tuple[Images, Images]:
    """Images scaled to length 1, and their labels: for training, and for the truth."""
    data = np.load(Path(os.environ["SURELIFT_DATA"]) / f"{name}.npz")

    def unit(images: np.ndarray) -> np.ndarray:
        rows = images.astype(np.float32)
        found: np.ndarray = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return found

    return (unit(data["x_train"]), data["y_train"].astype(np.int64)), (
        unit(data["x_test"]),
        data["y_test"].astype(np.int64),
    )


def logging_weights(images: np.ndarray, labels: np.ndarray, seed: int) -> np.ndarray:
    """Of a linear softmax: Adam 0.1, L2 1e-4, 10 epochs."""
    torch.manual_seed(seed)
    layer = torch.nn.Linear(images.shape[1], int(labels.max()) + 1, bias=False)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.1, weight_decay=1e-4)
    x, y = torch.from_numpy(images), torch.from_numpy(labels)
    for _ in range(10):
        for rows in torch.randperm(len(x)).split(128):  # type: ignore[no-untyped-call]
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(layer(x[rows]), y[rows]).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    found: np.ndarray = layer.weight.detach().numpy()
    return found


def softmax(scores: np.ndarray) -> np.ndarray:
    exponentials = np.exp(scores.astype(np.float64) - scores.max(axis=1, keepdims=True))
    shares: np.ndarray = exponentials / exponentials.sum(axis=1, keepdims=True)
    return shares


def improvements(name: str, asked: list[str], seeds: list[int]) -> None:
    found: dict[str, list[tuple[float, float]]] = {objective: [] for objective in asked}
    for seed in seeds:
        learn_all(name, asked, seed, found)
    print(f"{name}: guaranteed and true relative improvement, mean over temperatures and {len(seeds)} split(s)")
    for objective, pairs in found.items():
        guaranteed, true = np.mean(pairs, axis=0)
        print(f"  {objective:28} {guaranteed:.3f}  {true:.3f}", flush=True)


def learn_all(name: str, asked: list[str], seed: int, found: dict[str, list[tuple[float, float]]]) -> None:
    (images, labels), (test, truth) = load(name)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(images))
    few, many = np.split(order, [len(order) // 20])
    weights = logging_weights(images[few], labels[few], seed)
    contexts, right, rows = images[many], labels[many], np.arange(len(truth))
    for temperature in TEMPERATURES:
        logging = softmax(temperature * contexts @ weights.T)
        action = (rng.random(len(logging))[:, None] >= np.cumsum(logging, axis=1)[:, :-1]).sum(axis=1)
        value = float(logging[np.arange(len(right)), right].mean())
        test_value = float(softmax(temperature * test @ weights.T)[rows, truth].mean())
        columns = {
            "reward": (action == right).astype(float), "propensity": logging[np.arange(len(action)), action],
            "logging": logging, "action": action, "x": contexts, "t": np.arange(len(action)),
        }  # fmt: skip
        logs = sl.Logs(
            columns,
            contexts=["x"],
            action="action",
            reward="reward",
            propensity="propensity",
            logging="logging",
            time="t",
        )
        for objective in asked:
            start = time.perf_counter()
            learner = sl.PolicyLearner(
                **OBJECTIVES[objective], prior=temperature * weights, intercept=False, epochs=10, batch_size=128,
                learning_rate=1e-3, patience=None,
            )  # fmt: skip
            learner.fit(logs)
            answer: Any = learner.answer_
            lower = answer.lower - (value if answer.about == "value" else 0.0)
            guaranteed = lower / (1.0 - value)
            true = (float(learner.predict_proba({"x": list(test)})[rows, truth].mean()) - test_value) / (
                1.0 - test_value
            )
            found[objective].append((guaranteed, true))
            print(
                f"  {name}, split {seed}, temperature {temperature}, {objective}: guaranteed {guaranteed:.3f}, "
                f"true {true:.3f} ({time.perf_counter() - start:.0f} s)",
                flush=True,
            )


def monte_carlo(scores: torch.Tensor, action: torch.Tensor, draws: int = 32) -> torch.Tensor:
    """Fresh draws for every row, the product of Phi over the other actions, as the paper computes it."""
    gap = scores.gather(1, action[:, None]) - scores
    others = gap[torch.nn.functional.one_hot(action, scores.shape[1]) == 0].view(len(action), -1, 1)
    phi = torch.distributions.Normal(0.0, 1.0).cdf(others + torch.randn(len(action), 1, draws))  # type: ignore[no-untyped-call]
    return torch.as_tensor(phi.prod(1).mean(-1))


def against_monte_carlo() -> None:
    print("Gaussian policy, forward and backward, one thread, 512 rows: against Monte-Carlo with 32 draws")
    torch.set_num_threads(1)
    for actions in (10, 47, 81):
        scores = torch.randn(512, actions, requires_grad=True)
        action = torch.randint(0, actions, (512,))
        ways: dict[str, Callable[[], Any]] = {
            "ours": lambda: gaussian_torch.logged_probability(scores, action),
            "Monte-Carlo": lambda: monte_carlo(scores, action),
        }
        times: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(41):
            for way, forward in ways.items():
                start = time.process_time()
                forward().sum().backward()
                times[way].append(time.process_time() - start)
        ours, theirs = (statistics.median(times[way]) for way in ways)
        print(f"  {actions:3} actions: {1e6 * ours / 512:.2f} us a row, {theirs / ours:.1f}x", flush=True)


def main(sets: str = "mnist,fashion-mnist", objectives: str = "", seeds: str = "0,1,2") -> None:
    warnings.simplefilter("ignore")
    against_monte_carlo()
    asked = [one.strip() for one in objectives.split(";")] if objectives else list(OBJECTIVES)
    for name in sets.split(","):
        improvements(name, asked, [int(seed) for seed in seeds.split(",")])


if __name__ == "__main__":
    main(*sys.argv[1:])
