"""``Question``: everything that is asked of a log, as one frozen value.

A question knows what to add up (``plan``) and what the sums say (``answer``). It can be asked of logs, saved and read
back, sent to a cluster, or kept in a monitor; the answer is the same.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from importlib import import_module
from typing import Any, ClassVar

from surelift import questions
from surelift.bounds import Promise
from surelift.controls.model import SAME_ROUNDS, RewardModel
from surelift.engines import collect, completed, count_units, known_distributions
from surelift.engines.collect import EMPTY
from surelift.errors import LogsError, UsageError
from surelift.logs.declaration import Declaration
from surelift.logs.faults import refuse_faults
from surelift.logs.logs import Logs
from surelift.logs.origins import MOST, Origins
from surelift.logs.segments import By
from surelift.policies import Policy
from surelift.policies.policy import origins_of
from surelift.policies.resolve import PRODUCTION, name_policies, one_policy
from surelift.policies.sequences import over_clusters
from surelift.questions.fields import decoded, encoded
from surelift.questions.labels import aloud_with, said_of
from surelift.questions.loggers import check_balanced, logger_requests, refuse_other_counts
from surelift.questions.method import Method, choose_method, method_from
from surelift.questions.options import check_known, refuse_disproved, test_requests
from surelift.questions.segments import SAMPLED_SEGMENTS, check_segments, with_listing_told
from surelift.results.provenance import Provenance
from surelift.results.result import Result
from surelift.results.segments import Segments
from surelift.statistics.first_positions import FirstPositions
from surelift.statistics.memories import IdMemory, RoundMemory
from surelift.statistics.plan import Plan, Request, RewardColumn
from surelift.statistics.splits import Key, KeyValue, Segment
from surelift.statistics.sums import COUNT, Sums

LEARNED_FROM = (
    "was learned from these very rounds, or from some of them, so they cannot judge it: use its own certificate, or fresh "
    "rounds."
)
_ALWAYS = {"declaration", "policies", "delta", "method"}
Progress = Callable[[int], None]
RoundCount = Callable[[], int]


@dataclass(frozen=True, slots=True)
class Place:
    """Where in an answer a result stands: over the whole log, or in one segment at its share of delta."""

    delta: float
    provenance: Provenance
    segment: str | None = None
    planned: int | None = None
    """The rounds its sums were planned for, where they are those of a longer log."""

    @property
    def words(self) -> str:
        return "" if self.segment is None else f" in segment {self.segment!r}"


@dataclass(frozen=True, kw_only=True)
class Question:
    """The base of every question: a subclass says what it requests, and what its sums answer."""

    kind: ClassVar[str]
    """The verb, as certificates name it."""
    tells_faults: ClassVar[bool] = False
    """Whether it may be asked of logs with faults, which it then tells."""

    declaration: Declaration
    policies: Mapping[str, Policy]
    delta: float = 0.05
    method: Method = field(default_factory=choose_method)
    by: Segment | None = None
    known: frozenset[str] | None = None
    """The policies whose whole distribution is known; None until a log was looked at."""
    outcome: RewardColumn | None = None
    """The column that judges, where it is not the log's own but another outcome."""

    @classmethod
    def of(
        cls, kind: str, logs: Logs | Mapping[str, Any], policies: Any, *, method: Any = "mixture", control: Any = "auto",
        over: Any = None, by: By | None = None, segments: Sequence[Any] | None = None, **options: Any,
    ) -> "Question":  # fmt: skip
        """A question by its verb, of logs or of what would be declared of them; the options are those of the verb.

        Given ``Logs``, their first batch shows which policies give whole distributions, for weight control.
        """
        kinds = _kinds()
        if kind not in kinds:
            raise UsageError(f"no question {kind!r}; the questions are {', '.join(sorted(kinds))}.")
        if isinstance(logs, Logs):
            logs = completed(logs)
        declared = logs.declaration if isinstance(logs, Logs) else Declaration(**logs)
        names = {item.name for item in fields(kinds[kind])}
        bound_options = {name: options.pop(name) for name in options.keys() - names}
        baseline: dict[str, Any] = {} if over is None else {"over": one_policy(over)}
        named = name_policies(policies)
        segment = check_segments(logs, by, segments, {**named, **dict(baseline.values())})
        question = kinds[kind](
            declaration=declared, policies=named, method=choose_method(method, control, **bound_options), by=segment,
            **baseline, **options,
        )  # fmt: skip
        return question.resolved(logs) if isinstance(logs, Logs) else question

    def requests(self, count: RoundCount, key: Key = ()) -> Iterator[Request]:
        """What to add up under a key; ``count`` tells the number of rounds, for plans that depend on it."""
        raise NotImplementedError

    def result(self, sums: Sums, place: Place) -> Result:
        """What sums over the whole log, or over one segment, answer."""
        raise NotImplementedError

    @property
    def everyone(self) -> Mapping[str, Policy]:
        """The policies whose probabilities are read."""
        return self.policies

    @property
    def promise(self) -> Promise:
        """Segments that were not declared share delta by a number that grows, so for one look; so do counts of loggers."""
        promised = self.method.promise
        one_look = (self.by is not None and self.by.declared is None) or self.declaration.balances_counts
        return "one look" if one_look and promised == "any number of looks" else promised

    @property
    def counts_rounds(self) -> bool:
        """Whether its plan depends on the number of rounds."""
        return self.method.counts_rounds

    def ask(self, logs: Logs, *, progress: Progress | None = None) -> Any:
        """Read the log once, where its rounds are, and answer."""
        whole = completed(logs, self.declaration)
        question = self if whole is logs else replace(self, declaration=whole.declaration)
        logs, question = whole, question.resolved(whole)
        key = () if question.by is None else (question.by,)
        counts = count_units(logs, key) if question.counts_rounds else None
        return question.answer(collect(logs, question.plan(counts), progress=progress))

    def resolved(self, logs: Logs) -> "Question":
        """The same question, once it is seen which policies give whole distributions."""
        self.check(logs)
        if self.known is not None:
            return self
        wanted = self.method.wants_distributions and self.declaration.score is None
        known = known_distributions(logs, self.everyone) if wanted else frozenset()
        if wanted:
            self.method.check_known(over_clusters(self.everyone, self.declaration), known)
        return replace(self, known=known)

    def check(self, logs: Logs) -> None:
        """Refuse logs that this question, or its segments, cannot be asked of."""
        self.method.check_units(self.declaration)
        check_balanced(self.declaration, self.method, self.everyone, self.by)
        check_known(logs, self.everyone, self.model, self.by)

    def plan(self, counts: Mapping[KeyValue, int] | None = None) -> Plan:
        """Statistics and the keys they are split by; ``counts`` has the rounds of each segment, where they matter."""
        requests = list(self._requests(counts))
        requests += [Request(memory) for _, origins in self._origins() for memory in _memories(origins)]
        requests += [*map(Request, self._ids()), *logger_requests(self.declaration)]
        return Plan(self.everyone, tuple(requests), self.model)

    @property
    def model(self) -> RewardModel | None:
        return self.method.model

    def _origins(self) -> Iterator[tuple[str, Origins]]:
        """What must not have been learned from the rounds that judge, with what is said where it was."""
        for name, policy in self.everyone.items():
            yield f"policy {name!r} {LEARNED_FROM}", origins_of(policy)
        yield SAME_ROUNDS, origins_of(self.model)

    def _ids(self) -> Iterator[IdMemory | FirstPositions]:
        """What remembers the ids that may not come again, also where parts of the log are added up."""
        if self.declaration.id is not None:
            yield IdMemory(self.declaration.id, of_clusters=False)
        if self.declaration.cluster is not None:
            yield IdMemory(self.declaration.cluster, of_clusters=True)
        if self.declaration.position is not None:
            yield FirstPositions(self.declaration.position)

    def _requests(self, counts: Mapping[KeyValue, int] | None) -> Iterator[Request]:
        yield from test_requests(self.declaration, self.everyone, self.by)
        if self.by is None:
            yield from self.requests(lambda: _one(counts, ()))
            return
        yield Request(COUNT)
        yield Request(COUNT, (self.by,))
        if counts is None:
            yield from self.requests(_no_count, (self.by,))
            return
        for value in counts:
            # Each segment has a plan of its own, for its own number of rounds.
            yield from self.requests(_constant(counts[value]), (replace(self.by, only=value[0]),))

    def answer(self, sums: Sums) -> Any:
        """What sums made by this question's plan say, wherever they were made."""
        if not self.tells_faults:
            self.refuse_unfit(sums)
            refuse_disproved(sums, self.declaration, self.everyone, self.by)
        sums = self.judged(sums)
        if self.by is not None:
            return self._segments(sums)
        return self.result(self.before_sampling(sums), Place(self.delta, self.provenance(sums)))

    def judged(self, sums: Sums) -> Sums:
        return sums.judged_by(self.outcome)

    def refuse_unfit(self, sums: Sums) -> None:
        if sums.rows == 0:
            raise LogsError(" ".join([EMPTY, *said_of(sums, self.declaration)]))
        refuse_faults(sums.invalid, rows=sums.rows)
        for memory in self._ids():
            memory.refuse_again(sums.get(memory))
        for message, origins in self._origins():
            judges = {memory.contexts or (): sums.get(memory) for memory in _memories(origins)}
            if origins.overlaps(Origins(judges)):
                raise UsageError(message)

    def _segments(self, sums: Sums) -> Segments[Any]:
        assert self.by is not None
        if self.declaration.is_sampled:
            raise UsageError(SAMPLED_SEGMENTS)
        names = self.by.sorted(sums.by(COUNT, self.by))
        share = self.delta / len(self.by.declared or names)
        splits = {name: replace(self.by, only=name) if self.counts_rounds else self.by for name in names}
        results, parts, provenance = {}, sums.parts(*splits.values()), self.provenance(sums)
        for name, split in splits.items():
            place = Place(share, replace(provenance, segment=name), name)
            results[name] = self.result(parts[split, name], place)
        answer = Segments.of(results, self.by, self.delta, sums.units, provenance)
        listed = replace(self, by=replace(self.by, declared=tuple(names))).promise
        return with_listing_told(answer, self.promise, listed)

    def provenance(self, sums: Sums) -> Provenance:
        return Provenance(
            question=self.to_dict(), rounds=self.before_sampling(sums).units, fingerprint=sums.fingerprint,
            certifies=self.method.bound.certifies, aloud=aloud_with(sums, self.declaration, self.delta),
        )  # fmt: skip

    def before_sampling(self, sums: Sums) -> Sums:
        """The sums of the rounds that were kept, with the number of those there were."""
        declared = self.declaration
        refuse_other_counts(declared, sums)
        if not declared.is_sampled or sums.rows == 0 or sums.invalid:
            return sums
        before = declared.rounds_before_sampling
        if before is not None:
            if before < sums.units:
                raise LogsError(
                    f"rounds_before_sampling is {before:,}, but {sums.units:,} rounds were kept: it must count them all, "
                    "also those that were dropped."
                )
            return sums.with_units(before)
        production = sums.production
        if production.smallest_keep != production.largest_keep:
            raise LogsError(
                f"keep_probability {declared.keep_probability!r} varies from {production.smallest_keep:.4g} to "
                f"{production.largest_keep:.4g}, and rounds_before_sampling is not known.\nIf it depended on the reward or "
                "the action (all clicks, 1% of the rest), nothing can be certified from these rounds alone: find the "
                "number of rounds before sampling. If it depended only on what was known before the action, leave "
                "keep_probability out: the rounds that were kept are then a log of their own, of the kept population."
            )
        return sums

    def to_dict(self) -> dict[str, Any]:
        """The question as JSON keeps it, defaults included: what is stored must not change with them."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        stated = {name: encoded(name, value) for name, value in values.items() if value is not None}
        return {"kind": self.kind, **stated}

    @classmethod
    def from_dict(
        cls, content: Mapping[str, Any], *, policies: Mapping[str, Policy] | None = None, control: Any = None,
        declaration: Declaration | None = None,
    ) -> "Question":  # fmt: skip
        """The question that was saved; what JSON cannot hold (arrays, functions, models) is given again."""
        kinds = _kinds()
        kind = kinds.get(content["kind"])
        if kind is None:
            raise UsageError(
                f"no question of kind {content['kind']!r} is known here; for a learned policy, give it in policies=."
            )
        names = {item.name for item in fields(kind)}
        stated = {name: value for name, value in content.items() if name != "kind"}
        if stated.keys() - names:
            raise ValueError(f"unknown options {', '.join(sorted(stated.keys() - names))}")
        if _ALWAYS - stated.keys():
            raise ValueError(f"{', '.join(sorted(_ALWAYS - stated.keys()))} is missing")
        given = policies or {}
        known = {**content["policies"], **content.get("over", {})}
        if unknown := sorted(given.keys() - known.keys()):
            raise UsageError(f"no policy is called {unknown[0]!r} here; they are {', '.join(map(repr, known))}.")
        if declaration is not None:
            stated["declaration"] = declaration
        values = {name: decoded(name, value, given) for name, value in stated.items()}
        values["method"] = method_from(content["method"], control)
        return kind(**values)


def _kinds() -> dict[str, type[Question]]:
    """Every question by its verb: those of this folder, and others that were imported."""
    from pkgutil import iter_modules

    for module in iter_modules(questions.__path__):
        import_module(f"surelift.questions.{module.name}")
    return {question.kind: question for question in _subclasses(Question)}


def _subclasses(kind: type[Question]) -> Iterable[type[Question]]:
    for subclass in kind.__subclasses__():
        if "kind" in subclass.__dict__:
            yield subclass
        yield from _subclasses(subclass)


def _memories(origins: Origins) -> list[RoundMemory]:
    return [RoundMemory(contexts, MOST) for contexts in origins.memories]


def _one(counts: Mapping[KeyValue, int] | None, value: KeyValue) -> int:
    return _no_count() if counts is None else counts[value]


def _constant(count: int) -> RoundCount:
    return lambda: count


def _no_count() -> int:
    raise UsageError("a growing log has no number of rounds to plan for; use the default grid, or name a smoothing.")


def require_logs(logs: Any) -> None:
    if not isinstance(logs, Logs):
        raise UsageError(
            f"logs must be given as Logs, not as a {type(logs).__name__}; wrap it: "
            "Logs(source, reward='column', propensity='column')."
        )


def check_over(policies: Mapping[str, Policy], name: str) -> None:
    if name in policies:
        what = "production" if name == PRODUCTION else repr(name)
        raise UsageError(f"{what} would be compared with itself; name another policy in over=, or give both names.")
