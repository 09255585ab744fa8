"""Reasons to reject a round: counted by reason, reported with the first offending row and a remedy."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from surelift.arrays import BoolArray, IntArray
from surelift.errors import LogsError


@dataclass(frozen=True, slots=True)
class Reason:
    """What is wrong with a value, phrased to follow "3 values", and how to fix it."""

    says: str
    remedy: str


NULL = Reason(
    "are missing (null)",
    "Every round counts, whatever its reward: join rewards and probabilities to all rounds, and do not impute. Only where "
    "no reward means that nothing was earned, and that is final, write 0.",
)
NOT_A_NUMBER = Reason("are NaN", "Find where the NaN comes from; a guarantee needs a number in every round.")
INFINITE = Reason("are infinite", "Find where the infinity comes from: often a division by zero or an overflow.")
NOT_NUMERIC = Reason(
    "are not numbers",
    "Store plain numbers (0.2, not '20%'), or name the column that holds them. Words for 1 and 0 are read where the column "
    "holds one pair of them and nothing else: true and false, t and f, yes and no, y and n.",
)
DECIMAL_COMMA = Reason(
    "are numbers with a comma",
    "Write them with a decimal point, 0.5; a comma is not guessed at, since 1,234 may be a thousand and more.",
)
PROPENSITY = Reason(
    "lie outside (0, 1]",
    "Log the probability of the action actually taken: a zero means that production could not have taken it, and a "
    "number above 1 may be a percentage. For densities, set density=True.",
)
LOG_PROPENSITY = Reason(
    "are not logarithms of a probability in (0, 1]",
    "A log propensity is at most 0, and its exponential must not underflow to 0. If the column holds probabilities, name "
    "it in propensity= instead.",
)
WINS_WHOLE = Reason(
    "are not whole numbers", "Give counts of draws: k of them took the logged action, of m in all; not their ratio."
)
WINS_DRAWS = Reason("are fewer than one draw", "Every round needs at least one draw: m is the number of them all.")
WINS_RANGE = Reason(
    "are counts k below 0 or above their m",
    "k counts the draws that took the logged action, among all m draws of the round: give the two in this order, k and m.",
)
WINS_PLAYED = Reason(
    "are 0, although the logged action is said to be one of the m draws",
    "It would have counted itself. For fresh draws leave includes_played out: the propensity is then (k + 1)/(m + 1). No "
    "floor helps: max(k, 1)/m makes weights too large on average.",
)
DENSITY = Reason("are not positive", "The density of the logged action must be positive and finite.")
PROBABILITY = Reason(
    "lie outside [0, 1]", "Give the candidate's probability of the logged action, not a score or a percentage."
)
NEGATIVE = Reason("are negative", "A density cannot be negative.")
REWARD = Reason(
    "lie outside the declared reward range",
    "If such rewards are possible, declare reward_range=(low, high) from what a reward can be, not from the observed "
    "extremes: a guarantee needs a range known in advance.",
)
OUTCOME = Reason(
    "lie outside the declared range of the outcome",
    "If such values are possible, declare Outcome(column, range=(low, high)) from what a value can be, not from the "
    "observed extremes.",
)
NOT_VECTORS = Reason(
    "are not vectors", "Give a list column with one probability per action, or a list of columns, one per action."
)
VECTOR_ENTRIES = Reason(
    "are vectors with an entry that is missing or not finite", "Give a finite number for every action of every round."
)
LIST_MISSING = Reason("are missing or empty vectors", "Log one probability per action in every round.")
VECTOR_SUM = Reason("do not sum to 1", "A probability vector must cover every action available in that round.")
VECTOR_LENGTH = Reason(
    "differ in length from the vector in logging=",
    "Candidate and production must list the same actions in the same order, row by row.",
)
VECTOR_DECLARED = Reason(
    "differ in length from the declared actions",
    "A vector needs one entry per label in actions=[...], or action_count= entries.",
)
VECTOR_PROPENSITY = Reason(
    "do not hold the logged propensity at the logged action",
    "Check the action's position (counted from 0), and that the propensity was logged by the same model version.",
)
ACTION_POSITION = Reason(
    "are not a position among that round's actions",
    "Positions are whole numbers counted from 0. If these are labels, the logs are fine: declare actions=[...], in the "
    "order of the vectors.",
)
ACTION_LABEL = Reason("are not among the declared actions", "Declare every label in actions=[...], in vector order.")
INEXACT = Reason(
    "are floats too large to tell whole numbers apart",
    "Two different ids may have become one: store ids as integers or as text. A column of integers with gaps becomes one of "
    "floats in pandas; use its type 'Int64'.",
)
ACTION_COUNT = Reason("are not whole numbers of at least 1", "Log the number of actions production could choose from.")
EMBEDDING = Reason(
    "are impossible given the logged action",
    "p(e|a) is zero there: check the column, and the order of the rows of p(e|a).",
)
WEIGHT_OVERFLOW = Reason(
    "give a weight above 1e150", "No action is ever sampled with so small a propensity: this is a logging fault."
)
MAX_WEIGHT = Reason(
    "give a weight above the declared max_weight",
    "The declared bound is false. Derive it from how the policies are built, never from the largest weight observed.",
)
OTHER_ITEMS = Reason(
    "are action counts that differ from the policy's number of items",
    "Evaluate it on logs with the items it was trained on, in that order; a new item needs an embedding and a new policy.",
)
CONTEXT_LENGTH = Reason(
    "are missing, or are vectors that differ in length from the first", "Give every round a vector of the same length."
)
ACTIONS_VARY = Reason(
    "are action counts that differ from the first round's",
    "A reward model fitted here needs the same actions in every round; otherwise give its predictions in a list column.",
)
CLUSTER_AGAIN = Reason(
    "belong to a cluster that had already ended",
    "The rounds of a cluster must follow each other, in one shard: sort the log by cluster.",
)
CLUSTER_SIZE = Reason(
    "are not the number of rounds that their cluster has in the log",
    "Every round of a cluster must be in the log, and its size must be known before its first action.",
)
CLUSTER_MAX = Reason(
    "belong to a cluster with more than cluster_max rounds",
    "Declare a maximum that no cluster can exceed by design, never the largest observed.",
)
POSITION = Reason(
    "are not the next position of their cluster",
    "Positions are whole numbers that count up by 1 from the first round of a cluster, 0 or 1 throughout the log: sort the "
    "log by cluster and position, and log every position once.",
)
CLUSTER_VARIES = Reason(
    "differ within their cluster",
    "This value must be the same in all rounds of a cluster: clusters are kept or dropped whole.",
)
KEEP_PROBABILITY = Reason("lie outside (0, 1]", "Give the probability of keeping each round, 1 if it is always kept.")
SCORE = Reason(
    "lie outside the declared reward range",
    "The score is in the units of the reward: rescale it, or cut it off at the ends of the range, before it is logged. Any "
    "function of the score is a score.",
)
LABEL_PROBABILITY = Reason(
    "lie outside (0, 1]",
    "Give the probability with which each round was drawn to be labelled, 1 if it always is. Rounds that cannot be drawn "
    "may be left out only by what was known before the action.",
)
LABEL_MISSING = Reason(
    "are missing (null) where label_probability is 1",
    "Every round that was drawn needs its reward: a label that is lost, or left out for what it says, voids the guarantee.",
)
SEGMENT = Reason(
    "are the text '(missing)', which names the rounds without a segment (null)",
    "Give that segment another name.",
)
SEGMENT_UNDECLARED = Reason(
    "belong to a segment that was not declared",
    "List every segment in segments=[...] before looking, or leave it out for an answer that is good for one look at "
    "independent rounds.",
)
TIME_ORDER = Reason(
    "are earlier than the previous round",
    "What is learned from some rounds is used on later ones, so they must be in decision order: sort the log by time. Times "
    "stored as text are compared as text.",
)


@dataclass(frozen=True, slots=True)
class Fault:
    """A reason and its subject, such as "propensity 'p'": the key by which rows are counted."""

    subject: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class Tally:
    """How many rows have a fault, and the first such row."""

    count: int
    row: int
    value: str
    place: str

    def __add__(self, other: "Tally") -> "Tally":
        first = min(self, other, key=lambda tally: tally.row)
        return replace(first, count=self.count + other.count)

    def example(self) -> str:
        if self.row < 0:
            return f"one of them is {self.value}."
        return f"the first is {self.value} in row {self.row:,}{self.place}, counting from 0."


class FaultCounter:
    """The faults of one batch, and which rows have none."""

    def __init__(self, rows: int, *, start: int, place: str, place_start: int, numbers: IntArray | None = None) -> None:
        self.usable: BoolArray = np.ones(rows, dtype=np.bool_)
        self.tallies: dict[Fault, Tally] = {}
        self._start, self._place, self._place_start, self._numbers = start, place, place_start, numbers

    def count(self, subject: str, reason: Reason, bad: BoolArray, shown: object) -> None:
        """Count the rows marked in ``bad``; ``shown`` holds the values to show, or is the first of them."""
        rows = np.flatnonzero(bad)
        if rows.size == 0:
            return
        first = int(rows[0])
        value = shown[first] if isinstance(shown, np.ndarray | pa.Array | pa.ChunkedArray) else shown
        row = self._start + first if self._numbers is None else int(self._numbers[first])
        place = f" ({self._place}, row {row - self._place_start})" if self._place else ""
        tally = Tally(int(rows.size), row, _show(value), place)
        self.tallies = merge_tallies(self.tallies, {Fault(subject, reason): tally})
        self.usable &= ~bad


def _show(value: object) -> str:
    if isinstance(value, pa.Scalar):
        value = value.as_py()
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
    """One sentence per fault, most frequent first."""
    ordered = sorted(tallies.items(), key=lambda item: -item[1].count)
    return [
        f"{fault.subject}: {tally.count:,} of {rows:,} values {fault.reason.says}; {tally.example()}"
        for fault, tally in ordered
    ]


def refuse_faults(tallies: Mapping[Fault, Tally], *, rows: int) -> None:
    """Raise if any row has a fault: a guarantee for the remaining rows would be about something else."""
    if not tallies:
        return
    ordered = sorted(tallies, key=lambda fault: -tallies[fault].count)
    lines = zip(describe_faults(tallies, rows=rows), ordered, strict=True)
    body = "\n".join(f"- {line}\n  {fault.reason.remedy}" for line, fault in lines)
    raise LogsError(f"these logs cannot support a guarantee, so nothing was computed:\n{body}")
