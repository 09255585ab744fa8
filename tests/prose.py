"""Undo the terminal's line wrapping."""


def flat(text: str) -> str:
    return " ".join(text.split())
