"""Engines to test against: Spark in two worker processes, and a PostgreSQL of our own, started and stopped here."""

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from glob import glob
from pathlib import Path
from typing import Any


def java() -> str | None:
    return shutil.which("java")


def postgres_binaries() -> Path | None:
    """The folder of initdb and pg_ctl, which Debian keeps off the path."""
    found = [
        Path(path).parent for path in [*sorted(glob("/usr/lib/postgresql/*/bin/initdb")), shutil.which("initdb")] if path
    ]
    return found[-1] if found else None


@contextmanager
def spark_session() -> Iterator[Any]:
    """Two worker processes; a task that fails is tried again, and no more than 4 MB may come to this process."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2, 3]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.maxResultSize", "4m")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def postgres_server() -> Iterator[dict[str, Any]]:
    """A cluster in a folder of its own, on a socket; PostgreSQL does not run as root."""
    binaries = postgres_binaries()
    assert binaries is not None
    folder = Path(tempfile.mkdtemp(prefix="surelift-pg-"))
    root = os.geteuid() == 0
    user = "postgres" if root else pwd.getpwuid(os.geteuid()).pw_name
    if root:
        shutil.chown(folder, user)

    def run(*command: str) -> None:
        words = ["runuser", "-u", user, "--", *command] if root else list(command)
        subprocess.run(words, check=True, capture_output=True, cwd=folder)

    data = str(folder / "data")
    run(str(binaries / "initdb"), "-D", data, "-U", "surelift", "-A", "trust", "--no-sync")
    options = f"-k {folder} -c listen_addresses='' -c fsync=off"
    run(str(binaries / "pg_ctl"), "-D", data, "-o", options, "-w", "-l", str(folder / "log"), "start")
    try:
        yield {"host": str(folder), "user": "surelift", "database": "postgres"}
    finally:
        run(str(binaries / "pg_ctl"), "-D", data, "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)
