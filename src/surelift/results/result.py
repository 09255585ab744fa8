"""What every result can do: show itself, and leave as a dict, JSON, CSV, a data frame, a plot or a page."""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

from surelift.errors import UsageError
from surelift.saving import write_beside

FrameKind = Literal["pandas", "polars", "pyarrow"]

R = TypeVar("R", bound="Result")


def delivered(text: str, path: str | Path | None, what: str) -> str | None:
    """Into a file, or returned."""
    if path is None:
        return text
    write_beside(path, text, what=what)
    return None


class Result:
    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        raise NotImplementedError

    def records(self) -> list[dict[str, Any]]:
        """One flat record for each policy."""
        raise NotImplementedError

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def to_frame(self, kind: FrameKind = "pandas") -> Any:
        """One row for each policy, as a data frame of the library named."""
        import narwhals as nw

        records = self.records()
        names = records[0] if records else ()
        columns = {name: [record[name] for record in records] for name in names}
        try:
            return nw.from_dict(columns, backend=kind).to_native()
        except (ImportError, ModuleNotFoundError) as error:
            raise UsageError(f"{kind} is not installed; install it, or ask for to_frame('pyarrow').") from error

    def to_csv(self, path: str | Path | None = None) -> str | None:
        """One row for each policy, as CSV: into a file, or as text. Names that a spreadsheet would execute are quoted."""
        from surelift.views.names import cell

        text, records = io.StringIO(), self.records()
        writer = csv.DictWriter(text, list(records[0]) if records else [], lineterminator="\n")
        writer.writerow({name: cell(name) for name in writer.fieldnames})
        writer.writerows({name: cell(value) for name, value in record.items()} for record in records)
        return delivered(text.getvalue(), path, "the table")

    def plot(self, ax: Any = None) -> Any:
        """Draw the result with matplotlib (extra ``report``) into ``ax``, or a figure of its own; returns the axes."""
        from surelift.views.pictures import picture
        from surelift.views.plots import plot

        return plot(picture(self), ax)

    def to_html(self, path: str | Path | None = None, *, title: str | None = None) -> str | None:
        """The result as one page of HTML that needs no network (extra ``report``): into a file, or as text."""
        from surelift.views.html import page_of

        return delivered(page_of(self, title), path, "the report")

    def _repr_html_(self) -> str:
        from surelift.views.notebook import notebook_html

        return notebook_html(self)

    def __bool__(self) -> bool:
        raise TypeError(f"{type(self).__name__} results are neither true nor false; ask for .certified, .ok or .same")

    def __repr__(self) -> str:
        from surelift.views.text import text

        return text(self)

    __str__ = __repr__


class ByName(Result, Mapping[str, R]):
    """Results of several policies, each under its name."""

    __slots__ = ()
    results: Mapping[str, R]

    def __getitem__(self, policy: str) -> R:
        return self.results[policy]

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __bool__(self) -> bool:
        return bool(self.results)

    def records(self) -> list[dict[str, Any]]:
        return [record for result in self.results.values() for record in result.records()]
