"""Every question that can be asked, by its verb and as a ``Question``."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import surelift as sl

LISTED: Mapping[str, Any] = {"by": "s", "segments": ["x", "y"]}
JUDGES = {"g": sl.Outcome("g"), "wait": sl.Outcome("x", range=(0, 12), cost=True, at_most_worse=1.0)}
RAIL = sl.Outcome("g", at_most_worse=0.25)
VERBS: Mapping[str, Callable[..., Any]] = {
    "evaluate": sl.evaluate, "compare": sl.compare, "compare outcomes": sl.compare, "select": sl.select,
    "select by value": sl.select, "gate": sl.gate, "profile": sl.profile, "check": sl.check, "power": sl.power,
    "estimate": sl.estimate, "report": sl.report,
}  # fmt: skip


@dataclass(frozen=True)
class Asked:
    kind: str
    name: str
    candidates: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name

    def policies(self, named: Mapping[str, Any]) -> Any:
        return {name: named[name] for name in self.candidates} or None

    def own(self, named: Mapping[str, Any]) -> dict[str, Any]:
        """The options, where the other candidate stands for the baseline."""
        return {name: {"b": named["b"]} if value == OTHER else value for name, value in self.options.items()}

    def verb(self, logs: sl.Logs, named: Mapping[str, Any]) -> Any:
        options = self.own(named)
        if self.kind == "select by value":
            options["choose"] = "value"
        if "improvement_to_find" in options:
            options["improvement"] = options.pop("improvement_to_find")
        return VERBS[self.kind](logs, self.policies(named), **options)

    def question(self, logs: Any, named: Mapping[str, Any]) -> sl.Question:
        return sl.Question.of(self.kind, logs, self.policies(named), **self.own(named))


OTHER = "the other candidate"
ONE, BOTH = ("a",), ("a", "b")


def _asked() -> list[Asked]:
    known: Mapping[str, Mapping[str, tuple[tuple[str, ...], Mapping[str, Any]]]] = {
        "evaluate": {
            "": (BOTH, {}), "lower": (ONE, {"sides": "lower"}), "upper": (ONE, {"sides": "upper"}),
            "by listed": (ONE, LISTED),
            "by what occurs": (ONE, {"by": "s"}), "by bins": (ONE, {"by": sl.bins("age", [30, 45])}),
            "planned": (ONE, {"grid": "planned"}), "no control": (ONE, {"control": "none"}),
            "weights": (ONE, {"control": "weights"}), "score": (ONE, {"control": "score"}),
            "given model": (ONE, {"control": sl.models.given("predicted")}), "refitted": (ONE, {"control": "model"}),
            "smoothing": (ONE, {"method": "logarithmic-smoothing", "smoothing": 0.25}),
            "its own smoothing": (ONE, {"method": "logarithmic-smoothing"}),
            "second-moment": (ONE, {"method": "second-moment", "smoothing": 0.25}),
            "moments": (ONE, {"method": "moments", "order": 3, "smoothing": 0.25}),
            "implicit-exploration": (ONE, {"method": "implicit-exploration", "smoothing": 0.25}),
            "empirical-bernstein": (ONE, {"method": "empirical-bernstein"}), "efron-stein": (ONE, {"method": "efron-stein"}),
            "blocks": (ONE, {"method": "blocks"}), "normal": (ONE, {"method": "normal"}),
            "bootstrap": (ONE, {"method": "bootstrap"}),
        },
        "compare": {
            "": (ONE, {}), "by a margin": (ONE, {"margin": 0.125}), "not much worse": (ONE, {"margin": -0.25}),
            "in per cent": (ONE, {"margin": "2%"}), "over another": (ONE, {"over": OTHER}), "by listed": (ONE, LISTED),
            "by what occurs": (ONE, {"by": "s"}), "planned": (ONE, {"grid": "planned"}),
            "blocks": (ONE, {"method": "blocks"}),
            "normal": (ONE, {"method": "normal"}), "bootstrap": (ONE, {"method": "bootstrap"}),
            "weights": (ONE, {"control": "weights"}), "second-moment": (ONE, {"method": "second-moment"}),
            "in per cent by listed": (ONE, {"margin": "2%", **LISTED}),
        },
        "compare outcomes": {"": (ONE, {"outcomes": JUDGES}), "by listed": (ONE, {"outcomes": JUDGES, **LISTED})},
        "select": {
            "": (BOTH, {}), "bounds": (BOTH, {"many": "simultaneous"}), "e-bh": (BOTH, {"many": "e-bh"}),
            "by listed": (BOTH, LISTED), "in per cent": (BOTH, {"margin": "2%"}), "over another": (ONE, {"over": OTHER}),
        },
        "select by value": {"": (BOTH, {}), "by listed": (BOTH, LISTED)},
        "gate": {
            "": (ONE, {}), "a guardrail": (ONE, {"guardrails": (RAIL,)}),
            "by listed": (ONE, {"guardrails": (RAIL,), **LISTED}),
            "in per cent": (ONE, {"margin": "2%"}),
        },
        "profile": {"": (ONE, {}), "by listed": (ONE, LISTED)},
        "check": {"": (BOTH, {}), "without a policy": ((), {}), "by": (ONE, {"by": ["s", sl.bins("age", [30])]})},
        "power": {
            "": (ONE, {}), "assumed": (ONE, {"improvement_to_find": 0.25}), "blocks": (ONE, {"method": "blocks"}),
            "by listed": (ONE, LISTED),
        },
        "estimate": {
            "": (BOTH, {}), "snips": (ONE, {"estimator": "snips"}), "ls": (ONE, {"estimator": "ls"}),
            "clipped": (ONE, {"estimator": "clipped", "clip": 2.0}),
            "shrinkage": (ONE, {"estimator": "shrinkage", "strength": 1.0}),
            "dr": (ONE, {"estimator": "dr", "model": sl.models.given("predicted")}), "by listed": (ONE, LISTED),
        },
        "report": {"": (BOTH, {}), "outcomes by listed": (ONE, {"outcomes": {"g": sl.Outcome("g")}, **LISTED})},
    }  # fmt: skip
    return [
        Asked(kind, f"{kind}, {name}" if name else kind, candidates, options)
        for kind, named in known.items()
        for name, (candidates, options) in named.items()
    ]


ASKED = _asked()
BY_NAME: Mapping[str, Asked] = {asked.name: asked for asked in ASKED}
