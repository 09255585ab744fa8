"""Evidence that can be read at any time: e-values."""

from surelift.evidence.e_value import e_value, p_value
from surelift.evidence.many import discoveries

__all__ = ["discoveries", "e_value", "p_value"]
