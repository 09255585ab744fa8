"""Policies learned from a log, with a bound on what they are worth. Only here is torch needed, and only to learn."""

from typing import Any

__all__ = ["LearnedPolicy", "PolicyLearner"]


def __getattr__(name: str) -> Any:
    if name == "PolicyLearner":
        from surelift.errors import UsageError

        try:
            from surelift.learning.learner import PolicyLearner
        except ModuleNotFoundError as error:
            raise UsageError(
                f"learning needs {error.name}, which is not installed; say: pip install 'surelift[learn]'."
            ) from error

        return PolicyLearner
    if name == "LearnedPolicy":
        from surelift.learning.learned import LearnedPolicy

        return LearnedPolicy
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
