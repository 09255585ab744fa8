"""The same questions from the command line; ``commands.py`` lists the commands."""
