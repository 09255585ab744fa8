"""Broken tables: the library must refuse exactly what an independent judge finds unfit, and else give its numbers."""

import math
import re
from random import Random
from typing import Any

import surelift as sl
from campaigns.campaign import Case
from campaigns.containers import CONTAINERS, VECTORS, Cells
from campaigns.judge import Log, Verdict, verdict_on

SLICE, FULL = 2_000, 100_000

ENTRY = re.compile(r"^- (?P<subject>.*): (?P<count>[\d,]+) of (?P<rows>[\d,]+) values (?P<says>.*); the first is", re.M)
ROW = re.compile(r" in row (?P<row>[\d,]+)(?: \(.*\))?, counting from 0\.$")
MIXED = re.compile(
    r"(?:^|: )column (?P<subject>.*) mixes types: (?P<count>[\d,]+) of the [\d,]+ values .* in row (?P<row>[\d,]+),",
    re.S,
)
TEXTS = ("abc", "20%", "0,5", "1.0.0", "0x10", "1e", "--1", "½", "٣", "one", "1 000", "$3", "=1+1", "é" * 3)
NUMBERS = (
    None, None, math.nan, math.inf, -math.inf, -0.1, 1.5, 2, -1, 0, 1, 0.0, -0.0, 5e-324, 1e-300, 1e308, -1e308, 2**53 + 1,
    2**62, 2**65, -(2**70), 10**30, True, False, 0.5, 1.0 + 1e-7, 1.0 + 1e-3, -1e-9,
)  # fmt: skip
DELTAS = (0.05, 0.05, 0.1, 0.001, 0.5, 0.9)


class Draft:
    """A legal log in plain Python, its columns under random names."""

    def __init__(self, case: Case) -> None:
        self.chance: Random = case.chance
        self.columns: dict[str, Cells] = {}
        self.declared: dict[str, Any] = {}
        self.by: str | None = None
        self.text: set[str] = set()
        chance = self.chance
        self.container = chance.choice(list(CONTAINERS))
        self.rows = chance.choice([0, 1, 2, 3, 5, 8, 20, 20, 40, 40, 60]) if chance.random() < 0.98 else 300
        self.actions = chance.randint(1, 5)
        self.production = [self.shares() for _ in range(self.rows)]
        self.candidate = [self.shares() for _ in range(self.rows)]
        self.action = [chance.choices(range(self.actions), shares)[0] for shares in self.production]
        self.rewards()
        self.propensities()
        self.policy = self.policies()
        self.clusters()
        self.extras()

    def shares(self) -> list[float]:
        """A distribution over the actions, none too rare."""
        drawn = [self.chance.random() ** 2 + 0.02 for _ in range(self.actions)]
        return [one / math.fsum(drawn) for one in drawn]

    def add(self, name: str, cells: Cells) -> str:
        self.columns[name] = cells
        return name

    def rewards(self) -> None:
        chance = self.chance
        rate, kind = chance.choice([0.05, 0.5, 0.9]), chance.choice(["clicks", "clicks", "shares", "whole", "flags"])
        low, high = chance.choice([(0, 1), (0, 1), (0, 1), (-2, 3), (0, 100), (-1.5, -0.5)])
        cells: Cells = [float(chance.random() < rate) for _ in range(self.rows)]
        if kind == "shares":
            cells = [chance.random() for _ in cells]
        elif kind != "clicks":
            cells = [(bool if kind == "flags" else int)(cell) for cell in cells]
        if (low, high) != (0, 1):
            cells = [low + (high - low) * float(cell) for cell in cells]
            self.declared["reward_range"] = (low, high)
        self.declared[chance.choice(["reward", "reward", "cost"])] = self.add("click", cells)

    def propensities(self) -> None:
        chance = self.chance
        logged = [shares[action] for shares, action in zip(self.production, self.action, strict=True)]
        if chance.random() < 0.1:
            self.declared["log_propensity"] = self.add("logp", [math.log(one) for one in logged])
            return
        self.declared["propensity"] = self.add("p", logged)
        if chance.random() < 0.05:
            self.declared["density"] = True
            self.columns["p"] = [3 * one for one in logged]

    def policies(self) -> str | list[str]:
        chance = self.chance
        if self.declared.get("density") or chance.random() < 0.5:
            single = [shares[action] for shares, action in zip(self.candidate, self.action, strict=True)]
            if self.declared.get("density"):
                single = [3 * one for one in single]
            return self.add("q", [0.0 if chance.random() < 0.05 else one for one in single])
        self.logged_actions()
        as_list = self.container in VECTORS and chance.random() < 0.7
        if chance.random() < 0.5:
            self.declared["logging"] = self.vectors("l", self.production, as_list=as_list)
        elif chance.random() < 0.3:
            counts = [self.actions] * self.rows
            if "actions" not in self.declared:
                self.declared["action_count"] = self.add("count", counts) if chance.random() < 0.5 else self.actions
        return self.vectors("v", self.candidate, as_list=as_list)

    def vectors(self, name: str, vectors: list[list[float]], *, as_list: bool) -> str | list[str]:
        if as_list:
            return self.add(name, [list(vector) for vector in vectors])
        return [self.add(f"{name}{place}", [vector[place] for vector in vectors]) for place in range(self.actions)]

    def logged_actions(self) -> None:
        labels: list[Any] | None = self.chance.choice(
            [None, None, ["hat", "coat", "shoe", "none", "nan"], [101, 7, 2**40, 0, -3]]
        )
        self.declared["action"] = "a"
        cells: Cells = list(self.action)
        if labels is not None:
            self.declared["actions"] = labels[: self.actions]
            cells = [labels[action] for action in cells]
            self.text |= {"a"} if isinstance(labels[0], str) else set()
        self.add("a", cells)

    def clusters(self) -> None:
        chance = self.chance
        if chance.random() < 0.25:
            sizes: list[int] = []
            while sum(sizes) < self.rows:
                sizes.append(min(chance.choice([1, 1, 2, 3, 7]), self.rows - sum(sizes)))
            ids: Cells = chance.sample(range(10 * self.rows + 10), len(sizes))
            if chance.random() < 0.5:
                ids = [f"user {one}" for one in ids]
                self.text.add("user")
            self.declared["cluster"] = self.add(
                "user", [one for one, size in zip(ids, sizes, strict=True) for _ in range(size)]
            )
            if chance.random() < 0.5:
                self.declared["cluster_size"] = self.add("size", [size for size in sizes for _ in range(size)])
            else:
                self.declared["cluster_max"] = max(sizes, default=1) + chance.choice([0, 0, 1, 4])
        if chance.random() < 0.15:
            self.sampling()

    def sampling(self) -> None:
        chance = self.chance
        kept: Cells = [chance.choice([0.25, 0.5, 1.0])] * self.rows
        if chance.random() < 0.7:
            self.declared["rounds_before_sampling"] = max(1, math.ceil(self.rows * chance.choice([1, 2, 4])))
            if "cluster" not in self.declared:
                kept = [chance.choice([0.25, 0.5, 1.0]) for _ in kept]
        self.declared["keep_probability"] = self.add("kept", kept)

    def extras(self) -> None:
        chance = self.chance
        if chance.random() < 0.15:
            times: Cells = sorted(chance.randrange(10**9) for _ in range(self.rows))
            if chance.random() < 0.3:
                times = [f"2024-03-{1 + row % 28:02d}" for row in range(self.rows)]
                self.text.add("t")
            self.declared["time"] = self.add("t", sorted(times))
        if chance.random() < 0.1 and "cluster" not in self.declared and "keep_probability" not in self.declared:
            names: Cells = chance.choice([["FR", "DE"], ["x", "NA", "null"], [1, 2, 3]])
            self.by = self.add("place", [chance.choice(names) for _ in range(self.rows)])
            self.text |= {"place"} if isinstance(names[0], str) else set()

    def break_something(self) -> str | None:
        """One mutation; a word if the table is then a wrong call."""
        chance = self.chance
        if not self.rows:
            return None
        name = chance.choice(list(self.columns))
        cells = self.columns[name]
        if isinstance(cells[0], list):
            self.break_vector(cells)
            return None
        what = chance.choice(["cells"] * 12 + ["column", "swap", "shuffle", "again", "text", "scale", "lose", "shorten"])
        if what in ("cells", "column"):
            rows = (
                range(self.rows)
                if what == "column"
                else chance.sample(range(self.rows), min(self.rows, chance.randint(1, 3)))
            )
            value: Any = chance.choice(NUMBERS)
            if name in self.text:
                value = chance.choice([None, None, "", "other", "nan", "-1"])
            for row in rows:
                cells[row] = value
        elif what == "text":
            cells[chance.randrange(self.rows)] = chance.choice(TEXTS)
        elif what == "swap":
            other = chance.choice(list(self.columns))
            if {name, other} & self.text or any(isinstance(cell, list) for cell in self.columns[other]):
                return None
            self.columns[name], self.columns[other] = self.columns[other], cells
        elif what == "shuffle":
            chance.shuffle(cells)
        elif what == "again":
            cells[-1] = cells[0]
        elif what == "scale" and all(isinstance(cell, float) for cell in cells):
            cells[:] = [cell * chance.choice([1.0 + 1e-7, 1.0 + 1e-3, 100.0, -1.0]) for cell in cells]
        elif what == "lose" and chance.random() < 0.3:
            del self.columns[name]
            return f"lost {name}"
        elif what == "shorten" and chance.random() < 0.3 and self.container in ("lists", "arrays", "dict of Series"):
            self.columns[name] = cells[:-1]
            return f"short {name}"
        return None

    def break_vector(self, cells: Cells) -> None:
        chance = self.chance
        row = chance.randrange(self.rows)
        vector = cells[row]
        if not vector:
            return
        place, what = chance.randrange(len(vector)), chance.randrange(9)
        if what == 0:
            cells[row] = chance.choice([None, []])
        elif what == 1:
            vector[place] = chance.choice([None, math.nan, math.inf])
        elif what == 2:
            vector[place] = chance.choice([-0.25, 2.0, 1.0])
        elif what == 3:
            vector.append(0.0)
        elif what == 4:
            vector.pop()
        elif what == 5 and len(vector) > 1:
            vector[0], vector[1] = vector[1], vector[0]
        elif what == 6 and all(isinstance(one, float) for one in vector):
            vector[place] *= chance.choice([1.0 + 2e-7, 1.0 - 2e-7, 1.001])
        elif what == 7 and len(vector) > 1 and all(isinstance(one, float) for one in vector):
            vector[0], vector[1] = vector[0] + vector[1] + 0.1, -0.1
        elif what == 8 and len(vector) > 1 and all(isinstance(one, float) for one in vector):
            vector[0], vector[1] = vector[0] + vector[1], 0.0


def case(case: Case) -> str | None:
    draft = Draft(case)
    chance = case.chance
    wrong_call = None
    for _ in range(chance.choice([0, 0, 1, 1, 2, 3])):
        wrong_call = wrong_call or draft.break_something()
    delta = chance.choice(DELTAS)
    if draft.container == "csv":
        # There "NA" may be the name of a user, a day or a place.
        draft.text |= {"user", "t", "place"}
    source, read = CONTAINERS[draft.container](chance, draft.columns, case.folder, draft.text)
    try:
        logs = sl.Logs(source, **draft.declared)
        found: Any = sl.evaluate(logs, {"new": draft.policy}, delta=delta, control="none", by=draft.by)
    except sl.SureliftError as error:
        found = error
    told = f"{draft.container}, {draft.declared}, policy {draft.policy}, by {draft.by}, delta {delta}"
    if wrong_call:
        what, name = wrong_call.split()
        right = isinstance(found, sl.UsageError) and (
            name in str(found) if what == "lost" else "differ in length" in str(found)
        )
        return None if right else f"{wrong_call}: {found!r}\n{told}"
    wrong = compare(verdict_on(Log(read, draft.declared, draft.policy, delta, draft.by)), found)
    return None if wrong is None else f"{wrong}\n{told}"


def compare(verdict: Verdict, found: Any) -> str | None:
    if verdict.fit:
        if isinstance(found, sl.SureliftError):
            # Numbers drawn at random may well look so; what it finds in logs of a law is the matter of other campaigns.
            unlikely = "it tells of the action: in segment" in str(found)
            return None if unlikely else f"fit, but refused: {found}"
        return same_answers(verdict, found)
    if not isinstance(found, sl.SureliftError):
        return f"unfit ({verdict.faults or verdict.says}), but answered: {found}"
    if verdict.says:
        return None if verdict.says in str(found).lower() else f"unfit ({verdict.says}), but refused otherwise: {found}"
    return same_faults(verdict, str(found))


def same_faults(verdict: Verdict, message: str) -> str | None:
    """Every fault the judge found is told, with its count and its first row."""
    told: dict[str, list[tuple[int, int]]] = {}
    faults = verdict.faults
    mixed = MIXED.search(message)
    if mixed:
        rows = faults.get(mixed["subject"], {-1})
        right = not verdict.reasons and (number(mixed["row"]), number(mixed["count"])) == (min(rows), len(rows))
        return None if right else f"mixed types wrongly told (faults {faults}): {message}"
    for line in message.splitlines():
        entry, row = ENTRY.match(line), ROW.search(line)
        if entry and row and entry["says"].startswith(verdict.reasons):
            told.setdefault(subject_of(entry["subject"], faults), []).append((number(entry["count"]), number(row["row"])))
    for subject, rows in faults.items():
        counts = [count for count, _ in told.get(subject, [])]
        if subject == "'a'" and sum(counts) > len(rows):
            continue  # positions beyond the vectors are told together with those that are none
        if not counts or not max(counts) <= len(rows) <= sum(counts):
            return f"{subject}: {len(rows)} rows are at fault ({sorted(rows)[:5]}), but told: {message}"
        if min(row for _, row in told[subject]) != min(rows):
            return f"{subject}: row {min(rows)} is the first at fault, but told: {message}"
    return None


def subject_of(words: str, faults: dict[str, set[int]]) -> str:
    """The judge's name of what the library's sentence is about."""
    named = [subject for subject in faults if subject.startswith("'") and subject in words]
    if named and not (words.startswith("policy 'new'") and ", column" not in words):
        return named[0]
    return "policy" if words.startswith("policy") else words.split(",")[0].split(" ")[0]


def number(text: str) -> int:
    return int(text.replace(",", ""))


def plain(segment: str) -> str:
    """The same name for 1, 1.0 and 1.000: the type of a column is seen in the names of its segments."""
    return repr(float(segment)) if re.fullmatch(r"-?\d+(\.\d+)?(E-\d+)?", segment) else segment


def same_answers(verdict: Verdict, found: Any) -> str | None:
    parts = {plain(name): part for name, part in found.items()} if set(verdict.answers) != {""} else {"": found}
    answers = {plain(name): answer for name, answer in verdict.answers.items()}
    if set(parts) != set(answers):
        return f"segments {sorted(parts)} instead of {sorted(answers)}"
    for name, answer in answers.items():
        value = parts[name]["new"]
        for what in ("estimate", "lower", "upper"):
            right, given = getattr(answer, what), getattr(value, what)
            if not abs(given - right) <= (1e-8 + answer.slack) * (1.0 + abs(right)) * 10:
                return f"{what}{' of ' + name if name else ''} is {given!r}, and should be {right!r} (slack {answer.slack})"
    return None
