"""What a command answers: text or JSON on standard output, and files."""

import os
import shlex
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from surelift.cli.flag import OUTPUT, Flags, flag, flags
from surelift.cli.invocation import command_typed
from surelift.cli.messages import as_flags
from surelift.cli.policy_flags import InputFlags
from surelift.cli.progress import progress
from surelift.cli.question_flags import by_columns
from surelift.cli.terminal import hush, print_answer, say
from surelift.errors import UsageError

if TYPE_CHECKING:
    from surelift.decisions.monitor import Monitor
    from surelift.results.result import Result

R = TypeVar("R")


def quiet() -> Any:
    """The flag takes effect when it is parsed, before the command runs."""
    text = "No progress and no notes on standard error; only errors."
    return flag("", text, default=False, name=["--quiet", "-q"], validator=hush, group=OUTPUT)


@flags(OUTPUT)
class AnswerFlags:
    json: bool = flag("", "Print the answer as JSON instead of text.", default=False)
    quiet: bool = quiet()


@flags(OUTPUT)
class FileFlags(AnswerFlags):
    html: str | None = flag("FILE", "Write the answer as one HTML page.")
    csv: str | None = flag("FILE", "Write the answer as a CSV table.")


@flags(OUTPUT)
class OutputFlags(FileFlags):
    certificate: str | None = flag("FILE", "Write a certificate, for 'surelift verify'.")


def asked(verb: str, sources: list[str], inputs: InputFlags, output: AnswerFlags, *flags: Flags, alone: bool = False) -> Any:
    """Ask a verb, by its module and name, about the candidates; what could not be written is refused before."""
    module, name = verb.split(".")
    ask = getattr(import_module(f"surelift.decisions.{module}"), name)
    arguments = {option: value for given in flags for option, value in given.arguments().items()}
    logs, named = inputs.opened(sources, alone=alone)
    require_writable(sources, inputs, *files_of(output))
    if arguments.get("by") is not None:
        arguments["by"] = by_columns(arguments["by"], logs.column_names())
    with progress(logs) as tell:
        return ask(logs, named, **arguments, progress=tell)


def files_of(output: AnswerFlags) -> list[str | None]:
    """The certificate, the page and the table; point estimates and profiles have no certificate."""
    return [getattr(output, name, None) for name in ("certificate", "html", "csv")]


def deliver(result: "Result", output: AnswerFlags, inputs: InputFlags, page: "Monitor | None" = None) -> int:
    """Write the files and show the answer; 0 where all that is claimed is certified, in every segment."""
    certificate, html, csv = files_of(output)
    written = dict[str, str]()
    if certificate is not None:
        from surelift.questions.certificate import Certificate

        Certificate.of(result).save(certificate)
        command = f"surelift verify {shlex.quote(certificate)} SOURCE{inputs.again()}"
        written["Certificate"] = f"{certificate}; confirm it with: {command}"
    if html is not None:
        (page or result).to_html(html, command=command_typed())
        written["Page"] = f"{html}; open it in a browser."
    if csv is not None:
        result.to_csv(csv)
        written["Table"] = f"{csv}."
    show(result, json=output.json)
    for what, where in written.items():
        say(f"{what} written to {where}")
    # Of values nothing is claimed.
    return 0 if all(getattr(each, "certified", True) for each in results_of(result)) else 3


def results_of(answer: Any) -> Sequence[Any]:
    """The results of all segments, or the one of the whole log."""
    from surelift.results.segments import Segments

    return list(answer.results.values()) if isinstance(answer, Segments) else [answer]


def show(result: "Result", *, json: bool) -> None:
    shown = in_flags(result)
    if json:
        print(shown.to_json(), flush=True)
    else:
        print_answer(str(shown))


def in_flags(result: R) -> R:
    """The same result, with its advice and the remedies of its findings spelled in flags."""
    changed: dict[str, Any] = {}
    if hasattr(result, "health"):
        changed["health"] = in_flags(result.health)
    elif hasattr(result, "advice"):
        names = [name for name in ("advice", "relative_note") if hasattr(result, name)]
        changed = {name: as_flags(getattr(result, name)) for name in names}
    elif hasattr(result, "findings"):
        changed["findings"] = tuple(replace(finding, remedy=as_flags(finding.remedy)) for finding in result.findings)
    return replace(result, **changed) if changed else result  # type: ignore[type-var]


def require_writable(sources: list[str], inputs: InputFlags, *paths: str | None) -> None:
    """Refuse a folder that does not exist, and to overwrite what is read or written besides, before any work is done."""
    from surelift.logs.sources.places import expand_here

    policies, wanted = inputs.policies, [path for path in paths if path]
    read = [text.rpartition("=")[2] for text in (*(policies.learned or ()), *(policies.predictions or ()))]
    read += [file for source in sources for file in expand_here(source)] if wanted else []
    taken = set(map(os.path.realpath, read))
    for path in wanted:
        wrong = ""
        if not os.path.isdir(Path(path).resolve().parent):
            wrong = f"cannot be written: there is no folder {str(Path(path).parent)!r}; create it first."
        elif os.path.realpath(path) in taken:
            wrong = "would be overwritten, but this command reads or writes it; name another file."
        if wrong:
            raise UsageError(f"{path} {wrong}")
        taken.add(os.path.realpath(path))
