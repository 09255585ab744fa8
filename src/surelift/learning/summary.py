"""What a learned policy is, in a few lines: its kind, actions and contexts, and what its certificate says."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from surelift.learning.data.layout import FeatureLayout
from surelift.views.numbers import rounded

KINDS = {
    "gaussian": "a linear rule with random weights (Gaussian), drawn anew at every decision",
    "softmax": "a softmax of linear scores", "network": "a softmax of a network with one hidden layer",
    "stages": "a draw, at every decision, of one of several policies learned one after the other",
    "module": "a softmax of the scores of a torch module",
    "items": "a softmax over items, scored by their embeddings",
}  # fmt: skip
_SHOWN = 8


def summary(kind: str, layout: FeatureLayout, labels: Sequence[Any] | None, action_count: int) -> list[str]:
    actions = f"0 to {action_count - 1:,}" if labels is None else _some(map(str, labels), len(labels))
    contexts = _some((f"{name} ({_type_of(layout, name)})" for name in layout.names), len(layout.names))
    return [
        f"{KINDS.get(kind, kind)}, over {action_count:,} actions",
        f"  actions      {actions}",
        f"  contexts     {contexts or 'none'}",
    ]


def certificate_line(content: Mapping[str, Any] | None) -> str:
    """What the certificate says, in one sentence."""
    if content is None:
        return "  certificate  none"
    answer, delta = content["answer"], content["question"]["delta"]
    improves = answer.get("about", "improvement") == "improvement"
    verdict = ("certified: " if answer["certified"] else "not certified: ") if improves and "certified" in answer else ""
    bounds = [
        f"{side} {rounded(answer[name], 4, towards=towards, sign=improves)}"
        for name, side, towards in (("lower", "at least", "down"), ("upper", "at most", "up"))
        if answer.get(name) is not None and not (improves and name == "upper")
    ]
    what = "improvement over production" if improves else "value per round"
    says = f"{what} of {', '.join(bounds)}" if bounds else f"see 'surelift explain' ({content['question']['kind']})"
    return f"  certificate  {verdict}{says} (delta {delta:g}, {content['rounds']:,} rounds)"


def _type_of(layout: FeatureLayout, name: str) -> str:
    if name in layout.texts:
        return "text"
    return f"list of {layout.widths[name]} numbers" if name in layout.widths else "number"


def _some(names: Iterable[str], count: int) -> str:
    shown = [name for name, _ in zip(names, range(_SHOWN), strict=False)]
    return ", ".join(shown) + (f", ... ({count:,} in all)" if count > _SHOWN else "")
