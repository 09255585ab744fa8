"""surelift demo: a shop with a known truth, from a log to certified decisions."""

from pathlib import Path

import pyarrow.parquet as pq

from surelift.cli.flag import OUTPUT, flag, flags
from surelift.cli.invocation import command_typed
from surelift.cli.terminal import print_answer
from surelift.datasets.shop import Shop, shop
from surelift.decisions.check import check
from surelift.decisions.compare import compare
from surelift.decisions.launch import report
from surelift.decisions.select import select
from surelift.errors import UsageError, install_extra
from surelift.policies.resolve import as_policy, blend
from surelift.questions.certificate import Certificate
from surelift.traits.logs import Logs
from surelift.views.formats import rounded
from surelift.views.text import aligned
from surelift.views.vega import require_altair

LOG, CERTIFICATE, REPORT = "shop.parquet", "certificate.json", "report.html"


@flags(OUTPUT)
class DemoFlags:
    output: str = flag("FOLDER", "For the log, the certificate and the page.", default="demo")


def demo(*, files: DemoFlags = DemoFlags()) -> int:
    folder, data = Path(files.output), shop()
    path, certificate, page = (folder / name for name in (LOG, CERTIFICATE, REPORT))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(data.table, folder / f".{LOG}")
        (folder / f".{LOG}").replace(path)
    except OSError as error:
        raise UsageError(f"the demo cannot write to {folder}: {error.strerror}.") from error
    logs = Logs(str(path), **data.columns())
    print_answer(
        f"""\
A web shop shows each visitor one of ten items, and logs the click and the
probability with which that item was picked: {data.table.num_rows:,} visits, in {path}.
Three new policies want to replace production. Which would earn more, and how sure
is that, before any of them has been tried on a visitor?
"""
    )
    print_answer(f"{check(logs, data.policies())}\n")
    print_answer(f"{answers_beside_the_truth(logs, data)}\n")
    choice = select(logs, data.policies(), many="simultaneous")
    print_answer(f"{choice}\n")
    Certificate.of(choice).save(certificate)
    print_answer(f"The certificate of this choice is in {certificate}. Anyone who has the log can confirm it:")
    print_answer(f"  surelift verify {certificate} {path}")
    try:
        require_altair()
    except UsageError:
        print_answer(f"A report of all this, as a web page, needs the extra 'report'. {install_extra('report')}")
    else:
        report(logs, data.policies()).to_html(page, command=command_typed())
        print_answer(f"A report of all this, as a web page:\n  {page}")
    print_answer("On your own log:\n  surelift compare LOG.parquet --reward click --propensity p_logged --policy p_new")
    return 0


def answers_beside_the_truth(logs: Logs, data: Shop) -> str:
    policies = {name: as_policy(column) for name, column in Shop.policies().items()}
    truth = {name: data.true_values[name] - data.true_values["production"] for name in policies}
    candidates = {"better": policies["better"], "10% of better": blend(policies["better"], 0.1)} | policies
    truth["10% of better"] = 0.1 * truth["better"]
    rows = [("improvement over production", "at least", "at most", "verdict", "(the truth)")]
    for name, policy in candidates.items():
        found = compare(logs, {name: policy})
        rows.append(
            (
                name,
                rounded(found.lower, 4, towards="down", sign=True),
                rounded(found.upper, 4, towards="up", sign=True),
                "certified better" if found.certified else ("worse" if found.ruled_out else "not certified yet"),
                f"({rounded(truth[name], 4, sign=True)})",
            )
        )
    explanation = """\
Each bound holds with probability 0.95, no matter how often you look. A real log does
not come with the truth; this one does, so you can see that the bounds hold.
To choose among three candidates, as below, the probability of error is shared out,
and the bounds get slightly wider."""
    return "\n".join([*aligned(rows), explanation])
