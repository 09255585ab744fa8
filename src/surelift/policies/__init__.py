"""Where probabilities come from: columns, matrices, functions, models, and what is made from them."""

from surelift.policies.policy import Policy
from surelift.policies.resolve import bounded, chosen, epsilon_greedy, mixture, softmax, uniform

__all__ = ["Policy", "bounded", "chosen", "epsilon_greedy", "mixture", "softmax", "uniform"]
