"""What makes a round unfit: counted by reason, shown with the first offending row and a remedy."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from surelift.arrays import BoolArray
from surelift.errors import LogsError


@dataclass(frozen=True, slots=True)
class Reason:
    """What is wrong with a value, to be read after "3 values", and what to do about it."""

    says: str
    remedy: str


NULL = Reason(
    "are missing (null)",
    "Every round counts, whatever it earned: join the reward and the probabilities to all rounds, and fill nothing in.",
)
NOT_A_NUMBER = Reason("are NaN", "Find where the NaN comes from; a round without a number cannot enter a guarantee.")
INFINITE = Reason("are infinite", "Find where the infinity comes from, often a division by zero or an overflow.")
NOT_NUMERIC = Reason("are not numbers", "Store plain numbers, 0.2 and not '20%', or name the column that holds them.")
PROPENSITY = Reason(
    "lie outside (0, 1]",
    "Log the probability of the action really taken: a zero says that production could not have taken it, and a number "
    "above 1 may be a percentage. For densities declare density.",
)
LOG_PROPENSITY = Reason(
    "are not logarithms of a probability in (0, 1]",
    "A log propensity is at most 0 and its exponential must not vanish. If the column holds probabilities, name it in "
    "propensity= instead.",
)
DENSITY = Reason("are not positive", "A density of the action taken must be positive and finite.")
PROBABILITY = Reason(
    "lie outside [0, 1]",
    "Give the probability with which the candidate would take the logged action, not a score and not a percentage.",
)
NEGATIVE = Reason("are negative", "A density is never negative.")
REWARD = Reason(
    "lie outside the declared reward range",
    "If such rewards are possible, declare their range in reward_range=(low, high) from what a reward can be, not "
    "from the extremes seen: a guarantee needs a range that was known beforehand.",
)
NOT_VECTORS = Reason(
    "are not vectors",
    "Give a list column with one probability per action, or name one column per action in a list.",
)
VECTOR_ENTRIES = Reason(
    "are vectors with an entry that is missing or no finite number",
    "Give every action of every round a number.",
)
LIST_MISSING = Reason("are missing or empty vectors", "Log one probability per action in every round.")
VECTOR_SUM = Reason(
    "do not sum to 1",
    "A vector of probabilities covers every action that could be taken in that round. Include all of them.",
)
VECTOR_LENGTH = Reason(
    "differ in length from the vector in logging=",
    "Candidate and production must list the same actions in the same order, row by row.",
)
VECTOR_DECLARED = Reason(
    "differ in length from the declared actions",
    "A vector has one entry for each label in actions=[...], or as many as action_count= says.",
)
VECTOR_PROPENSITY = Reason(
    "do not hold the logged propensity at the logged action",
    "Check the position of the action (counted from 0), and that the propensity was logged by the same model version.",
)
ACTION_POSITION = Reason(
    "are no position among that round's actions",
    "Positions are whole numbers counted from 0. If these are labels, the logs are fine and the question lacks their list: "
    "declare actions=[...], in the order of the vectors.",
)
ACTION_LABEL = Reason("are not among the declared actions", "Declare every label in actions=[...], in vector order.")
ACTION_COUNT = Reason("are not whole numbers of at least 1", "Count the actions that production could choose from.")
EMBEDDING = Reason(
    "could not have come from the action that was taken",
    "p(e|a) is zero there: check the column, and the order of the rows of p(e|a).",
)
WEIGHT_OVERFLOW = Reason(
    "give a weight above 1e150",
    "No action was ever drawn with so small a propensity: it is a logging fault.",
)
MAX_WEIGHT = Reason(
    "give a weight above the declared max_weight",
    "The declared bound is false. Declare one that follows from how the policies are built, never the largest seen.",
)
OTHER_ITEMS = Reason(
    "are other numbers of actions than the policy has items",
    "Judge it on logs with the items it was learned for, in their order; a new item needs an embedding and a new policy.",
)
CONTEXT_LENGTH = Reason(
    "are missing, or vectors of another length than the first",
    "Give every round a vector with as many entries as the first one has.",
)
ACTIONS_VARY = Reason(
    "are other numbers of actions than in the first round",
    "A reward model fitted here needs the same actions in every round; give its predictions in a list column instead.",
)
CLUSTER_AGAIN = Reason(
    "belong to a cluster that had ended before",
    "The rounds of a cluster must follow each other, in one shard: sort the log by cluster.",
)
CLUSTER_SIZE = Reason(
    "belong to a cluster of another size than was declared",
    "Every round of a cluster must be in the log, and its size known before its first action.",
)
CLUSTER_MAX = Reason(
    "belong to a cluster of more rounds than cluster_max",
    "Declare a maximum that no cluster can exceed, from how they come about, never the largest seen.",
)
CLUSTER_VARIES = Reason(
    "differ within their cluster",
    "What is said of a cluster must be the same in all of its rounds: clusters are kept or dropped whole.",
)
KEEP_PROBABILITY = Reason(
    "lie outside (0, 1]",
    "Give the probability with which a round of its kind was kept, 1 where all were.",
)
SEGMENT = Reason(
    "belong to no segment (null)",
    "Every round belongs to a segment that was known before its action; give those without one a name of their own.",
)
SEGMENT_UNDECLARED = Reason(
    "belong to a segment that was not declared",
    "List every segment in segments=[...] before looking, or leave it out for an answer that is good for one look.",
)
TIME_ORDER = Reason(
    "are earlier than the round before",
    "A reward model that learns along the way needs the rounds in the order of their decisions: sort the log by time, or "
    "give a model fitted apart. Times that are text are compared letter by letter.",
)


@dataclass(frozen=True, slots=True)
class Fault:
    """One reason in one place, such as "propensity 'p'": the key under which rows are counted."""

    subject: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class Tally:
    """How many rows have a fault, and the first of them."""

    count: int
    row: int
    value: str
    place: str

    def __add__(self, other: "Tally") -> "Tally":
        first = min(self, other, key=lambda tally: tally.row)
        return replace(first, count=self.count + other.count)


class FaultCounter:
    """The faults found in one batch, and which of its rows are free of them."""

    def __init__(self, rows: int, *, start: int, place: str, place_start: int) -> None:
        self.usable: BoolArray = np.ones(rows, dtype=np.bool_)
        self.tallies: dict[Fault, Tally] = {}
        self._start, self._place, self._place_start = start, place, place_start

    def count(self, subject: str, reason: Reason, bad: BoolArray, shown: object) -> None:
        """Count the rows marked in ``bad``; ``shown`` is an array of the values to show, or the first of them."""
        rows = np.flatnonzero(bad)
        if rows.size == 0:
            return
        first = int(rows[0])
        value = shown[first] if isinstance(shown, np.ndarray) else shown
        place = f" ({self._place}, row {self._start + first - self._place_start})" if self._place else ""
        tally = Tally(int(rows.size), self._start + first, _show(value), place)
        fault = Fault(subject, reason)
        self.tallies[fault] = self.tallies[fault] + tally if fault in self.tallies else tally
        self.usable &= ~bad


def _show(value: object) -> str:
    if isinstance(value, float | np.floating):
        return repr(float(value))
    if isinstance(value, int | np.integer):
        return str(int(value))
    shown = "null" if value is None else repr(value)
    return shown if len(shown) <= 80 else f"{shown[:77]}..."


def merge_tallies(left: Mapping[Fault, Tally], right: Mapping[Fault, Tally]) -> dict[Fault, Tally]:
    merged = dict(left)
    for fault, tally in right.items():
        merged[fault] = merged[fault] + tally if fault in merged else tally
    return merged


def describe_faults(tallies: Mapping[Fault, Tally], *, rows: int) -> list[str]:
    """One sentence for each fault, the most frequent first."""
    ordered = sorted(tallies.items(), key=lambda item: -item[1].count)
    return [
        f"{fault.subject}: {tally.count:,} of {rows:,} values {fault.reason.says}; "
        + (
            f"the first is {tally.value} in row {tally.row:,}{tally.place}, counting from 0."
            if tally.row >= 0
            else f"one of them is {tally.value}."
        )
        for fault, tally in ordered
    ]


def refuse_faults(tallies: Mapping[Fault, Tally], *, rows: int) -> None:
    """Raise if any row is unfit: a guarantee computed from the rest would be a guarantee of something else."""
    if not tallies:
        return
    ordered = sorted(tallies.items(), key=lambda item: -item[1].count)
    lines = describe_faults(tallies, rows=rows)
    remedies = [fault.reason.remedy for fault, _ in ordered]
    body = "\n".join(f"- {line}\n  {remedy}" for line, remedy in zip(lines, remedies, strict=True))
    raise LogsError(f"these logs cannot carry a guarantee, so nothing was computed:\n{body}")
