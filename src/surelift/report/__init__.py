"""Results become something to read."""

from surelift.report.text import text

__all__ = ["text"]
