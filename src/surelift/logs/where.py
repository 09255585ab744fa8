"""``where=``: which rounds of a log are judged, as a condition on columns that were known before the action.

Whether a round meets the condition was then known before its action too, so the rounds that do make a log of their own. The
language is a part of SQL: a column compared with a literal, ``in``, ``between``, ``is null``, ``and``, ``or``, ``not`` and
parentheses. As in SQL a comparison with null is unknown, and rounds whose condition is unknown are left out.
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

    def _take(self, *wanted: str) -> str | None:
        """The next token where it is one of these words or signs, in lower case."""
        token = self._token.lower()
        if self.kind not in ("word", "sign") or token not in wanted:
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
        def part() -> Condition:
            return self.joined("and", negated=negated) if word == "or" else self._single(negated)

        parts = [part()]
        while self._take(word):
            parts.append(part())
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
        column = self._column()
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
            ends = {"<": low, ">": self._literal()} if negated else {">=": low, "<=": self._literal()}
            return Joined(tuple(Comparison(column, sign, end) for sign, end in ends.items()), all_of=not negated)
        if opposite:
            self.refuse("expected in or between")
        sign = self._take(*OPPOSITE, *_SAME)
        if sign is None:
            self.refuse(
                "expected =, !=, <, <=, >, >=, in, not in, between or is; a name with other signs than letters, digits and "
                '_ stands in double quotes, as "user.country"'
            )
        sign = _SAME.get(sign, sign)
        return Comparison(column, OPPOSITE[sign] if negated else sign, self._literal())

    def _column(self) -> str:
        kind, token = self.kind, self._token
        if kind == "quoted" or (kind == "word" and token.lower() not in _WORDS):
            self._next()
            return token if kind == "word" else token[1:-1].replace('""', '"')
        return self.refuse('expected a column, such as country, or "a name" in double quotes')

    def _literal(self) -> Literal:
        kind, token = self.kind, self._token
        value: Literal | None = None
        if kind == "text":
            value = token[1:-1].replace("''", "'")
        elif kind == "number":
            value = _number(token)
        elif kind == "moment":
            value = _moment(token)
        elif kind == "word" and token.lower() in ("true", "false"):
            value = token.lower() == "true"
        if value is not None:
            self._next()
            return value
        problem = "expected a number, 'text', a date such as 2026-01-31, true or false; nulls are found by is null"
        if kind in ("number", "moment"):
            problem = f"there is no such {'date' if kind == 'moment' else 'number of 64 bits'}"
        elif kind in ("word", "quoted") and token.lower() != "null":
            inner = token if kind == "word" else token[1:-1]
            problem = f"text goes in single quotes, '{inner}'; columns are compared with literals only"
        return self.refuse(problem)


def _number(token: str) -> int | float | None:
    whole = re.fullmatch(r"[+-]?\d+", token)
    value: int | float = int(token) if whole and len(token) < 25 else float(token)
    return value if (abs(value) <= _LARGEST if isinstance(value, int) else not whole and abs(value) < 1e300) else None


def _moment(token: str) -> date | None:
    try:
        if len(token) == 10:
            return date.fromisoformat(token)
        found = datetime.fromisoformat(token)
    except ValueError:
        return None
    return found if found.tzinfo is None else found.astimezone(UTC)
