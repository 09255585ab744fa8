"""The paper's labelled data sets, from the SURELIFT_DATA folder or OpenML, and the numbers it prints for them."""

import hashlib
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
import pyarrow as pa

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


class Labelled(NamedTuple):
    features: FloatArray  # (rows, features)
    labels: tuple[str, ...]


def labelled(name: str) -> Labelled:
    if name not in TABULAR:
        raise UsageError(f"unknown data set {name!r}; choose from {', '.join(TABULAR)}.")
    facts, path = TABULAR[name], _data_file(f"{name}.parquet")
    if path.exists():
        table = read_parquet(path)
        labels = table["label"].to_pylist()
        columns = [table[column].to_numpy().astype(np.float64) for column in table.column_names if column != "label"]
    else:
        columns, labels = _from_openml(name)
    dataset = Labelled(imputed(np.column_stack(columns)), tuple(map(str, labels)))
    rows, features, classes = *dataset.features.shape, len(set(dataset.labels))
    if (rows, features, classes) != (facts.rows, facts.features, facts.classes):
        wanted = f"{facts.rows:,} rows, {facts.features} features and {facts.classes} classes"
        raise MissingDataError(f"{name} should have {wanted}, but has {rows:,}, {features} and {classes}.")
    return dataset


def available(wanted: Callable[[str], bool] = bool) -> tuple[dict[str, str], list[str], list[str]]:
    """The available sets, each with a digest of its contents, those of them ``wanted``, and why others are missing."""
    digests, missing = dict[str, str](), list[str]()
    for name in TABULAR:
        try:
            features, labels = labelled(name)
        except MissingDataError as error:
            missing.append(str(error))
            continue
        digests[name] = hashlib.sha256(features.tobytes() + "\n".join(labels).encode()).hexdigest()[:16]
    sets = list(filter(wanted, digests))
    if not sets:
        reason = "those here are too large for a quick run." if digests else missing[0]
        raise MissingDataError(f"no data set is available. {reason}\nSet SURELIFT_DATA to the folder that holds them.")
    return digests, sets, missing


def _data_file(name: str) -> Path:
    # Without the variable, a place where nothing can be.
    return Path(os.environ.get("SURELIFT_DATA", os.devnull), name)


def required_file(name: str) -> Path:
    path = _data_file(name)
    if not path.exists():
        raise MissingDataError(f"{Path(name).stem} is not in the SURELIFT_DATA folder; download it there.")
    return path


@contextmanager
def readable(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, BadZipFile, pa.ArrowException) as error:
        raise MissingDataError(f"{path} cannot be read: {error}. It may be damaged.") from error


def read_parquet(path: Path, columns: list[str] | None = None) -> pa.Table:
    import pyarrow.parquet as pq

    with readable(path):
        return pq.read_table(path, columns=columns)


def _from_openml(name: str) -> tuple[list[FloatArray], Iterable[Any]]:
    """The columns and the labels."""
    try:
        from sklearn.datasets import fetch_openml

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fetched: Any = fetch_openml(data_id=TABULAR[name].openml, as_frame=True, parser="auto", n_retries=1, delay=0.1)
    except Exception as error:
        absent = isinstance(error, ModuleNotFoundError)
        why = f"OpenML needs scikit-learn. {install_extra('sklearn')}" if absent else f"OpenML did not give it ({error})."
        raise MissingDataError(f"{name} is not in the SURELIFT_DATA folder, and {why}") from error
    columns = [
        column.cat.codes.to_numpy(dtype=np.float64) if column.dtype.name == "category" else column.to_numpy(np.float64)
        for _, column in fetched.data.items()
    ]
    return columns, fetched.target


def imputed(features: FloatArray) -> FloatArray:
    """Replace missing values by the column mean."""
    missing = np.isnan(features)
    return np.where(missing, np.nanmean(features, axis=0), features) if missing.any() else features


# What the paper prints, for comparison.
PAPER_METHODS = ("SN-ES", "cIPS-EB", "IX", "cIPS-L=1", "LS")

TABLE_1 = {
    2**8: (1.000, 0.917, 0.373, 0.364, 0.362), 2**9: (1.000, 0.732, 0.257, 0.289, 0.236),
    2**10: (0.794, 0.554, 0.226, 0.240, 0.213), 2**11: (0.649, 0.441, 0.171, 0.197, 0.159),
    2**12: (0.472, 0.327, 0.126, 0.147, 0.117), 2**13: (0.374, 0.204, 0.062, 0.077, 0.054),
    2**14: (0.257, 0.138, 0.041, 0.049, 0.035),
}  # fmt: skip
TABLE_4 = {
    "ecoli": (1.00, 1.00, 0.676, 0.752, 0.573), "arrhythmia": (1.00, 1.00, 0.677, 0.707, 0.548),
    "micro-mass": (0.962, 0.840, 0.394, 0.346, 0.311), "balance-scale": (1.00, 0.950, 0.469, 0.550, 0.422),
    "eating": (0.930, 0.734, 0.318, 0.337, 0.265), "vehicle": (0.981, 0.867, 0.409, 0.482, 0.358),
    "yeast": (0.861, 0.660, 0.307, 0.311, 0.254), "page-blocks": (0.760, 0.547, 0.371, 0.447, 0.312),
    "optdigits": (0.468, 0.323, 0.148, 0.139, 0.113), "satimage": (0.506, 0.336, 0.171, 0.184, 0.140),
    "kropt": (0.224, 0.161, 0.087, 0.066, 0.060),
}  # fmt: skip
TABLE_5 = {
    0.1: (0.783, 0.630, 0.332, 0.400, 0.308), 0.2: (0.781, 0.630, 0.326, 0.390, 0.295),
    0.3: (0.782, 0.668, 0.353, 0.389, 0.297), 0.4: (0.793, 0.706, 0.385, 0.385, 0.301),
    0.5: (0.810, 0.735, 0.432, 0.397, 0.323),
}  # fmt: skip
SELECTING = ("IPS", "SNIPS", "SN-ES", "cIPS-EB", "IX", "cIPS-L=1", "LS")
# For each set and method, how often in ten runs a worse, a better and the best policy was chosen.
TABLE_6 = {
    "ecoli": ((2, 6, 2), (4, 1, 5), (0, 10, 0), (0, 10, 0), (0, 7, 3), (0, 10, 0), (0, 6, 4)),
    "arrhythmia": ((0, 10, 0), (0, 10, 0), (0, 10, 0), (0, 10, 0), (0, 7, 3), (0, 10, 0), (0, 5, 5)),
    "micro-mass": ((3, 0, 7), (1, 0, 9), (0, 10, 0), (0, 10, 0), (0, 0, 10), (0, 0, 10), (0, 0, 10)),
    "balance-scale": ((0, 3, 7), (0, 2, 8), (0, 10, 0), (0, 10, 0), (0, 4, 6), (0, 10, 0), (0, 3, 7)),
    "eating": ((3, 2, 5), (2, 1, 7), (0, 10, 0), (0, 10, 0), (0, 4, 6), (0, 8, 2), (0, 4, 6)),
    "vehicle": ((3, 0, 7), (1, 1, 8), (0, 10, 0), (0, 10, 0), (0, 5, 5), (0, 10, 0), (0, 3, 7)),
    "yeast": ((0, 2, 8), (2, 0, 8), (0, 10, 0), (0, 10, 0), (0, 2, 8), (0, 7, 3), (0, 2, 8)),
    "page-blocks": ((0, 0, 10), (0, 0, 10), (0, 10, 0), (0, 10, 0), (0, 0, 10), (0, 10, 0), (0, 0, 10)),
    "optdigits": ((0, 1, 9), (0, 0, 10), (0, 10, 0), (0, 10, 0), (0, 1, 9), (0, 3, 7), (0, 1, 9)),
    "satimage": ((0, 0, 10), (0, 0, 10), (0, 10, 0), (0, 10, 0), (0, 0, 10), (0, 7, 3), (0, 0, 10)),
    "kropt": ((0, 0, 10), (0, 0, 10), (0, 10, 0), (0, 0, 10), (0, 0, 10), (0, 0, 10), (0, 0, 10)),
}
# Table 2, averages over four sets, five temperatures and ten seeds: guaranteed and true relative improvement.
TABLE_2 = {
    "cIPS": (0.1448, 0.2813), "cvcIPS": (0.2128, 0.3364), "ES": (0.0778, 0.2944), "IX": (0.2474, 0.3670),
    "LS-LIN": (0.2631, 0.3676),
}  # fmt: skip
