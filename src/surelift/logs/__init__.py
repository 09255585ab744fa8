"""Logged rounds: their sources, columns and ranges, and the faults that disqualify them."""

from surelift.logs.logs import Logs

__all__ = ["Logs"]
