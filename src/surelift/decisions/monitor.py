"""The same question, answered again as rounds arrive, from a state of a few kilobytes."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

from surelift.controls import models
from surelift.decisions.asking import Progress, before_sampling
from surelift.decisions.comparison import Comparison, comparison_of
from surelift.decisions.growing import PER_BATCH, check_keep, growing, no_count, refuse_arrays, without_rounds
from surelift.decisions.method import check_delta, choose_method
from surelift.decisions.select import selection_of
from surelift.decisions.shards import Counted, Shard, ends_of
from surelift.decisions.valuation import Valuation
from surelift.engines import collect
from surelift.errors import LogsError, UsageError
from surelift.grids import Grid
from surelift.logs.faults import refuse_faults
from surelift.logs.logs import Logs
from surelift.policies import Policy
from surelift.policies.resolve import PRODUCTION, from_description, name_policies, rebuild
from surelift.results.evaluation import Evaluation
from surelift.results.history import History, Point
from surelift.results.improvement import Improvement
from surelift.results.result import delivered
from surelift.results.selection import Selection
from surelift.saving import write_beside
from surelift.statistics import Plan, Sums
from surelift.statistics.state import from_state, to_state
from surelift.version import __version__
from surelift.views.html import render

FORMAT, VERSION = "surelift monitor", 1
MOST_POINTS = 256
Question = Literal["compare", "evaluate"]


class Monitor:
    """Watch a log that grows: ``update`` with what arrived, ask for ``answer()`` at any time, ``save`` in between.

    ``declared`` are the arguments of ``Logs`` that say what the columns mean. The bound holds at any number of looks, so it
    may be read after every batch. ``question`` is "compare" (several policies are compared at once, as in ``select``) or
    "evaluate". ``name`` is that of the shard, where several monitors watch parts of one log and are added up later.

    >>> watch = Monitor({"new": "p_new"}, reward="click", propensity="p")
    >>> batch = {"click": [0, 1] * 500, "p": [0.5] * 1000, "p_new": [0.4, 0.6] * 500}
    >>> watch.update(batch, sequence=1), watch.update(batch, sequence=1)  # the second is known already
    (True, False)
    >>> watch.answer().certified
    True
    """

    def __init__(
        self,
        policies: Any,
        *,
        question: Question = "compare",
        over: Any = PRODUCTION,
        delta: float = 0.05,
        margin: float = 0.0,
        method: str = "mixture",
        control: Any = "auto",
        grid: str | Grid = "anytime",
        smoothing: float | None = None,
        name: str = "",
        **declared: Any,
    ) -> None:
        if question not in ("compare", "evaluate"):
            raise UsageError(f"a monitor answers 'compare' or 'evaluate', not {question!r}.")
        self._policies = name_policies(policies)
        self._question, self._over, self._delta, self._margin = question, over, check_delta(delta), margin
        self._method = growing(choose_method(method, control=control, grid=grid, smoothing=smoothing, draws=None))
        if "rounds_before_sampling" in declared:
            raise UsageError(
                "a growing log has no number of rounds before sampling yet; give each batch its own in update."
            )
        self._declared = declared
        self._declaration = without_rounds(declared)
        refuse_arrays(self._policies, self._method)
        self._known: frozenset[str] | None = None
        self._sampled: bool | None = None
        self._asked = self._ask_of(self._declaration, frozenset())
        self.name = name
        self.shards: dict[str, Shard] = {name: Shard()}
        self._sums = Sums()
        self.history: list[dict[str, Any]] = []

    def __repr__(self) -> str:
        names = ", ".join(map(repr, self._policies))
        return f"Monitor of {names}: {self.rounds:,} {self.counted} so far; .answer() says what they say"

    @property
    def rounds(self) -> int:
        return self._sums.units

    @property
    def counted(self) -> str:
        """What ``rounds`` counts."""
        return self._declaration.declaration.counted

    @property
    def cluster(self) -> str | None:
        return self._declaration.declaration.cluster

    def asks_the_same(self, other: "Monitor") -> bool:
        return self._identity() == other._identity()

    def update(
        self,
        batch: Any,
        *,
        sequence: int | None = None,
        rounds_before_sampling: int | None = None,
        progress: Progress | None = None,
    ) -> bool:
        """Count a batch, anything that ``Logs`` reads; False if its ``sequence`` number was counted before.

        A single file without a number is counted once, as by ``update_from``. Nothing is counted of a batch with a fault in
        it. Clusters must lie whole in a batch. Where the log was sampled, ``rounds_before_sampling`` says how many rounds
        the batch had before.
        """
        if sequence is None and isinstance(batch, str | Path) and Path(batch).is_file():
            return self.update_from(batch, rounds_before_sampling=rounds_before_sampling, progress=progress)
        return self._update(batch, sequence, rounds_before_sampling, progress, None)

    def update_from(
        self, path: str | Path, *, rounds_before_sampling: int | None = None, progress: Progress | None = None
    ) -> bool:
        """Count a file, once: a file that changed, or one with the rounds of another, is refused."""
        return self._update(path, None, rounds_before_sampling, progress, Path(path).resolve())

    def _update(
        self, batch: Any, sequence: int | None, before: int | None, progress: Progress | None, file: Path | None
    ) -> bool:
        if len(self.shards) > 1:
            raise UsageError("this monitor is of several shards together; update those, and add them up again.")
        shard = self.shards[self.name]
        if sequence is not None and (isinstance(sequence, bool) or not isinstance(sequence, int) or sequence < 1):
            raise UsageError(f"sequence must be a whole number of at least 1, but is {sequence!r}.")
        if sequence is not None and sequence <= shard.sequence:
            return False
        if sequence is not None and sequence > shard.sequence + 1:
            raise UsageError(f"batch {sequence} came, but {shard.sequence + 1} is next: a batch in between is missing.")
        if self._sampled is not None and self._sampled != (before is not None):
            raise UsageError("give rounds_before_sampling with every batch, or with none.")
        sampled: dict[str, Any] = {} if before is None else {"rounds_before_sampling": before}
        logs = Logs(batch, **self._declared, **sampled)
        known = self._method.known(logs, self._asked.everyone) if self._known is None else self._known
        sums = collect(logs, self._ask_of(logs, known).plan(no_count), progress=progress)
        refuse_faults(sums.invalid, rows=sums.rows)
        files = shard.files if file is None else shard.files_with(file, sums)
        first, last = (None, None) if logs.declaration.cluster is None or not sums.rows else ends_of(logs)
        if first is not None and first == shard.last_cluster:
            raise LogsError(
                f"cluster {first!r} goes on from the batch before; the rounds of a cluster must lie whole in one batch."
            )
        if sums.rows:
            together = self._sums + before_sampling(logs, sums)
            check_keep(logs, together)
            self._known, self._sampled, self._sums = known, before is not None, together
            self._asked = self._ask_of(self._described(), known)
        self.shards[self.name] = Shard(
            shard.sequence + 1, shard.rows + sums.rows, files, shard.count + (file is not None),
            shard.last_cluster if last is None else last,
        )  # fmt: skip
        if self._sums.units:
            self._remember()
        return True

    def new_files(self, paths: Sequence[str | Path]) -> list[str]:
        """Those of the files that were not counted yet, in the order of their paths."""
        return self.shards[self.name].new_files(paths)

    def answer(self) -> Improvement | Selection | Evaluation:
        """What all rounds so far say."""
        if self._sums.units == 0:
            raise LogsError("no round has been counted yet; update the monitor first.")
        return self._answer(self._asked, self._sums)

    def course(self) -> History:
        """How the bounds moved from batch to batch, as far as they are remembered."""
        answer = self.answer()
        first: Any = next(iter(answer.values())) if isinstance(answer, Evaluation) else answer
        points = tuple(
            Point(name, at["rounds"], estimate, lower, upper)
            for at in self.history
            for name, (lower, upper, estimate) in (at["bounds"] or {}).items()
        )
        improves = not isinstance(answer, Evaluation)
        one: Any = next(iter(answer.improvements.values())) if isinstance(answer, Selection) else first
        return History(
            points, "improvement" if improves else first.kind, one.over if improves else None,
            one.margin if improves else 0.0, self._delta, self.counted, one.promise, one.doubts,
        )  # fmt: skip

    def plot(self, ax: Any = None) -> Any:
        """Draw the course with matplotlib (extra ``report``); returns the axes."""
        return self.course().plot(ax)

    def to_html(self, path: str | Path | None = None) -> str | None:
        """The answer and its course as one page of HTML (extra ``report``): into a file, or as text."""
        page = self.answer().page().with_section(self.course().section())
        return delivered(render(page), path, "the report")

    def logs_of(self, batch: Any) -> Logs:
        """A batch as these columns were declared."""
        return Logs(batch, **self._declared)

    def known_in(self, batch: Any) -> frozenset[str]:
        """The policies that are seen, in a batch, to give whole distributions."""
        return frozenset() if batch is None else self._method.known(self.logs_of(batch), self._asked.everyone)

    def plan_for(self, logs: Logs, known: frozenset[str]) -> Plan:
        return self._ask_of(logs, known).plan(no_count)

    def answer_from(self, sums: Sums, known: frozenset[str]) -> Improvement | Selection | Evaluation:
        """What sums that were made elsewhere say."""
        check_keep(self._declaration, sums)
        return self._answer(self._ask_of(self._declaration, known), sums)

    def _answer(self, asked: "Comparison | Valuation", sums: Sums) -> Improvement | Selection | Evaluation:
        plan = asked.plan(no_count)
        if isinstance(asked, Valuation):
            return asked.answer(plan, sums, self._delta)
        found = asked.answer(plan, sums, delta=self._delta / len(asked.policies))
        if len(found) == 1:
            return next(iter(found.values()))
        return selection_of(found, many="simultaneous", delta=self._delta)

    def _remember(self) -> None:
        """Keep the course of the bounds; when it gets long, every second point of it."""
        try:
            found = self.answer()
        except LogsError:
            bounds = None  # they contradict each other: whoever asks will be told
        else:
            results: Mapping[str, Any] = (
                {found.policy: found} if isinstance(found, Improvement)
                else found.improvements if isinstance(found, Selection) else found
            )  # fmt: skip
            bounds = {name: [one.lower, one.upper, one.estimate] for name, one in results.items()}
        self.history.append({"rounds": self._sums.units, "bounds": bounds})
        if len(self.history) > MOST_POINTS:
            self.history = self.history[1::2]

    def __add__(self, other: "Monitor") -> "Monitor":
        """The monitor of two shards of one log together."""
        if not self.asks_the_same(other):
            raise UsageError("these monitors do not ask the same question of the same policies, so they do not add up.")
        twice = sorted(self.shards.keys() & other.shards.keys())
        if twice:
            raise UsageError(
                f"shard {twice[0]!r} is in both, and would count twice; give each monitor a name of its own, name=."
            )
        if None not in (self._known, other._known) and self._known != other._known:
            raise UsageError("one shard knows the whole distributions and the other does not, so they do not add up.")
        # A copy of one with the sums of both; it speaks for all shards and is updated no more.
        both = Monitor.__new__(Monitor)
        both.__dict__.update(self.__dict__)
        both._known = self._known if other._known is None else other._known
        both.shards = {**self.shards, **other.shards}
        if None not in (self._sampled, other._sampled) and self._sampled != other._sampled:
            raise UsageError("one shard says how many rounds there were before sampling and the other does not.")
        both._sampled = self._sampled if other._sampled is None else other._sampled
        both._sums = self._sums + other._sums
        check_keep(self._declaration, both._sums)
        both._asked = both._ask_of(both._described(), both._known or frozenset())
        both.history = []
        if both._sums.units:
            both._remember()
        return both

    def save(self, path: str | Path) -> None:
        """Write the state beside and rename it: it is never half written."""
        state = self.state()
        whole = {**state, "checksum": _checksum(state)}
        write_beside(path, json.dumps(whole, allow_nan=False) + "\n", what="the state of the monitor")

    def state(self) -> dict[str, Any]:
        plan = self._asked.plan(no_count)
        return {
            "format": FORMAT, "version": VERSION, "surelift": __version__, "name": self.name, **self._identity(),
            "known": None if self._known is None else sorted(self._known), "sampled": self._sampled,
            "shards": {name: asdict(shard) for name, shard in self.shards.items()},
            "sums": None if self._sums.rows == 0 else to_state(self._sums, plan),
            "history": self.history,
        }  # fmt: skip

    @classmethod
    def load(cls, path: str | Path, *, policies: Any = None, over: Any = None, control: Any = None) -> "Monitor":
        """Go on from a saved state; what a file cannot hold (functions, models) is given again."""
        try:
            state = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise UsageError(f"the state {path} cannot be read: {error.strerror}.") from error
        except ValueError as error:
            raise LogsError(f"{path} is no state of a monitor: it is not valid JSON ({error}).") from error
        if not isinstance(state, dict) or state.get("format") != FORMAT or state.get("version") != VERSION:
            raise LogsError(f"{path} is no state of a monitor that this surelift ({__version__}) can read.")
        if state.pop("checksum", None) != _checksum(state):
            raise LogsError(
                f"{path} is damaged, or was changed by hand: its checksum does not fit. Go back to a copy of it."
            )
        try:
            return cls._from_state(state, policies, over, control)
        except UsageError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise LogsError(f"{path} is damaged and cannot be read as the state of a monitor ({error}).") from error

    @classmethod
    def _from_state(cls, state: Mapping[str, Any], policies: Any, over: Any, control: Any) -> "Monitor":
        given = {} if policies is None else name_policies(policies)
        options = dict(state["options"])
        stated = options.pop("control")
        if control is None:
            control = models.from_description(stated) if isinstance(stated, Mapping) else stated
        baseline = {state["over"]: from_description(state["baseline"])} if over is None else over
        watch = cls(
            {name: given.get(name) or rebuild(name, form, kept_in="the state") for name, form in state["policies"].items()},
            question=state["question"], over=baseline, delta=state["delta"], margin=state["margin"], control=control,
            name=state["name"], **options, **state["logs"],
        )  # fmt: skip
        if watch._identity() != {name: state[name] for name in watch._identity()}:
            raise UsageError("what was given again is not what the monitor began with.")
        watch._known = None if state["known"] is None else frozenset(state["known"])
        watch._sampled = state["sampled"]
        watch.shards = {
            name: Shard(**{**one, "files": tuple(Counted(**file) for file in one["files"])})
            for name, one in state["shards"].items()
        }
        plan = watch._ask_of(watch._declaration, watch._known or frozenset()).plan(no_count)
        watch._sums = Sums() if state["sums"] is None else from_state(state["sums"], plan)
        watch._asked = watch._ask_of(watch._described(), watch._known or frozenset())
        watch.history = list(state["history"])
        return watch

    def _identity(self) -> dict[str, Any]:
        """What makes two monitors ask the same."""
        described: Mapping[str, Policy] = self._policies
        baseline = self._compared()
        content = {
            "question": self._question, "delta": self._delta, "margin": float(self._margin), "over": baseline.over,
            "baseline": baseline.baseline.describe(), "options": self._method.describe(),
            "logs": {
                role: value for role, value in self._declaration.declaration.describe().items() if role not in PER_BATCH
            },
            "policies": {name: policy.describe() for name, policy in described.items()},
        }  # fmt: skip
        return dict(json.loads(json.dumps(content)))

    def _described(self) -> Logs:
        """What was declared, with the number of rounds before sampling so far, for the answer to tell."""
        if not self._sampled or not self._sums.units:
            return self._declaration
        return without_rounds({**self._declared, "rounds_before_sampling": self._sums.units})

    def _compared(self, logs: Logs | None = None) -> Comparison:
        question = "compare" if len(self._policies) == 1 else "select"
        many = {} if question == "compare" else {"many": "simultaneous"}
        return comparison_of(
            self._declaration if logs is None else logs, self._policies, over=self._over, margin=self._margin,
            method=replace(self._method, control="none"), question=question, options={"delta": self._delta, **many},
        )  # fmt: skip

    def _ask_of(self, logs: Logs, known: frozenset[str]) -> "Comparison | Valuation":
        if self._question == "evaluate":
            return Valuation(
                logs=logs, policies=self._policies, sides="both", method=self._method, known=known,
                options={"delta": self._delta},
            )  # fmt: skip
        return replace(self._compared(logs), method=self._method, known=known)


def _checksum(state: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(state, sort_keys=True, allow_nan=False).encode()).hexdigest()
