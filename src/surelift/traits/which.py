"""The which slot: what of the log is asked about? Every round, or those that meet a condition known before the action."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from surelift.errors import UsageError, printed
from surelift.logs.batch import TableBatch
from surelift.logs.chosen import chosen
from surelift.logs.where import Condition, columns_of, parsed
from surelift.traits.trait import Trait, given

REMEDY = (
    "a round may be chosen only by what was known before its action, such as a country or a day. To judge some actions "
    "only, "
    "make a candidate of them"
)


def condition_text(name: str, where: Any) -> str:
    if not isinstance(where, str) or not where.strip():
        raise UsageError(f"where must be a condition such as \"country = 'FR'\", but is {printed(where)}.")
    parsed(where.strip())
    return where.strip()


@dataclass(frozen=True, kw_only=True)
class Every(Trait):
    slot = "which"

    @property
    def chosen_by(self) -> tuple[str, ...]:
        """The columns of the condition that rounds must meet."""
        return ()

    @property
    def words(self) -> str:
        """The condition, as it was given."""
        return ""

    def pushed(self) -> Condition | None:
        """What a source may leave rows out by."""
        return None

    def chosen(self, batches: Iterator[TableBatch], unit: str | None) -> Iterator[TableBatch]:
        """The rounds that meet the condition."""
        return batches

    def remarks(self, excluded: int, met: int) -> tuple[str, ...]:
        """What is said of the rounds that do not meet the condition, where there are any."""
        return ()


@dataclass(frozen=True, kw_only=True)
class Where(Every):
    where: str | None = given(
        "Which rounds are judged, by what was known before the action: \"country = 'FR' and day >= 2026-01-01\". The others "
        "are left out, and counted.", "CONDITION", condition_text,
    )  # fmt: skip

    @classmethod
    def fits(cls, given: Mapping[str, Any]) -> bool:
        return "where" in given

    @property
    def features(self) -> frozenset[str]:
        return frozenset({"where"})

    def columns(self) -> Iterator[tuple[str, str]]:
        yield from (("where", name) for name in self.chosen_by)

    @property
    def words(self) -> str:
        return str(self.where)

    @property
    def condition(self) -> Condition:
        return parsed(self.words)

    @property
    def chosen_by(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(columns_of(self.condition)))

    def pushed(self) -> Condition | None:
        return self.condition

    def chosen(self, batches: Iterator[TableBatch], unit: str | None) -> Iterator[TableBatch]:
        return chosen(batches, self.condition, unit)

    def remarks(self, excluded: int, met: int) -> tuple[str, ...]:
        said = f"{excluded:,} of {excluded + met:,} rounds do not meet `{self.where}`, and were left out."
        return (said,) if excluded else ()

    def assumes(self) -> Iterator[str]:
        yield (
            f"the rounds were chosen by `{self.where}`, which was fixed in advance and says of a round only what was known "
            "before the action (of a cluster, before its first), whatever was shown and earned"
        )
