"""surelift verify: does a certificate follow from these logs?"""

from typing import Annotated, Any

from cyclopts import Parameter

from surelift import importers
from surelift.cli.flag import LOG, POLICIES, flag, flags
from surelift.cli.output import AnswerFlags, show
from surelift.cli.policy_flags import PolicyFlags, Sources, load_learned
from surelift.cli.progress import progress
from surelift.decisions.verify import verify as ask
from surelift.errors import LogsError, UsageError
from surelift.importers.slate_rows import of_pages, slates_again
from surelift.learning.files import is_policy
from surelift.logs.sources.formats import extension_of
from surelift.logs.sources.recognise import open_source
from surelift.logs.sources.text_files import TextStyle
from surelift.questions.certificate import Certificate, as_damage


@flags(LOG)
class AgainFlags:
    format: str | None = flag("FORMAT", "Format of the logs, if another tool wrote them; see 'surelift compare --help'.")
    predictions: list[str] | None = flag("[NAME=]FILE", "The predictions that were evaluated. Repeatable.", group=POLICIES)
    slate: str | None = flag("COL", "Column of the page, if each page was a round (--slate).")
    first_action: int | None = flag(
        "0|1", "Number of the first action in --predictions of one action, if it is not told.", group=POLICIES
    )
    separator: str | None = flag("CHAR", "Separator of a CSV file, if its first lines do not tell it.")
    encoding: str | None = flag("NAME", "Encoding of a file of text, if it is not UTF-8.")


def verify(
    certificate: Annotated[
        str, Parameter(help="The certificate written by --certificate, or a policy written by 'surelift learn'.")
    ],
    sources: Sources, /, *, again: AgainFlags = AgainFlags(), output: AnswerFlags = AnswerFlags(),
) -> int:  # fmt: skip
    if extension_of(certificate) and not certificate.lower().endswith(".json"):
        raise LogsError(f"{certificate} is a log, not a certificate; name the certificate first, then the log.")
    learned = load_learned(certificate) if is_policy(certificate) else None
    stated = Certificate.load(certificate) if learned is None else learned.certificate
    if stated is None:
        raise UsageError(f"{certificate} holds a policy without a certificate.")
    with as_damage():
        declared = stated.content["question"]["declaration"]
        kind = again.format or importers.format_of(sources[0])
        style = TextStyle(again.separator, again.encoding)
        logs: Any
        if kind is None:
            logs = open_source(sources, style.separator, style.encoding)
        else:
            logs = importers.read_declared(kind, sources, declared)
        if again.slate is not None:
            logs = slates_again(logs, again.slate, stated.content["question"])
        elif of_pages(declared) and kind is None:
            raise UsageError(
                "this certificate is about pages, whose rows these are: name the column of the page, --slate COLUMN."
            )
    given = PolicyFlags(predictions=again.predictions, first_action=again.first_action).policies()
    with progress() as tell, as_damage():
        result = ask(stated, logs, given or learned, progress=tell)
    show(result, json=output.json)
    return 0 if result.same else 3
