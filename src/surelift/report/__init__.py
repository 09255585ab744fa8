"""Results become something to read."""

from surelift.report.text import describe

__all__ = ["describe"]
