"""What a command answers: text on standard error, JSON on standard output, and files."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from surelift.cli.flags import as_flags
from surelift.cli.log_flags import LogFlags
from surelift.cli.options import OutputFlags, PolicyFlags, again, by_columns, opened
from surelift.cli.terminal import progress, say
from surelift.errors import UsageError

if TYPE_CHECKING:
    from surelift.decisions.monitor import Monitor
    from surelift.results.result import Result

R = TypeVar("R")


def show(result: "Result", *, json: bool) -> None:
    findings = getattr(result, "findings", None)
    if findings is not None:
        told = tuple(replace(finding, remedy=as_flags(finding.remedy)) for finding in findings)
        result = replace(result, findings=told)  # type: ignore[type-var]
    say(str(result))
    if json:
        print(result.to_json())


def asked(
    ask: Callable[..., R], sources: list[str], log: LogFlags, policies: PolicyFlags, output: OutputFlags = OutputFlags(),
    *, alone: bool = False, **arguments: Any,
) -> R:  # fmt: skip
    """The answer from the logs, about the candidates that were named; refused where it could not be written."""
    logs, named = opened(sources, log, policies, alone=alone)
    require_writable(sources, policies, output.certificate, output.html, output.csv)
    if arguments.get("by") is not None:
        arguments["by"] = by_columns(arguments["by"], logs.column_names())
    with progress(logs) as tell:
        return ask(logs, named, **arguments, progress=tell)


def deliver(
    answer: "Result", output: OutputFlags, log: LogFlags, policies: PolicyFlags, page: "Result | Monitor | None" = None
) -> None:
    """Write the files, then show the answer."""
    if output.certificate is not None:
        from surelift.questions.certificate import Certificate

        Certificate.of(answer).save(output.certificate)
    if output.html is not None:
        (page or answer).to_html(output.html)
    if output.csv is not None:
        answer.to_csv(output.csv)
    show(answer, json=output.json)
    if output.certificate is not None:
        command = f"surelift verify {output.certificate} SOURCE{again(log, policies)}"
        say(f"Certificate written to {output.certificate}; confirm it with: {command}")
    if output.html is not None:
        say(f"Page written to {output.html}; open it in a browser.")
    if output.csv is not None:
        say(f"Table written to {output.csv}.")


def require_writable(sources: list[str], policies: PolicyFlags, *paths: str | None) -> None:
    """Before any work is done, refuse a folder that does not exist, and to overwrite what is read or written besides."""
    from surelift.logs.sources.places import expand_here

    if not any(paths):
        return
    given = [text.rpartition("=")[2] for text in (*(policies.learned or ()), *(policies.predictions or ()))]
    taken = {os.path.realpath(file) for source in sources for file in expand_here(source)} | set(
        map(os.path.realpath, given)
    )
    for path in filter(None, paths):
        if not os.path.isdir(Path(path).resolve().parent):
            raise UsageError(
                f"{path} cannot be written: there is no folder {str(Path(path).parent)!r}; create it first."
            )
        if os.path.realpath(path) in taken:
            raise UsageError(f"{path} would be overwritten, but this command reads or writes it; name another file.")
        taken.add(os.path.realpath(path))
