"""A short text that identifies an option of a learner, the same in every process and at every start."""

import hashlib
import json
import pickle
from typing import Any

import numpy as np
from torch import nn

from surelift.learning import files
from surelift.learning.data.fingerprints import decision_fingerprint
from surelift.learning.learned import LearnedPolicy
from surelift.learning.policies.items import ItemSoftmax
from surelift.logs.logs import Logs


def identity_of(value: Any) -> str:
    """By the numbers it holds, where it is not plain text."""
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
    rounds = str(decision_fingerprint(logs)) if isinstance(logs, Logs) else ""
    return f"{json.dumps(model.describe())} {content} {rounds}"
