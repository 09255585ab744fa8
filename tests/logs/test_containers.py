"""Arrays of every make: masks are missing values, complex numbers are refused, byte order and width do not matter."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import surelift as sl
from surelift import densities, embeddings, importers, learning, models

ROUNDS = 8
REWARD = np.tile([0.0, 1.0], 4)
PROPENSITY = np.full(ROUNDS, 0.5)
ACTION = np.tile([0, 1], 4)
MATRIX = np.full((ROUNDS, 2), 0.5)
COMPLEX = "complex numbers"


def masked(values: Any, row: int = 3) -> Any:
    mask = np.zeros(np.shape(values), dtype=bool)
    mask[row, ...] = True
    return np.ma.array(values, mask=mask)


def logs_of(**columns: Any) -> sl.Logs:
    table = {"r": REWARD, "p": PROPENSITY, "a": ACTION, "v": MATRIX, "new": PROPENSITY, **columns}
    return sl.Logs(table, reward="r", propensity="p", action="a", logging="v")


def ask(logs: sl.Logs, policy: Any = "new", **options: Any) -> Any:
    return sl.evaluate(logs, {"new": policy}, **options)


def as_lists(array: Any) -> Any:
    return list(array)


def as_objects(array: Any) -> Any:
    column = np.empty(len(array), dtype=object)
    column[:] = list(array)
    return column


@pytest.mark.parametrize("name", ["r", "p", "a", "new"])
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.longdouble, ">f8"])
def test_masked_numbers_are_missing(name: str, kind: Any) -> None:
    values = np.ones(ROUNDS) if name != "a" else ACTION
    with pytest.raises(sl.LogsError, match=r"1 of 8 values are (missing|NaN|not a position).* row 3"):
        ask(logs_of(**{name: masked(np.asarray(values, dtype=kind))}))


@pytest.mark.parametrize("wrap", [np.ma.asarray, as_lists, as_objects], ids=["matrix", "list", "objects"])
@pytest.mark.parametrize("name", ["v", "new"])
def test_masked_vectors_are_missing(name: str, wrap: Any) -> None:
    column = wrap(masked(MATRIX))
    message = r"1 of 8 values are vectors with an entry that is missing or not finite.* row 3"
    with pytest.raises(sl.LogsError, match=message):
        ask(logs_of(**{name: column}))
    with pytest.raises(sl.LogsError, match=message):
        ask(logs_of(), column)
    with pytest.raises(sl.LogsError, match=message):
        ask(logs_of(n=np.arange(ROUNDS)), lambda batch: [column[n] for n in batch["n"].to_pylist()])
    frame = pd.DataFrame({"r": REWARD, "p": PROPENSITY, "a": ACTION, "v": list(MATRIX), "new": list(MATRIX)})
    frame[name] = list(column)
    with pytest.raises(sl.LogsError, match=message):
        ask(sl.Logs(frame, reward="r", propensity="p", action="a", logging="v"))


def test_masked_vectors_of_different_lengths_are_missing() -> None:
    ragged = [np.ma.array([0.5, 0.5], mask=[False, i == 3]) for i in range(ROUNDS - 1)] + [np.ones(1)]
    with pytest.raises(sl.LogsError, match=r"1 of 8 values are vectors with an entry that is missing.* row 3"):
        ask(logs_of(), ragged)


def test_nullable_frames_are_read() -> None:
    frame = pd.DataFrame({"x": pd.array([0.5] * ROUNDS, "Float64"), "y": pd.array([0.5] * ROUNDS, "Float64")})
    assert ask(logs_of(), frame) == ask(logs_of(), MATRIX)
    frame.loc[3, "y"] = pd.NA
    for logs, policy in ((logs_of(), frame), (logs_of(v=frame), "new")):
        with pytest.raises(sl.LogsError, match=r"1 of 8 values are vectors with an entry that is missing.* row 3"):
            ask(logs, policy)


@pytest.mark.parametrize("name", ["r", "p", "a", "v", "new"])
@pytest.mark.parametrize("wrap", [np.asarray, np.ma.asarray, as_lists, pd.Series])
def test_complex_columns_are_refused(name: str, wrap: Any) -> None:
    values = (MATRIX if name == "v" else PROPENSITY) + 1j
    column = wrap(list(values) if wrap is pd.Series else values)
    if name == "v" and wrap in (as_lists, pd.Series):
        column = wrap([row.tolist() for row in values])
    with pytest.raises((sl.LogsError, sl.UsageError), match=r"complex|mixes types"):
        ask(logs_of(**{name: column}))


class Model:
    classes_ = np.array([0, 1])

    def __init__(self, output: Any) -> None:
        self.output = output

    def predict_proba(self, features: Any) -> Any:
        return self.output[: len(features)]


class Regressor:
    def __init__(self, output: Any = None) -> None:
        self.output = output

    def fit(self, features: Any, rewards: Any) -> "Regressor":
        return self

    def predict(self, features: Any) -> Any:
        return self.output[: len(features)]

    def get_params(self, deep: bool = False) -> dict[str, Any]:
        return {"output": self.output}

    def set_params(self, **params: Any) -> "Regressor":
        return self


def test_complex_and_masked_outputs_are_refused() -> None:
    logs = sl.Logs(reward=REWARD, propensity=PROPENSITY, action=ACTION, logging=MATRIX, contexts=REWARD[:, None])
    for policy in (
        MATRIX + 1j,
        np.ma.array(MATRIX + 1j),
        lambda batch: (MATRIX + 1j)[: batch.num_rows],
        Model(MATRIX + 1j),
    ):
        with pytest.raises(sl.UsageError, match=COMPLEX):
            ask(logs, policy)
    with pytest.raises(sl.LogsError, match="8 of 8 values are vectors with an entry that is missing"):
        ask(logs, Model(np.ma.array(MATRIX, mask=np.ones_like(MATRIX))))
    with pytest.raises(sl.UsageError, match=r"shape \(1, 2\), not \(8, 2\): rounds and classes"):
        ask(logs, Model(MATRIX[:1]))
    with pytest.raises(sl.UsageError, match=COMPLEX):
        ask(logs, MATRIX, control=models.given(MATRIX + 1j))
    long = sl.Logs(
        reward=np.tile(REWARD, 100), propensity=np.full(800, 0.5), action=np.tile(ACTION, 100),
        logging=np.full((800, 2), 0.5), contexts=np.zeros((800, 1)), time=np.arange(800),
    )  # fmt: skip
    with pytest.raises(sl.UsageError, match=COMPLEX):
        ask(long, np.full((800, 2), 0.5), control=models.refitted(Regressor(np.full(1600, 0.5 + 1j))))
    with pytest.raises(sl.LogsError, match="not finite"):
        ask(long, np.full((800, 2), 0.5), control=models.refitted(Regressor(np.ma.array(np.ones(1600), mask=True))))


def test_other_entrances() -> None:
    for wrong in (np.eye(2) + 1j, np.ma.array(np.eye(2), mask=True)):
        with pytest.raises(sl.UsageError):
            embeddings.known(wrong, column="e")
        with pytest.raises(sl.UsageError):
            learning.ItemSoftmax(embeddings=wrong)
        with pytest.raises(sl.UsageError):
            sl.PolicyLearner("gaussian", prior=wrong, epochs=1).fit(
                np.zeros((2, 1)), [0, 1], reward=[0, 1], propensity=[0.5, 0.5]
            )
    with pytest.raises(sl.UsageError):
        embeddings.kinds(np.ma.array([0, 1, 1], mask=[False, False, True]))
    with pytest.raises(sl.UsageError, match=COMPLEX):
        sl.Logs(reward=REWARD, propensity=PROPENSITY, contexts=REWARD[:, None] + 1j)
    with pytest.raises(sl.UsageError, match=COMPLEX):
        sl.PolicyLearner(epochs=1).fit(REWARD[:, None] + 1j, ACTION, reward=REWARD, propensity=PROPENSITY)
    feedback = {"reward": REWARD, "pscore": PROPENSITY, "action": ACTION}
    with pytest.raises(sl.UsageError, match=COMPLEX):
        importers.obp(feedback, MATRIX[:, :, None] + 1j)
    imported = importers.obp(feedback, masked(MATRIX[:, :, None]))
    with pytest.raises(sl.LogsError, match="row 3"):
        sl.evaluate(imported.logs, imported.policies)
    with pytest.raises(sl.UsageError):
        densities.gaussian(1j, 1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [">f8", ">f4", "<f4", np.float16, np.longdouble])
def test_byte_order_and_width_do_not_matter(kind: Any) -> None:
    expected = ask(logs_of(), MATRIX)
    assert ask(logs_of(r=REWARD.astype(kind), p=PROPENSITY.astype(kind), v=MATRIX.astype(kind)), MATRIX) == expected
    assert ask(logs_of(), MATRIX.astype(kind)) == expected
    assert ask(logs_of(new=MATRIX.astype(kind))) == expected
    assert ask(logs_of(a=ACTION.astype(">i4")), MATRIX) == expected


def test_tensors_and_sparse_matrices_are_read() -> None:
    import scipy.sparse
    import torch

    expected = ask(logs_of(), MATRIX)
    tensor = torch.tensor(MATRIX, requires_grad=True)
    assert ask(logs_of(), tensor) == expected
    assert ask(logs_of(v=tensor), lambda batch: tensor[: batch.num_rows]) == expected
    assert ask(logs_of(), scipy.sparse.csr_array(MATRIX)) == expected
    with pytest.raises(sl.UsageError, match="cannot be read as numbers"):
        ask(logs_of(), torch.tensor(MATRIX).bfloat16())
