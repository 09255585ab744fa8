"""Spark and PostgreSQL take a while to start: each is started once, for all tests of the engines."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import missing
from tests.engines.databases import java, postgres_binaries, postgres_server, spark_session


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    if java() is None:
        missing("java", "there is none to run Spark")
    with spark_session() as session:
        yield session


@pytest.fixture(scope="session")
def postgres() -> Iterator[Any]:
    if postgres_binaries() is None:
        missing("postgres", "initdb is not installed")
    import ibis

    with postgres_server() as server:
        yield ibis.postgres.connect(**server)
