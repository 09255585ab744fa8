"""Labelled data sets by name: from the SURELIFT_DATA folder, or from OpenML."""

import hashlib
import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from surelift.arrays import FloatArray
from surelift.errors import UsageError, install_extra


class Facts(NamedTuple):
    """The paper's facts about a set, and its OpenML id."""

    rows: int
    classes: int
    features: int
    openml: int


TABULAR = {
    "ecoli": Facts(336, 8, 7, 39), "arrhythmia": Facts(452, 13, 279, 5), "micro-mass": Facts(571, 20, 1300, 1515),
    "balance-scale": Facts(625, 3, 4, 11), "eating": Facts(945, 7, 6373, 1233), "vehicle": Facts(846, 4, 18, 54),
    "yeast": Facts(1484, 10, 8, 181), "page-blocks": Facts(5473, 5, 10, 30), "optdigits": Facts(5620, 10, 64, 28),
    "satimage": Facts(6430, 6, 36, 182), "kropt": Facts(28056, 18, 6, 184),
}  # fmt: skip
IMPUTED = "missing values, found in five columns of arrhythmia, are replaced by the column mean"


class MissingDataError(UsageError):
    """A data set is not available; the summary names it, and it is never replaced by another."""


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    name: str
    features: FloatArray  # (rows, features)
    labels: tuple[str, ...]


def labelled(name: str) -> Labelled:
    if name not in TABULAR:
        raise UsageError(f"unknown data set {name!r}; choose from {', '.join(TABULAR)}.")
    path = data_file(f"{name}.parquet")
    dataset = _from_openml(name) if path is None else _from_file(name, path)
    shape = (*dataset.features.shape, len(set(dataset.labels)))
    facts = TABULAR[name]
    if shape != (facts.rows, facts.features, facts.classes):
        raise MissingDataError(
            f"{name} should have {facts.rows:,} rows, {facts.features} features and {facts.classes} classes, but has "
            f"{shape[0]:,}, {shape[1]} and {shape[2]}: it is another version of the set."
        )
    return dataset


def available() -> tuple[dict[str, str], list[str]]:
    """The available sets, each with a digest of its contents, and the reason why each other one is missing."""
    digests: dict[str, str] = {}
    missing = []
    for name in TABULAR:
        try:
            dataset = labelled(name)
            content = dataset.features.tobytes() + "\n".join(dataset.labels).encode()
            digests[name] = hashlib.sha256(content).hexdigest()[:16]
        except MissingDataError as error:
            missing.append(str(error))
    if not digests:
        remedy = "Set SURELIFT_DATA to the folder that holds them."
        raise MissingDataError(f"no data set is available. {missing[0]}\n{remedy}")
    return digests, missing


def data_file(name: str) -> Path | None:
    """The file in the SURELIFT_DATA folder, or None if there is none."""
    folder = os.environ.get("SURELIFT_DATA")
    path = None if folder is None else Path(folder) / name
    return path if path is not None and path.exists() else None


def read_parquet(path: Path, columns: list[str] | None = None) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_table(path, columns=columns)
    except (OSError, pa.ArrowException) as error:
        raise MissingDataError(f"{path} cannot be read as Parquet: {error}. It may be damaged.") from error


def _from_file(name: str, path: Path) -> Labelled:
    table = read_parquet(path)
    columns = [column for column in table.column_names if column != "label"]
    features = np.column_stack([table[column].to_numpy().astype(np.float64) for column in columns])
    return Labelled(name, imputed(features), tuple(str(label) for label in table["label"].to_pylist()))


def _from_openml(name: str) -> Labelled:
    absent, asked = f"{name} is not in the SURELIFT_DATA folder", TABULAR[name].openml
    try:
        from sklearn.datasets import fetch_openml
    except ModuleNotFoundError as error:
        needed = f"{absent}, and OpenML needs scikit-learn, which is not installed."
        raise MissingDataError(f"{needed} {install_extra('sklearn')}") from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fetched: Any = fetch_openml(data_id=asked, as_frame=True, parser="auto", n_retries=1, delay=0.1)
    except Exception as error:
        raise MissingDataError(f"{absent}, and could not be fetched from OpenML ({error}).") from error
    columns = [
        column.cat.codes.to_numpy(dtype=np.float64) if column.dtype.name == "category" else column.to_numpy(np.float64)
        for _, column in fetched.data.items()
    ]
    return Labelled(name, imputed(np.column_stack(columns)), tuple(str(label) for label in fetched.target))


def imputed(features: FloatArray) -> FloatArray:
    """Replace missing values by the column mean."""
    missing = np.isnan(features)
    return np.where(missing, np.nanmean(features, axis=0), features) if missing.any() else features
