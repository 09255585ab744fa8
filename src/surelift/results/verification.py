"""Whether a certificate follows from the logs."""

from dataclasses import dataclass
from typing import Any

from surelift.decisions.certificate import Answer
from surelift.results.result import Result


@dataclass(frozen=True, slots=True, repr=False)
class Verification(Result):
    """Whether everything came out the same, and what did not."""

    differences: tuple[str, ...]
    rounds: int
    answer: Answer
    """The answer computed again."""

    @property
    def same(self) -> bool:
        return not self.differences

    def to_dict(self) -> dict[str, Any]:
        return {
            "same": self.same, "differences": list(self.differences), "rounds": self.rounds,
            "answer": self.answer.to_dict(),
        }  # fmt: skip

    def records(self) -> list[dict[str, Any]]:
        return [{"same": self.same, "differences": "; ".join(self.differences), "rounds": self.rounds}]
