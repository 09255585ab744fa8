"""What a command answers: text or JSON on standard output, and files."""

import os
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from surelift.cli.flags import as_flags
from surelift.cli.invocation import command_typed
from surelift.cli.log_flags import LogFlags
from surelift.cli.options import FileFlags, OutputFlags, by_columns
from surelift.cli.policy_flags import PolicyFlags, again, opened
from surelift.cli.progress import progress
from surelift.cli.terminal import print_answer, say
from surelift.errors import UsageError

if TYPE_CHECKING:
    from surelift.decisions.monitor import Monitor
    from surelift.results.result import Result

R = TypeVar("R")


def in_flags(result: R) -> R:
    """The same result, with its advice and the remedies of its findings spelled in flags."""
    if hasattr(result, "health"):
        return replace(result, health=in_flags(result.health))  # type: ignore[type-var]
    if hasattr(result, "advice"):
        noted = {"relative_note": as_flags(result.relative_note)} if hasattr(result, "relative_note") else {}
        return replace(result, advice=as_flags(result.advice), **noted)  # type: ignore[type-var]
    if hasattr(result, "findings"):
        told = tuple(replace(finding, remedy=as_flags(finding.remedy)) for finding in result.findings)
        return replace(result, findings=told)  # type: ignore[type-var]
    return result


def show(result: "Result", *, json: bool) -> None:
    if json:
        print(in_flags(result).to_json(), flush=True)
    else:
        print_answer(str(in_flags(result)))


def asked(
    ask: Callable[..., R], sources: list[str], log: LogFlags, policies: PolicyFlags, output: FileFlags = FileFlags(),
    *, alone: bool = False, **arguments: Any,
) -> R:  # fmt: skip
    """The answer from the logs, about the candidates that were named; refused where it could not be written."""
    logs, named = opened(sources, log, policies, alone=alone)
    require_writable(sources, policies, certificate_of(output), output.html, output.csv)
    if arguments.get("by") is not None:
        arguments["by"] = by_columns(arguments["by"], logs.column_names())
    with progress(logs) as tell:
        return ask(logs, named, **arguments, progress=tell)


def certificate_of(output: FileFlags) -> str | None:
    """Where to write a certificate; point estimates and profiles have none."""
    return output.certificate if isinstance(output, OutputFlags) else None


def deliver(
    result: "Result", output: FileFlags, log: LogFlags, policies: PolicyFlags, page: "Result | Monitor | None" = None
) -> None:
    """Write the files, then show the answer."""
    certificate = certificate_of(output)
    if certificate is not None:
        from surelift.questions.certificate import Certificate

        Certificate.of(result).save(certificate)
    if output.html is not None:
        (page or result).to_html(output.html, command=command_typed())
    if output.csv is not None:
        result.to_csv(output.csv)
    show(result, json=output.json)
    if certificate is not None:
        command = f"surelift verify {shlex.quote(certificate)} SOURCE{again(log, policies)}"
        say(f"Certificate written to {certificate}; confirm it with: {command}")
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
            raise UsageError(f"{path} cannot be written: there is no folder {str(Path(path).parent)!r}; create it first.")
        if os.path.realpath(path) in taken:
            raise UsageError(f"{path} would be overwritten, but this command reads or writes it; name another file.")
        taken.add(os.path.realpath(path))
