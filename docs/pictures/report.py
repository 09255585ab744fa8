"""Take the picture of a report for the front page: ``python docs/pictures/report.py`` (needs Chromium)."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

import surelift as sl

PICTURE = Path(__file__).parent / "report.png"
WIDTH, MARGIN = 820, 18

with TemporaryDirectory() as folder, sync_playwright() as browsers:
    # As in the README.
    logs = sl.datasets.shop().logs()
    sl.report(logs, {"new": "p_better", "bold": "p_worse"}).to_html(Path(folder) / "report.html")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    browser = browsers.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
    page = browser.new_page(viewport={"width": WIDTH, "height": WIDTH}, device_scale_factor=2)
    page.goto((Path(folder) / "report.html").as_uri())
    page.wait_for_function("document.documentElement.dataset.drawn")
    end = page.evaluate("document.querySelector('section table').getBoundingClientRect().bottom")
    page.screenshot(path=PICTURE, clip={"x": 0, "y": 0, "width": WIDTH, "height": end + MARGIN}, full_page=True)
    browser.close()
