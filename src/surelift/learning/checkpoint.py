"""Where a training stands, in one file that is written beside and renamed: a run that was killed goes on from there."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save
from torch import Tensor, nn

from surelift.errors import UsageError
from surelift.learning.files import metadata_of
from surelift.saving import write_beside


@dataclass(frozen=True, slots=True)
class Checkpoint:
    path: str
    setting: str
    """What the training depends on: its options, and the rounds."""

    def save(
        self, policy: nn.Module, optimizer: torch.optim.Optimizer, *, best: dict[str, Tensor], **stand: Any
    ) -> None:
        tensors = {f"policy.{name}": tensor for name, tensor in policy.state_dict().items()}
        tensors |= {f"best.{name}": tensor for name, tensor in best.items()}
        for place, state in optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{place}.{name}": tensor for name, tensor in state.items()}
        content = save(
            {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()},
            {"stand": json.dumps({**stand, "setting": self._mark()})},
        )
        write_beside(self.path, content, what="the checkpoint")

    def load(
        self, policy: nn.Module, optimizer: torch.optim.Optimizer
    ) -> tuple[dict[str, Tensor], int, float, int] | None:
        """Put the training where it stood; the best so far, its pass and bound, and the pass to go on with."""
        if not Path(self.path).exists():
            return None
        stand = json.loads(metadata_of(self.path).get("stand", "{}"))
        if stand.get("setting") != self._mark():
            raise UsageError(
                f"{self.path} is the checkpoint of another training: its options or its rounds differ. Name another file, "
                "or delete it to begin anew."
            )
        tensors = load_file(self.path)
        policy.load_state_dict(_under(tensors, "policy."))
        whole = optimizer.state_dict()
        state: dict[int, dict[str, Tensor]] = {}
        for name, tensor in _under(tensors, "optimizer.").items():
            place, _, kind = name.partition(".")
            state.setdefault(int(place), {})[kind] = tensor
        optimizer.load_state_dict({**whole, "state": state})
        return _under(tensors, "best."), stand["best_epoch"], stand["best_score"], stand["epoch"] + 1

    def _mark(self) -> str:
        return hashlib.sha256(self.setting.encode()).hexdigest()


def _under(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
