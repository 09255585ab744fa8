"""The propensity slot, by Monte Carlo: k of m draws from production took the logged action."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from surelift.arrays import FloatArray
from surelift.errors import UsageError
from surelift.logs.decisions import Decisions
from surelift.logs.densities import Density, density_from
from surelift.logs.rows import Rows
from surelift.logs.wins import FRESH, PLAYED_AMONG, Wins, wins_from
from surelift.traits.propensity import BOTH, Propensity
from surelift.traits.trait import anything, given

KNOWN = (
    "wins estimates the propensity of a discrete action by draws, where production's probabilities are not known; logging= "
    "and density=True say that they are. Give one or the other. A vector counted from draws is no logging=: a control made "
    "with it would not be valid."
)


def law_from(description: Mapping[str, Any]) -> Wins | Density:
    """Wins, or a density, from what they say of themselves in a file."""
    try:
        return wins_from(description) if description.get("kind") == "wins" else density_from(description)
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"propensity= is not a valid density, nor wins ({error}).") from error


@dataclass(frozen=True, kw_only=True)
class Drawn(Propensity):
    propensity: Wins = given(
        "Columns of how many of M draws (a column or a number) took the logged action, instead of a propensity; ',played' "
        "where the logged action is one of the M.", "K,M[,played]", anything, rare=True, read="wins",
        flag="propensity_wins",
    )  # fmt: skip
    refuses: ClassVar[Mapping[str, str]] = {
        "logging": KNOWN, "density": KNOWN, "log_propensity": BOTH, "embedding": KNOWN
    }  # fmt: skip

    @cached_property
    def features(self) -> frozenset[str]:
        return frozenset({"wins"})

    @cached_property
    def columns(self) -> list[tuple[str, str]]:
        return [*super().columns, *(("wins", name) for name in self.propensity.columns())]

    def hidden(self) -> dict[str, str]:
        return {**super().hidden(), self.propensity.k: "count of draws that took the logged action"}

    @cached_property
    def assumes(self) -> tuple[str, ...]:
        fresh = FRESH.format(whose="production as it was at the decision")
        return (PLAYED_AMONG if self.propensity.includes_played else fresh,)

    def read(self, rows: Rows, decisions: Decisions) -> FloatArray:
        return self.propensity.propensity(rows, "propensity, the wins of production")
