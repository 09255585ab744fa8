"""What every result can do: show itself, and leave as a dict, as JSON or as a data frame."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeVar

from surelift.errors import UsageError

FrameKind = Literal["pandas", "polars", "pyarrow"]

R = TypeVar("R", bound="Result")


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

    def __bool__(self) -> bool:
        raise TypeError(f"a {type(self).__name__} is neither true nor false; ask for .certified, .ok or .same")

    def __repr__(self) -> str:
        from surelift.report.text import describe

        return describe(self)

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
