"""External requirements of some tests: without them a test is skipped, or fails if they are required.

``SURELIFT_DATA`` is the folder of data sets; ``SURELIFT_REQUIRE`` lists what must not be skipped.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "surelift", deadline=None, derandomize=True, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("surelift")


def missing(what: str, why: str) -> None:
    if what in os.environ.get("SURELIFT_REQUIRE", "").split(","):
        pytest.fail(f"{what} is required here, but {why}")
    pytest.skip(f"{what}: {why}")


@pytest.fixture(scope="session")
def chromium() -> str:
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        missing("chromium", "no chromium is installed")
    assert path is not None
    return path


# Until a browser is closed, an event loop counts as running in its process, where no other browser and no other loop
# can then be started: so it is closed at the end of each module.
@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Any]:
    from playwright import sync_api as playwright

    with playwright.sync_playwright() as driver:
        chrome = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield chrome
        chrome.close()


@pytest.fixture(scope="session")
def data_folder() -> Path:
    folder = Path(os.environ.get("SURELIFT_DATA", ""))
    if not os.environ.get("SURELIFT_DATA") or not folder.is_dir():
        missing("data", "SURELIFT_DATA is not a folder of data sets")
    return folder
