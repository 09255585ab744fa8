"""Policies: probabilities from columns, matrices, functions and models, and combinations of them."""

from surelift.policies.policy import Policy
from surelift.policies.resolve import blend, bounded, chosen, epsilon_greedy, softmax, uniform

__all__ = ["Policy", "blend", "bounded", "chosen", "epsilon_greedy", "softmax", "uniform"]
