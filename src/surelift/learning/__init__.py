"""Learn policies from logged bandit data, each with a certificate. Only learning needs torch; using a policy does not."""

from typing import TYPE_CHECKING, Any

from surelift.errors import UsageError

if TYPE_CHECKING:
    from surelift.learning.learned import LearnedPolicy
    from surelift.learning.learner import PolicyLearner
    from surelift.learning.many import fit_many
    from surelift.learning.policies.items import ItemSoftmax

__all__ = ["ItemSoftmax", "LearnedPolicy", "PolicyLearner", "fit_many"]


def __getattr__(name: str) -> Any:
    """Import on first use, so that ``import surelift`` does not import torch."""
    try:
        if name == "LearnedPolicy":
            from surelift.learning.learned import LearnedPolicy

            return LearnedPolicy
        if name == "PolicyLearner":
            from surelift.learning.learner import PolicyLearner

            return PolicyLearner
        if name == "fit_many":
            from surelift.learning.many import fit_many

            return fit_many
        if name == "ItemSoftmax":
            from surelift.learning.policies.items import ItemSoftmax

            return ItemSoftmax
    except ModuleNotFoundError as error:
        raise UsageError(
            f"learning needs {error.name}, which is not installed. Run: pip install 'surelift[learn]'"
        ) from error
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
