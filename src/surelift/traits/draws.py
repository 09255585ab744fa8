"""The propensity slot, by Monte Carlo: k of m draws from production took the logged action."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from surelift.arrays import FloatArray
from surelift.errors import UsageError
from surelift.logs.decisions import Decisions
from surelift.logs.rows import Rows
from surelift.logs.wins import FRESH, PLAYED_AMONG, Wins, wins_from
from surelift.traits.propensity import BOTH, Propensity
from surelift.traits.trait import anything, given

KNOWN = (
    "wins estimates the propensity of a discrete action by draws, where production's probabilities are not known; logging= "
    "and density=True say that they are. Give one or the other. A vector counted from draws is no logging=: a control made "
    "with it would not be valid."
)


@dataclass(frozen=True, kw_only=True)
class Drawn(Propensity):
    propensity: Wins = given(
        "Columns of how many of M draws (a column or a number) took the logged action, instead of a propensity; ',played' "
        "where the logged action is one of the M.", "K,M[,played]", anything, rare=True, read="wins",
        flag="propensity_wins",
    )  # fmt: skip
    refuses: ClassVar[Mapping[str, str]] = {
        "logging": KNOWN,
        "density": KNOWN,
        "log_propensity": BOTH,
        "embedding": KNOWN,
    }

    @classmethod
    def fits(cls, given: Mapping[str, Any]) -> bool:
        value = given.get("propensity")
        return isinstance(value, Wins) or (isinstance(value, Mapping) and value.get("kind") == "wins")

    def check(self) -> None:
        super().check()
        if isinstance(self.propensity, Mapping):
            try:
                object.__setattr__(self, "propensity", wins_from(self.propensity))
            except (KeyError, TypeError, ValueError) as error:
                raise UsageError(f"propensity= is not a valid density, nor wins ({error}).") from error

    @property
    def features(self) -> frozenset[str]:
        return super().features | {"wins"}

    def columns(self) -> Iterator[tuple[str, str]]:
        yield from super().columns()
        yield from (("wins", name) for name in self.propensity.columns())

    def hidden(self) -> dict[str, str]:
        return {**super().hidden(), self.propensity.k: "count of draws that took the logged action"}

    def assumes(self) -> Iterator[str]:
        played = self.propensity.includes_played
        yield PLAYED_AMONG if played else FRESH.format(whose="production as it was at the decision")

    def read(self, rows: Rows, decisions: Decisions) -> FloatArray:
        return self.propensity.propensity(rows, "propensity, the wins of production")
