"""Large action spaces: marginalised importance weights over action embeddings (MIPS).

>>> kinds([0, 0, 1]).actions
3
"""

from surelift.logs.embeddings import kinds, known

__all__ = ["kinds", "known"]
