"""Very many actions: what they have in common (marginalised importance weights, MIPS).

>>> clusters([0, 0, 1]).actions
3
"""

from surelift.logs.embeddings import clusters, known

__all__ = ["clusters", "known"]
