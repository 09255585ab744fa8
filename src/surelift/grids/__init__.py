"""Smoothings and their prior, fixed before the data is seen."""

from surelift.grids.anytime import anytime
from surelift.grids.grid import Grid
from surelift.grids.planned import improvement, planned
from surelift.grids.single import from_rounds, single

__all__ = ["Grid", "anytime", "from_rounds", "improvement", "planned", "single"]
