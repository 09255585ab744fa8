"""The which slot: what of the log is asked about? Every round, or those that meet a condition known before the action."""

from dataclasses import dataclass
from typing import Any

from surelift.errors import UsageError, printed
from surelift.logs.where import Condition, columns_of, parsed
from surelift.traits.trait import Trait, derived, given

REMEDY = (
    "a round may be chosen only by what was known before its action, such as a country or a day. To judge some actions "
    "only, make a candidate of them"
)


def condition_text(name: str, where: Any) -> str:
    if not isinstance(where, str) or not where.strip():
        raise UsageError(f"where must be a condition such as \"country = 'FR'\", but is {printed(where)}.")
    return where.strip()


@dataclass(frozen=True, kw_only=True)
class Every(Trait):
    slot = "which"
    chosen_by: tuple[str, ...] = derived(())  # the columns of the condition that rounds must meet
    condition: Condition | None = derived()
    words: str = derived("")  # the condition, as it was given

    def remarks(self, excluded: int, met: int) -> tuple[str, ...]:
        """What is said of the rounds that do not meet the condition, where there are any."""
        said = f"{excluded:,} of {excluded + met:,} rounds do not meet `{self.words}`, and were left out."
        return (said,) if excluded else ()


@dataclass(frozen=True, kw_only=True)
class Where(Every):
    named_by = ("where",)
    where: str = given(
        "Which rounds are judged, by what was known before the action: \"country = 'FR' and day >= 2026-01-01\". The others "
        "are left out, and counted.", "CONDITION", condition_text, feature="where",
    )  # fmt: skip

    def derive(self) -> None:
        condition = parsed(self.where)
        chosen_by = tuple(dict.fromkeys(columns_of(condition)))
        chosen = (
            f"the rounds were chosen by `{self.where}`, which was fixed in advance and says of a round only what was known "
            "before the action (of a cluster, before its first), whatever was shown and earned"
        )
        vars(self).update(
            condition=condition, words=self.where, chosen_by=chosen_by, assumes=(chosen,),
            columns=tuple([("where", name) for name in chosen_by]),
        )  # fmt: skip
