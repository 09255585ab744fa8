"""Logged rounds: their sources, columns and ranges, and the faults that disqualify them."""

from typing import TYPE_CHECKING

from surelift.lazy import lazy

if TYPE_CHECKING:
    from surelift.logs.logs import Logs
else:
    __getattr__, __dir__ = lazy(__name__, {"logs": "Logs"})

__all__ = ["Logs"]
