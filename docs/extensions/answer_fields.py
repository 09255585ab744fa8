"""``{fields} surelift.results.Improvement``: the fields of a result, with their types and meanings, as a table.

A meaning is the text below the field in the source; fields that many results share are explained here, once.
"""

import dataclasses
import inspect
import pkgutil
import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxDirective

SHARED = {
    "about": "What is bounded: the value, or the improvement.",
    "assumptions": "What the answer rests on, one sentence each.",
    "bounds": "The lower bound from each smoothing.",
    "chosen": "The name of the one that was chosen.",
    "claims": "The outcomes that were asked for, by name.",
    "column": "The column of rewards or costs.",
    "control": "The control variate that was used.",
    "counted": "What `rounds` counts: rounds or clusters.",
    "delta": "The probability that the answer is wrong, which was accepted.",
    "differences": "What differs, one sentence each; empty where it is the same.",
    "doubts": "Why nothing is certified, whatever the bounds say; usually empty.",
    "estimate": "The point estimate, without a guarantee.",
    "estimator": "The name of the estimator.",
    "findings": "What is wrong with the logs, or could be.",
    "growth": "The probability of certification at each number of rounds.",
    "health": "What `check` says about the logs.",
    "heaviest_rounds": "The rounds with the largest weights.",
    "improvement_range": "The smallest and the largest possible improvement.",
    "kind": "Whether the column is a reward or a cost.",
    "largest": "The largest weight.",
    "largest_weights": "By actions, and by embeddings.",
    "lower": "The lower bound; it holds with probability 1 - delta.",
    "many": "How several candidates share delta.",
    "margin": "What the improvement must exceed, in the units of the column.",
    "mean_weight": "The mean importance weight, close to 1 where propensities are right and overlap is full.",
    "method": "The bound.",
    "more_rounds_range": "The same range for `more_rounds`.",
    "name": "The name of the learner.",
    "notes": "What was done to the log before it was judged, such as rounds that were left out.",
    "objective": "What learning maximised.",
    "outcomes": "Each method with its coverage and its width.",
    "over": "The baseline: production, or another policy.",
    "p_value": "The inverse of the e-value, at most 1.",
    "points": "The bounds after each batch, or each stretch of the log.",
    "policy": "The name of the policy.",
    "power": "The probability of certification that was asked for.",
    "prior": "Where the prior came from.",
    "promise": "Whether it holds at any number of looks, at one look, or only asymptotically.",
    "provenance": "Which rounds, question and version made the answer; certificates are made of it.",
    "relative_upper": "The upper bound in the same units, separately.",
    "remedy": "What to do about it.",
    "results": "The answers by name; the result itself is a mapping of them.",
    "rounds": "How many rounds (or clusters) were counted.",
    "runs": "How many logs were simulated.",
    "says": "What is wrong.",
    "selection": "What `select` says; None where the logs are not fit.",
    "severity": "Whether it refuses an answer or warns.",
    "sides": "Which sides were bounded.",
    "sizes": "How many rounds have weights of each size.",
    "smallest_propensity": "The smallest propensity in the log.",
    "smoothings": "The smoothings of the grid.",
    "subject": "What it is about: a column, the propensities, a policy.",
    "tried": "What each learner promised on the rounds that choose.",
    "upper": "The upper bound; also with probability 1 - delta, separately.",
    "value_range": "The declared range of the column.",
    "weights": "The importance weights of each policy, by name.",
}


def written_meanings(cls: type) -> dict[str, str]:
    """The texts below the fields of a class and of its bases."""
    found: dict[str, str] = {}
    for base in cls.__mro__:
        if base.__module__.startswith("surelift"):
            documents = ModuleAnalyzer.for_module(base.__module__).find_attr_docs()
            for (owner, name), lines in documents.items():
                if owner == base.__name__:
                    found.setdefault(name, " ".join(lines).strip().replace("``", "`"))
    return found


def field_rows(cls: type) -> list[tuple[str, str, str]]:
    """The name, type and meaning of every field of a dataclass.

    Fields of which nothing is known have an empty meaning; ``tests/test_docs.py`` finds them.
    """
    written = written_meanings(cls)
    rows = []
    for field in dataclasses.fields(cls):
        kind = field.type if isinstance(field.type, str) else inspect.formatannotation(field.type)
        kind = re.sub(r"\b(?:\w+\.)+(?=\w)", "", kind).replace("'", '"')
        rows.append((field.name, kind, written.get(field.name) or SHARED.get(field.name, "")))
    return rows


class Fields(SphinxDirective):
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        cls: Any = pkgutil.resolve_name(self.arguments[0])
        lines = ["| field | type | meaning |", "|---|---|---|"]
        for name, kind, meaning in field_rows(cls):
            lines.append(f"| `{name}` | `` {kind.replace('|', chr(92) + '|')} `` | {meaning.replace('|', chr(92) + '|')} |")
        shown = self.parse_text_to_nodes("\n".join(lines))
        shown[0]["classes"].append("fields")
        return shown


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("fields", Fields)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
