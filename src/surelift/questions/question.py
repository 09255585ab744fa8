"""``Question``: everything that is asked of a log, as one frozen value.

A question checks itself when it is made, knows what to add up (``plan``) and what the sums say (``answer``). It can be
asked of logs, saved and read back, sent to a cluster, or kept in a monitor; the answer is the same.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property, partial
from typing import Any, ClassVar

from surelift import capabilities
from surelift.batch import RewardColumn
from surelift.bounds import Promise
from surelift.controls.model import RewardModel
from surelift.engines import collect, completed, count_units, engine_features, known_distributions
from surelift.errors import UsageError
from surelift.logs.decisions import Limits
from surelift.policies import Policy
from surelift.policies.resolve import check_policies, one_policy
from surelift.quantities import Quantity
from surelift.questions import soundness
from surelift.questions.assumptions import assumptions_of, delta_note
from surelift.questions.claims import BoundedClaim, Claim, Place, bound_together
from surelift.questions.drift import ratio_requests
from surelift.questions.method import Counts, Method, RoundCount, check_chance, choose_method, no_count
from surelift.questions.segments import answer_by_segment, check_roles, split_by
from surelift.questions.telling import refuse
from surelift.results.provenance import Provenance
from surelift.statistics.plan import Plan, Request, Term
from surelift.statistics.splits import Key, Segment
from surelift.statistics.sums import COUNT, OTHER_QUESTION, PRODUCTION, Sums, requests_of
from surelift.traits.declaration import Declaration
from surelift.traits.logs import Logs

Progress = Callable[[int], None]
_OF_VERBS = frozenset(("over", "margin", "many", "sides", "outcomes", "guardrails", "level", "power", "estimator", "model"))
"""Options of other verbs, which no bound has."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """The base of every question: a subclass says what it claims, and what the ends of its claims say."""

    kind: ClassVar[str]
    """The verb, as certificates name it."""
    tells_faults: ClassVar[bool] = False
    """It may be asked of logs with faults, which it then tells."""
    asks_without: ClassVar[bool] = False
    """It may be asked without a policy."""
    takes_one: ClassVar[bool] = False
    """It is asked of one policy."""
    sides_together: ClassVar[bool] = False
    """Both ends of a claim hold together, and share delta; else each holds on its own."""

    declaration: Declaration
    policies: Mapping[str, Policy]
    delta: float = 0.05
    method: Method = field(default_factory=choose_method)
    by: Segment | None = None
    known: frozenset[str] | None = None
    """The policies whose whole distribution is known; None until a log was looked at that may tell."""
    counts_rounds: bool = field(init=False, compare=False, repr=False)
    """Its plan depends on the number of rounds."""
    limits: Mapping[str, Limits] = field(init=False, compare=False, repr=False)
    """How far the weights of each policy can lie from 1 in these logs."""

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
        own: dict[str, Any] = {}
        by, segments = options.pop("by", None), options.pop("segments", None)
        if by is not None or segments is not None:
            own["by"] = split_by(by, segments)
        for item in fields(cls):
            if item.init and item.name in options and item.name != "method":
                own[item.name] = options.pop(item.name)
        if "over" in own:
            own["over"] = one_policy(own["over"])
        for name in _OF_VERBS.intersection(options):
            raise UsageError(f"{cls.kind} does not take {name}=.")
        return {**own, "method": choose_method(**options)}

    def __post_init__(self) -> None:
        if not isinstance(self.declaration, Declaration) or not isinstance(self.method, Method):
            raise UsageError("a question is made by Question.of(kind, logs, policies, ...).")
        object.__setattr__(self, "delta", check_chance("delta", self.delta, "the probability of error"))
        check_policies(self.policies, some=not self.asks_without)
        if self.by is not None:
            check_roles(self.declaration, self.by)
        if self.takes_one and len(self.policies) != 1:
            raise UsageError(f"{self.kind} takes one policy, but was given {len(self.policies)}; use select for several.")
        object.__setattr__(self, "counts_rounds", self.method.counts_rounds)
        self.check_fields()
        unit, limits = self.declaration.unit, {name: policy.limits for name, policy in self.everyone.items()}
        if unit.multiplies:
            limits = {name: unit.limits(of_each) for name, of_each in limits.items()}
        object.__setattr__(self, "limits", limits)
        features = self.features
        if capabilities.refusals(features):
            capabilities.check(features, self.method.called)
        for name, policy in self.everyone.items():
            capabilities.require(features, policy.features, f"policy {name!r}")
        capabilities.require(features, self.method.features, f"control={self.method.control!r}")
        looks = self.method.wants_distributions and not capabilities.missing(features, "control by weights")
        if self.known is None and not looks:
            object.__setattr__(self, "known", frozenset())
            if self.method.control in ("weights", "model"):
                self.method.check_known(self.limits, frozenset())

    def check_fields(self) -> None:
        """Refuse fields of its own that are wrong, or put them into one form."""

    @cached_property
    def features(self) -> frozenset[str]:
        """What the table of capabilities knows it by."""
        found = self.declaration.features | self.own_features | self.method.features
        for policy in self.everyone.values():
            found |= policy.features
        derived = set()
        if self.by is not None:
            derived |= {"by segments"} if self.by.declared is not None else {"by segments", "segments that occur"}
        if self.promise != "any number of looks":
            derived.add("one look")
        if self.counts_rounds:
            derived.add("planned number of rounds")
        if {"where", "clusters"} <= found:
            derived.add("torn clusters")
        if "blocks" in found and not found & {"id", "clusters"}:
            derived.add("dealt by rows")
        return found | derived

    @property
    def own_features(self) -> frozenset[str]:
        """Those of its kind, and of its own fields."""
        return frozenset({self.kind})

    def claims(self, count: RoundCount) -> Mapping[str, Claim]:
        """What it bounds, by name; ``count`` tells the number of rounds, for plans that depend on it."""
        return {}

    @cached_property
    def standing_claims(self) -> Mapping[str, Claim]:
        """The claims where their plan does not depend on the number of rounds."""
        return self.claims(no_count)

    def result(self, found: Mapping[str, BoundedClaim], sums: Sums, place: Place) -> Any:
        """What the ends of its claims say, over the whole log or over one segment."""
        raise NotImplementedError

    def term(self, candidate: str, quantity: Quantity, count: RoundCount) -> Term:
        """What is added up to bound a quantity of a policy."""
        return self.method.plan(
            candidate, quantity, limits=self.limits, count=count, known=self.known or frozenset(),
            scored=not self.declaration.reward.known,
        )  # fmt: skip

    def stated(self, found: BoundedClaim, *besides: str) -> dict[str, Any]:
        """What every bounded answer states beside its numbers: how it was made, and what has to be true for it."""
        claim, policies, (low, high) = found.claim, found.claim.policies, found.levels
        method, (term, level) = claim.method, (claim.low, low) if claim.shown[0] else (claim.high, high)
        conditions, remarks = method.conditions(found.sums, term, found.control, delta=level)
        of_policies = {
            kind: [f"policy {name!r}: {note}" for name, policy in policies.items() for note in getattr(policy, kind, ())]
            for kind in ("doubts", "assumes")
        }
        doubts = (*self.declaration.propensity.doubts, *of_policies["doubts"], *remarks)
        assumed = assumptions_of(claim.declaration, self.promise, (*conditions, *besides), self.by)
        return {
            "delta": low, "rounds": found.sums.units, "counted": self.declaration.counted, "method": method.name,
            "control": found.control, "promise": self.promise, "mean_weight": found.mean_weight,
            "assumptions": (*assumed, *of_policies["assumes"], *doubts), "doubts": doubts,
        }  # fmt: skip

    def requests(self, count: RoundCount, key: Key = ()) -> list[Request]:
        """What to add up under a key."""
        found: list[Request] = []
        for claim in (self.claims(count) if self.counts_rounds else self.standing_claims).values():
            names = [name for name in claim.policies if name in self.everyone]
            ends = (claim.low, claim.high) if self.method.believes_contradictions else (claim.low,)
            found += requests_of(names, ends, key, claim.outcome)
            found += [Request(table, key, claim.outcome) for table in claim.tables]
            if claim.tables and self.declaration.times:
                found += ratio_requests(self.declaration, key, claim.outcome)
        return found

    @cached_property
    def everyone(self) -> Mapping[str, Policy]:
        """The policies whose probabilities are read."""
        return self.policies

    @property
    def promise(self) -> Promise:
        """Segments that were not declared share delta by a number that grows, so for one look; so do counts of loggers."""
        promised = self.method.promise
        one_look = (self.by is not None and self.by.declared is None) or "balanced loggers" in self.declaration.features
        return "one look" if one_look and promised == "any number of looks" else promised

    @property
    def model(self) -> RewardModel | None:
        return self.method.model

    @cached_property
    def digest(self) -> str:
        """Identifies the question in its sums; it is the same for all parts of a log."""
        content, declared = self.stored, dict(self.stored["declaration"])
        for name in soundness.OF_A_PART:
            declared.pop(name, None)
        text = json.dumps({**content, "declaration": declared}, sort_keys=True, default=str)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def ask(self, logs: Logs, *, progress: Progress | None = None) -> Any:
        """Read the log once, where its rounds are, and answer."""
        whole = logs if logs.declaration.is_complete else completed(logs, self.declaration)
        question = self.resolved(whole)
        counts = cache(partial(count_units, whole)) if question.counts_rounds else None
        return question.answered(collect(whole, question.plan(counts), progress=progress))

    def completed(self, logs: Logs) -> "Question":
        """The same question, with what a first pass finds of these logs."""
        return self.resolved(completed(logs, self.declaration))

    def resolved(self, logs: Logs) -> "Question":
        """The same question of these logs, once it is seen which policies give whole distributions."""
        if logs.declaration != self.declaration:
            soundness.refuse_declared_otherwise(self.declaration, logs.declaration)
            return replace(self, declaration=logs.declaration).resolved(logs)
        self.check(logs)
        if self.known is not None:
            return self
        known = known_distributions(logs, self.everyone)
        self.method.check_known(self.limits, known)
        return replace(self, known=known)

    def check(self, logs: Logs) -> None:
        """Refuse logs that this question, or its segments, cannot be asked of."""
        if self.by is not None:
            logs.require_columns(self.by.columns(), role="by")
            check_roles(logs.declaration, self.by, self.columns_of_policies(logs))
        if engine := engine_features(logs):
            capabilities.check(self.features | engine, self.method.called)
        if "where" in logs.declaration.features:
            soundness.refuse_chosen_by_policies(self, logs)

    def columns_of_policies(self, logs: Logs) -> Mapping[str, Iterable[str]]:
        return {name: policy.needs(logs).read for name, policy in self.everyone.items()}

    def plan(self, counts: Counts | None = None) -> Plan:
        """Statistics and the keys they are split by; ``counts`` tells the rounds of each segment, where they matter."""
        return Plan(self.everyone, tuple(self.wanted(counts)), self.model, self.digest)

    def wanted(self, counts: Counts | None) -> list[Request]:
        found = [*soundness.tests_of(self), Request(COUNT), Request(PRODUCTION)]
        if self.by is None:
            found += self.requests(no_count if counts is None else lambda: counts(())[()])
        else:
            key: Key = (self.by,)
            found += [Request(COUNT, key), Request(PRODUCTION, key)]
            if counts is None:
                found += self.requests(no_count, key)
            for value, count in {} if counts is None else counts(key).items():
                # Each segment has a plan of its own, for its own number of rounds.
                only = (replace(self.by, only=value[0]),)
                found += [Request(COUNT, only), Request(PRODUCTION, only), *self.requests(partial(int, count), only)]
        return found

    def answer(self, sums: Sums) -> Any:
        """What sums made by this question's plan say, wherever they were made."""
        if sums.asked and sums.asked != self.digest:
            raise UsageError(OTHER_QUESTION)
        return self.answered(sums)

    def answered(self, sums: Sums) -> Any:
        """What the sums say, also as a part of what a larger question added up."""
        if not self.tells_faults:
            soundness.refuse_unfit(self, sums)
            refuse(soundness.disproved(self, sums))
        whole, notes = self.before_sampling(sums), (*self.declaration.amounts, *soundness.remarks_on(self, sums))
        provenance = Provenance(
            question=self.stored, rounds=whole.units, fingerprint=sums.fingerprint, certifies=self.method.bound.certifies,
            notes=(delta_note(self.delta), *notes) if self.delta > 0.5 else notes,
        )  # fmt: skip
        if self.by is None:
            return self.found(whole, Place(self.delta, provenance))
        return answer_by_segment(self, self.by, sums, provenance)

    def found(self, sums: Sums, place: Place) -> Any:
        claims = self.claims(partial(int, place.planned or sums.units)) if self.counts_rounds else self.standing_claims
        outcomes = {claim.outcome for claim in claims.values()}
        judged: dict[RewardColumn | None, Sums] = {None: sums}
        if outcomes != {None}:
            judged = {outcome: self.before_sampling(sums.judged_by(outcome)) for outcome in outcomes}
        return self.result(bound_together(claims, judged, place, sides_together=self.sides_together), sums, place)

    def before_sampling(self, sums: Sums) -> Sums:
        """The sums of the rounds that were kept, with the number of those there were."""
        if sums.rows == 0 or sums.invalid or "sampled" not in self.declaration.features:
            return sums
        count = self.declaration.kept.count(sums.units, sums.production)
        return sums if count == sums.units else sums.with_units(count)

    def to_dict(self) -> dict[str, Any]:
        """The question as JSON keeps it, defaults included: what is stored must not change with them."""
        return dict(self.stored)

    @cached_property
    def stored(self) -> Mapping[str, Any]:
        found: dict[str, Any] = {"kind": self.kind}
        for name, value in [(item.name, getattr(self, item.name)) for item in fields(self) if item.init]:
            if name == "over":
                found[name] = {value[0]: value[1].describe()}
            elif hasattr(value, "describe"):
                found[name] = value.describe()
            elif isinstance(value, Mapping):
                found[name] = {key: each.describe() if hasattr(each, "describe") else each for key, each in value.items()}
            elif isinstance(value, tuple):
                found[name] = [each.describe() if hasattr(each, "describe") else each for each in value]
            elif value is not None:
                found[name] = sorted(value) if isinstance(value, frozenset) else value
        return found

    @classmethod
    def from_dict(
        cls, content: Mapping[str, Any], *, policies: Mapping[str, Policy] | None = None, control: Any = None,
        declaration: Declaration | None = None,
    ) -> "Question":  # fmt: skip
        """The question that was saved; what JSON cannot hold (arrays, functions, models) is given again."""
        from surelift.questions.stored import question_from

        return question_from(content, policies or {}, control, declaration)
