"""surelift verify: does a certificate follow from these logs?"""

from typing import Annotated, Any

from cyclopts import Parameter

from surelift import importers
from surelift.cli.flag import LOG, POLICIES, WHOLE, flag
from surelift.cli.options import AnswerFlags
from surelift.cli.output import show
from surelift.cli.policy_flags import PolicyFlags, Sources, load_learned
from surelift.cli.progress import progress
from surelift.decisions.verify import verify as ask
from surelift.errors import LogsError, UsageError
from surelift.importers.slate_rows import of_pages, slates_again
from surelift.learning.files import is_policy
from surelift.logs.sources.formats import extension_of
from surelift.logs.sources.layout import TextStyle
from surelift.logs.sources.recognise import open_source
from surelift.questions.certificate import Certificate, damage_told


def verify(
    certificate: Annotated[
        str, Parameter(help="The certificate written by --certificate, or a policy written by 'surelift learn'.")
    ],
    sources: Sources,
    /,
    *,
    format: Annotated[
        str | None,
        flag("FORMAT", "Format of the logs, if another tool wrote them; see 'surelift compare --help'.", group=LOG),
    ] = None,
    predictions: Annotated[
        list[str] | None,
        flag("[NAME=]FILE", "The predictions that were evaluated. Repeatable.", group=POLICIES),
    ] = None,
    slate: Annotated[str | None, flag("COL", "Column of the page, if each page was a round (--slate).", group=LOG)] = None,
    first_action: Annotated[
        int | None,
        WHOLE,
        flag("0|1", "Number of the first action in --predictions of one action, if it is not told.", group=POLICIES),
    ] = None,
    separator: Annotated[
        str | None, flag("CHAR", "Separator of a CSV file, if its first lines do not tell it.", group=LOG)
    ] = None,
    encoding: Annotated[str | None, flag("NAME", "Encoding of a file of text, if it is not UTF-8.", group=LOG)] = None,
    output: AnswerFlags = AnswerFlags(),
) -> int:
    if extension_of(certificate) and not certificate.lower().endswith(".json"):
        raise LogsError(f"{certificate} is a log, not a certificate; name the certificate first, then the log.")
    learned = load_learned(certificate) if is_policy(certificate) else None
    stated = Certificate.load(certificate) if learned is None else learned.certificate
    if stated is None:
        raise UsageError(f"{certificate} holds a policy without a certificate.")
    with damage_told():
        declared = stated.content["question"]["declaration"]
        kind = format or importers.format_of(sources[0])
        style = TextStyle.of(separator, encoding)
        logs: Any = open_source(sources, style) if kind is None else importers.read_declared(kind, sources, declared)
        if slate is None and of_pages(declared) and kind is None:
            raise UsageError(
                "this certificate is about pages, whose rows these are: name the column of the page, --slate COLUMN."
            )
        if slate is not None:
            logs = slates_again(logs, slate, stated.content["question"])
    given = PolicyFlags(predictions=predictions, first_action=first_action).policies()
    with progress() as tell, damage_told():
        result = ask(stated, logs, given or learned, progress=tell)
    show(result, json=output.json)
    return 0 if result.same else 3
