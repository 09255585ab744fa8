"""Hostile names of columns, policies, segments, files and titles: nothing injected, nothing crashes, names come back.

Each case asks a question under hostile names and looks at every form of its answer. What it is compared with is the same
question under plain names: the page must have the same elements in the same order.
"""

import csv
import io
import json
import unicodedata
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import surelift as sl
from campaigns.campaign import Case

SLICE, FULL = 200, 3_000
PAGES = 0.1  # the share of cases that render a whole page, which takes a while
MARK = "INJECTED"
PIECES = (
    "<script>alert(1)</script>", "</script><script>", "<img src=x onerror=alert(1)>", "\"onmouseover=\"x",
    "&lt;", "<!--", "]]>", "{{7*7}}", "{% raw %}", "${jndi:x}", "'; DROP TABLE rounds;--", "\" OR 1=1",
    "`ls`", "$(reboot)", "%s%n", "{0}", "{name}", "=cmd|'/c calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1",
    "\x1b[31m", "\x1b]0;title\x07", "\x9b2J", "\u202e", "\u2066", "\u200b", "\ufeff", "\x00", "\r", "\n",
    f"\n{MARK}", f"\r{MARK}", f"\u2028{MARK}", f"\x85{MARK}", f"\x0b{MARK}", "\n# heading", "| a | b |",
    "[x](javascript:alert(1))", "**bold**", "$\\frac{$", "\\", "\\u0041", "'", '"', ",", ";", "=", "|", "/",
    "..", "../../x", "*", "?", "[", "]", "~", "😀", "é", "e\u0301", "ﬀ", "İ", "中文", "العربية", "production",
    "None", "nan", "null", "true", "0", "1e5", "a" * 300, " ", "\u00a0", "policy", "reward", "new", "all",
    "#", ":", "%", "100%",
)  # fmt: skip
ALONE = (
    "",
    " ",
    "production",
    "-1",
    "None",
    "nan",
    "\ud800",
    "x\udfff",
    "a" * 5000,
    "=1+1",
    "\n",
    "--help",
    "-",
    "@x",
    "0",
)
UNPRINTABLE = ("Cc", "Cf", "Zl", "Zp", "Cs")
FORMULA = ("=", "+", "-", "@")


def hostile(chance: Random) -> str:
    if chance.random() < 0.15:
        return chance.choice(ALONE)
    return "".join(chance.choice(PIECES) for _ in range(chance.choice([1, 1, 2, 3])))


@cache
def numbers() -> dict[str, Any]:
    rng = np.random.default_rng(5)
    logged = rng.uniform(0.3, 0.7, 60)
    return {
        "reward": rng.integers(0, 2, 60).astype(float),
        "propensity": logged,
        "one": logged * rng.uniform(0.6, 1.2, 60),
        "two": logged * rng.uniform(0.6, 1.2, 60),
        "place": rng.integers(0, 2, 60),
    }


class Named:
    """A log and a question of it under given names."""

    def __init__(self, names: dict[str, str], segments: list[str], *, container: str, folder: Path) -> None:
        self.names, self.segments = names, segments
        table: dict[str, Any] = {names[role]: numbers()[role] for role in ("reward", "propensity", "one", "two")}
        table[names["place"]] = [segments[code] for code in numbers()["place"]]
        self.source: Any = table
        if container == "arrow":
            self.source = pa.table(table)
        elif container == "parquet":
            self.source = folder / "log.parquet"
            pq.write_table(pa.table(table), self.source)
        elif container == "csv":
            self.source = folder / "log.csv"
            with self.source.open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(list(table))
                writer.writerows(zip(*table.values(), strict=True))

    def logs(self) -> sl.Logs:
        return sl.Logs(self.source, reward=self.names["reward"], propensity=self.names["propensity"])

    def ask(self, question: str) -> Any:
        logs, names = self.logs(), self.names
        both = {names["first"]: names["one"], names["second"]: names["two"]}
        one = {names["first"]: names["one"]}
        if question == "evaluate":
            return sl.evaluate(logs, both)
        if question == "compare":
            return sl.compare(logs, one, over={names["second"]: names["two"]})
        if question == "segments":
            return sl.compare(logs, one, by=names["place"], segments=self.segments)
        if question == "select":
            return sl.select(logs, both)
        if question == "gate":
            return sl.gate(logs, one, guardrails=[sl.Outcome(names["reward"], at_most_worse=0.5)])
        return sl.check(logs, both) if question == "check" else sl.report(logs, both)


QUESTIONS = ("evaluate", "compare", "segments", "select", "gate", "check")
PLAIN = {name: name for name in ("reward", "propensity", "one", "two", "place", "first", "second")}


def case(case: Case) -> str | None:
    chance = case.chance
    names = {role: hostile(chance) if chance.random() < 0.6 else role for role in PLAIN}
    segments = [hostile(chance), hostile(chance)] if chance.random() < 0.5 else ["here", "there"]
    container = chance.choice(["dict", "dict", "arrow", "parquet", "csv"])
    columns = [names[role] for role in ("reward", "propensity", "one", "two", "place")]
    question, page = chance.choice(QUESTIONS), chance.random() < PAGES
    told = f"{question} of {container}, {names}, {segments}"
    try:
        [text.encode() for text in [*columns, *segments]]
    except UnicodeEncodeError:
        if container != "dict":
            return None  # no file and no Arrow table can hold it
    if len(set(columns)) < 5 or len(set(segments)) < 2 or not all(columns):
        return None
    if container == "csv" and any("\r" in text or "\n" in text or "\0" in text for text in [*columns, *segments]):
        container = "dict"  # a cell with a line break is refused in a CSV
    if container == "csv" and columns[0].startswith("\ufeff"):
        return None  # there it marks the encoding, and is no part of the name
    try:
        named = Named(names, segments, container=container, folder=case.folder)
        answer = named.ask("report" if page else question)
    except sl.SureliftError as error:
        return None if refusable(names, segments) else f"{told}\nrefused: {error}"
    wrong = looked_at(answer, names, segments) or (paged(answer, chance) if page else stored(answer, named, case.folder))
    return None if wrong is None else f"{told}\n{wrong}"


def refusable(names: dict[str, str], segments: list[str]) -> bool:
    """Names that may be refused: empty, not Unicode, twice the same, or that of production."""
    policies = [names["first"], names["second"]]
    odd = any(not name or name == "production" or not encodes(name) for name in policies)
    return odd or policies[0] == policies[1] or not all(segments) or not all(map(encodes, [*segments, *names.values()]))


def encodes(text: str) -> bool:
    return text == text.encode(errors="replace").decode()


def looked_at(answer: Any, names: dict[str, str], segments: list[str]) -> str | None:
    for form, text in {"text": str(answer), "notebook": answer._repr_html_(), "sentence": answer.sentence()}.items():
        odd = [letter for letter in text if letter != "\n" and unicodedata.category(letter) in UNPRINTABLE]
        if odd:
            return f"{form}: unprintable {odd[:5]!r} in {text!r}"
        if any(line.lstrip().startswith((MARK, "# heading")) for line in text.split("\n")):
            return f"{form}: a name begins a line: {text!r}"
    if "<script" in answer._repr_html_() or "<img" in answer._repr_html_():
        return f"notebook: {answer._repr_html_()!r}"
    return unchanged(answer, json.loads(answer.to_json()), names, segments) or tabled(answer)


def unchanged(answer: Any, content: Any, names: dict[str, str], segments: list[str]) -> str | None:
    """The policies and the segments are found under their names."""
    kind, first, second = type(answer).__name__, names["first"], names["second"]
    if kind == "Evaluation" and (set(answer) != {first, second} or set(content["policies"]) != set(answer)):
        return f"the policies are called {list(answer)}, and in JSON {list(content['policies'])}"
    if kind == "Improvement" and (answer.policy, content["policy"], answer.over) != (first, first, second):
        return f"the policies are called {answer.policy!r}, {answer.over!r}, and in JSON {content['policy']!r}"
    if kind == "Segments" and set(answer) != set(segments):
        return f"the segments are called {list(answer)}"
    return None


def tabled(answer: Any) -> str | None:
    """A table has as many cells in each row, none a formula, and the names as they are where they are harmless."""
    text = answer.to_csv()
    rows = list(csv.reader(io.StringIO(text)))
    if len({len(row) for row in rows}) > 1:
        return f"csv: rows of different lengths: {text!r}"
    known = {cell for row in rows for cell in row}
    for cell in known:
        if cell.lstrip().startswith(FORMULA) and not is_number(cell):
            return f"csv: a formula: {cell!r}"
    texts = [value for record in answer.records() for value in record.values() if isinstance(value, str)]
    for value in texts:
        if value.isprintable() and not value.lstrip().startswith(FORMULA) and value not in known:
            return f"csv: {value!r} is not found"
    return None


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def stored(answer: Any, named: Named, folder: Path) -> str | None:
    """A certificate under these names is verified, and a monitor goes on."""
    if type(answer).__name__ == "Health":
        return None
    sl.Certificate.of(answer).save(folder / "certificate.json")
    verification = sl.verify(folder / "certificate.json", named.logs())
    if not verification.same:
        return f"not verified: {verification}"
    names = named.names
    watch = sl.Monitor({names["first"]: names["one"]}, reward=names["reward"], propensity=names["propensity"])
    watch.update(named.source, sequence=1)
    watch.save(folder / "state.json")
    again: Any = sl.Monitor.load(folder / "state.json").answer()
    same = again == watch.answer() and again.policy == names["first"]
    return None if same else f"the monitor reads back {again.policy!r}"


class Elements(HTMLParser):
    """The elements of a page, with the names of their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, tuple[str, ...]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, tuple(sorted(name for name, _ in attrs))))


def paged(answer: Any, chance: Random) -> str | None:
    title = hostile(chance) if chance.random() < 0.5 else "A title"
    if not encodes(title):
        return None
    page = answer.to_html(title=title)
    elements = Elements(page).found
    odd = set(elements) - set(plain_page())
    scripts = sum(tag == "script" for tag, _ in elements)
    if odd or scripts != sum(tag == "script" for tag, _ in plain_page()):
        return f"page: other elements: {odd}, {scripts} scripts, title {title!r}"
    if any(name.startswith("on") for _, attributes in elements for name in attributes):
        return f"page: an attribute that runs, title {title!r}"
    odd_letters = {
        letter for letter in page if unicodedata.category(letter) in ("Cs",) or letter in "\u202e\u2066\x1b\x9b\x00"
    }
    return f"page: unprintable {odd_letters!r}, title {title!r}" if odd_letters else None


@cache
def plain_page() -> list[Any]:
    named = Named(PLAIN, ["here", "there"], container="dict", folder=Path())
    return Elements(named.ask("report").to_html(title="A title")).found
