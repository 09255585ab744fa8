"""The same questions from the command line, one file per command."""
