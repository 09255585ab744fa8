"""Rounds come in: logs, their columns and ranges, and what makes them unfit."""

from surelift.logs.logs import Logs

__all__ = ["Logs"]
