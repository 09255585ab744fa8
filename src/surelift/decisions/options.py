"""What the verbs share: the options that type checkers see, and how a question is asked. Its fields hold the defaults."""

from typing import Any, SupportsIndex, TypedDict

from surelift.bounds import BoundChoice
from surelift.questions.question import Progress, Question
from surelift.questions.stored import made
from surelift.traits.logs import Logs


class BoundOptions(TypedDict, total=False):
    """Options of a method; each uses some of them."""

    grid: Any
    smoothing: float | None
    order: SupportsIndex
    regularizer: Any
    clip: float | None
    draws: SupportsIndex


class Options(BoundOptions, total=False):
    """What every verb takes beside its own arguments."""

    method: str | BoundChoice
    control: Any
    progress: Progress | None


def ask(kind: type[Question], logs: Logs, policies: Any, *, progress: Progress | None = None, **options: Any) -> Any:
    return made(kind, logs, policies, **options).ask(logs, progress=progress)
