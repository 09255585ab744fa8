"""Learn policies from logged bandit data, each with a certificate. Only learning needs torch; using a policy does not."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from surelift.errors import UsageError, install_extra

if TYPE_CHECKING:
    from surelift.learning.learned import Decision, LearnedPolicy
    from surelift.learning.learner import PolicyLearner
    from surelift.learning.many import fit_many, search
    from surelift.learning.policies.items import ItemSoftmax

__all__ = ["Decision", "ItemSoftmax", "LearnedPolicy", "PolicyLearner", "fit_many", "search"]
_MODULES = {
    "Decision": "surelift.learning.learned", "ItemSoftmax": "surelift.learning.policies.items",
    "LearnedPolicy": "surelift.learning.learned", "PolicyLearner": "surelift.learning.learner",
    "fit_many": "surelift.learning.many", "search": "surelift.learning.many",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import on first use, so that ``import surelift`` does not import torch."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(_MODULES[name]), name)
    except ModuleNotFoundError as error:
        needed = f"learning needs {error.name}, which is not installed."
        raise UsageError(f"{needed} {install_extra('learn')}") from error
