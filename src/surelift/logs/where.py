"""``where=``: which rounds of a log are judged, as a condition on columns that were known before the action.

The language is a part of SQL: a column compared with a literal, ``in``, ``between``, ``is null``, ``and``, ``or``, ``not``
and parentheses. As in SQL a comparison with null is unknown, and rounds whose condition is unknown are left out.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import NoReturn

from surelift.errors import UsageError

Literal = int | float | str | bool | date
_TOKEN = re.compile(
    r"""\s*(?:(?P<text>'(?:[^']|'')*')|(?P<quoted>"(?:[^"]|"")*")
    |(?P<moment>\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:\d\d)?)?(?![\w.:-]))
    |(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))
    |(?P<sign><=|>=|<>|!=|==|=|<|>|\(|\)|,)|(?P<word>[^\W\d]\w*)|(?P<end>$)|(?P<other>\S))""",
    re.VERBOSE,
)
_SAME = {"==": "=", "<>": "!="}
OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_WORDS = frozenset({"and", "or", "not", "in", "is", "null", "between", "true", "false"})
_DEEPEST = 100
_EXPECTED = (
    "expected =, !=, <, <=, >, >=, in, not in, between or is; a name with other signs than letters, digits and _ stands in "
    'double quotes, as "user.country"'
)
_LARGEST = 2**63 - 1  # neither rounded in an integer column of 64 bits, nor too large for one


@dataclass(frozen=True, slots=True)
class Comparison:
    column: str
    sign: str
    value: Literal


@dataclass(frozen=True, slots=True)
class Missing:
    """A column is null; ``wanted`` is False for ``is not null``."""

    column: str
    wanted: bool


@dataclass(frozen=True, slots=True)
class Joined:
    """All of the parts, or any of them. Negations lie in the leaves, so that what is unknown counts as not met."""

    parts: "tuple[Condition, ...]"
    all_of: bool


Condition = Comparison | Missing | Joined


@lru_cache(maxsize=64)
def parsed(text: str) -> Condition:
    """
    >>> parsed("not (country = 'FR' and day < 2026-01-01)")
    Joined(parts=(Comparison(column='country', sign='!=', value='FR'), \
Comparison(column='day', sign='>=', value=datetime.date(2026, 1, 1))), all_of=False)
    """
    parser = _Parser(text)
    found = parser.joined(negated=False)
    if parser.kind != "end":
        parser.refuse("expected and, or, or the end")
    return found


def columns_of(condition: Condition) -> Iterator[str]:
    if isinstance(condition, Joined):
        for part in condition.parts:
            yield from columns_of(part)
    else:
        yield condition.column


class _Parser:
    def __init__(self, text: str) -> None:
        self._text, self._depth, self._tokens = text, 0, _TOKEN.finditer(text)
        self._next()

    def _next(self) -> None:
        self._match = next(self._tokens)
        self.kind = str(self._match.lastgroup)
        self._token = self._match[self.kind]
        self._lower = self._token.lower() if self.kind in ("word", "sign") else ""

    def _take(self, *wanted: str) -> str | None:
        """The next token where it is one of these words or signs, in lower case."""
        token = self._lower
        if token not in wanted:
            return None
        self._next()
        return token

    def _expect(self, *wanted: str) -> str:
        return self._take(*wanted) or self.refuse(f"expected {' or '.join(wanted)}")

    def refuse(self, problem: str) -> NoReturn:
        where = f"at {self._token!r}" if self._token else "at its end"
        mark = " " * self._match.start(self.kind)
        raise UsageError(f"where= cannot be read {where}: {problem}.\n  {self._text}\n  {mark}^")

    def joined(self, word: str = "or", *, negated: bool) -> Condition:
        parts = list[Condition]()
        while not parts or self._take(word):
            parts.append(self.joined("and", negated=negated) if word == "or" else self._single(negated))
        return parts[0] if len(parts) == 1 else Joined(tuple(parts), all_of=(word == "and") != negated)

    def _single(self, negated: bool) -> Condition:
        self._depth += 1
        if self._depth > _DEEPEST:
            self.refuse(f"more than {_DEEPEST} conditions lie inside each other")
        if self._take("not"):
            found = self._single(not negated)
        elif self._take("("):
            found = self.joined(negated=negated)
            self._expect(")")
        else:
            found = self._leaf(negated)
        self._depth -= 1
        return found

    def _leaf(self, negated: bool) -> Condition:
        kind, column = self.kind, self._token
        if kind != "quoted" and (kind != "word" or self._lower in _WORDS):
            self.refuse('expected a column, such as country, or "a name" in double quotes')
        column = column if kind == "word" else column[1:-1].replace('""', '"')
        self._next()
        if self._take("is"):
            wanted = self._take("not") is None
            self._expect("null")
            return Missing(column, wanted != negated)
        opposite = self._take("not") is not None
        negated ^= opposite
        if self._take("in"):
            self._expect("(")
            values = [self._literal()]
            while self._expect(",", ")") == ",":
                values.append(self._literal())
            each = tuple(Comparison(column, "!=" if negated else "=", value) for value in values)
            return each[0] if len(each) == 1 else Joined(each, all_of=negated)
        if self._take("between"):
            low = self._literal()
            self._expect("and")
            ends = (
                Comparison(column, "<" if negated else ">=", low),
                Comparison(column, ">" if negated else "<=", self._literal()),
            )
            return Joined(ends, all_of=not negated)
        sign = None if opposite else self._take(*OPPOSITE, *_SAME)
        if sign is None:
            self.refuse("expected in or between" if opposite else _EXPECTED)
        sign = _SAME.get(sign, sign)
        return Comparison(column, OPPOSITE[sign] if negated else sign, self._literal())

    def _literal(self) -> Literal:
        kind, token = self.kind, self._token
        value: Literal | None = None
        problem = "expected a number, 'text', a date such as 2026-01-31, true or false; nulls are found by is null"
        if kind == "text":
            value = token[1:-1].replace("''", "'")
        elif kind == "number":
            value, problem = _number(token), "there is no such number of 64 bits"
        elif kind == "moment":
            value, problem = _moment(token), "there is no such date"
        elif self._lower in ("true", "false"):
            value = self._lower == "true"
        elif kind in ("word", "quoted") and self._lower != "null":
            inner = token if kind == "word" else token[1:-1]
            problem = f"text goes in single quotes, '{inner}'; columns are compared with literals only"
        if value is None:
            self.refuse(problem)
        self._next()
        return value


def _number(token: str) -> int | float | None:
    if re.fullmatch(r"[+-]?\d+", token):
        return int(token) if len(token) < 25 and abs(int(token)) <= _LARGEST else None
    return float(token) if abs(float(token)) < 1e300 else None


def _moment(token: str) -> date | None:
    try:
        found = date.fromisoformat(token) if len(token) == 10 else datetime.fromisoformat(token)
    except ValueError:
        return None
    return found.astimezone(UTC) if isinstance(found, datetime) and found.tzinfo is not None else found
