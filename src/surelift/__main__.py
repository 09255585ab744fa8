"""``python -m surelift`` is the command line."""

from surelift.cli.app import run

run()
