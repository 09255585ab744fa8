"""surelift verify: does a certificate follow from these logs?"""

from typing import Annotated, Any

from cyclopts import Parameter

from surelift.cli.options import JsonFlag, Sources
from surelift.cli.output import progress, show
from surelift.decisions.certificate import Certificate
from surelift.decisions.verify import verify as ask
from surelift.errors import LogsError
from surelift.logs.logs import Logs


def verify(
    certificate: Annotated[str, Parameter(help="The certificate, as written by --certificate.")],
    sources: Sources,
    /,
    *,
    json: JsonFlag = False,
) -> int:
    """Does a certificate follow from these logs? Everything is computed again and compared.

    Exit code 0 when it is the same, 3 when it differs.
    """
    stated = Certificate.load(certificate)
    declared: Any = stated.content["logs"]
    try:
        logs = Logs(sources, **declared)
    except TypeError as error:
        raise LogsError(f"{certificate} is damaged: it describes the logs by {', '.join(declared)}.") from error
    with progress() as tell:
        result = ask(stated, logs, progress=tell)
    show(result, json=json)
    return 0 if result.same else 3
