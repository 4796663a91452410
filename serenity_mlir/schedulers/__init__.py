"""Schedulers: orders of a memory graph with minimal live peak."""

from serenity_mlir.schedulers.driver import schedule
from serenity_mlir.schedulers.result import Schedule

__all__ = ["Schedule", "schedule"]
