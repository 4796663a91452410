"""Schedulers: orders of a memory graph with minimal live peak."""

from serenity_mlir.schedulers.many import schedule_many
from serenity_mlir.schedulers.methods import DEFAULT_METHOD, METHODS, check_method, schedule
from serenity_mlir.schedulers.result import Schedule

__all__ = ["DEFAULT_METHOD", "METHODS", "Schedule", "check_method", "schedule", "schedule_many"]
