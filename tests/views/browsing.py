"""A page in a real browser: opening it, asking it, pressing keys and pointing."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

READY = "return document.documentElement.dataset.ready === 'true'"
PATIENCE = 30.0
PLACE = """
    const chart = page.charts[arguments[0]];
    const plot = [...Bokeh.index.roots].find((root) => root.model === chart.figure);
    const box = plot.el.getBoundingClientRect();
    const { x_scale, y_scale } = plot.frame;
    return [box.x + x_scale.compute(arguments[1]), box.y + y_scale.compute(arguments[2])];
"""


class Page:
    """A page that is open.

    Attributes:
        seconds: From asking for it until its charts were there.
    """

    def __init__(self, browser: Chrome, file: Path) -> None:
        self._browser = browser
        began = time.perf_counter()
        browser.get(file.as_uri())
        while not self.do(READY):
            assert time.perf_counter() - began < PATIENCE, self.errors()
            time.sleep(0.01)
        self.seconds = time.perf_counter() - began

    def do(self, script: str, *arguments: object) -> Any:
        """What a script returns."""
        return self._browser.execute_script(script, *arguments)

    def text(self, selector: str) -> str:
        """What an element says."""
        return str(self.do("return document.querySelector(arguments[0]).textContent", selector))

    def keys(self, selector: str, *keys: str) -> None:
        """Press keys at an element."""
        self._browser.find_element(By.CSS_SELECTOR, selector).send_keys(*keys)

    def click(self, chart: str, x: float, y: float) -> None:
        """Click at a place of a chart, given in steps and KiB."""
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, chart, x, y, button="left", clickCount=1)

    def mouse(self, kind: str, chart: str, x: float, y: float, **more: object) -> None:
        """What the mouse does at a place of a chart, given in steps and KiB."""
        self.do("document.getElementById(arguments[0]).scrollIntoView({block: 'center'})", chart)
        left, top = self.do(PLACE, chart, x, y)
        event = {"type": kind, "x": left, "y": top, **more}
        self._browser.execute_cdp_cmd("Input.dispatchMouseEvent", event)

    def prefer(self, scheme: str) -> None:
        """Have the system prefer light or dark."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self._browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})

    def wait_for(self, script: str, expected: object) -> None:
        """Until a script returns what is expected; what shows in the next frame takes a moment."""
        began = time.perf_counter()
        while self.do(script) != expected and time.perf_counter() - began < 2:
            time.sleep(0.01)
        assert self.do(script) == expected

    def errors(self) -> list[str]:
        """What the console has that is worse than a note, since it was last asked."""
        entries = self._browser.execute("getLog", {"type": "browser"})["value"]
        return [entry["message"] for entry in entries if entry["level"] not in ("INFO", "DEBUG")]
