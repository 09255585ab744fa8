"""Learning: how much improvement each objective guarantees and achieves, on images (Table 2 and the two figures).

A logging policy is fitted on 5% of the images and tempered by five factors; each objective learns a random linear rule from
the other 95%, with the tempered weights as prior. Improvements are relative to the largest possible one: guaranteed ones
over production on the logged images, which the guarantee is about; true ones on the test images.
"""

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from surelift.arrays import FloatArray, IntArray
from surelift.controls import models
from surelift.errors import UsageError
from surelift.logs.logs import Logs
from surelift.reproduce import figures, published
from surelift.reproduce.data import MissingDataError, data_file
from surelift.reproduce.folder import Folder, ReproducedTable, Tell
from surelift.reproduce.ops import softmax

SETS = ("mnist", "fashion-mnist", "emnist-bymerge47")
MISSING = (
    "NUS-WIDE-128 and the complete EMNIST-Balanced are not available; emnist-bymerge47 has the same 47 classes but other "
    "images, for which the paper has no numbers."
)
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
BATCH, RATE = 128, 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class Images:
    """Images scaled to length 1, and their labels: for logs, and for the true values."""

    train: Any  # (images, pixels), float32
    labels: IntArray
    test: Any
    truth: IntArray


def load(name: str, *, most: int | None = None) -> Images:
    """The first ``most`` images, or all."""
    path = data_file(f"{name}.npz")
    if path is None:
        raise MissingDataError(f"{name} is not in the SURELIFT_DATA folder.")
    try:
        data = dict(np.load(path))
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise MissingDataError(f"{path} cannot be read: {error}. It may be damaged.") from error

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
    value: float
    """The value of production on the logged images."""
    test_value: float
    images: Images

    def improvements(self, learner: Any) -> tuple[float, float]:
        """The guaranteed and the true improvement, relative to the largest possible one."""
        answer = learner.answer_
        lower = answer.lower - (self.value if answer.about == "value" else 0.0)
        rows = np.arange(len(self.images.truth))
        new = float(learner.predict_proba({"x": list(self.images.test)})[rows, self.images.truth].mean())
        return lower / (1.0 - self.value), (new - self.test_value) / (1.0 - self.test_value)


def problems(images: Images, seeds: Sequence[int], temperatures: Sequence[float] = TEMPERATURES) -> list[LearningTask]:
    classes = int(max(images.labels.max(), images.truth.max())) + 1
    tasks = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        few, many = np.split(rng.permutation(len(images.train)), [len(images.train) // 20])
        weights = logging_weights(images.train[few], images.labels[few], classes, seed)
        contexts, right = images.train[many], images.labels[many]
        rows = np.arange(len(right))
        for temperature in temperatures:
            logging = softmax((temperature * contexts @ weights.T).astype(np.float64))
            action = (rng.random(len(logging))[:, None] >= np.cumsum(logging, axis=1)[:, :-1]).sum(axis=1)
            columns = {
                "x": contexts, "action": action, "reward": (action == right).astype(float), "logging": logging,
                "propensity": logging[rows, action], "t": rows,
            }  # fmt: skip
            roles: dict[str, Any] = {role: role for role in ("action", "reward", "propensity", "logging")}
            logs = Logs(columns, contexts=["x"], time="t", **roles)
            on_test = softmax((temperature * images.test @ weights.T).astype(np.float64))
            value = float(logging[rows, right].mean())
            test_value = float(on_test[np.arange(len(images.truth)), images.truth].mean())
            tasks.append(LearningTask(logs, temperature * weights, seed, temperature, value, test_value, images))
    return tasks


def learned(
    tasks: Sequence[LearningTask], options: dict[str, Any], *, passes: int, device: str, progress: Any = None
) -> list[Any]:
    """Fit all tasks in one call."""
    from surelift.learning import PolicyLearner, fit_many

    learners = [
        PolicyLearner(
            **options, prior=task.prior, intercept=False, epochs=passes, batch_size=BATCH, learning_rate=RATE, patience=None,
            device=device, seed=task.seed,
        )
        for task in tasks
    ]  # fmt: skip
    fit_many(learners, [task.logs for task in tasks], progress=progress)
    return learners


def measured(
    tasks: Sequence[LearningTask], options: dict[str, Any], *, passes: int, device: str
) -> list[tuple[float, float]]:
    learners = learned(tasks, options, passes=passes, device=device)
    return [task.improvements(learner) for task, learner in zip(tasks, learners, strict=True)]


def reproduce(output: str | Path, *, quick: bool = False, tell: Tell | None = None) -> Path:
    """The full experiment on a GPU; on a CPU fewer images, passes and splits, as the summary states."""
    try:
        import torch
    except ModuleNotFoundError as error:
        raise UsageError("learning needs torch, which is not installed: pip install 'surelift[learn]'.") from error
    device = "cuda" if torch.cuda.is_available() else "cpu"
    whole = device == "cuda" and not quick
    passes, seeds = (100, range(10)) if whole else (3, range(1)) if quick else (10, range(2))
    most = None if whole else 3_000 if quick else 12_000
    sets = SETS if whole else SETS[:2]
    images = {name: load(name, most=most) for name in sets}
    asked = {"passes": passes, "most": most, "seeds": len(seeds), "device": device, "objectives": [*OBJECTIVES]}
    folder = Folder(output, {"what": "opl", "quick": quick, **asked})
    improvements: dict[str, dict[str, Any]] = {}
    for name in sets:
        tasks = problems(images[name], seeds)
        improvements[name] = {}
        for number, (objective, options) in enumerate(OBJECTIVES.items()):
            work = partial(measured, tasks, options, passes=passes, device=device)
            pairs = folder.kept(f"{name}-{objective}", work)
            improvements[name][objective] = np.array(pairs).reshape(len(seeds), len(TEMPERATURES), 2)
            if tell is not None:
                done = number + 1 + len(OBJECTIVES) * (len(improvements) - 1)
                tell(done, len(sets) * len(OBJECTIVES), f"{name}, {objective}")
    means = {name: {method: p.mean(axis=0) for method, p in of_set.items()} for name, of_set in improvements.items()}
    drawn = [figures.learning(folder.path, name, TEMPERATURES, means[name]) for name in sets]
    size = "all images" if most is None else f"the first {most:,} images of each set"
    reduced = "" if whole else "This run is reduced: "
    intro = [
        f"{reduced}{size}, {passes} passes, {len(seeds)} split(s), five inverse temperatures, on {device}.",
        "Guaranteed improvements are over production on the logged images, which the guarantee is about, and true ones over "
        "production on the test images; both are relative to the largest possible improvement.",
        f"Not available: {MISSING}",
    ]
    tables = [table(improvements), by_temperature(improvements)]
    return folder.write("Learning: guaranteed and true improvement", intro, tables, drawn)


def table(found: dict[str, dict[str, Any]]) -> ReproducedTable:
    """Table 2, by set: the paper averages over four sets, two of which are here."""
    columns = ["objective", *(f"{name}: {kind}" for name in (*found, "paper") for kind in ("guaranteed", "true"))]
    rows = []
    for objective in OBJECTIVES:
        cells = [float(part) for of_set in found.values() for part in of_set[objective].mean(axis=(0, 1))]
        rows.append([objective, *cells, *published.TABLE_2.get(objective, (None, None))])
    note = "The paper's numbers are averages over MNIST, FashionMNIST, EMNIST-b and NUS-WIDE-128, so no column repeats them."
    return ReproducedTable("table-2", "Table 2: relative improvement", columns, rows, [note])


def by_temperature(found: dict[str, dict[str, Any]]) -> ReproducedTable:
    rows = []
    for name, of_set in found.items():
        for objective, pairs in of_set.items():
            for index, temperature in enumerate(TEMPERATURES):
                runs = pairs[:, index]
                error = runs.std(axis=0, ddof=1) / len(runs) ** 0.5 if len(runs) > 1 else (None, None)
                mean = runs.mean(axis=0)
                rows.append([name, objective, temperature, float(mean[0]), error[0], float(mean[1]), error[1]])
    columns = ["set", "objective", "inverse temperature", "guaranteed", "error", "true", "error of true"]
    return ReproducedTable("learning", "By inverse temperature of the logging policy", columns, rows)
