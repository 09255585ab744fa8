"""``Question``: everything that is asked of a log, as one frozen value.

A question checks itself when it is made, knows what to add up (``plan``) and what the sums say (``answer``). It can be
asked of logs, saved and read back, sent to a cluster, or kept in a monitor; the answer is the same.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property, partial
from typing import Any, ClassVar

from surelift import capabilities
from surelift.bounds import Promise
from surelift.controls.model import RewardModel
from surelift.engines import collect, completed, count_units, known_distributions
from surelift.errors import UsageError
from surelift.logs.decisions import Limits
from surelift.policies import Policy
from surelift.policies.resolve import check_policies, one_policy
from surelift.quantities import Quantity
from surelift.questions.assumptions import assumed_of, assumptions_of, delta_note, doubts_of
from surelift.questions.claims import BoundedClaim, Claim, Levels, Place
from surelift.questions.counts import Counts, RoundCount, no_count, whole_count
from surelift.questions.drift import ratio_requests
from surelift.questions.fields import encoded
from surelift.questions.method import Method, choose_method
from surelift.questions.options import check_condition, check_delta
from surelift.questions.relative import tables_of
from surelift.questions.segments import check_roles, split_by, with_listing_told
from surelift.questions.soundness import memories_of, refuse_disproved, refuse_unfit, remarks_on, tests_of
from surelift.results.provenance import Provenance
from surelift.results.segments import Segments
from surelift.statistics.audits import Audit
from surelift.statistics.plan import Plan, Request, Term
from surelift.statistics.splits import Key, Segment
from surelift.statistics.sums import COUNT, OTHER_QUESTION, PRODUCTION, Sums, requests_of
from surelift.traits.declaration import Declaration
from surelift.traits.logs import Logs

_OF_VERBS = ("over", "margin", "many", "sides", "outcomes", "guardrails", "level", "power", "estimator", "model")
"""Options of other verbs, which no bound has."""
_OF_A_PART = ("rounds_before_sampling", "as_of", "logger_rounds")
"""Fields of a declaration in which parts of one log may differ."""
Progress = Callable[[int], None]


@dataclass(frozen=True, kw_only=True)
class Question:
    """The base of every question: a subclass says what it claims, and what the ends of its claims say."""

    kind: ClassVar[str]
    """The verb, as certificates name it."""
    tells_faults: ClassVar[bool] = False
    """Whether it may be asked of logs with faults, which it then tells."""
    asks_without: ClassVar[bool] = False
    """Whether it may be asked without a policy."""
    takes_one: ClassVar[bool] = False
    """Whether it is asked of one policy."""
    sides_together: ClassVar[bool] = False
    """Whether both ends of a claim hold together, and share delta; else each holds on its own."""

    declaration: Declaration
    policies: Mapping[str, Policy]
    delta: float = 0.05
    method: Method = field(default_factory=choose_method)
    by: Segment | None = None
    known: frozenset[str] | None = None
    """The policies whose whole distribution is known; None until a log was looked at."""

    @classmethod
    def of(cls, kind: str, logs: Logs | Mapping[str, Any], policies: Any, **options: Any) -> "Question":
        """A question by its verb, of logs or of what would be declared of them; the options are those of the verb.

        Given ``Logs``, their first batch shows which policies give whole distributions, for weight control.
        """
        from surelift.questions.stored import kind_of, made

        declared = Declaration.of(**logs) if isinstance(logs, Mapping) else logs
        question: Question = made(kind_of(kind), declared, policies, **options)
        return question.completed(logs) if isinstance(logs, Logs) else question

    @classmethod
    def fields_from(cls, options: dict[str, Any]) -> dict[str, Any]:
        """Its fields, from the options of the verb; those that are no fields of it are options of the bound."""
        names = {item.name for item in fields(cls)}
        by = split_by(options.pop("by", None), options.pop("segments", None))
        if "over" in options and "over" in names:
            options["over"] = one_policy(options["over"])
        own = {name: options.pop(name) for name in names & options.keys() if name != "method"}
        stray = next((name for name in _OF_VERBS if name in options), None)
        if stray is not None:
            raise UsageError(f"{cls.kind} does not take {stray}=.")
        method, control = options.pop("method", "mixture"), options.pop("control", "auto")
        return {**own, "by": by, "method": choose_method(method, control, **options)}

    def __post_init__(self) -> None:
        if not isinstance(self.declaration, Declaration) or not isinstance(self.method, Method):
            raise UsageError("a question is made by Question.of(kind, logs, policies, ...).")
        object.__setattr__(self, "delta", check_delta(self.delta))
        check_policies(self.policies)
        if self.by is not None:
            check_roles(self.declaration, self.by)
        self.check_fields()
        capabilities.check(self.features, self.method.called)
        for name, policy in self.everyone.items():
            capabilities.require_all(self.features, policy.features, f"policy {name!r}")
        capabilities.require_all(self.features, self.method.features, f"control={self.method.control!r}")

    def check_fields(self) -> None:
        """Refuse fields of its own that are wrong, or put them into one form."""

    @cached_property
    def features(self) -> frozenset[str]:
        """What the table of capabilities knows it by."""
        of_policies = (policy.features for policy in self.everyone.values())
        found = self.declaration.features.union(self.own_features, self.method.features, *of_policies)
        derived = {
            "by segments": self.by is not None, "segments that occur": self.by is not None and self.by.declared is None,
            "one look": self.promise != "any number of looks", "torn clusters": {"where", "clusters"} <= found,
            "dealt by rows": "blocks" in found and not found & {"id", "clusters"},
        }  # fmt: skip
        return found | {name for name, is_so in derived.items() if is_so}

    @property
    def own_features(self) -> frozenset[str]:
        """Those of its kind, and of its own fields."""
        return frozenset({self.kind})

    def claims(self, count: RoundCount) -> Mapping[str, Claim]:
        """What it bounds, by name; ``count`` tells the number of rounds, for plans that depend on it."""
        return {}

    def result(self, found: Mapping[str, BoundedClaim], sums: Sums, place: Place) -> Any:
        """What the ends of its claims say, over the whole log or over one segment."""
        raise NotImplementedError

    def term(self, candidate: str, quantity: Quantity, count: RoundCount) -> Term:
        """What is added up to bound a quantity of a policy."""
        return self.method.plan(
            candidate, quantity, limits=self.limits, count=count, known=self.known or frozenset(),
            by_score=not self.declaration.reward.known,
        )  # fmt: skip

    def stated(self, found: BoundedClaim, *besides: str) -> dict[str, Any]:
        """What every bounded answer states beside its numbers: how it was made, and what has to be true for it."""
        claim, about = found.claim, found.claim.policies
        doubts = (*doubts_of(self.declaration, about), *found.method_doubts)
        assumed = assumptions_of(
            claim.declaration, self.promise, (*claim.method.assumes(claim.low, claim.high), *besides), self.by
        )
        return {
            "delta": found.delta, "rounds": found.sums.units, "counted": self.declaration.counted,
            "method": claim.method.name, "control": found.control, "promise": self.promise,
            "mean_weight": found.mean_weight, "assumptions": (*assumed, *assumed_of(about), *doubts), "doubts": doubts,
        }  # fmt: skip

    def joined(self) -> "Sequence[Question]":
        """Questions whose plans are added up in the same pass, and whose answers it needs."""
        return ()

    def requests(self, count: RoundCount, key: Key = ()) -> Iterator[Request]:
        """What to add up under a key."""
        for claim in self.claims(count).values():
            names = [name for name in claim.policies if name in self.everyone]
            yield from requests_of(names, claim.terms, key, claim.outcome)
            if claim.is_tabulated:
                for table in tables_of(claim.low, claim.high, plain=claim.declaration.plain):
                    yield Request(table, key, claim.outcome)
                yield from ratio_requests(self.declaration, key, claim.outcome)

    @property
    def everyone(self) -> Mapping[str, Policy]:
        """The policies whose probabilities are read."""
        return self.policies

    @property
    def promise(self) -> Promise:
        """Segments that were not declared share delta by a number that grows, so for one look; so do counts of loggers."""
        promised = self.method.promise
        one_look = (self.by is not None and self.by.declared is None) or self.declaration.has("balanced loggers")
        return "one look" if one_look and promised == "any number of looks" else promised

    @property
    def counts_rounds(self) -> bool:
        """Whether its plan depends on the number of rounds."""
        return self.method.counts_rounds

    @property
    def model(self) -> RewardModel | None:
        return self.method.model

    @cached_property
    def digest(self) -> str:
        """By which sums know what they answer: the same for all parts of a log."""
        content = self.to_dict()
        declared = {name: value for name, value in content["declaration"].items() if name not in _OF_A_PART}
        text = json.dumps({**content, "declaration": declared}, sort_keys=True, default=str)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def ask(self, logs: Logs, *, progress: Progress | None = None) -> Any:
        """Read the log once, where its rounds are, and answer."""
        whole = completed(logs, self.declaration)
        question = self._of(whole)
        counts = cache(partial(count_units, whole)) if question.counts_rounds else None
        return question.answer(collect(whole, question.plan(counts), progress=progress))

    def completed(self, logs: Logs) -> "Question":
        """The same question, with what a first pass finds of these logs."""
        return self._of(completed(logs, self.declaration))

    def _of(self, logs: Logs) -> "Question":
        found = logs.declaration
        return (self if found == self.declaration else replace(self, declaration=found)).resolved(logs)

    def resolved(self, logs: Logs) -> "Question":
        """The same question, once it is seen which policies give whole distributions."""
        self.check(logs)
        if self.known is not None:
            return self
        known = known_distributions(logs, self.everyone) if self.method.wants_distributions else frozenset[str]()
        self.method.check_known(self.limits, known)
        return replace(self, known=known)

    @cached_property
    def limits(self) -> Mapping[str, Limits]:
        """How far the weights of each policy can lie from 1 in these logs."""
        return {name: self.declaration.limits(policy.limits) for name, policy in self.everyone.items()}

    def check(self, logs: Logs) -> None:
        """Refuse logs that this question, or its segments, cannot be asked of."""
        if self.by is not None:
            logs.require_columns(self.by.columns(), role="by")
            check_roles(logs.declaration, self.by, self.columns_of_policies(logs))
        check_condition(logs, self.everyone, self.model)

    def columns_of_policies(self, logs: Logs) -> Mapping[str, Iterable[str]]:
        return {name: policy.needs(logs).read for name, policy in self.everyone.items()}

    def plan(self, counts: Counts | None = None) -> Plan:
        """Statistics and the keys they are split by; ``counts`` tells the rounds of each segment, where they matter."""
        return Plan(self.everyone, tuple(self.wanted(counts)), self.model, self.digest)

    def wanted(self, counts: Counts | None) -> Iterator[Request]:
        yield from (*tests_of(self), *self._requests(counts), *memories_of(self))
        for question in self.joined():
            yield from question.wanted(counts)

    def _requests(self, counts: Counts | None) -> Iterator[Request]:
        yield from (Request(COUNT), Request(PRODUCTION))
        if self.by is None:
            yield from self.requests(whole_count(counts))
            return
        yield from (Request(COUNT, (self.by,)), Request(PRODUCTION, (self.by,)))
        if counts is None:
            yield from self.requests(no_count, (self.by,))
            return
        for value, count in counts((self.by,)).items():
            # Each segment has a plan of its own, for its own number of rounds.
            key = (replace(self.by, only=value[0]),)
            yield from (Request(COUNT, key), Request(PRODUCTION, key))
            yield from self.requests(partial(int, count), key)

    def answer(self, sums: Sums) -> Any:
        """What sums made by this question's plan say, wherever they were made."""
        if sums.asked and sums.asked != self.digest:
            raise UsageError(OTHER_QUESTION)
        return self.answered(sums)

    def answered(self, sums: Sums) -> Any:
        """What the sums say, also as a part of what a larger question added up."""
        if not self.tells_faults:
            refuse_unfit(self, sums)
            refuse_disproved(self, sums)
        if sums.rows and not sums.invalid:
            self.declaration.propensity.refuse_other_counts(lambda: sums.get(Audit("propensity")))
        return self.segmented(sums, self.provenance(sums))

    def segmented(self, sums: Sums, provenance: Provenance) -> Any:
        """One result, or one for each segment, at delta divided by their number."""
        if self.by is None:
            return self.found(self.before_sampling(sums), Place(self.delta, provenance))
        names = self.by.sorted(sums.by(COUNT, self.by))
        share = self.delta / len(self.by.declared or names)
        splits = {name: replace(self.by, only=name) if self.counts_rounds else self.by for name in names}
        parts, results = sums.parts(*splits.values()), {}
        for name, split in splits.items():
            place = Place(share, replace(provenance, segment=name), name)
            results[name] = self.found(parts[split, name], place)
        answer = Segments.of(results, self.by, self.delta, sums.units, provenance)
        listed = replace(self, by=replace(self.by, declared=tuple(names))).promise
        return with_listing_told(answer, self.promise, listed)

    def found(self, sums: Sums, place: Place) -> Any:
        claims = self.claims(lambda: place.planned or sums.units)
        return self.result(self.bounded(claims, sums, place), sums, place)

    def bounded(self, claims: Mapping[str, Claim], sums: Sums, place: Place) -> dict[str, BoundedClaim]:
        """All claims hold at once: each at delta divided by their number, and by two where both its ends hold together."""
        levels = {name: self._levels(claim, place.delta / len(claims)) for name, claim in claims.items()}
        for ends in ([each.low for each in levels.values()], [each.high for each in levels.values()]):
            assert sum(ends) <= place.delta * (1.0 + 1e-12), "no more than delta is spent on one side"
        return {
            name: BoundedClaim(claim, self.before_sampling(sums.judged_by(claim.outcome)), place, levels[name])
            for name, claim in claims.items()
        }

    def _levels(self, claim: Claim, share: float) -> Levels:
        half = share / 2.0
        if self.sides_together:
            own = half if all(claim.shown) else share
            low, high = (own if is_shown else half for is_shown in claim.shown)
            return Levels(low, high, half)
        return Levels(share, share, half)

    def provenance(self, sums: Sums) -> Provenance:
        amounts = self.declaration.unit.amounts(self.declaration.scale)
        return Provenance(
            question=self.to_dict(), rounds=self.before_sampling(sums).units, fingerprint=sums.fingerprint,
            certifies=self.method.bound.certifies, aloud=(*delta_note(self.delta), *amounts, *remarks_on(self, sums)),
        )  # fmt: skip

    def before_sampling(self, sums: Sums) -> Sums:
        """The sums of the rounds that were kept, with the number of those there were."""
        if sums.rows == 0 or sums.invalid:
            return sums
        count = self.declaration.kept.count(sums.units, sums.production)
        return sums if count == sums.units else sums.with_units(count)

    def to_dict(self) -> dict[str, Any]:
        """The question as JSON keeps it, defaults included: what is stored must not change with them."""
        return {"kind": self.kind, **self._stated}

    @cached_property
    def _stated(self) -> dict[str, Any]:
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: encoded(name, value) for name, value in values.items() if value is not None}

    @classmethod
    def from_dict(
        cls, content: Mapping[str, Any], *, policies: Mapping[str, Policy] | None = None, control: Any = None,
        declaration: Declaration | None = None,
    ) -> "Question":  # fmt: skip
        """The question that was saved; what JSON cannot hold (arrays, functions, models) is given again."""
        from surelift.questions.stored import question_from

        return question_from(content, policies or {}, control, declaration)
