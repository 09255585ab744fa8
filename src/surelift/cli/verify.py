"""surelift verify: does a certificate follow from these logs?"""

import inspect
from typing import Annotated

from cyclopts import Parameter

from surelift.cli.options import JsonFlag, Sources
from surelift.cli.output import progress, show
from surelift.decisions.certificate import Certificate
from surelift.decisions.verify import damage_told
from surelift.decisions.verify import verify as ask
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
    declared = stated.content["logs"]
    with damage_told():
        unknown = declared.keys() - inspect.signature(Logs).parameters.keys()
        if unknown:
            raise ValueError(f"it describes logs by {', '.join(sorted(unknown))}")
        logs = Logs(sources, **declared)
    with progress() as tell:
        result = ask(stated, logs, progress=tell)
    show(result, json=json)
    return 0 if result.same else 3
