"""The same question, answered again as rounds arrive, from a state that stays small."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from surelift import capabilities
from surelift.decisions.ledger import Ledger, remembering
from surelift.engines import collect
from surelift.errors import LogsError, SureliftError, UsageError, printed
from surelift.logs.fingerprint import Fingerprint
from surelift.logs.segments import By
from surelift.logs.sources.stores import refuse_remote
from surelift.policies.resolve import name_policies
from surelift.questions.improvement import ImprovementQuestion
from surelift.questions.outcomes import OutcomesQuestion
from surelift.questions.question import Progress, Question
from surelift.questions.selection import SelectionQuestion
from surelift.questions.soundness import refuse_unfit
from surelift.questions.stored import made, refuse_others
from surelift.questions.value import ValueQuestion
from surelift.results.evaluation import Evaluation, PolicyValue
from surelift.results.history import History, Point
from surelift.results.improvement import Improvement
from surelift.results.outcomes import Outcome, Outcomes
from surelift.results.result import delivered
from surelift.results.segments import Segments
from surelift.results.selection import Selection
from surelift.saving import check_format, check_seal, has_format, read_json, refuse_overwriting, sealed, write_beside
from surelift.statistics.sums import Sums
from surelift.traits.declaration import FLAT, Declaration
from surelift.traits.logs import Logs
from surelift.version import __version__
from surelift.views.html import render
from surelift.views.text import some

FORMAT, VERSION, STATE = "surelift monitor", 3, "the state of a monitor"
MOST_POINTS = 256
# So that the state stays small with many policies too.
MOST_REMEMBERED = 100 * MOST_POINTS
Answer = Improvement | Selection | Evaluation | Outcomes | Segments[Any]


class Monitor:
    """Watch a log that grows: ``update`` with what arrived, ask for ``answer()`` at any time, ``save`` in between.

    >>> watch = Monitor({"new": "p_new"}, reward="click", propensity="p")
    >>> batch = {"click": [0, 1] * 500, "p": [0.5] * 1000, "p_new": [0.4, 0.6] * 500}
    >>> watch.update(batch, sequence=1), watch.update(batch, sequence=1)  # the second was counted before
    (True, False)
    >>> watch.answer().certified
    True

    Args:
        policies: The candidates: a column, a list of columns, or a dict from names to policies.
        question: "compare" (several policies are compared at once, as in ``select``) or "evaluate".
        over, delta, margin, outcomes: As in ``compare``; the bound holds at any number of looks.
        by, segments: As in ``compare``; a monitor needs the list of segments.
        name: That of the shard, where several monitors watch parts of one log and are added up later.
        declared: The arguments of ``Logs`` that say what the columns mean; and ``method``, ``control`` and the options of
            the method, as in ``compare``.
    """

    def __init__(
        self, policies: Any, *, question: Literal["compare", "evaluate"] = "compare", over: Any = None,
        delta: float = 0.05, margin: float | str | None = None, by: By | None = None,
        segments: Sequence[Any] | None = None, outcomes: Mapping[str, Outcome] | Sequence[Outcome] | None = None,
        name: str = "", **declared: Any,
    ) -> None:  # fmt: skip
        for field in ("rounds_before_sampling", "as_of"):
            if declared.get(field) is not None:
                raise UsageError(
                    f"a monitor takes no {field}=, which batches differ in; give each batch its own, in update."
                )
        flat = {field: declared.pop(field) for field in FLAT.keys() & declared.keys()}
        asked = {"over": over, "margin": margin, "outcomes": outcomes, "by": by, "segments": segments}
        options = {option: value for option, value in asked.items() if value is not None}
        options |= {"delta": delta, **declared}
        kind: type[Question] = ImprovementQuestion
        if question not in ("compare", "evaluate"):
            raise UsageError(f"a monitor answers 'compare' or 'evaluate', not {printed(question)}.")
        if question == "evaluate":
            kind = ValueQuestion
        elif outcomes is not None:
            kind = OutcomesQuestion
        elif len(name_policies(policies)) > 1:
            # Between its looks the world may drift, and so may the set of better candidates, for which e-Holm has no proof.
            kind, options["many"] = SelectionQuestion, "simultaneous"
        self._begin(made(kind, Declaration.of(**flat), policies, **options), name)

    def _begin(self, question: Question, name: str) -> None:
        capabilities.check(question.features | {"monitor"})
        self._question, self.name = question, name
        self.ledgers: dict[str, Ledger] = {name: Ledger()}
        self._sampled: bool | None = None
        self._sums = Sums()
        self.history_points: list[dict[str, Any]] = []

    def __repr__(self) -> str:
        names = ", ".join(some(map(repr, self._question.policies), "candidates"))
        return f"Monitor of {names}: {self.rounds:,} {self.counted} so far; call .answer() for what they say"

    @property
    def rounds(self) -> int:
        """How many rounds were counted, or clusters."""
        return self._sums.units

    @property
    def counted(self) -> str:
        """What ``rounds`` counts."""
        return self._question.declaration.counted

    @property
    def declaration(self) -> Declaration:
        return self._question.declaration

    @property
    def fingerprint(self) -> Fingerprint:
        """The fingerprint of all rounds that were counted."""
        return self._sums.fingerprint

    def asks_the_same(self, other: "Monitor") -> bool:
        asked = [replace(monitor._question, known=None).to_dict() for monitor in (self, other)]
        first, second = (json.loads(json.dumps(content)) for content in asked)
        return bool(first == second)

    def update(
        self, batch: Any, *, sequence: int | None = None, rounds_before_sampling: int | None = None, as_of: Any = None,
        progress: Progress | None = None,
    ) -> bool:  # fmt: skip
        """Count a batch, anything that ``Logs`` reads; False if its ``sequence`` number was counted before.

        A batch with a fault in it, or with rounds that were counted before, is refused as a whole: rounds are recognised by
        their time or id, where declared, else by what they hold. Clusters must lie whole in a batch. Where the log was
        sampled, ``rounds_before_sampling`` says how many rounds the batch had before. With ``settled_after``, ``as_of`` is
        when its rewards were joined; a batch with a round that is not settled is refused.
        """
        file = None
        if sequence is None and isinstance(batch, str | Path) and os.path.isfile(batch):
            file = Path(batch).resolve()
        return self._count(batch, file, sequence, rounds_before_sampling, as_of, progress)

    def update_from(
        self, path: str | Path, *, rounds_before_sampling: int | None = None, as_of: Any = None,
        progress: Progress | None = None,
    ) -> bool:  # fmt: skip
        """Count a file, once, by its path: one that has another size than when it was counted is refused."""
        refuse_remote(str(path))
        return self._count(path, Path(path).resolve(), None, rounds_before_sampling, as_of, progress)

    def _count(
        self, batch: Any, file: Path | None, sequence: int | None, before: int | None, as_of: Any,
        progress: Progress | None,
    ) -> bool:  # fmt: skip
        if len(self.ledgers) > 1:
            raise UsageError("this monitor adds up several shards; update those, and add them up again.")
        ledger = self.ledgers[self.name]
        if not ledger.is_next(sequence):
            return False
        if self._sampled is not None and self._sampled != (before is not None):
            raise UsageError("give rounds_before_sampling with every batch, or with none.")
        declared = self.declaration.declared(rounds_before_sampling=before, as_of=as_of)
        asked = replace(self._question, declaration=declared)
        logs = Logs.of(batch, asked.declaration)
        question = asked.resolved(logs)
        plan = question.plan()
        sums = collect(logs, remembering(plan, logs), progress=progress)
        for said in declared.reward.remarks(sums.left_out, sums.rows):
            # What is left out of a batch would never be counted, or the batch would count twice when it is sent again.
            raise LogsError(
                f"{said.replace(', and were left out', ' in this batch')}\nSend them in a later batch, once their rewards "
                "are final; nothing was counted."
            )
        if sums.rows:
            refuse_unfit(question, sums)
        counted = ledger.after(sums, logs, file)
        if sums.rows:
            total = self._sums + question.before_sampling(sums.only(plan.requests))
            refuse_unfit(self._question, total)  # a cluster may not come again
            if before is None:
                self._question.before_sampling(total)  # all must have been kept with one probability, in every batch
            self._question = replace(self._question, known=question.known)
            self._sampled, self._sums = before is not None, total
        else:
            self._sums = self._sums + Sums(excluded=sums.excluded, asked=self._sums.asked)
        self.ledgers = {self.name: counted}
        self._remember()
        return True

    def fingerprint_of(self, batch: Any) -> Fingerprint:
        """The fingerprint of a batch that is not counted, to compare with that of the rounds that were."""
        settled = replace(self._question, declaration=self.declaration.declared(settled_after=None))
        logs = Logs.of(batch, settled.declaration)  # what was counted is settled
        return collect(logs, settled.resolved(logs).plan()).fingerprint

    def new_files(self, paths: Sequence[str | Path]) -> list[str]:
        """The files that were not counted yet, in the order of their paths."""
        return self.ledgers[self.name].new_files(paths)

    def _before_sampling(self, rounds: int) -> Question:
        return replace(self._question, declaration=self.declaration.declared(rounds_before_sampling=rounds))

    def answer(self) -> Answer:
        """What all rounds so far say."""
        if self._sums.units == 0:
            raise LogsError("no round has been counted yet; update the monitor first.")
        question = self._question
        if self._sampled:
            question = self._before_sampling(self._sums.units)
        answer: Answer = question.answer(self._sums)
        return answer

    def history(self) -> History:
        """How the bounds moved from batch to batch, as far as they are remembered."""
        first = next(iter(self.answer().bounded().values()))
        points = tuple(
            Point(name, point["rounds"], estimate, lower, upper)
            for point in self.history_points
            for name, (lower, upper, estimate) in (point["bounds"] or {}).items()
        )
        kind, over, margin = (
            (first.kind, None, 0.0) if isinstance(first, PolicyValue) else ("improvement", first.over, first.margin)
        )
        delta = self._question.delta
        return History(points, kind, over, margin, delta, self.counted, first.promise, first.doubts)

    def plot(self, ax: Any = None) -> Any:
        """Draw the history with matplotlib (extra ``report``); returns the axes."""
        return self.history().plot(ax)

    def to_html(self, path: str | Path | None = None, *, command: str = "") -> str | None:
        """The answer and its history as one page of HTML (extra ``report``): into a file, or as text.

        ``command`` is what made it, told at the foot of the page.
        """
        page = self.answer().page().with_section(self.history().section())
        return delivered(render(replace(page, command=command)), path, "the report")

    def _remember(self) -> None:
        """Keep how the bounds moved; when the list gets long, every second point of it."""
        if not self._sums.units:
            return
        try:
            results = self.answer().bounded()
        except LogsError:
            bounds = None  # they contradict each other: whoever asks will be told
        else:
            bounds = {name: [result.lower, result.upper, result.estimate] for name, result in results.items()}
        self.history_points = [*self.history_points, {"rounds": self._sums.units, "bounds": bounds}]
        if len(self.history_points) > max(2, min(MOST_POINTS, MOST_REMEMBERED // len(self._question.policies))):
            self.history_points = self.history_points[1::2]

    def __add__(self, other: "Monitor") -> "Monitor":
        """The monitor of two shards of one log together: it speaks for all shards, and is updated no more."""
        if not isinstance(other, Monitor):
            return NotImplemented
        for conflict in self._conflicts(other):
            raise conflict
        both = Monitor.__new__(Monitor)
        known = other._question.known if self._question.known is None else self._question.known
        both._begin(replace(self._question, known=known), self.name)
        both.ledgers = {**self.ledgers, **other.ledgers}
        both._sampled = other._sampled if self._sampled is None else self._sampled
        both._sums = self._sums + other._sums
        if both._sums.units:
            refuse_unfit(both._question, both._sums)
            if not both._sampled:
                both._question.before_sampling(both._sums)
        both._remember()
        return both

    def _conflicts(self, other: "Monitor") -> Iterator[SureliftError]:
        """Why two shards do not add up."""
        if not self.asks_the_same(other):
            yield UsageError("these monitors do not ask the same question of the same policies, so they do not add up.")
        for name in sorted(self.ledgers.keys() & other.ledgers.keys()):
            yield UsageError(
                f"shard {name!r} is in both, and would count twice; give each monitor a name of its own, name=."
            )
        if len({self._question.known, other._question.known} - {None}) > 1:
            yield UsageError("one shard knows the whole distributions and the other does not, so they do not add up.")
        if len({self._sampled, other._sampled} - {None}) > 1:
            yield UsageError("one shard says how many rounds there were before sampling and the other does not.")
        for shard, ledger in self.ledgers.items():
            for name, theirs in other.ledgers.items():
                if any(map(ledger.knows, theirs.stretches)):
                    yield LogsError(f"shards {shard!r} and {name!r} hold some of the same rounds, which would count twice.")

    def state(self) -> dict[str, Any]:
        return {
            "name": self.name, "question": self._question.to_dict(), "sampled": self._sampled,
            "ledgers": {name: ledger.describe() for name, ledger in self.ledgers.items()},
            "sums": self._sums.to_state() if self._sums.rows or self._sums.excluded else None,
            "history": self.history_points,
        }  # fmt: skip

    def save(self, path: str | Path) -> None:
        """Write the state beside and rename it: it is never half written.

        An existing file is replaced only if it is the state of a monitor, or empty.
        """
        refuse_overwriting(path, what=STATE, recognised=partial(has_format, name=FORMAT))
        whole = sealed({"format": FORMAT, "version": VERSION, "surelift": __version__, **self.state()})
        write_beside(path, json.dumps(whole, allow_nan=False) + "\n", what="the state of the monitor")

    @classmethod
    def load(cls, path: str | Path, *, policies: Any = None, control: Any = None) -> "Monitor":
        """Go on from a saved state; what a file cannot hold (functions, models) is given again."""
        state = read_json(path, what=STATE)
        check_format(state, place=str(path), what=STATE, name=FORMAT, version=VERSION)
        check_seal(state, place=str(path))
        given = {} if policies is None else name_policies(policies)
        try:
            monitor = cls.__new__(cls)
            question = Question.from_dict(state["question"], policies=given, control=control)
            refuse_others(question, state["question"], str(path))
            monitor._begin(question, str(state["name"]))
            monitor.ledgers = {name: Ledger.restored(content) for name, content in state["ledgers"].items()}
            monitor._sampled, monitor.history_points = state["sampled"], list(state["history"])
            if state["sums"] is not None:
                # What is added up follows from whether batches told how many rounds they had before sampling.
                asked = monitor._before_sampling(1) if monitor._sampled else monitor._question
                monitor._sums = Sums.from_state(state["sums"], asked.plan())
            return monitor
        except UsageError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise LogsError(f"{path} is damaged and cannot be read as {STATE} ({error}).") from error
