"""Spark, as the tests of the engines start it."""

from tests.engines.conftest import spark

__all__ = ["spark"]
