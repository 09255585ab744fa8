"""What was found wrong with a log, or doubtful."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong with the logs, or that could be, with a remedy."""

    severity: Literal["refuse", "warn"]
    subject: str
    says: str
    remedy: str
    segment: str | None = None
    """Where it was found, such as "day 2024-03-11"; None for the whole log."""
    e_value: float | None = None
    """The evidence, where it was tested: correct logs show so much with probability at most its inverse."""

    @property
    def statement(self) -> str:
        """What it says, with its subject."""
        return self.says if self.says.startswith(self.subject) else f"{self.subject}: {self.says}"
