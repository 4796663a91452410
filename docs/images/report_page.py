"""Take the documents' pictures of `serenity analyze`: the page in light and dark, and the plot.

    python docs/images/report_page.py [FOLDER]      writes them there, by default beside this file

Needs the `plot` extra, selenium, and Debian's chromium and chromium-driver.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

import onnx
from selenium.webdriver import Chrome, ChromeOptions, ChromeService

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.cli import main as cli

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent.parent / "examples"))

from networks import nasnet  # noqa: E402  (examples are scripts, not a package)

_WINDOW = (1400, 1120)
_READY = "return document.documentElement.dataset.ready === 'true'"
_PATIENCE = 30.0


def main(folder: Path) -> None:
    """Analyze the demo's network, open the page, take the pictures."""
    with tempfile.TemporaryDirectory() as scratch:
        model, page = Path(scratch, "nasnet_a.onnx"), Path(scratch, "nasnet_a.html")
        onnx.save(nasnet(), model)
        options = ["--no-rewrite", "--html", str(page), "--plot", str(folder / "analyze_plot.svg")]
        status = cli.main(["analyze", str(model), *options])
        if status:
            raise SystemExit(status)
        for scheme in ("light", "dark"):
            (folder / f"analyze_page_{scheme}.png").write_bytes(_photograph(page, scheme))


def _photograph(page: Path, scheme: str) -> bytes:
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        raise SerenityError("there is no chromium", hint="apt-get install chromium chromium-driver")
    options = ChromeOptions()
    options.binary_location = chromium
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(flag)
    options.add_argument(f"--window-size={_WINDOW[0]},{_WINDOW[1]}")
    with Chrome(options, ChromeService(driver)) as browser:
        feature = {"name": "prefers-color-scheme", "value": scheme}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        browser.get(page.as_uri())
        began = time.monotonic()
        while not browser.execute_script(_READY):
            if time.monotonic() - began > _PATIENCE:
                raise RuntimeError("the page does not get ready")
            time.sleep(0.05)
        time.sleep(1)  # fonts and the last frame
        return bytes(browser.get_screenshot_as_png())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("folder", nargs="?", type=Path, default=HERE, metavar="FOLDER")
    main(parser.parse_args().folder)
