"""Reasons to reject a round, counted and reported with the first offending row and a remedy; and what else may be wrong."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, NoReturn

from surelift.errors import LogsError


@dataclass(frozen=True, slots=True)
class Reason:
    """What is wrong with a value, phrased to follow "3 values", and how to fix it."""

    says: str
    remedy: str


_OUTSIDE, _UNIT_INTERVAL = "lie outside the declared reward range", "lie outside (0, 1]"

NULL = Reason(
    "are missing (null)",
    "Every round counts, whatever its reward: join rewards and probabilities to all rounds, and do not impute. Write 0 only "
    "where no reward means that nothing was earned, and that is final.",
)
NOT_A_NUMBER = Reason("are NaN", "Find where the NaN comes from; a guarantee needs a number in every round.")
INFINITE = Reason("are infinite", "Find where the infinity comes from: often a division by zero or an overflow.")
NOT_NUMERIC = Reason(
    "are not numbers",
    "Store plain numbers (0.2, not '20%'), or name the column that holds them. Words for 1 and 0 are read where a column "
    "holds one pair and nothing else: true and false, t and f, yes and no, y and n.",
)
DECIMAL_COMMA = Reason("are numbers with a comma", "Write a decimal point, 0.5: 1,234 may be a thousand and more.")
PROPENSITY = Reason(
    _UNIT_INTERVAL,
    "Log the probability of the action that was taken, which is never 0; above 1 it may be a percentage. For densities, set "
    "density=True.",
)
LOG_PROPENSITY = Reason(
    "are not logarithms of a probability in (0, 1]",
    "A log propensity is at most 0, and its exponential is above 0. Probabilities themselves are named in propensity=.",
)
WINS_WHOLE = Reason("are not whole numbers", "Give counts of draws, k that took the logged action of m; not their ratio.")
WINS_DRAWS = Reason("are fewer than one draw", "Every round needs at least one draw: m is the number of them all.")
WINS_RANGE = Reason("are counts k below 0 or above their m", "k of all m draws took the logged action: give k, then m.")
WINS_PLAYED = Reason(
    "are 0, although the logged action is said to be one of the m draws",
    "For fresh draws leave includes_played out: the propensity is then (k + 1)/(m + 1). No floor helps: max(k, 1)/m makes "
    "weights too large on average.",
)
DENSITY = Reason("are not positive", "The density of the logged action must be positive and finite.")
PROBABILITY = Reason("lie outside [0, 1]", "Give the candidate's probability of the logged action, no score or percentage.")
NEGATIVE = Reason("are negative", "A density cannot be negative.")
REWARD = Reason(
    _OUTSIDE,
    "Declare reward_range=(low, high) from what a reward can be, not from the observed extremes: a guarantee needs a range "
    "known in advance.",
)
OUTCOME = Reason(
    "lie outside the declared range of the outcome",
    "Declare Outcome(column, range=(low, high)) from what a value can be, not from the observed extremes.",
)
SCORE = Reason(
    _OUTSIDE,
    "Rescale the score to the units of the reward, or cut it off at the ends. Any function of the score is a score.",
)
NOT_VECTORS = Reason("are not vectors", "Give a list column with one probability per action, or a list of columns.")
VECTOR_ENTRIES = Reason("are vectors with an entry that is missing or not finite", "Give a finite number for every action.")
LIST_MISSING = Reason("are missing or empty vectors", "Log one probability per action in every round.")
VECTOR_SUM = Reason("do not sum to 1", "A probability vector must cover every action available in that round.")
VECTOR_LENGTH = Reason(
    "differ in length from the vector in logging=",
    "Candidate and production must list the same actions in the same order, row by row.",
)
VECTOR_DECLARED = Reason("differ in length from the declared actions", "A vector needs one entry per declared action.")
VECTOR_PROPENSITY = Reason(
    "do not hold the logged propensity at the logged action",
    "Check the action's position (counted from 0), and that the propensity was logged by the same model version.",
)
ACTION_POSITION = Reason(
    "are not a position among that round's actions",
    "Positions are whole numbers counted from 0. For labels, declare actions=[...], in the order of the vectors.",
)
ACTION_LABEL = Reason("are not among the declared actions", "Declare every label in actions=[...], in vector order.")
INEXACT = Reason(
    "are floats too large to tell whole numbers apart",
    "Two ids may have become one: store them as integers (with gaps, pandas' type 'Int64') or as text.",
)
ACTION_COUNT = Reason("are not whole numbers of at least 1", "Log the number of actions production could choose from.")
EMBEDDING = Reason(
    "are impossible given the logged action", "p(e|a) is zero there: check the column, and the order of the rows of p(e|a)."
)
WEIGHT_OVERFLOW = Reason("give a weight above 1e150", "No action has so small a propensity: the log is at fault.")
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
    "They count up by 1 from the first round of a cluster, 0 or 1 everywhere: sort the log by cluster and position.",
)
CLUSTER_VARIES = Reason(
    "differ within their cluster", "Clusters are kept or dropped whole, so this is the same in all rounds of a cluster."
)
KEEP_PROBABILITY = Reason(_UNIT_INTERVAL, "Give the probability of keeping each round, 1 if it is always kept.")
LABEL_PROBABILITY = Reason(
    _UNIT_INTERVAL,
    "Give the probability with which each round was drawn to be labelled, 1 if it always is. Rounds that cannot be drawn "
    "may be left out only by what was known before the action.",
)
LABEL_MISSING = Reason(
    "are missing (null) where label_probability is 1",
    "Every round that was drawn needs its reward: a label that is lost, or left out for what it says, voids the guarantee.",
)
SEGMENT = Reason("are the text '(missing)', which names the rounds without a segment (null)", "Rename that segment.")
SEGMENT_UNDECLARED = Reason(
    "belong to a segment that was not declared",
    "List every segment in segments=[...] before looking, or leave it out for one look at independent rounds.",
)
TIME_ORDER = Reason(
    "are earlier than the previous round",
    "What is learned from some rounds is used on later ones: sort the log by time (as text, where times are text).",
)


@dataclass(frozen=True, slots=True)
class Fault:
    """A reason and its subject, such as "propensity 'p'": the key by which rows are counted."""

    subject: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class Tally:
    count: int
    row: int
    value: str
    place: str

    def __add__(self, other: "Tally") -> "Tally":
        return replace(self if self.row <= other.row else other, count=self.count + other.count)


def merge_tallies(left: Mapping[Fault, Tally], right: Mapping[Fault, Tally]) -> dict[Fault, Tally]:
    merged = dict(left)
    for fault, tally in right.items():
        merged[fault] = merged[fault] + tally if fault in merged else tally
    return merged


def describe_faults(tallies: Mapping[Fault, Tally], *, rows: int) -> list[tuple[Fault, str]]:
    """The faults, each with a sentence, most frequent first."""
    described = list[tuple[Fault, str]]()
    for fault, tally in sorted(tallies.items(), key=lambda item: -item[1].count):
        place = f"the first is {tally.value} in row {tally.row:,}{tally.place}, counting from 0."
        example = place if tally.row >= 0 else f"one of them is {tally.value}."
        described.append((fault, f"{fault.subject}: {tally.count:,} of {rows:,} values {fault.reason.says}; {example}"))
    return described


def refuse_faults(tallies: Mapping[Fault, Tally], *, rows: int) -> NoReturn:
    """Any row with a fault is too many: a guarantee for the remaining rows would be about something else."""
    body = "\n".join(f"- {line}\n  {fault.reason.remedy}" for fault, line in describe_faults(tallies, rows=rows))
    raise LogsError(f"these logs cannot support a guarantee, so nothing was computed:\n{body}")


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong with the logs, or that could be, with a remedy."""

    severity: Literal["refuse", "warn"]
    subject: str
    says: str
    remedy: str
    segment: str | None = None
    """Where it was found, such as "day 2024-03-11"; None for the whole log."""
    e_value: float | None = None
    """The evidence, where it was tested: correct logs show so much with probability at most its inverse."""

    @property
    def statement(self) -> str:
        return self.says if self.says.startswith(self.subject) else f"{self.subject}: {self.says}"
