"""The flags that declare a log: one for each field of its traits, and those that say what kind of file it is."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from surelift import importers
from surelift.cli import flag as readers
from surelift.cli.flag import LOG, MORE_OF_THE_LOG, flag, flags, refuse_first
from surelift.errors import UsageError
from surelift.traits.declaration import fields_of_all_traits
from surelift.traits.trait import FieldOfTrait

if TYPE_CHECKING:
    from surelift.importers import Imported
    from surelift.traits.logs import Logs

# What an option of a format is called among the flags.
_IMPORTED = {("open-bandit", "action_count"): "items"}
_OF_ROWS = ("reward", "propensity", "reward_range", "separator", "encoding")
_KINDS: dict[str, Any] = {"switch": bool, "whole": int | None, "two_numbers": str}


# By the name of the flag: the field it fills, and what that says of itself.
_OF_TRAITS: dict[str, tuple[str, FieldOfTrait]] = {}
for _name, _described in fields_of_all_traits():
    if _described.read:
        _OF_TRAITS.setdefault(_described.flag or _name, (_name, _described))
rare = partial(flag, group=MORE_OF_THE_LOG)


def _with_flags_of_traits(kind: type[Any]) -> type[Any]:
    own, kind.__annotations__ = kind.__annotations__, {}
    for name, (_, described) in _OF_TRAITS.items():
        options: dict[str, Any] = {"group": MORE_OF_THE_LOG} if described.rare else {}
        default = described.default
        if described.read == "two_numbers":
            default, options = ",".join(f"{number:g}" for number in default), {"allow_leading_hyphen": True}
        setattr(kind, name, flag(described.shape, described.help, default=default, **options))
        kind.__annotations__[name] = _KINDS.get(described.read, str | None)
    kind.__annotations__ |= own
    return kind


@flags(LOG)
@_with_flags_of_traits
class LogFlags:
    slate: str | None = rare(
        "COL", "Column of the page or ranking: its rows, one for each position, count as one round (see --slate-weight)."
    )
    slate_weight: Literal["product", "additive"] | None = rare(
        "product|additive", "The weight of a page: the product of its positions' weights, each given those before (the "
        "default), or their sum, for positions drawn independently whose parts of the reward add up."
    )  # fmt: skip
    slate_max: int | None = rare("N", "The most positions of a page, for --slate-weight additive.")
    format: str | None = rare(
        "FORMAT", "Format, if the file name does not tell it: dsjson, cb, cb_adf, open-bandit, ccb, cats, rllib."
    )
    separator: str | None = rare("CHAR", "Separator of a CSV file, such as ';' or tab, if its first lines do not tell it.")
    encoding: str | None = rare(
        "NAME", "Encoding of a CSV file or of JSON lines, such as latin-1; by default UTF-8, or UTF-16 with its mark."
    )

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
        return importers.read(kind, sources, **{_IMPORTED.get((kind, role), role): value for role, value in given.items()})

    def pages(self, sources: list[str], columns: list[str]) -> "Imported":
        """The pages of --slate, with the candidates of these columns."""
        given = replace(self, slate=None, slate_weight=None, slate_max=None).declared()
        additive = self.slate_weight == "additive"
        refusals = {
            f"--slate makes each page a round, and takes no --{role.replace('_', '-')}.": role not in _OF_ROWS and value
            for role, value in given.items()
        } | {
            "--slate needs --reward and --propensity, columns of the rows.": not {"reward", "propensity"} <= given.keys(),
            "--slate-weight additive and --slate-max, the most positions of a page, need each other.": (
                additive != (self.slate_max is not None)
            ),
        }
        refuse_first(refusals)
        from surelift.logs.sources.recognise import open_source

        rows = open_source(sources, self.separator, self.encoding)
        return importers.slates(
            rows, columns, slate=self.value("slate"), reward=given["reward"], propensity=given["propensity"],
            weight=self.slate_weight or "product", most=self.slate_max, reward_range=given["reward_range"],
            probabilities="independent" if additive else "conditional",
        )  # fmt: skip

    def value(self, name: str) -> Any:
        return getattr(self, name)

    def declared(self) -> dict[str, Any]:
        """The arguments of ``Logs`` that were given."""
        weighed = (self.slate_weight, self.slate_max) != (None, None)
        refusals = {
            "this command takes rounds, not the positions of pages: leave --slate out.": self.slate is not None,
            "--slate-weight and --slate-max need --slate, the column of the page.": weighed,
        }
        refuse_first(refusals)
        found: dict[str, Any] = {
            name: self.value(name) for name in ("separator", "encoding") if self.value(name) is not None
        }
        for name, (field, described) in _OF_TRAITS.items():
            value = self.value(name)
            if value is not None and field in found:
                raise UsageError(f"give --{field.replace('_', '-')} or --{name.replace('_', '-')}, not both.")
            if value is not None:
                found[field] = getattr(readers, described.read, lambda given: given)(value)
        return found
