"""Where probabilities come from: columns, matrices, functions, models, and what is made from them."""

from surelift.policies.policy import Policy
from surelift.policies.resolve import blend, bounded, chosen, epsilon_greedy, softmax, uniform

__all__ = ["Policy", "blend", "bounded", "chosen", "epsilon_greedy", "softmax", "uniform"]
