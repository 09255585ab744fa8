"""Learning: how much improvement each objective guarantees and achieves, on images (Table 2 and the two figures).

A logging policy is fitted on 5% of the images and tempered by five factors. From the other 95%, each objective learns a
random linear rule, with the tempered weights as prior; the last learners are judged on held-out rounds instead.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from surelift.arrays import FloatArray, IntArray
from surelift.controls import models
from surelift.datasets.draws import draw, softmax
from surelift.errors import UsageError, install_extra
from surelift.reproduce import figures
from surelift.reproduce.data import TABLE_2, readable, required_file
from surelift.reproduce.folder import Folder, ReproducedTable, Tell
from surelift.traits.logs import Logs

SETS = ("mnist", "fashion-mnist")
TEMPERATURES = (0.1, 0.3, 0.5, 0.7, 1.0)
OBJECTIVES: dict[str, dict[str, Any]] = {
    "cIPS": {"objective": "clipping"},
    "cvcIPS": {"objective": "clipping-with-baseline"},
    "ES": {"objective": "exponential-smoothing"},
    "IX": {"objective": "implicit-exploration"},
    "LS-LIN": {"objective": "ls-lin"},
    "improvement": {"objective": "improvement", "control": "none"},
    "improvement, weight control": {"objective": "improvement"},
    "improvement, reward model": {"objective": "improvement", "control": models.refitted("linear")},
}
LEARNERS = OBJECTIVES | {
    "linear, held out": {"policy": "linear"},
    "network, held out": {"policy": "network"},
    "linear, held out, blocks": {"policy": "linear", "method": "blocks"},
    "network, held out, blocks": {"policy": "network", "method": "blocks"},
}
BATCH, RATE = 128, 1e-3


class Images(NamedTuple):
    """Images scaled to length 1, and their labels: for logs, and for the true values."""

    train: Any  # (images, pixels), float32
    labels: IntArray
    test: Any
    truth: IntArray


def load(name: str, *, most: int | None = None) -> Images:
    """The first ``most`` images, or all."""
    path = required_file(f"{name}.npz")
    with readable(path):
        data = dict(np.load(path))

    def unit(images: Any) -> Any:
        rows = images.astype(np.float32)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)

    labels, truth = (data[part].astype(np.int64) for part in ("y_train", "y_test"))
    return Images(unit(data["x_train"][:most]), labels[:most], unit(data["x_test"]), truth)


def logging_weights(images: Any, labels: IntArray, classes: int, seed: int) -> FloatArray:
    """The weights of a linear softmax: Adam 0.1, L2 1e-4, 10 epochs, as in the paper."""
    import torch

    torch.manual_seed(seed)
    layer = torch.nn.Linear(images.shape[1], classes, bias=False)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.1, weight_decay=1e-4)
    x, y = torch.from_numpy(images), torch.from_numpy(labels)
    for _ in range(10):
        for rows in torch.randperm(len(x)).split(BATCH):  # type: ignore[no-untyped-call]
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(layer(x[rows]), y[rows]).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    weights: FloatArray = layer.weight.detach().numpy()
    return weights


@dataclass(frozen=True, slots=True, eq=False)
class LearningTask:
    """One split and temperature: the log, the prior, and the true values."""

    logs: Logs
    prior: FloatArray
    seed: int
    temperature: float
    value: float  # the value of production on the logged images
    test_value: float
    images: Images
    contexts: pa.Table  # the test images, as a table once for all tasks

    def improvements(self, learner: Any) -> tuple[float, float]:
        """The guaranteed and the true improvement, relative to the largest possible one."""
        answer = learner.answer_
        lower = answer.lower - (self.value if getattr(answer, "about", "") == "value" else 0.0)
        rows = np.arange(len(self.images.truth))
        new = float(learner.predict_proba(self.contexts)[rows, self.images.truth].mean())
        return lower / (1.0 - self.value), (new - self.test_value) / (1.0 - self.test_value)


def problems(images: Images, seeds: Sequence[int], temperatures: Sequence[float] = TEMPERATURES) -> list[LearningTask]:
    classes = int(max(images.labels.max(), images.truth.max())) + 1
    tasks, test_pixels = [], pa.FixedSizeListArray.from_arrays(images.test.ravel(), images.test.shape[1])
    on_test_images = pa.table({"x": test_pixels})
    for seed in seeds:
        rng = np.random.default_rng(seed)
        few, many = np.split(rng.permutation(len(images.train)), [len(images.train) // 20])
        weights = logging_weights(images.train[few], images.labels[few], classes, seed)
        contexts, right, rows = images.train[many], images.labels[many], np.arange(len(many))
        for temperature in temperatures:
            logging = softmax((temperature * contexts @ weights.T).astype(np.float64))
            action = draw(logging, rng.random(len(logging)))
            columns = {
                "x": contexts, "action": action, "reward": (action == right).astype(float), "logging": logging,
                "propensity": logging[rows, action], "t": rows,
            }  # fmt: skip
            roles: dict[str, Any] = {role: role for role in ("action", "reward", "propensity", "logging")}
            logs = Logs(columns, contexts=["x"], time="t", **roles)
            on_test = softmax((temperature * images.test @ weights.T).astype(np.float64))
            value = float(logging[rows, right].mean())
            test_value = float(on_test[np.arange(len(images.truth)), images.truth].mean())
            tasks.append(
                LearningTask(logs, temperature * weights, seed, temperature, value, test_value, images, on_test_images)
            )
    return tasks


def learned(
    tasks: Sequence[LearningTask], several: Sequence[dict[str, Any]], *, passes: int, device: str, progress: Any = None
) -> list[list[Any]]:
    """Fit every task by each of several learners, all in one call."""
    from surelift.learning import PolicyLearner, fit_many

    how: dict[str, Any] = {
        "intercept": False, "epochs": passes, "batch_size": BATCH, "learning_rate": RATE, "patience": None, "device": device,
    }  # fmt: skip

    def learner(task: LearningTask, options: dict[str, Any]) -> Any:
        own = options if "policy" in options else {"policy": "gaussian", "prior": task.prior, **options}
        return PolicyLearner(**own, **how, seed=task.seed)

    learners = [[learner(task, options) for task in tasks] for options in several]
    fit_many([one for row in learners for one in row], [task.logs for task in tasks] * len(several), progress=progress)
    return learners


def improvements(tasks: Sequence[LearningTask], **options: Any) -> dict[str, list[tuple[float, float]]]:
    """Guaranteed and true improvements by learner, one pair for each task."""
    from surelift.learning.training.processes import in_threads

    rows = learned(tasks, [*LEARNERS.values()], **options)
    pairs = in_threads(lambda pair: pair[0].improvements(pair[1]), [*zip([*tasks] * len(rows), chain(*rows), strict=True)])
    return {name: pairs[k * len(tasks) : (k + 1) * len(tasks)] for k, name in enumerate(LEARNERS)}


def reproduce(output: str | Path, *, quick: bool = False, tell: Tell | None = None) -> Path:
    """The full experiment on a GPU; on a CPU fewer images, passes and splits, as the summary states."""
    try:
        import torch
    except ModuleNotFoundError as error:
        raise UsageError(f"learning needs torch, which is not installed. {install_extra('learn')}") from error
    device = "cuda" if torch.cuda.is_available() else "cpu"
    whole = device == "cuda" and not quick
    passes, seeds = (100, range(10)) if whole else (3, range(1)) if quick else (10, range(2))
    most = None if whole else 3_000 if quick else 12_000
    images = {name: load(name, most=most) for name in SETS}
    asked = {"passes": passes, "most": most, "seeds": len(seeds), "device": device, "learners": [*LEARNERS]}
    folder = Folder(output, {"what": "opl", "quick": quick, **asked})

    def learn_all(name: str) -> Any:
        def passed(problem: int, epoch: int, _: int, bound: float) -> None:
            if problem == 0 and tell is not None:
                tell(SETS.index(name) * passes + epoch, len(SETS) * passes, f"{name}, pass {epoch}")

        return improvements(problems(images[name], seeds), passes=passes, device=device, progress=passed)

    found: dict[str, dict[str, Any]] = {}
    for name in SETS:
        pairs = folder.kept(name, partial(learn_all, name))
        shape = (len(seeds), len(TEMPERATURES), 2)
        found[name] = {learner: np.array(pairs[learner]).reshape(shape) for learner in LEARNERS}
    means = {name: {learner: runs.mean(axis=0) for learner, runs in of_set.items()} for name, of_set in found.items()}
    drawn = [figures.learning(folder.path, name, TEMPERATURES, means[name]) for name in SETS]
    size = "all images" if most is None else f"the first {most:,} images of each set"
    reduced = "" if whole else "This run is reduced: "
    intro = [
        f"{reduced}{size}, {passes} passes, {len(seeds)} split(s), five inverse temperatures, on {device}.",
        "Guaranteed improvements are over production on the logged images, which the guarantee is about, and true ones over "
        "production on the test images; both are relative to the largest possible improvement.",
        "Not available: NUS-WIDE-128 and EMNIST-b, the other two sets of the paper.",
    ]
    return folder.write("Learning: guaranteed and true improvement", intro, [table(found), by_temperature(found)], drawn)


def table(found: dict[str, dict[str, Any]]) -> ReproducedTable:
    """Table 2, by set: the paper averages over four sets, two of which are here."""
    columns = ["objective", *(f"{name}: {kind}" for name in (*found, "paper") for kind in ("guaranteed", "true"))]
    rows = []
    for objective in LEARNERS:
        cells = [float(part) for of_set in found.values() for part in of_set[objective].mean(axis=(0, 1))]
        rows.append([objective, *cells, *TABLE_2.get(objective, (None, None))])
    note = "The paper's numbers are averages over MNIST, FashionMNIST, EMNIST-b and NUS-WIDE-128, so no column repeats them."
    return ReproducedTable("table-2", "Table 2: relative improvement", columns, rows, [note])


def by_temperature(found: dict[str, dict[str, Any]]) -> ReproducedTable:
    rows = []
    for name, of_set in found.items():
        for objective, pairs in of_set.items():
            for temperature, runs in zip(TEMPERATURES, pairs.swapaxes(0, 1), strict=True):
                error = runs.std(axis=0, ddof=1) / len(runs) ** 0.5 if len(runs) > 1 else (None, None)
                mean = runs.mean(axis=0)
                rows.append([name, objective, temperature, float(mean[0]), error[0], float(mean[1]), error[1]])
    columns = ["set", "objective", "inverse temperature", "guaranteed", "error", "true", "error of true"]
    return ReproducedTable("learning", "By inverse temperature of the logging policy", columns, rows)
