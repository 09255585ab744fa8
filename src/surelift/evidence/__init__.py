"""Evidence that can be read at any time: e-values."""

from surelift.evidence.e_values import discoveries, e_holm_levels, e_value, p_value

__all__ = ["discoveries", "e_holm_levels", "e_value", "p_value"]
