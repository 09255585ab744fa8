"""Evidence that can be read at any time: e-values."""

from surelift.evidence.e_value import e_value, p_value
from surelift.evidence.many import discoveries, e_holm_levels

__all__ = ["discoveries", "e_holm_levels", "e_value", "p_value"]
