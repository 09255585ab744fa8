"""The version of the library, written into every certificate."""

__version__ = "0.2.0"
