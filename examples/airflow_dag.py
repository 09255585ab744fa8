"""A DAG of Airflow 3: every morning, count the log files that arrived; go on only if the candidate is certified.

The command is called, not the library: Airflow pins hundreds of packages, so surelift gets a virtual environment of its
own. A retry is safe: files that were counted are known by the state, and two runs never update it at once. The bound
holds at any number of looks, so it may be read every morning.
"""

import subprocess

try:
    from airflow.providers.standard.operators.empty import EmptyOperator
    from airflow.providers.standard.operators.python import ShortCircuitOperator
    from airflow.sdk import DAG
    from airflow.sdk.exceptions import AirflowFailException
except ImportError:  # the function below can be called and tested without Airflow
    DAG = None

    class AirflowFailException(Exception):  # noqa: N818
        """In Airflow: this task has failed, and retries would not help."""


SURELIFT = "/opt/surelift/venv/bin/surelift"
LOGS = "/srv/logs"
STATE = "/var/lib/surelift/state.json"
# To be fixed before anyone looks at the rounds. It is asked by the first run, and may not change later.
QUESTION = ["--reward", "click", "--propensity", "propensity", "--time", "time", "--policy", "new=p_new"]


def is_certified(surelift: str = SURELIFT, logs: str = LOGS, state: str = STATE) -> bool:
    """Count what is new in the folder of logs, and say whether the candidate is certified by all rounds so far."""
    try:
        done = subprocess.run([surelift, "monitor", logs, "--state", state, *QUESTION], capture_output=True, text=True)
    except OSError as error:
        raise AirflowFailException(f"{surelift} cannot be run: {error.strerror}. Install surelift there.") from error
    print(done.stdout + done.stderr)
    if done.returncode in (0, 3):  # 3: not certified, yet or for ever
        return done.returncode == 0
    if done.returncode in (2, 4):  # asked wrongly, or the log is not fit: the same again tomorrow, unless someone looks
        raise AirflowFailException(done.stderr.strip())
    raise RuntimeError(f"surelift ended with {done.returncode}; a retry may help.\n{done.stderr}")


if DAG is not None:
    with DAG("surelift", schedule="15 5 * * *", catchup=False, max_active_runs=1, default_args={"retries": 2}) as dag:
        # What comes after is skipped unless the function returns True.
        gate = ShortCircuitOperator(task_id="is_certified", python_callable=is_certified)
        gate >> EmptyOperator(task_id="launch")  # your task that launches the candidate
