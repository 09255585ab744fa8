"""What a campaign is, and how it is run: seeded cases in a few worker processes, counted in one line.

A campaign is a module of this folder with

    SLICE, FULL     how many cases make a quick run, and the whole one; FULL may be a function that counts them
    case(Case)      None if the library was right, a text that says what was wrong, or a Told that is judged at the end
    judge(told)     optional: from the list of what was Told, a text for each thing that is wrong

Everything in a case follows from the campaign's name, the seed and the case's number.
"""

import contextlib
import importlib
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import threading
import time
import traceback
import warnings
import zlib
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

PATIENCE = 600.0  # seconds after which a case hangs


@dataclass(frozen=True)
class Case:
    campaign: str
    seed: int
    number: int

    @cached_property
    def chance(self) -> random.Random:
        return random.Random(f"{self.campaign} {self.seed} {self.number}")

    @cached_property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng([zlib.crc32(self.campaign.encode()), self.seed, self.number])

    @cached_property
    def folder(self) -> Path:
        """An empty folder, swept after the case."""
        return Path(tempfile.mkdtemp(prefix=f"{self.campaign}-", dir=scratch()))

    def sweep(self) -> None:
        if "folder" in vars(self):
            shutil.rmtree(self.folder, ignore_errors=True)


@dataclass(frozen=True)
class Told:
    """What a case saw, where right or wrong shows only over many: a law's name, say, and whether its bound held."""

    key: str
    value: Any
    tried: int = 1
    """How many it saw, where a case tries many."""


# The number of a case, and what it said.
Answer = tuple[int, str | Told | None]


@dataclass
class Tally:
    name: str
    tried: int = 0
    wrong: int = 0
    cases: int = 0
    told: list[Told] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.name}: {self.tried:,} tried, {self.wrong:,} wrong"


def scratch() -> str | None:
    """Files of cases go to memory where the machine has such a folder: many are written."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def names() -> list[str]:
    """Every campaign: the modules of this folder that have cases."""
    here = sorted(path for path in Path(__file__).parent.glob("*.py") if not path.name.startswith("_"))
    return [path.stem for path in here if "\ndef case(" in path.read_text()]


def module_of(name: str) -> ModuleType:
    return importlib.import_module(name if "." in name else f"campaigns.{name}")


def outcome(module: ModuleType, case: Case) -> str | Told | None:
    """What a case says; an exception or a warning that gets out of it is wrong."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            said: str | Told | None = module.case(case)
            return said
    except Exception:
        return traceback.format_exc()
    finally:
        case.sweep()


def replay(name: str, seed: int, number: int) -> str:
    return f"python -m campaigns {name} --seed {seed} --case {number}"


def end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def work(name: str, seed: int, numbers: Sequence[int], answers: Connection) -> None:
    threading.Thread(target=end_with_parent, daemon=True).start()
    module = module_of(name)
    for number in numbers:
        answers.send((number, outcome(module, Case(name, seed, number))))
    answers.close()


@dataclass
class Worker:
    """A process with its share of the numbers; if a case kills it, the next process goes on behind that case."""

    name: str
    seed: int
    left: Sequence[int]

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.answers, theirs = context.Pipe(duplex=False)
        arguments = (self.name, self.seed, self.left, theirs)
        self.process = context.Process(target=work, args=arguments, daemon=False)
        self.process.start()
        theirs.close()
        self.heard = time.monotonic()

    def receive(self) -> Answer | None:
        """The next answer; None at the end."""
        try:
            number, said = self.answers.recv()
        except EOFError:
            self.process.join()
            if not self.left:
                return None
            return self.lost(f"the process ended with exit code {self.process.exitcode}")
        assert number == self.left[0]
        self.left = self.left[1:]
        self.heard = time.monotonic()
        return number, said

    def lost(self, why: str) -> tuple[int, str]:
        self.stop()
        number, self.left = self.left[0], self.left[1:]
        self.start()
        return number, why

    def stop(self) -> None:
        self.process.kill()
        self.process.join()


def answered(name: str, seed: int, numbers: Sequence[int], jobs: int) -> Generator[Answer, None, None]:
    workers = [Worker(name, seed, numbers[place::jobs]) for place in range(min(jobs, len(numbers)))]
    try:
        for worker in workers:
            worker.start()
        while workers:
            ready = wait([worker.answers for worker in workers], timeout=5.0)
            for worker in list(workers):
                if worker.answers in ready:
                    answer = worker.receive()
                    if answer is None:
                        workers.remove(worker)
                    else:
                        yield answer
                elif time.monotonic() - worker.heard > PATIENCE:
                    yield worker.lost(f"no answer within {PATIENCE:.0f} seconds")
    finally:
        for worker in workers:
            worker.stop()


def progress(tally: Tally, of: int, started: float) -> str:
    done = f"{tally.name}: {tally.cases:,} cases of {of:,}, {tally.tried:,} tried, {tally.wrong:,} wrong"
    return f"{done}, {time.monotonic() - started:.0f} s"


def size_of(module: ModuleType, size: str) -> int:
    if size == "full":
        return int(module.FULL() if callable(module.FULL) else module.FULL)
    return int(module.SLICE if size == "slice" else size)


def run(name: str, *, size: str, seed: int, jobs: int, say: Callable[[str], None] = print) -> Tally:
    """All cases of a campaign; each wrong one is said at once, with the command that makes it again."""
    module, tally, started = module_of(name), Tally(name), time.monotonic()
    count = size_of(module, size)
    shown = started
    with contextlib.closing(answered(name, seed, range(count), jobs)) as answers:
        for number, said in answers:
            tally.cases += 1
            tally.tried += said.tried if isinstance(said, Told) else 1
            if isinstance(said, Told):
                tally.told.append(said)
            elif said is not None:
                tally.wrong += 1
                say(f"{name} {number}: {said.rstrip()}\n    again: {replay(name, seed, number)}")
            if time.monotonic() - shown > 10:
                shown = time.monotonic()
                print(progress(tally, count, started), file=sys.stderr, flush=True)
    for found in module.judge(tally.told) if hasattr(module, "judge") else ():
        tally.wrong += 1
        say(f"{name}: {found}\n    again: python -m campaigns {name} --seed {seed} --size {count}")
    print(progress(tally, count, started), file=sys.stderr, flush=True)
    return tally
