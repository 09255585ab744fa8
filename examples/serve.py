"""Serve a learned policy over HTTP, and write the log from which the next one is judged.

    python serve.py run policy.safetensors today --port 8000     POST /decide, POST /reward
    python serve.py join today                                   writes today/log.parquet, for surelift

A decision is written to today/decisions.jsonl before it is answered, so none is served that was not logged. Every run has a
folder of its own. In production, put a server that terminates TLS and limits requests in front of it.
"""

import argparse
import json
import sys
import threading
import uuid
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from surelift import LearnedPolicy, UsageError

MOST_BYTES = 1 << 20
OWN_COLUMNS = ("id", "time", "action", "propensity", "reward")


class Lines:
    """A new file of JSON lines; each is written by one call to the system, in the order of its time."""

    def __init__(self, path: Path) -> None:
        self._file = open(path, "xb", buffering=0)  # noqa: SIM115
        self._lock = threading.Lock()

    def append(self, content: dict[str, Any]) -> None:
        with self._lock:
            timed = {"time": datetime.now(UTC).isoformat(timespec="microseconds"), **content}
            # ensure_ascii=False: text that is not valid Unicode is refused here, and not by the reader of the log.
            self._file.write(json.dumps(timed, allow_nan=False, ensure_ascii=False).encode() + b"\n")


class Service:
    def __init__(self, policy: LearnedPolicy, folder: Path) -> None:
        for name in OWN_COLUMNS:
            if name in policy.feature_names_in_:
                raise UsageError(f"the policy has a context {name!r}, which is also a column of the log; rename one.")
        folder.mkdir(parents=True, exist_ok=True)
        self._policy = policy
        self._decisions, self._rewards = Lines(folder / "decisions.jsonl"), Lines(folder / "rewards.jsonl")

    def decide(self, context: Any) -> dict[str, Any]:
        if not isinstance(context, dict):
            raise UsageError("send the context as a JSON object, from the names of its columns to their values.")
        decision = self._policy.decide(context)
        drawn = {"action": decision.action, "propensity": decision.propensity}
        seen = {name: as_logged(context[name]) for name in self._policy.feature_names_in_}
        decision_id = uuid.uuid4().hex
        self._decisions.append({"id": decision_id, **seen, **drawn})
        return {"decision_id": decision_id, **drawn}

    def reward(self, content: Any) -> dict[str, Any]:
        decision_id, reward = (content.get(k) if isinstance(content, dict) else None for k in ("decision_id", "reward"))
        if not isinstance(decision_id, str) or not isinstance(reward, int | float) or not 0 <= reward <= 1:
            raise UsageError("send a JSON object with decision_id, as /decide returned it, and reward, a number in [0, 1].")
        self._rewards.append({"id": decision_id, "reward": float(reward)})
        return {"decision_id": decision_id}


def as_logged(value: Any) -> Any:
    """Every number as one with a fraction: a column of a log has one type, whatever clients send."""
    if isinstance(value, list):
        return [as_logged(entry) for entry in value]
    return float(value) if isinstance(value, int) else value


def handler_of(service: Service) -> type[BaseHTTPRequestHandler]:
    verbs = {"/decide": service.decide, "/reward": service.reward}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # an answer is small, and should not wait for more

        def do_POST(self) -> None:
            length = self.headers.get("Content-Length", "")
            if not length.isdecimal() or int(length) > MOST_BYTES:
                self.close_connection = True
                self._answer(413, {"error": f"send a body of at most {MOST_BYTES:,} bytes, with its Content-Length."})
                return
            body = self.rfile.read(int(length))
            if self.path not in verbs:
                self._answer(404, {"error": f"there is no {self.path}; there are {' and '.join(verbs)}."})
                return
            try:
                self._answer(200, verbs[self.path](json.loads(body)))
            except UsageError as error:
                self._answer(400, {"error": str(error)})
            except (ValueError, RecursionError) as error:
                self._answer(400, {"error": f"the body is not valid JSON, or its text not valid Unicode: {error}."})

        def _answer(self, status: int, content: dict[str, Any]) -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *values: Any) -> None:
            """The decisions are the log."""

    return Handler


def run(policy: str, folder: Path, port: int) -> None:
    service = Service(LearnedPolicy.load(policy), folder)
    with ThreadingHTTPServer(("127.0.0.1", port), handler_of(service)) as server:
        print(f"serving {policy} on http://127.0.0.1:{server.server_port}", flush=True)
        server.serve_forever()


def join(folder: Path) -> None:
    """One row for every decision, with the first reward that was sent for it, or 0 where none was.

    Join the folder of a run that ended, when no more rewards are expected. Dropping the decisions without a reward would
    void every bound.
    """
    import pyarrow as pa  # which a process that only serves does without
    import pyarrow.parquet as pq

    rewards: dict[str, float] = {}
    for line in lines_of(folder / "rewards.jsonl"):
        rewards.setdefault(line["id"], line["reward"])
    decisions = lines_of(folder / "decisions.jsonl")
    rows = [{**line, "reward": rewards.get(line["id"], 0.0)} for line in decisions]
    pq.write_table(pa.Table.from_pylist(rows), folder / "log.parquet")


def lines_of(path: Path) -> list[dict[str, Any]]:
    with open(path, encoding="utf-8") as file:
        # A last line that was cut off when the machine failed is a decision that was never answered.
        return [json.loads(line) for line in file if line.endswith("\n")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    serving = verbs.add_parser("run")
    serving.add_argument("policy")
    serving.add_argument("folder", type=Path)
    serving.add_argument("--port", type=int, default=8000)
    verbs.add_parser("join").add_argument("folder", type=Path)
    given = parser.parse_args()
    try:
        join(given.folder) if given.verb == "join" else run(given.policy, given.folder, given.port)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
