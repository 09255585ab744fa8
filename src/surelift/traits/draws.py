"""The propensity slot, by Monte Carlo: k of m draws from production took the logged action."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from surelift.arrays import FloatArray
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
    return wins_from(description) if description.get("kind") == "wins" else density_from(description)


@dataclass(frozen=True, kw_only=True)
class Drawn(Propensity):
    propensity: Wins = given(
        "Columns of how many of M draws (a column or a number) took the logged action, instead of a propensity; ',played' "
        "where the logged action is one of the M.", "K,M[,played]", anything, rare=True, read="wins",
        flag="propensity_wins", feature="wins",
    )  # fmt: skip
    refuses: ClassVar[Mapping[str, str]] = {
        "logging": KNOWN, "density": KNOWN, "log_propensity": BOTH, "embedding": KNOWN
    }  # fmt: skip

    def derive(self) -> None:
        super().derive()
        draws = self.propensity
        vars(self).update(
            columns=(*self.columns, *[("wins", name) for name in draws.columns()]),
            hidden={**self.hidden, draws.k: "count of draws that took the logged action"},
            assumes=(PLAYED_AMONG if draws.includes_played else FRESH.format(whose="production as it was at the decision"),),
        )

    def read(self, rows: Rows, decisions: Decisions) -> FloatArray:
        return self.propensity.propensity(rows, "propensity, the wins of production")
