"""``where=``: which rounds of a log are judged, as a condition on columns that were known before the action.

Whether a round meets the condition was then known before its action too, so the rounds that do make a log of their own. The
language is a part of SQL: a column compared with a literal, ``in``, ``between``, ``is null``, ``and``, ``or``, ``not`` and
parentheses. As in SQL a comparison with null is unknown, and rounds whose condition is unknown are left out.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import NoReturn

from surelift.errors import UsageError

Literal = int | float | str | bool | date
"""A day is a ``date``, a moment a ``datetime``."""
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
# Neither rounded in an integer column of 64 bits, nor too large for one.
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Comparison:
    column: str
    sign: str
    value: Literal


@dataclass(frozen=True, slots=True)
class Missing:
    """Whether a column is null; ``wanted`` is False for ``is not null``."""

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
    return _Parser(text).whole()


def columns_of(condition: Condition) -> Iterator[str]:
    if isinstance(condition, Joined):
        for part in condition.parts:
            yield from columns_of(part)
    else:
        yield condition.column


class _Parser:
    def __init__(self, text: str) -> None:
        self._text, self._depth = text, 0
        self._tokens = [(str(match.lastgroup), match) for match in _TOKEN.finditer(text)]
        self._place = 0

    def whole(self) -> Condition:
        found = self._either(negated=False)
        if self._kind != "end":
            self._refuse("expected and, or, or the end")
        return found

    @property
    def _kind(self) -> str:
        return self._tokens[self._place][0]

    @property
    def _token(self) -> str:
        return self._tokens[self._place][1][self._kind]

    def _take(self, *wanted: str) -> str | None:
        """The next token where it is one of these words or signs, in lower case."""
        token = self._token.lower()
        if self._kind not in ("word", "sign") or token not in wanted:
            return None
        self._place += 1
        return token

    def _expect(self, *wanted: str) -> str:
        return self._take(*wanted) or self._refuse(f"expected {' or '.join(wanted)}")

    def _refuse(self, problem: str) -> NoReturn:
        place = self._tokens[self._place][1].start(self._kind)
        where = f"at {self._token!r}" if self._token else "at its end"
        raise UsageError(f"where= cannot be read {where}: {problem}.\n  {self._text}\n  {' ' * place}^")

    def _either(self, *, negated: bool) -> Condition:
        return self._joined("or", self._both, negated)

    def _both(self, *, negated: bool) -> Condition:
        return self._joined("and", self._single, negated)

    def _joined(self, word: str, part: Callable[..., Condition], negated: bool) -> Condition:
        parts = [part(negated=negated)]
        while self._take(word):
            parts.append(part(negated=negated))
        return parts[0] if len(parts) == 1 else Joined(tuple(parts), all_of=(word == "and") != negated)

    def _single(self, *, negated: bool) -> Condition:
        self._depth += 1
        if self._depth > _DEEPEST:
            self._refuse(f"more than {_DEEPEST} conditions lie inside each other")
        if self._take("not"):
            found = self._single(negated=not negated)
        elif self._take("("):
            found = self._either(negated=negated)
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
            ends = (Comparison(column, ">=", low), Comparison(column, "<=", self._literal()))
            outside = tuple(Comparison(column, OPPOSITE[end.sign], end.value) for end in ends)
            return Joined(outside if negated else ends, all_of=not negated)
        if opposite:
            self._refuse("expected in or between")
        sign = self._take(*OPPOSITE, *_SAME)
        if sign is None:
            self._refuse(
                "expected =, !=, <, <=, >, >=, in, not in, between or is; a name with other signs than letters, digits and "
                '_ stands in double quotes, as "user.country"'
            )
        sign = _SAME.get(sign, sign)
        return Comparison(column, OPPOSITE[sign] if negated else sign, self._literal())

    def _column(self) -> str:
        kind, token = self._kind, self._token
        if kind == "quoted" or (kind == "word" and token.lower() not in _WORDS):
            self._place += 1
            return token if kind == "word" else token[1:-1].replace('""', '"')
        return self._refuse('expected a column, such as country, or "a name" in double quotes')

    def _literal(self) -> Literal:
        kind, token = self._kind, self._token
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
            self._place += 1
            return value
        if kind in ("number", "moment"):
            self._refuse(f"there is no such {'date' if kind == 'moment' else 'number of 64 bits'}")
        if kind in ("word", "quoted") and token.lower() != "null":
            inner = token if kind == "word" else token[1:-1]
            self._refuse(f"text goes in single quotes, '{inner}'; columns are compared with literals only")
        return self._refuse(
            "expected a number, 'text', a date such as 2026-01-31, true or false; nulls are found by is null"
        )


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
