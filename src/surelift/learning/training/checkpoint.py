"""The state of a training run in one file, replaced atomically, so that a killed run can resume."""

import hashlib
import json
import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from safetensors.torch import load, save
from torch import Tensor, nn

from surelift.errors import UsageError
from surelift.learning import files
from surelift.learning.data.survey import full_fingerprint
from surelift.learning.learned import LearnedPolicy
from surelift.learning.policies.items import ItemSoftmax
from surelift.logs.logs import Logs
from surelift.saving import exists, write_beside


@dataclass(frozen=True, slots=True)
class Checkpoint:
    path: str
    identity: str  # everything the result depends on: the learner's parameters and a fingerprint of the rounds

    def save(self, policy: nn.Module, optimizer: torch.optim.Optimizer, best: dict[str, Tensor], state: Any) -> None:
        tensors = {f"policy.{name}": tensor for name, tensor in policy.state_dict().items()}
        tensors |= {f"best.{name}": tensor for name, tensor in best.items()}
        for number, buffers in optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{number}.{name}": tensor for name, tensor in buffers.items()}
        tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        header = {"stand": json.dumps({**state, "setting": self._digest()}), **files.UNSEALED}
        write_beside(self.path, files.sealed(save(tensors, header)), what="the checkpoint")

    def load(self, policy: nn.Module, optimizer: torch.optim.Optimizer) -> tuple[dict[str, Tensor], Any] | None:
        """Restore policy and optimizer, and return the best parameters and the state; None where there is no file yet."""
        if not exists(self.path):
            return None
        content = files.sealed_bytes(self.path)
        state = json.loads(files.metadata_of(self.path).get("stand", "{}"))
        if state.get("setting") != self._digest():
            raise UsageError(
                f"{self.path} is the checkpoint of another training run: its options or rounds differ. Choose another file, "
                "or delete it to start over."
            )
        tensors = load(content)
        policy.load_state_dict(_under(tensors, "policy."))
        buffers: dict[int, dict[str, Tensor]] = {}
        for key, tensor in _under(tensors, "optimizer.").items():
            number, _, name = key.partition(".")
            buffers.setdefault(int(number), {})[name] = tensor
        optimizer.load_state_dict({**optimizer.state_dict(), "state": buffers})
        return _under(tensors, "best."), state

    def _digest(self) -> str:
        return hashlib.sha256(self.identity.encode()).hexdigest()


def _under(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
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
        return _identity_of_model(value)
    return files.digest({"array": value}) if isinstance(value, np.ndarray) else repr(value)


def _identity_of_model(model: Any) -> str:
    estimator, logs = getattr(model, "estimator", None), getattr(model, "logs", None)
    try:
        content = hashlib.sha256(pickle.dumps(estimator)).hexdigest()
    except (pickle.PicklingError, TypeError, AttributeError):
        content = type(estimator).__name__
    rounds = str(full_fingerprint(logs, logs.declaration.contexts or ())) if isinstance(logs, Logs) else ""
    return f"{json.dumps(model.describe())} {content} {rounds}"
