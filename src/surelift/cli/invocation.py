"""The command that runs, as it can be typed again: at the foot of the pages it writes."""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

_TYPED: ContextVar[tuple[str, ...]] = ContextVar("typed", default=())


@contextmanager
def typed(tokens: Sequence[str]) -> Iterator[None]:
    before = _TYPED.set(tuple(tokens))
    try:
        yield
    finally:
        _TYPED.reset(before)


def command_typed() -> str:
    """Without the credentials that an address may hold."""
    from surelift.logs.sources.stores import without_secrets

    return shlex.join(["surelift", *map(without_secrets, _TYPED.get())])
