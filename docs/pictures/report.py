"""Take the picture of a report for the front page: ``python docs/pictures/report.py`` (needs Chromium)."""

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).parent / "report.png"
WIDTH, HEIGHT = 820, 760

with TemporaryDirectory() as folder, sync_playwright() as browsers:
    subprocess.run(
        [sys.executable, "-m", "surelift", "demo", "--output", folder], check=True, stdout=subprocess.DEVNULL
    )
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    browser = browsers.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=2)
    page.goto((Path(folder) / "report.html").as_uri())
    page.wait_for_function("document.documentElement.dataset.drawn")
    page.screenshot(path=PICTURE)
    browser.close()
