"""The type of options that are a time limit."""

from __future__ import annotations

import math
from typing import Any

import click

DEFAULT_REWRITE_LIMIT = 20.0
"""For the choice of rewrites of one compilation."""


class Seconds(click.FloatRange):
    """Seconds from 0 up: "nan" compares with no clock, and "inf" would leave searches without an end."""

    def __init__(self) -> None:
        super().__init__(min=0)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number that `value` is; a usage error if it is negative or not finite."""
        seconds = super().convert(value, param, ctx)
        if not math.isfinite(seconds):
            self.fail(f"{value} is not a finite number of seconds.", param, ctx)
        return seconds
