"""E-values: is the candidate better?"""

from surelift.evidence.e_value import e_value, p_value

__all__ = ["e_value", "p_value"]
