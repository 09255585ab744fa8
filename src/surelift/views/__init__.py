"""Results become something to read."""

from surelift.views.text import text

__all__ = ["text"]
