"""What every result can do: describe itself, and become a dict, JSON, CSV, a data frame, a plot or a page."""

import csv
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from io import StringIO
from pathlib import Path
from typing import Any, ClassVar, Literal

from surelift.errors import SureliftError, UsageError
from surelift.results.provenance import certificate_content
from surelift.saving import as_json, write_beside
from surelift.views.figures import Figure
from surelift.views.formats import cell
from surelift.views.page import Page, Section, Tone, assumptions_section, shown
from surelift.views.text import all_hold, doubt_lines, one_holds, wrap

FrameKind = Literal["pandas", "polars", "pyarrow"]
# A longer sentence does not fit above a plot.
LONGEST_TITLE = 140
# The metadata of a field that is left out of dicts.
OMITTED: dict[str, str | None] = {"key": None}


def dict_key(name: str) -> dict[str, str | None]:
    """The metadata of a field that has another name in dicts."""
    return {"key": name}


def fields_dict(value: Any) -> dict[str, Any]:
    """Every field except ``provenance``, which belongs to the certificate."""
    keys = {field.name: field.metadata.get("key", field.name) for field in fields(value) if field.name != "provenance"}
    return {key: plain_value(getattr(value, name)) for name, key in keys.items() if key is not None}


def plain_value(value: Any) -> Any:
    """The value as in JSON: results, dataclasses and mappings become dicts, tuples become lists."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value):
        return fields_dict(value)
    if isinstance(value, Mapping):
        return {name: plain_value(entry) for name, entry in value.items()}
    return list(map(plain_value, value)) if isinstance(value, tuple | list) else value


def delivered(text: str, path: str | Path | None, what: str) -> str | None:
    """The text if it is not written to a file."""
    if path is None:
        return text
    write_beside(path, text, what=what)
    return None


class Result:
    """What every answer can do: print, plot, and become a dict, JSON, CSV, a data frame or a page."""

    __slots__ = ()
    title: ClassVar[str] = ""
    """Above the verdict on its page."""
    derived: ClassVar[tuple[str, ...]] = ()
    """Properties that ``to_dict`` includes besides the fields."""
    columns: ClassVar[tuple[str, ...] | Mapping[str, str]] = ()
    """The keys of ``to_dict`` that make a record, or the name of each column and where it comes from ("plain.lower")."""
    rows: ClassVar[str] = ""
    """The key of ``to_dict`` whose entries are the records, where a result has several."""
    without_figure: ClassVar[str] = "there is nothing to draw."
    """The error where there is no figure."""

    def sentence(self) -> str:
        """The answer in a sentence or two."""
        raise NotImplementedError(f"a {type(self).__name__} has no sentence")

    def text(self) -> str:
        """The facts in lines and the answer in a sentence, for a terminal."""
        return self.sentence()

    def figure(self) -> Figure:
        """The numbers to draw; raises ``UsageError`` where there is nothing to show."""
        raise UsageError(self.without_figure)

    def figure_or_none(self) -> Figure | None:
        with suppress(UsageError):
            return self.figure()
        return None

    def lead(self) -> tuple[str, ...]:
        """Right below the verdict of its page: how many rounds there are, and what each bound promises."""
        rounds, promise, delta = (getattr(self, name, None) for name in ("rounds", "promise", "delta"))
        count = () if rounds is None else (f"{rounds:,} {getattr(self, 'counted', 'rounds')}.",)
        if promise is None or delta is None:
            return count
        return *count, f"Each bound {one_holds(promise, delta, getattr(self, 'method', ''))}."

    def tone(self) -> Tone:
        return "good" if getattr(self, "certified", False) else "open"

    def page(self) -> Page:
        """The numbers, and the assumptions behind them."""
        figure, assumptions = self.figure_or_none(), dict.fromkeys([*self.all_of("assumptions"), *self.besides()])
        numbers = Section("The numbers", shown(figure))
        sections = (numbers, assumptions_section(assumptions)) if assumptions else (numbers,)
        lead = (*self.lead(), *self.notes, *doubt_lines(self.all_of("doubts")))
        return Page(
            self.title, self.tone(), self.sentence(), lead, sections, self.certificate_content(),
            chosen=getattr(figure, "chosen", None), method=self.made_by(),
        )  # fmt: skip

    def made_by(self) -> str:
        """The method, the control and delta, for the foot of a page."""
        part: Any = self if hasattr(self, "method") else next(iter(self.parts()), self)
        method, control = getattr(part, "method", ""), getattr(part, "control", None)
        delta = getattr(self, "delta", getattr(part, "delta", None))
        controlled = "" if control in (None, "none") else f", control {control}"
        return f"{method}{controlled}{'' if delta is None else f', delta {delta:.4g}'}" if method else ""

    def besides(self) -> tuple[str, ...]:
        """What more its page assumes."""
        return ()

    def parts(self) -> Iterable["Result"]:
        """The results inside one that holds several; otherwise the result itself."""
        return (self,)

    def bounded(self) -> Mapping[str, Any]:
        """The improvements or values in it, by the name of what each is about."""
        return {}

    def together(self, how: str = "") -> str:
        """The promise of all bounds in it at once."""
        whole: Any = self
        first = next(iter(self.bounded().values()))
        return f"Together{how}, all {first.together_hold} {all_hold(first.promise, whole.delta)}."

    def all_of(self, kind: Literal["assumptions", "doubts"]) -> Mapping[str, None]:
        """The assumptions or doubts of all parts, each once."""
        return dict.fromkeys(text for part in self.parts() for text in getattr(part, kind, ()))

    def certificate_content(self) -> Mapping[str, Any] | None:
        """The content of its certificate; None where it does not certify anything."""
        with suppress(SureliftError):
            return certificate_content(getattr(self, "provenance", None), self.to_dict())
        return None

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done to the log before it was judged."""
        return getattr(getattr(self, "provenance", None), "notes", ())

    def to_dict(self) -> dict[str, Any]:
        """Every field but the provenance, as JSON holds it."""
        notes = {"aloud": list(self.notes)} if self.notes else {}
        return {**fields_dict(self), **{name: plain_value(getattr(self, name)) for name in self.derived}, **notes}

    def records(self) -> list[dict[str, Any]]:
        """Flat records, one for each policy or finding."""
        content = self.to_dict()
        if self.rows:
            return list(content[self.rows])
        paths, record = self.columns if isinstance(self.columns, Mapping) else {}, dict[str, Any]()
        for name in self.columns:
            value: Any = content
            for step in paths.get(name, name).split("."):
                value = value[int(step)] if isinstance(value, list) else value[step]
            record[name] = "; ".join(map(str, value)) if isinstance(value, list) else value
        return [record]

    def to_json(self) -> str:
        """The dict as text."""
        return as_json(self.to_dict(), indent=2)

    def to_frame(self, kind: FrameKind = "pandas") -> Any:
        """One row for each record, as a data frame of the library named."""
        import narwhals as nw

        records = self.records()
        columns = {name: [record[name] for record in records] for name in (records[0] if records else ())}
        try:
            return nw.from_dict(columns, backend=kind).to_native()
        except ImportError as error:
            raise UsageError(f"{kind} is not installed; install it, or use to_frame('pyarrow').") from error

    def to_csv(self, path: str | Path | None = None) -> str | None:
        """One row for each record, as CSV: to a file, or as text. Names that a spreadsheet would run are quoted."""
        text, records = StringIO(), self.records()
        writer = csv.DictWriter(text, list(records[0]) if records else [], lineterminator="\n")
        writer.writerow({name: cell(name) for name in writer.fieldnames})
        writer.writerows({name: cell(value) for name, value in record.items()} for record in records)
        return delivered(text.getvalue(), path, "the table")

    def plot(self, ax: Any = None, *, title: str | None = None) -> Any:
        """Draw with matplotlib (extra ``report``) into ``ax``, or into a new figure; returns the axes.

        Above stand the answer and the level of its bounds, or else ``title``; an empty one leaves both out.
        """
        from surelift.views.plots import plot

        sentence = self.sentence()
        answer = sentence if len(sentence) <= LONGEST_TITLE else self.title
        level = "" if title == "" else " ".join([*self.lead()[:2], *doubt_lines(self.all_of("doubts"))])
        return plot(self.figure(), ax, title=answer if title is None else title, level=level)

    def to_html(self, path: str | Path | None = None, *, title: str | None = None, command: str = "") -> str | None:
        """The result as one HTML page that needs no network (extra ``report``): to a file, or as text.

        ``command`` is what made it, at the foot of the page.
        """
        from surelift.views.html import render

        page = replace(self.page(), command=command)
        return delivered(render(page if title is None else replace(page, title=title)), path, "the report")

    def _repr_html_(self) -> str:
        from surelift.views.html import notebook_html

        doubts = (*getattr(self, "doubts", ()), *self.all_of("doubts"))
        return notebook_html(self.sentence(), repr(self), self.figure_or_none(), doubts)

    def __bool__(self) -> bool:
        raise TypeError(f"a {type(self).__name__} is neither true nor false; use .certified, .ok or .same")

    def __repr__(self) -> str:
        return wrap("\n".join([self.text(), *self.notes]))

    __str__ = __repr__
