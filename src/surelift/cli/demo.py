"""surelift demo: a shop with a known truth, from a log to certified decisions."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from surelift.cli.flag import OUTPUT
from surelift.cli.invocation import command_typed
from surelift.cli.terminal import print_answer
from surelift.datasets.shop import Shop, shop
from surelift.decisions.check import check
from surelift.decisions.compare import compare
from surelift.decisions.report import report
from surelift.decisions.select import select
from surelift.errors import UsageError, install_extra
from surelift.policies.policy import Policy
from surelift.policies.resolve import as_policy, blend
from surelift.questions.certificate import Certificate
from surelift.results.improvement import Improvement
from surelift.traits.logs import Logs
from surelift.views.numbers import rounded
from surelift.views.text import aligned
from surelift.views.vega import require_altair

LOG, CERTIFICATE, REPORT = "shop.parquet", "certificate.json", "report.html"


def demo(
    *,
    output: Annotated[
        str,
        Parameter(help="For the log, the certificate and the page.", metavar="FOLDER", group=OUTPUT),
    ] = "demo",
) -> int:
    folder = Path(output)
    data = shop()
    path = write_log(data, folder)
    logs = Logs(path, **data.columns())
    print_answer(
        f"""\
A web shop shows each visitor one of ten items, and logs the click and the
probability with which that item was picked: {data.table.num_rows:,} visits, in {path}.
Three new policies want to replace production. Which would earn more, and how sure
is that, before any of them has been tried on a visitor?
"""
    )
    print_answer(f"{check(logs, data.policies())}\n")
    answers = {name: compare(logs, {name: policy}) for name, policy in candidates().items()}
    print_answer(f"{demo_table(answers, true_improvements(data))}\n")
    choice = select(logs, data.policies(), many="simultaneous")
    print_answer(f"{choice}\n")
    certificate = folder / CERTIFICATE
    Certificate.of(choice).save(certificate)
    print_answer(f"The certificate of this choice is in {certificate}. Anyone who has the log can confirm it:")
    print_answer(f"  surelift verify {certificate} {path}")
    print_answer(told_report(logs, data, folder / REPORT))
    print_answer("On your own log:\n  surelift compare LOG.parquet --reward click --propensity p_logged --policy p_new")
    return 0


def told_report(logs: Logs, data: Shop, path: Path) -> str:
    """Write the report, where the extra that draws it is installed."""
    try:
        require_altair()
    except UsageError:
        return f"A report of all this, as a web page, needs the extra 'report'. {install_extra('report')}"
    report(logs, data.policies()).to_html(path, command=command_typed())
    return f"A report of all this, as a web page:\n  {path}"


def demo_table(answers: Mapping[str, Improvement], truth: Mapping[str, float]) -> str:
    """What was certified, next to the truth."""
    rows = [("improvement over production", "at least", "at most", "verdict", "(the truth)")]
    rows += [
        (
            name,
            rounded(found.lower, 4, towards="down", sign=True),
            rounded(found.upper, 4, towards="up", sign=True),
            "certified better" if found.certified else ("worse" if found.ruled_out else "not certified yet"),
            f"({rounded(truth[name], 4, sign=True)})",
        )
        for name, found in answers.items()
    ]
    explanation = """\
Each bound holds with probability 0.95, no matter how often you look. A real log does
not come with the truth; this one does, so you can see that the bounds hold.
To choose among three candidates, as below, the probability of error is shared out,
and the bounds get slightly wider."""
    return "\n".join([*aligned(rows), explanation])


def candidates() -> dict[str, Policy]:
    policies = {name: as_policy(column) for name, column in Shop.policies().items()}
    return {"better": policies["better"], "10% of better": blend(policies["better"], 0.1)} | policies


def true_improvements(data: Shop) -> dict[str, float]:
    gains = {name: data.true_values[name] - data.true_values["production"] for name in Shop.policies()}
    return gains | {"10% of better": 0.1 * gains["better"]}


def write_log(data: Shop, folder: Path) -> str:
    import pyarrow.parquet as pq

    try:
        folder.mkdir(parents=True, exist_ok=True)
        beside = folder / f".{LOG}"
        pq.write_table(data.table, beside)
        beside.replace(folder / LOG)
    except OSError as error:
        raise UsageError(f"the demo cannot write to {folder}: {error.strerror}.") from error
    return str(folder / LOG)
