"""Texts that were wrapped for a terminal, as one line again."""


def flat(text: str) -> str:
    return " ".join(text.split())
