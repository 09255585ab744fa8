"""The table of the demo: what was certified, beside what is true."""

from collections.abc import Mapping

from surelift.results.improvement import Improvement
from surelift.views.numbers import rounded
from surelift.views.text import aligned


def demo_table(answers: Mapping[str, Improvement], truth: Mapping[str, float]) -> str:
    rows = [("improvement over production", "at least", "at most", "verdict", "(the truth)")]
    rows += [
        (
            name,
            rounded(answer.lower, 4, towards="down", sign=True),
            rounded(answer.upper, 4, towards="up", sign=True),
            "certified better" if answer.certified else ("surely worse" if answer.upper < 0 else "not certified yet"),
            f"({rounded(truth[name], 4, sign=True)})",
        )
        for name, answer in answers.items()
    ]
    return "\n".join(
        [
            *aligned(rows),
            "Each bound holds with probability 0.95, however often one looks. A real log does not",
            "come with the truth; this one does, so that you can see the bounds keep their word.",
            "To pick the winner among three, as below, the chance of being wrong is shared out,",
            "and the bounds get a little wider.",
        ]
    )
