"""The flags that declare a log: one for each field of its traits, and those that say what kind of file it is."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from surelift import importers
from surelift.cli import flag as readers
from surelift.cli.flag import LOG, MORE_OF_THE_LOG, WHOLE, flag
from surelift.errors import UsageError
from surelift.traits.declaration import fields_of_all_traits
from surelift.traits.trait import FieldOfTrait

if TYPE_CHECKING:
    from surelift.importers import Imported
    from surelift.traits.logs import Logs

# What an option of a format is called among the flags.
_IMPORTED = {("open-bandit", "action_count"): "items"}
_OF_ROWS = ("reward", "propensity", "reward_range", "separator", "encoding")


def rare(shape: str, text: str, **options: Any) -> Parameter:
    return flag(shape, text, group=MORE_OF_THE_LOG, **options)


def _flags() -> Mapping[str, tuple[str, FieldOfTrait, Any]]:
    """By the name of the flag: the field it fills, what that says of itself, and its default."""
    found: dict[str, tuple[str, FieldOfTrait, Any]] = {}
    for name, about, default in fields_of_all_traits():
        if about.read:
            found.setdefault(about.flag or name, (name, about, default))
    return found


def _with_flags_of_traits(kind: type[Any]) -> type[Any]:
    made: dict[str, Any] = {}
    for name, (_, about, default) in _FLAGS.items():
        group = {"group": MORE_OF_THE_LOG} if about.rare else {}
        parameter: tuple[Any, ...] = (flag(about.shape, about.help, **group),)
        value: Any = str | None
        if about.read == "switch":
            value = bool
        elif about.read == "whole":
            value, parameter = int | None, (WHOLE, *parameter)
        elif about.read == "two_numbers":
            default = ",".join(f"{number:g}" for number in default)
            value, parameter = str, (Parameter(help=about.help, metavar=about.shape, allow_leading_hyphen=True),)
        made[name] = Annotated[(value, *parameter)]
        setattr(kind, name, None if default is MISSING else default)
    kind.__annotations__ = {**made, **kind.__annotations__}
    return kind


_FLAGS = _flags()


@Parameter(name="*", group=LOG)
@dataclass(frozen=True, kw_only=True)
@_with_flags_of_traits
class LogFlags:
    slate: Annotated[
        str | None,
        rare(
            "COL",
            "Column of the page or ranking: its rows, one for each position, count as one round (see --slate-weight).",
        ),
    ] = None
    slate_weight: Annotated[
        Literal["product", "additive"] | None,
        rare(
            "product|additive",
            "The weight of a page: the product of its positions' weights, each given those before (the default), or their "
            "sum, for positions drawn independently whose parts of the reward add up.",
            show_choices=False,
        ),
    ] = None
    slate_max: Annotated[int | None, WHOLE, rare("N", "The most positions of a page, for --slate-weight additive.")] = None
    format: Annotated[
        str | None,
        rare("FORMAT", "Format, if the file name does not tell it: dsjson, cb, cb_adf, open-bandit, ccb, cats, rllib."),
    ] = None
    separator: Annotated[
        str | None, rare("CHAR", "Separator of a CSV file, such as ';' or tab, if its first lines do not tell it.")
    ] = None
    encoding: Annotated[
        str | None,
        rare(
            "NAME",
            "Encoding of a CSV file or of JSON lines, such as latin-1; by default UTF-8, or UTF-16 with its mark.",
        ),
    ] = None

    def logs(self, sources: list[str]) -> "Logs":
        from surelift.traits.logs import Logs

        if not sources:
            raise UsageError(
                "no log was given; name the path of a Parquet, CSV, JSON lines or Arrow file, or - for standard input."
            )
        brought = self.imported(sources)
        return Logs(sources, **self.declared()) if brought is None else brought.logs

    def imported(self, sources: list[str]) -> "Imported | None":
        """Logs in another tool's format, which determines their columns."""
        kind = self.format or (importers.format_of(sources[0]) if sources else None)
        if kind is None:
            return None
        default = LogFlags().declared()
        given = {role: value for role, value in self.declared().items() if value != default.get(role)}
        named = {_IMPORTED.get((kind, role), role): value for role, value in given.items()}
        return importers.read(kind, sources, **named)

    def pages(self, sources: list[str], columns: list[str]) -> "Imported":
        """The pages of --slate, with the candidates of these columns."""
        given = replace(self, slate=None, slate_weight=None, slate_max=None).declared()
        for role, value in given.items():
            if role not in _OF_ROWS and value:
                raise UsageError(f"--slate makes each page a round, and takes no --{role.replace('_', '-')}.")
        if self.slate is None or not {"reward", "propensity"} <= given.keys():
            raise UsageError("--slate needs --reward and --propensity, columns of the rows.")
        if (self.slate_weight == "additive") != (self.slate_max is not None):
            raise UsageError("--slate-weight additive and --slate-max, the most positions of a page, need each other.")
        from surelift.logs.sources.layout import TextStyle
        from surelift.logs.sources.recognise import open_source

        rows = open_source(sources, TextStyle.of(self.separator, self.encoding))
        return importers.slates(
            rows, columns, slate=self.slate, reward=given["reward"], propensity=given["propensity"],
            weight=self.slate_weight or "product", most=self.slate_max, reward_range=given["reward_range"],
            probabilities="independent" if self.slate_weight == "additive" else "conditional",
        )  # fmt: skip

    def value(self, name: str) -> Any:
        """What was given for a flag."""
        return getattr(self, name)

    def without(self, *names: str) -> "LogFlags":
        """As if these flags had not been given."""
        return replace(self, **dict.fromkeys(names))

    def declared(self) -> dict[str, Any]:
        """The arguments of ``Logs`` that were given."""
        if self.slate is not None:
            raise UsageError("this command takes rounds, not the positions of pages: leave --slate out.")
        if self.slate_weight is not None or self.slate_max is not None:
            raise UsageError("--slate-weight and --slate-max need --slate, the column of the page.")
        found = {name: value for name in ("separator", "encoding") if (value := self.value(name)) is not None}
        for name, value in self._given():
            field, about, _ = _FLAGS[name]
            if field in found:
                raise UsageError(f"give --{field.replace('_', '-')} or --{name.replace('_', '-')}, not both.")
            read: Callable[[Any], Any] | None = getattr(readers, about.read, None)
            found[field] = value if read is None else read(value)
        return found

    def _given(self) -> Iterator[tuple[str, Any]]:
        return ((name, value) for name in _FLAGS if (value := self.value(name)) is not None)
