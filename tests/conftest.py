"""Fixtures and settings that every test shares."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import corpus
import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

# A deadline measures the machine, not the code. CI tries the same examples each time; people's
# machines look for new ones.
settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("dev", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if "CI" in os.environ else "dev"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder `../shared`; the test is skipped where it is absent."""
    if not corpus.SHARED.is_dir():
        pytest.skip(corpus.NO_SHARED)
    return corpus.SHARED


@pytest.fixture(scope="session")
def onnx_light_models() -> list[Path]:
    """The onnx package's light models, sorted by name."""
    return corpus.onnx_light_models()


_HEADLESS = (
    "--headless=new",
    "--no-sandbox",  # CI runs as root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--window-size=1500,1500",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Chrome]:
    """A real browser that reaches no network: Debian's Chromium and its driver; nothing is downloaded."""
    from selenium.webdriver import Chrome, ChromeOptions, ChromeService  # noqa: PLC0415  (few tests need it)

    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("no chromium or chromedriver: apt-get install chromium chromium-driver")
    options = ChromeOptions()
    options.binary_location = chromium
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for flag in _HEADLESS:
        options.add_argument(flag)
    with Chrome(options, ChromeService(driver)) as chrome:
        yield chrome
