"""The example of a web service, run as it is: what it decides, logs and is monitored by."""

import http.client
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import stats

import surelift as sl
from surelift.cli.app import main
from surelift.learning.data.layout import FeatureLayout
from surelift.learning.policies.rules import SoftmaxRule

SCRIPT = Path(__file__).parent.parent.parent / "examples" / "serve.py"
ITEMS = ("boots", "coat", "hat")
LAYOUT = FeatureLayout(("visitor", "visits"), {"visitor": ("loyal", "new")})
CONTEXTS = [{"visitor": who, "visits": visits} for who, visits in product(("loyal", "new", "other"), (0, 1, 2.5))]
DECLARED: dict[str, Any] = {
    "reward": "reward", "propensity": "propensity", "action": "action", "actions": list(ITEMS),
    "contexts": ["visitor", "visits"], "time": "time", "id": "id",
}  # fmt: skip
Served = tuple[Path, sl.LearnedPolicy, Any]
THREADS, REQUESTS = 4, 3_600


def policy_of(weights: list[list[float]]) -> sl.LearnedPolicy:
    """The features are loyal, new, another visitor, the visits, and an intercept."""
    return sl.LearnedPolicy(SoftmaxRule(np.array(weights, dtype=np.float32)), LAYOUT, ITEMS, len(ITEMS))


class Client:
    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)

    def post(self, path: str, content: Any) -> tuple[int, dict[str, Any]]:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self._connection.request("POST", path, body)
        response = self._connection.getresponse()
        return response.status, json.loads(response.read())


def visit(port: int, worker: int) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Some decisions, and a reward for every other hat, which is what visitors like."""
    client, answers = Client(port), []
    for k in range(REQUESTS // THREADS):
        context = CONTEXTS[(k + worker) % len(CONTEXTS)]
        status, answer = client.post("/decide", {**context, "page": k})
        assert status == 200, answer
        answers.append((context, answer))
        if answer["action"] == "hat" and k % 2:
            assert client.post("/reward", {"decision_id": answer["decision_id"], "reward": 1})[0] == 200
    return answers


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Served:
    folder = tmp_path_factory.mktemp("serve")
    policy = policy_of([[0.5, 0, 0, 0.3, 0], [0, 1.0, 0, 0, 0], [0, 0, 0.2, 0.1, 0]])
    policy.save(folder / "policy.safetensors")
    command = [sys.executable, str(SCRIPT), "run", "policy.safetensors", "today", "--port", "0"]
    server = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline().rsplit(":", 1)[1])
        refusals(port)
        with ThreadPoolExecutor(THREADS) as pool:
            answers = [pair for part in pool.map(lambda worker: visit(port, worker), range(THREADS)) for pair in part]
    finally:
        server.terminate()
        server.wait(20)
    subprocess.run([sys.executable, str(SCRIPT), "join", "today"], cwd=folder, check=True)
    return folder, policy, answers


def refusals(port: int) -> None:
    """None of these leaves a line in the log."""
    client = Client(port)
    for path, content, status, says in [
        ("/decide", {"visitor": "new"}, 400, "the context has no column 'visits'; it has 'visitor'."),
        (
            "/decide",
            {"visitor": "new", "visits": "2"},
            400,
            "context 'visits' was a number when the policy was learned",
        ),
        ("/decide", {"visitor": 7, "visits": 2}, 400, "context 'visitor' was text when the policy was learned"),
        ("/decide", b'{"visitor": "new", "visits": NaN}', 400, "context 'visits' is not finite: it is nan"),
        ("/decide", b'{"visitor": "\\ud800", "visits": 1}', 400, "its text not valid Unicode"),
        ("/decide", [1, 2], 400, "send the context as a JSON object"),
        ("/decide", b"{", 400, "the body is not valid JSON"),
        ("/reward", {"decision_id": "x", "reward": 2}, 400, "reward, a number in [0, 1]"),
        ("/reward", {"reward": 1}, 400, "with decision_id, as /decide returned it"),
        ("/elsewhere", {}, 404, "there is no /elsewhere; there are /decide and /reward."),
    ]:
        found, answer = client.post(path, content)
        assert found == status
        assert says in answer["error"]


def test_every_answer_was_logged_with_the_probability_it_was_drawn_with(
    served: Served,
) -> None:
    folder, policy, answers = served
    log = pq.read_table(folder / "today" / "log.parquet").to_pylist()
    assert [line["time"] for line in log] == sorted(line["time"] for line in log)
    by_id = {line["id"]: line for line in log}
    assert len(by_id) == len(log) == len(answers) == REQUESTS
    counts = np.zeros((len(CONTEXTS), len(ITEMS)))
    frame = {name: [context[name] for context in CONTEXTS] for name in LAYOUT.names}
    shares = policy.predict_proba({"visitor": frame["visitor"], "visits": np.array(frame["visits"], dtype=float)})
    for context, answer in answers:
        line = by_id[answer["decision_id"]]
        assert {name: line[name] for name in context} == context
        assert (line["action"], line["propensity"]) == (answer["action"], answer["propensity"])
        cell = CONTEXTS.index(context), ITEMS.index(line["action"])
        assert line["propensity"] == pytest.approx(shares[cell], rel=1e-12)
        counts[cell] += 1
    expected = shares * counts.sum(axis=1, keepdims=True)
    assert expected.min() > 5
    distance = ((counts - expected) ** 2 / expected).sum()
    # The server draws at random: this is exceeded once in a billion runs.
    assert distance < stats.chi2.isf(1e-9, len(CONTEXTS) * (len(ITEMS) - 1))
    assert {line["reward"] for line in log if line["action"] != "hat"} == {0.0}
    assert sum(line["reward"] for line in log) > REQUESTS / 20


def test_the_log_judges_a_challenger(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    folder, policy, _ = served
    source = folder / "today" / "log.parquet"
    challenger = policy_of([[0, 0, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 2]])
    logs = sl.Logs(source, **DECLARED)
    assert sl.check(logs, {"challenger": challenger}, level=1e-9).ok
    assert sl.compare(logs, {"challenger": challenger}).certified
    same = sl.compare(logs, {"itself": policy})
    assert same.estimate == pytest.approx(0.0, abs=1e-9)
    watch = sl.Monitor({"challenger": challenger}, **DECLARED)
    watch.update(source, sequence=1)
    answer: Any = watch.answer()
    assert answer.certified
    assert watch.rounds == REQUESTS
    challenger.save(folder / "challenger.safetensors")
    columns = ["--reward", "reward", "--propensity", "propensity", "--action", "action", "--actions", ",".join(ITEMS)]
    more = ["--contexts", "visitor,visits", "--time", "time", "--id", "id", "--state", str(folder / "state.json")]
    asked = ["--learned", f"challenger={folder / 'challenger.safetensors'}"]
    assert main(["monitor", str(source), *columns, *more, *asked]) == 0
    assert "Certified" in capsys.readouterr().out
