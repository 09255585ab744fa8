"""Policies learned from a log, with a bound on what they are worth. Only here is torch needed, and only to learn."""

from importlib import import_module
from typing import Any

__all__ = ["ItemSoftmax", "LearnedPolicy", "PolicyLearner", "fit_many"]

_PLACES = {"ItemSoftmax": "items", "LearnedPolicy": "learned", "PolicyLearner": "learner", "fit_many": "many"}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from surelift.errors import UsageError

    try:
        return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"learning needs {error.name}, which is not installed; say: pip install 'surelift[learn]'."
        ) from error
