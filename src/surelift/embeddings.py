"""Very many actions: what they have in common (marginalised importance weights, MIPS).

>>> kinds([0, 0, 1]).actions
3
"""

from surelift.logs.embeddings import kinds, known

__all__ = ["kinds", "known"]
