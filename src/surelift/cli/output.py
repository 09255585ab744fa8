"""What a command answers: text or JSON on standard output, and files."""

import os
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from surelift.cli.flag import Flags
from surelift.cli.invocation import command_typed
from surelift.cli.messages import as_flags
from surelift.cli.options import AnswerFlags, by_columns
from surelift.cli.policy_flags import InputFlags
from surelift.cli.progress import progress
from surelift.cli.terminal import print_answer, say
from surelift.errors import UsageError

if TYPE_CHECKING:
    from surelift.decisions.monitor import Monitor
    from surelift.results.result import Result

R = TypeVar("R")


def asked(
    ask: Callable[..., R], sources: list[str], inputs: InputFlags, output: AnswerFlags, *flags: Flags,
    alone: bool = False, **arguments: Any,
) -> R:  # fmt: skip
    """The answer from the logs, about the candidates that were named; refused where it could not be written."""
    for given in flags:
        arguments |= given.arguments()
    logs, named = inputs.opened(sources, alone=alone)
    require_writable(sources, inputs, *files_of(output))
    if arguments.get("by") is not None:
        arguments["by"] = by_columns(arguments["by"], logs.column_names())
    with progress(logs) as tell:
        return ask(logs, named, **arguments, progress=tell)


def files_of(output: AnswerFlags) -> list[str | None]:
    """The certificate, the page and the table; point estimates and profiles have no certificate."""
    return [getattr(output, name, None) for name in ("certificate", "html", "csv")]


def deliver(result: "Result", output: AnswerFlags, inputs: InputFlags, page: "Result | Monitor | None" = None) -> None:
    """Write the files, then show the answer."""
    certificate, html, csv = files_of(output)
    if certificate is not None:
        from surelift.questions.certificate import Certificate

        Certificate.of(result).save(certificate)
    if html is not None:
        (page or result).to_html(html, command=command_typed())
    if csv is not None:
        result.to_csv(csv)
    show(result, json=output.json)
    if certificate is not None:
        command = f"surelift verify {shlex.quote(certificate)} SOURCE{inputs.again()}"
        say(f"Certificate written to {certificate}; confirm it with: {command}")
    if html is not None:
        say(f"Page written to {html}; open it in a browser.")
    if csv is not None:
        say(f"Table written to {csv}.")


def show(result: "Result", *, json: bool) -> None:
    if json:
        print(in_flags(result).to_json(), flush=True)
    else:
        print_answer(str(in_flags(result)))


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
    """Before any work is done, refuse a folder that does not exist, and to overwrite what is read or written besides."""
    from surelift.logs.sources.places import expand_here

    if not any(paths):
        return
    policies = inputs.policies
    read = [text.rpartition("=")[2] for text in (*(policies.learned or ()), *(policies.predictions or ()))]
    read += [file for source in sources for file in expand_here(source)]
    taken = set(map(os.path.realpath, read))
    for path in filter(None, paths):
        if not os.path.isdir(Path(path).resolve().parent):
            raise UsageError(f"{path} cannot be written: there is no folder {str(Path(path).parent)!r}; create it first.")
        if os.path.realpath(path) in taken:
            raise UsageError(f"{path} would be overwritten, but this command reads or writes it; name another file.")
        taken.add(os.path.realpath(path))
