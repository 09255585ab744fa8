"""The state of a training run in one file, replaced atomically, so that a killed run can resume."""

import hashlib
import json
import pickle
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from safetensors.torch import load, save
from torch import Tensor, nn

from surelift.errors import SureliftError, UsageError
from surelift.learning import files
from surelift.learning.data.rounds import survey_again
from surelift.learning.learned import LearnedPolicy
from surelift.learning.policies.items import ItemSoftmax
from surelift.logs.seen import Origins
from surelift.saving import exists, write_beside
from surelift.traits.logs import Logs

_VERSION = 2


class CheckpointError(UsageError):
    """A checkpoint cannot be used or written, which ends the run."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The policies of problems that are trained together, the optimizer, and the best epoch of each."""

    path: str
    identity: str  # everything the result depends on: the learner's parameters and a fingerprint of the rounds

    def save(
        self, policies: Iterable[nn.Module], optimizer: torch.optim.Optimizer, best: Iterable[dict[str, Tensor]], state: Any
    ) -> None:
        named = {f"policy.{number}": policy.state_dict() for number, policy in enumerate(policies)}
        named |= {f"best.{number}": tensors for number, tensors in enumerate(best)}
        named |= {f"optimizer.{number}": buffers for number, buffers in optimizer.state_dict()["state"].items()}
        tensors = {
            f"{place}.{name}": tensor.detach().cpu().contiguous()
            for place, tensors in named.items()
            for name, tensor in tensors.items()
        }
        header = {"stand": json.dumps({**state, "setting": self._digest()}), **files.UNSEALED}
        with _as_checkpoint_error():
            write_beside(self.path, files.sealed(save(tensors, header)), what="the checkpoint")

    def read(self) -> "tuple[dict[str, Tensor], Any] | None":
        """All tensors and the state; None where there is no file yet."""
        with _as_checkpoint_error():
            if not exists(self.path):
                return None
            content = files.sealed_bytes(self.path)
            state = json.loads(files.metadata_of(self.path).get("stand", "{}"))
        if state.get("setting") != self._digest():
            raise CheckpointError(
                f"{self.path} is the checkpoint of another training run: its options or rounds differ. Choose another file, "
                "or delete it to start over."
            )
        return load(content), state

    def _digest(self) -> str:
        return hashlib.sha256(f"{_VERSION} {self.identity}".encode()).hexdigest()


def restore(tensors: dict[str, Tensor], policies: Sequence[nn.Module], optimizer: torch.optim.Optimizer) -> None:
    for number, policy in enumerate(policies):
        policy.load_state_dict(under(tensors, f"policy.{number}."))
    buffers: dict[int, dict[str, Tensor]] = {}
    for key, tensor in under(tensors, "optimizer.").items():
        parameter, _, name = key.partition(".")
        buffers.setdefault(int(parameter), {})[name] = tensor
    optimizer.load_state_dict({**optimizer.state_dict(), "state": buffers})


@contextmanager
def _as_checkpoint_error() -> Iterator[None]:
    try:
        yield
    except SureliftError as error:
        raise CheckpointError(str(error)) from error


def under(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def identity_of(value: Any) -> str:
    """A short text that identifies an option of a learner, the same in every process and at every start."""
    if isinstance(value, LearnedPolicy):
        return str(value.describe()["mark"])
    if isinstance(value, ItemSoftmax):
        arrays = {"items": value.embeddings, **({} if value.start is None else {"start": value.start})}
        return f"{files.digest(arrays)} {value.retrieved} {value.draws}"
    if isinstance(value, nn.Module):
        return files.digest({name: tensor.detach().cpu().numpy() for name, tensor in value.state_dict().items()})
    if hasattr(value, "predictable"):
        estimator, logs = getattr(value, "estimator", None), getattr(value, "logs", None)
        try:
            content = hashlib.sha256(pickle.dumps(estimator)).hexdigest()
        except (pickle.PicklingError, TypeError, AttributeError):
            content = type(estimator).__name__
        rounds = str(survey_again(logs, logs.contexts, Origins())[0]) if isinstance(logs, Logs) else ""
        return f"{json.dumps(value.describe())} {content} {rounds}"
    return files.digest({"array": value}) if isinstance(value, np.ndarray) else repr(value)
